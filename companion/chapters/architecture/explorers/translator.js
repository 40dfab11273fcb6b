// TranslatorView: the weights of every head of a trained translator, with the word links of the grammar beside them.

function render({ model, el }) {
  const view = open_view(model, el);
  const sentences = model.get("sentences");
  const tables = model.get("weights");
  const places = { encoder: "encoder", decoder: "decoder", cross: "cross" };
  let at = null;

  function now() {
    const given = sentences[view.get("sentence")] || sentences[0];
    const place = view.get("place");
    const layer = Math.min(view.get("layer"), model.get("n_layers") - 1);
    const head = Math.min(view.get("head"), model.get("n_heads") - 1);
    const rows = tables[sentences.indexOf(given)][Object.keys(places).indexOf(place)][layer][head];
    const weights = rows.map((row) => (typeof row === "string" ? row.split(" ").map(Number) : row));
    const read = ["<s>", ...given.target.slice(0, -1)]; // what each step reads
    return {
      given,
      place,
      layer,
      head,
      weights,
      read,
      queries: place === "encoder" ? given.source : given.target,
      keys: place === "decoder" ? read : given.source,
    };
  }

  const map = matrix({
    name: "weights",
    corner: "query",
    point: (i, j) => {
      at = [i, j];
      explain();
    },
  });
  map.table.classList.add("ex-dense");
  const note = h("p", { class: "ex-note" });
  const bars = h("div", { class: "ex-top" });
  const side = h("div", { class: "ex-panel ex-side" }, h("p", { class: "ex-caption" }), bars);

  function explain() {
    const { given, place, weights, read, queries, keys } = now();
    const [i, j] = at;
    const links = place === "cross" ? given.links[i] : [];
    const order = range(keys.length)
      .sort((a, b) => weights[i][b] - weights[i][a])
      .slice(0, 5);
    map.light(place === "cross" ? given.links.flatMap((link, row) => link.map((k) => [row, k])) : [], [i, j]);
    const step = place === "encoder" ? `${queries[i]} looks at` : `reading ${read[i]}, writing ${queries[i]}: looks at`;
    side.firstChild.textContent = step;
    bars.replaceChildren(
      ...order.map((k) =>
        h(
          "p",
          { class: "ex-topkey" },
          h("span", null, keys[k]),
          h("span", { class: "ex-bar ex-plus", "aria-hidden": "true", "--a": weights[i][k] }, h("i")),
          h("span", { class: "ex-value" }, num(weights[i][k])),
        ),
      ),
    );
    view.root.dataset.cell = `${i} ${j}`;
    const told = links.length
      ? `The grammar links ${queries[i]} to ${links.map((k) => keys[k]).join(" ")}: weight ${num(sum(links.map((k) => weights[i][k])))}.`
      : place === "cross"
        ? `The grammar links ${queries[i]} to no word.`
        : "";
    view.say(h("span", { class: "ex-digits" }, `${queries[i]} → ${keys[j]}: ${num(weights[i][j])}. `), told);
  }

  function draw() {
    const { given, place, layer, head, weights, queries, keys } = now();
    hatched.hidden = place !== "decoder";
    note.textContent = {
      encoder: "rows and columns: source words",
      decoder: "rows: words being written, columns: words read so far",
      cross: "rows: words being written, columns: source words; outlined: the grammar's links",
    }[place];
    map.fill({
      title: `${places[place]}, layer ${layer}, head ${head}`,
      label: "attention weights, one row a query, one column a key",
      rows: queries,
      cols: keys,
      data: weights.map((row, i) =>
        row.map((w, j) => ({
          text: "",
          words: `${queries[i]} to ${keys[j]}: ${num(w)}`,
          tone: "plus",
          amount: w,
          hidden: place === "decoder" && j > i,
        })),
      ),
    });
    if (!at || at[0] >= weights.length || at[1] >= weights[0].length) {
      const row =
        place === "cross"
          ? Math.max(
              given.links.findIndex((link) => link.length),
              0,
            )
          : 0;
      at = [row, weights[row].indexOf(Math.max(...weights[row]))];
    }
    map.enter(...at);
    explain();
  }

  const hatched = hatch_key("hidden by the causal mask");
  const counted = (name, n) =>
    n > 1 ? menu(view, { name, label: name, options: range(n).map((k) => [k, `${name} ${k}`]) }) : null;
  view.watch("sentence", () => {
    at = null;
    draw();
  });
  view.watch("place layer head", draw);
  view.show(
    controls(
      sentences.length > 1
        ? menu(view, { name: "sentence", label: "sentence", options: sentences.map((s, k) => [k, s.source.join(" ")]) })
        : null,
      choice(view, { name: "place", label: "attention", options: Object.entries(places) }),
      counted("layer", model.get("n_layers")),
      counted("head", model.get("n_heads")),
    ),
    h("div", { class: "ex-flow ex-mapflow" }, map.box, side),
    hatched,
    note,
  );
  draw();
  return view.done;
}

export default { render };
