// HeadSizes: what a layer of attention costs, beside a layer of the same width with one head.

function render({ model, el }) {
  const view = open_view(model, el);
  const lists = { d_model: model.get("widths"), n_heads: model.get("heads"), t: model.get("lengths") };
  lists.n_kv_heads = lists.n_heads;
  let at = [4, 0];

  const grouped = (x) => String(x).replace(/\B(?=(\d{3})+$)/g, ",");
  const brief = (x) => {
    /** @type {[number, string][]} */
    const steps = [
      [1e12, "T"],
      [1e9, "G"],
      [1e6, "M"],
      [1e4, "k"],
    ];
    const [unit, name] = steps.find(([size]) => x >= size) || [1, ""];
    return name ? `${Number((name === "k" ? x / 1e3 : x / unit).toPrecision(3))} ${name}` : grouped(x);
  };

  /** @returns {[string, number, string][]} */
  function column(heads, kv, d, t) {
    const width = d / heads;
    const shared = kv * width;
    return [
      ["width of a head", width, `${d} / ${heads}`],
      ["parameters", 2 * d * d + 2 * d * shared, `2 × ${d} × ${d} + 2 × ${d} × ${kv} × ${width}`],
      ["FLOPs: projections", 4 * d * t * (d + shared), `4 × ${t} × ${d} × (${d} + ${kv} × ${width})`],
      ["FLOPs: attention", 4 * t * t * d, `4 × ${t} × ${t} × ${heads} × ${width}`],
      ["attention weights", heads * t * t, `${heads} × ${t} × ${t}`],
      ["numbers in cache", 2 * shared * t, `2 × ${t} × ${kv} × ${width}`],
    ];
  }

  function now() {
    const [d, heads, t] = ["d_model", "n_heads", "t"].map(view.get);
    const kv = Math.min(view.get("n_kv_heads"), heads);
    return { d, heads, kv, t, columns: [column(heads, kv, d, t), column(1, 1, d, t)] };
  }

  const table = matrix({
    name: "numbers",
    corner: "quantity",
    point: (i, j) => {
      at = [i, j];
      explain();
    },
  });
  const strips = h("div", { class: "ex-strips" });

  function explain() {
    const { columns, heads, kv } = now();
    const [name, value, made] = columns[at[1]][at[0]];
    table.light([], at);
    view.root.dataset.cell = `${at[0]} ${at[1]}`;
    const which = at[1] ? "one head" : `${heads} query and ${kv} key-value ${kv > 1 ? "heads" : "head"}`;
    view.say(
      h("span", { class: "ex-words" }, `${name}, ${which}: `),
      h("span", { class: "ex-digits" }, `${made} = ${grouped(value)}`),
    );
  }

  function strip(count, words, group) {
    const row = h(
      "div",
      { class: "ex-strip", "aria-hidden": "true", "--cols": count },
      range(count).map((k) => h("i", { class: Math.floor(k / group) % 2 ? "ex-odd" : null })),
    );
    return [h("p", { class: "ex-caption" }, words), row];
  }

  function draw() {
    const { heads, kv, d, columns } = now();
    const width = d / heads;
    strips.replaceChildren(
      ...strip(
        heads,
        `${heads} query ${heads > 1 ? "heads" : "head"} of width ${width}; neighbours of one colour share keys and values`,
        heads / kv,
      ),
      ...strip(kv, `${kv} key-value ${kv > 1 ? "heads" : "head"} of width ${width}`, 1),
    );
    table.fill({
      title: "without biases; each multiplication and each addition is a FLOP",
      label: "costs of the layer, here and with one head",
      rows: columns[0].map(([name]) => name),
      cols: ["this layer", "one head"],
      data: columns[0].map(([name, value], i) =>
        [columns[0][i], columns[1][i]].map(([, x], j) => ({
          text: brief(x),
          words: `${name}, ${j ? "one head" : "here"}: ${grouped(x)}`,
          tone: j || value <= columns[1][i][1] ? "plus" : "minus",
          amount: 0.6 * Math.min(1, x / Math.max(value, columns[1][i][1])),
        })),
      ),
    });
    table.enter(...at);
    explain();
  }

  const size = (name, label) =>
    slider(view, {
      name,
      label,
      min: 0,
      max: lists[name].length - 1,
      at: (v) => lists[name].indexOf(v),
      value: (k) => lists[name][k],
      text: grouped,
    });
  // Never more key-value heads than query heads; and as many as before where no heads share.
  let queries = view.get("n_heads");
  view.watch("n_heads", () => {
    const [heads, kv] = [view.get("n_heads"), view.get("n_kv_heads")];
    const follow = kv === queries || kv > heads;
    queries = heads;
    if (follow && kv !== heads) view.set("n_kv_heads", heads);
  });
  view.watch("n_kv_heads", () => {
    if (view.get("n_kv_heads") > view.get("n_heads")) view.set("n_heads", view.get("n_kv_heads"));
  });
  view.watch("d_model n_heads n_kv_heads t", draw);
  view.show(
    controls(
      size("d_model", math("width d_model").childNodes),
      size("n_heads", "query heads"),
      size("n_kv_heads", "key-value heads"),
      size("t", "tokens"),
    ),
    strips,
    table.box,
  );
  draw();
  return view.done;
}

export default { render };
