// HeadGrid: every head of every layer as one square, for one query and one key.

function render({ model, el }) {
  const view = open_view(model, el);
  const examples = model.get("examples");
  const now = () => {
    const example = examples[view.get("example")] || examples[0];
    const key = Math.min(view.get("key"), example.keys.length - 1);
    return { example, key, weights: example.weights.map((layer) => layer.map((row) => row[key])) };
  };
  let at = null;

  const grid = matrix({
    name: "heads",
    corner: "layer",
    point: (i, j) => {
      at = [i, j];
      explain();
    },
  });
  grid.box.append(h("p", { class: "ex-note" }, "rows: layers, columns: heads"));
  const bars = h("div", { class: "ex-top" });
  const side = h("div", { class: "ex-panel ex-side" }, h("p", { class: "ex-caption" }), bars);
  const keyBox = h("div", { class: "ex-slot" });

  function explain() {
    const { example, key, weights } = now();
    const [layer, head] = at;
    const row = example.weights[layer][head];
    const order = range(row.length)
      .sort((a, b) => row[b] - row[a])
      .slice(0, 5);
    grid.light([], at);
    side.firstChild.textContent = `layer ${layer}, head ${head}: ${example.query} looks at`;
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
    const flat = weights.flat();
    view.root.dataset.cell = `${layer} ${head}`;
    view.say(
      h(
        "span",
        { class: "ex-digits" },
        `Layer ${layer}, head ${head}: ${example.query} → ${example.keys[key]} ${num(row[key], 3)}. `,
      ),
      `Over all ${flat.length} heads: mean ${num(sum(flat) / flat.length, 3)}, above 0.5 in ${flat.filter((w) => w > 0.5).length}.`,
    );
  }

  function draw() {
    const { example, key, weights } = now();
    grid.table.classList.add("ex-dense", "ex-allheads");
    grid.fill({
      title: `${example.query} → ${example.keys[key]}`,
      label: "weight in each head, one row a layer, one column a head",
      rows: weights.map((_, i) => `layer ${i}`),
      cols: weights[0].map((_, j) => String(j)),
      data: weights.map((row, i) =>
        row.map((w, j) => ({ text: "", words: `layer ${i}, head ${j}: ${num(w, 3)}`, tone: "plus", amount: w })),
      ),
    });
    if (!at || at[0] >= weights.length || at[1] >= weights[0].length) {
      const flat = weights.flat();
      const best = flat.indexOf(Math.max(...flat));
      at = [Math.floor(best / weights[0].length), best % weights[0].length];
    }
    grid.enter(...at);
    explain();
  }

  function keys() {
    const words = now().example.keys;
    const labels = JSON.stringify(words);
    if (keyBox.dataset.labels === labels) return;
    keyBox.dataset.labels = labels;
    keyBox.replaceChildren(menu(view, { name: "key", label: "key", options: words.map((word, k) => [k, word]) }));
  }

  view.watch("example", () => {
    keys();
    draw();
  });
  view.watch("key", draw);
  keys();
  view.show(
    controls(
      examples.length > 1
        ? menu(view, { name: "example", label: "sentence and query", options: examples.map((e, k) => [k, e.title]) })
        : null,
      keyBox,
    ),
    h("div", { class: "ex-flow ex-mapflow" }, grid.box, side),
  );
  draw();
  return view.done;
}

export default { render };
