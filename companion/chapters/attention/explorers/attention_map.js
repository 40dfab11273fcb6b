// AttentionMap: given weights, an example, a head, and for each query where it looks.

function render({ model, el }) {
  const view = open_view(model, el);
  const examples = model.get("examples");
  const now = () => {
    const example = examples[model.get("example")] || examples[0];
    const head = Math.min(model.get("head"), example.heads.length - 1);
    return { example, head, weights: example.weights[head] };
  };
  let at = null;

  const map = matrix({
    name: "weights",
    corner: "query",
    rowHeads: true,
    point: (i, j) => {
      at = [i, j];
      explain();
    },
  });
  const bars = h("div", { class: "ex-top" });
  map.box.append(h("p", { class: "ex-note" }, "rows: queries, columns: keys"));
  const side = h("div", { class: "ex-panel ex-side" }, h("p", { class: "ex-caption" }), bars);
  const headBox = h("div", { class: "ex-slot" });

  function explain() {
    const { example, weights, head } = now();
    const [i, j] = at;
    const row = weights[i];
    const order = range(row.length)
      .sort((a, b) => row[b] - row[a])
      .slice(0, row.length > 8 ? 5 : 8);
    map.light(j < 0 ? range(row.length).map((k) => [i, k]) : [], [i, j]);
    side.firstChild.textContent = `${example.queries[i]} looks at${order.length < row.length ? `: top ${order.length} of ${row.length}` : ""}`;
    bars.replaceChildren(
      ...order.map((k) =>
        h(
          "p",
          { class: "ex-topkey" },
          h("span", null, example.keys[k]),
          h("span", { class: "ex-bar ex-plus", "aria-hidden": "true", "--a": row[k] }, h("i")),
          h("span", { class: "ex-value" }, num(row[k], 3)),
        ),
      ),
    );
    view.root.dataset.cell = `weights ${i} ${j}`;
    const best = order
      .slice(0, 3)
      .filter((k) => row[k] > 0)
      .map((k) => `${example.keys[k]} ${num(row[k], 3)}`)
      .join(", ");
    const general = best
      ? `${example.queries[i]} looks most at ${best}.`
      : `${example.queries[i]} looks at nothing: its weights are all 0.`;
    const hidden = j >= 0 && example.mask && !example.mask[i][j];
    const cell =
      j < 0 ? "" : `${example.queries[i]} → ${example.keys[j]}: ${hidden ? "hidden by the mask" : num(row[j], 3)}. `;
    const which = example.heads.length > 1 ? ` (${example.heads[head]})` : "";
    view.say(h("span", { class: "ex-digits" }, cell), general + which);
  }

  const hatched = hatch_key("hidden by the mask");

  function draw() {
    const { example, head, weights } = now();
    const wide = example.keys.length > 8;
    map.table.classList.toggle("ex-dense", wide);
    hatched.hidden = example.mask === null;
    map.fill({
      title: example.heads.length > 1 ? `${example.title}, ${example.heads[head]}` : example.title,
      label: "attention weights, one row per query, one column per key",
      rows: example.queries,
      cols: example.keys,
      data: weights.map((row, i) =>
        row.map((w, j) => ({
          text: wide ? "" : num(w),
          words: `${example.queries[i]} to ${example.keys[j]}: ${num(w, 3)}`,
          hidden: example.mask !== null && !example.mask[i][j],
          tone: "plus",
          amount: w,
        })),
      ),
    });
    if (!at || at[0] >= weights.length || at[1] >= weights[0].length) {
      const last = weights.length - 1;
      at = [last, weights[last].indexOf(Math.max(...weights[last]))];
    }
    map.enter(...at);
    explain();
  }

  function heads() {
    const labels = now().example.heads;
    const key = JSON.stringify(labels);
    if (headBox.dataset.labels === key) return;
    headBox.dataset.labels = key;
    headBox.replaceChildren(
      ...(labels.length > 1
        ? [menu(view, { name: "head", label: "head", options: labels.map((words, k) => [k, words]) })]
        : []),
    );
  }

  view.watch("example head", () => {
    heads();
    draw();
  });
  heads();
  view.show(
    controls(
      examples.length > 1
        ? menu(view, { name: "example", label: "example", options: examples.map((e, k) => [k, e.title]) })
        : null,
      headBox,
    ),
    h("div", { class: "ex-flow ex-mapflow" }, map.box, side),
    hatched,
  );
  draw();
  return view.done;
}

export default { render };
