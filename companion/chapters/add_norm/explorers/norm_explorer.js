// NormExplorer: which numbers of a batch BatchNorm, LayerNorm and RMSNorm average over, and which results then move.

function render({ model, el }) {
  const view = open_view(model, el);
  const EPS = 1e-5;
  const given = model.get("x");
  const lengths = model.get("lengths");
  const d = given[0][0].length;
  const places = given.flatMap((sentence, b) => sentence.map((_, i) => [b, i]));
  const names = places.map(([b, i]) => `${"ABC"[b]} ${i + 1}`);
  const real = ([b, i]) => i < lengths[b];
  const features = range(d).map((k) => `f${k + 1}`);
  let at = [0, 0];

  const tokens = (first) => places.map(([b, i]) => given[b][i].map((v, k) => (b || i || k ? v : first)));

  // The cells that the statistics of one result are taken over; none where the result is masked padding.
  function sources(row, k) {
    if (view.get("norm") !== "batch") return range(d).map((other) => [row, other]);
    const counted = range(places.length).filter((other) => !view.get("masked") || real(places[other]));
    return counted.includes(row) ? counted.map((other) => [other, k]) : [];
  }

  function result(x, row, k) {
    const cells = sources(row, k);
    if (!cells.length) return { cells, y: 0 };
    const values = cells.map(([i, j]) => x[i][j]);
    const mean = view.get("norm") === "rms" ? 0 : sum(values) / values.length;
    const root = Math.sqrt(sum(values.map((v) => (v - mean) ** 2)) / values.length + EPS);
    return { cells, mean, root, y: (x[row][k] - mean) / root };
  }

  const all = (x) => x.map((row, i) => row.map((_, k) => result(x, i, k)));
  const point = (i, j) => {
    at = [i, j];
    explain();
  };
  const input = matrix({ name: "x", corner: "token", point });
  const output = matrix({ name: "y", corner: "token", point });

  function explain() {
    const x = tokens(view.get("first"));
    const now = all(x);
    const before = all(tokens(given[0][0][0]));
    const [row, k] = at;
    const { cells, mean, root, y } = now[row][k];
    const rms = view.get("norm") === "rms";
    const moved = sum(
      now.flatMap((line, i) => line.map((cell, j) => Number(Math.abs(cell.y - before[i][j].y) > 1e-9))),
    );
    input.light(cells, at);
    output.light([], at);
    view.root.dataset.cell = `${row} ${k}`;
    let digits = `${names[row]}, ${features[k]} is padding and left out: 0. `;
    let words = "";
    if (cells.length) {
      const v = x[row][k];
      const right = (n) =>
        ((rounded(v, n) - (rms ? 0 : rounded(mean, n))) / rounded(root, n)).toFixed(2) === y.toFixed(2);
      const n = fewest(1, right);
      const up = rms ? short(v, false, n) : `(${short(v, false, n)} ${MINUS} ${short(mean, true, n)})`;
      digits = `${names[row]}, ${features[k]}: ${up} / ${num(root, n)} = ${num(y)}. `;
      words =
        view.get("norm") === "batch"
          ? `The statistics run over ${features[k]} of ${cells.length} tokens. `
          : `The statistics run over the ${d} features of ${names[row]}. `;
    }
    view.say(
      h("span", { class: "ex-digits" }, digits),
      words,
      `The slider has changed ${moved} of ${places.length * d} results (orange).`,
    );
  }

  function draw() {
    const x = tokens(view.get("first"));
    const now = all(x);
    const before = all(tokens(given[0][0][0]));
    const hides = (row) => view.get("masked") && !real(places[row]);
    input.fill({
      title: `input: ${given.length} sentences, ${d} features`,
      rows: names,
      cols: features,
      data: x.map((line, i) =>
        line.map((v, k) => ({
          text: short(v),
          words: `input ${names[i]}, ${features[k]}: ${short(v)}${hides(i) ? ", padding" : ""}`,
          hidden: hides(i),
          tone: i || k ? "plus" : "minus",
          amount: i || k ? 0.15 : 0.6,
        })),
      ),
    });
    output.fill({
      title: `result: ${{ batch: "BatchNorm", layer: "LayerNorm", rms: "RMSNorm" }[view.get("norm")]}`,
      rows: names,
      cols: features,
      data: now.map((line, i) =>
        line.map((cell, k) => {
          const changed = Math.abs(cell.y - before[i][k].y) > 1e-9;
          return {
            text: num(cell.y),
            words: `result ${names[i]}, ${features[k]}: ${num(cell.y)}${changed ? ", changed" : ""}`,
            hidden: !cell.cells.length,
            tone: changed ? "minus" : "plus",
            amount: changed ? 0.6 : 0.15,
          };
        }),
      ),
    });
    input.enter(...at);
    output.enter(...at);
    explain();
  }

  view.watch("norm masked first", draw);
  view.show(
    controls(
      choice(view, {
        name: "norm",
        label: "Norm",
        options: [
          ["batch", "BatchNorm"],
          ["layer", "LayerNorm"],
          ["rms", "RMSNorm"],
        ],
      }),
      slider(view, { name: "first", label: "first number of A 1", min: -8, max: 8, step: 0.5, text: (v) => short(v) }),
      toggle(view, { name: "masked", label: "padding is masked" }),
    ),
    h(
      "div",
      { class: "ex-flow" },
      h("div", { class: "ex-before" }, input.box),
      h("span", { class: "ex-arrow", "aria-hidden": "true" }, "\u2192"),
      h("div", { class: "ex-after" }, output.box),
    ),
  );
  draw();
  return view.done;
}

export default { render };
