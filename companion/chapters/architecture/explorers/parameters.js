// ParameterCounter: how many numbers each part of a model learns.

function render({ model, el }) {
  const view = open_view(model, el);
  const lists = { d_model: model.get("widths"), n_layers: model.get("layers"), vocab: model.get("vocabularies") };
  let at = [1, 0];

  const grouped = (x) => String(x).replace(/\B(?=(\d{3})+$)/g, ",");

  /** @returns {[string, number, string][]} */
  function now() {
    const [kind, d, n, v] = ["kind", "d_model", "n_layers", "vocab"].map(view.get);
    const f = view.get("ratio") * d;
    const both = kind === "encoder-decoder";
    const stacks = both ? 2 : 1;
    const attentions = n * (both ? 3 : 1);
    const normed = n * (both ? 5 : 2);
    return [
      ["embedding", v * d, `${v} × ${d}`],
      ["attention", attentions * 4 * (d * d + d), `${attentions} × 4 × (${d} × ${d} + ${d})`],
      ["feed-forward", stacks * n * (2 * d * f + f + d), `${stacks * n} × (2 × ${d} × ${f} + ${f} + ${d})`],
      ["norms", normed * 2 * d, `${normed} × 2 × ${d}`],
      ["output", view.get("tied") ? 0 : v * d, view.get("tied") ? "0" : `${v} × ${d}`],
    ];
  }

  const table = matrix({
    name: "parts",
    corner: "part",
    point: (i, j) => {
      at = [i, j];
      explain();
    },
  });
  table.box.classList.add("ex-parts");

  // One decimal, and of less than one per cent two digits: a part that is small has some.
  const percent = (share) => `${share < 1 ? Number(share.toPrecision(2)) : num(share, 1)}%`;

  function explain() {
    const parts = now();
    const total = sum(parts.map(([, x]) => x));
    const [name, count, made] = parts[at[0]];
    table.light([], at);
    view.root.dataset.cell = at.join(" ");
    view.say(
      h("span", { class: "ex-words" }, `${name}: `),
      h("span", { class: "ex-digits" }, `${made} = ${grouped(count)}`),
      `, ${percent((100 * count) / total)} of all ${grouped(total)}.`,
    );
  }

  function draw() {
    const parts = now();
    const total = sum(parts.map(([, x]) => x));
    table.fill({
      title: `${grouped(total)} parameters`,
      label: "parameters of each part, and their share",
      rows: parts.map(([name]) => name),
      cols: ["parameters", "share"],
      data: parts.map(([name, count]) =>
        [grouped(count), percent((100 * count) / total)].map((text, j) => ({
          text,
          words: `${name}, ${j ? "share" : "parameters"}: ${text}`,
          tone: "plus",
          amount: count / total,
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
      at: (x) => lists[name].indexOf(x),
      value: (k) => lists[name][k],
      text: grouped,
    });
  view.watch("kind d_model n_layers ratio vocab tied", draw);
  view.show(
    controls(
      menu(view, {
        name: "kind",
        label: "model",
        options: [
          ["encoder-decoder", "encoder-decoder"],
          ["decoder-only", "one stack: decoder-only or encoder-only"],
        ],
      }),
      size("d_model", math("width d_model").childNodes),
      size("n_layers", "layers of a stack"),
      slider(view, { name: "ratio", label: math("d_ff / d_model").childNodes, min: 1, max: 8 }),
      size("vocab", "vocabulary"),
      toggle(view, { name: "tied", label: "output tied to the embedding" }),
    ),
    table.box,
  );
  draw();
  return view.done;
}

export default { render };
