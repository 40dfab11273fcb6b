// GradientProduct: the norm of a product of two-by-two Jacobians, with the bound and the eigenvalues beside it.

function render({ model, el }) {
  const view = open_view(model, el);
  const LINES = ["gradient", "largest singular values", "eigenvalues"];
  const KINDS = [
    ["turn", "turning"],
    ["shear", "shearing"],
    ["alternate", "taking turns"],
  ];
  const [FLOOR, SHEAR] = [-8, 1];
  const draws = model.get("draws").map((row) => (typeof row === "string" ? row.split(" ").map(Number) : row));
  let touched = [0, 19];

  function amount(value) {
    if (value < 10 ** FLOOR) return `below ${ten_to(FLOOR)}`;
    if (value >= 0.01 && value < 1000) return String(Number(value.toPrecision(3)));
    const [digits, exponent] = value.toExponential(1).split("e").map(Number);
    return `${digits.toFixed(1)} × ${ten_to(exponent)}`;
  }

  // The largest singular value of a two-by-two matrix, from the sum of its squares and its determinant.
  /** @param {number[][]} matrix */
  function norm([[a, b], [c, d]]) {
    const squares = a * a + b * b + c * c + d * d;
    const det = a * d - b * c;
    return Math.sqrt((squares + Math.sqrt(Math.max(0, squares * squares - 4 * det * det))) / 2);
  }

  function weight(step) {
    const s = view.get("scale");
    if (view.get("kind") === "turn")
      return [
        [0.8 * s, -0.6 * s],
        [0.6 * s, 0.8 * s],
      ];
    if (view.get("kind") === "shear")
      return [
        [s, SHEAR],
        [0, s],
      ];
    return step % 2
      ? [
          [0, 0],
          [s, 0],
        ]
      : [
          [0, s],
          [0, 0],
        ];
  }

  function lines() {
    const radius = view.get("kind") === "alternate" ? 0 : view.get("scale");
    let h = [0, 0];
    let product = [
      [1, 0],
      [0, 1],
    ];
    let singular = 1;
    const found = [[], [], []];
    draws.forEach((x, step) => {
      const w = weight(step);
      h = w.map((row, i) => Math.tanh(row[0] * h[0] + row[1] * h[1] + view.get("inputs") * x[i]));
      product = w.map((row, i) =>
        [0, 1].map((j) => (1 - h[i] * h[i]) * (row[0] * product[0][j] + row[1] * product[1][j])),
      );
      singular *= norm(w);
      found[0].push(norm(product));
      found[1].push(singular);
      found[2].push(radius ** (step + 1));
    });
    return found;
  }

  const said = (s, j, value) => `${LINES[s]}, ${j + 1} ${j ? "steps" : "step"}: ${amount(value)}`;
  const { plot, legend, fill } = curve_plot({
    names: LINES,
    size: [360, 210, 44, 176],
    point: (s, j) => {
      touched = [s, j];
      speak();
    },
  });

  function speak() {
    const now = lines();
    const [s, j] = touched;
    view.root.dataset.point = `${s} ${j}`;
    const peak = Math.max(...now[0]);
    const last = now[0].at(-1);
    const way = last > 1.01 ? "grows" : last < 0.99 ? "shrinks" : "stays";
    view.say(
      h("span", { class: "ex-digits" }, `${said(s, j, now[s][j])}. `),
      `Over 40 steps the gradient ${way}: ${amount(last)} at the end, at most ${amount(peak)} on the way. ` +
        `The singular values allow ${amount(now[1].at(-1))}, the eigenvalues say ${amount(now[2].at(-1))}.`,
    );
  }

  function draw() {
    const now = lines();
    const levels = now.map((list) => list.map((v) => Math.max(FLOOR, Math.log10(Math.max(v, 1e-300)))));
    const low = Math.min(-1, Math.floor(Math.min(...levels.flat())));
    const high = Math.max(1, Math.ceil(Math.max(...levels.flat())));
    const x = (j) => j / (draws.length - 1);
    fill({
      label: "norm of the product of Jacobians by steps, with its bound and the eigenvalues",
      title: "steps",
      ticks: [1, 10, 20, 30, 40].map((k) => [x(k - 1), String(k)]),
      levels: decades(low, high),
      curves: levels.map((list, s) => list.map((v, j) => [x(j), (v - low) / (high - low), said(s, j, now[s][j])])),
      at: touched,
    });
    speak();
  }

  view.watch("kind scale inputs", draw);
  view.show(
    controls(
      choice(view, { name: "kind", label: "matrix", options: KINDS }),
      slider(view, { name: "scale", label: "scale", min: 0.5, max: 1.5, step: 0.05, text: (v) => num(v) }),
      slider(view, { name: "inputs", label: "size of the inputs", min: 0, max: 2, step: 0.1, text: (v) => num(v, 1) }),
    ),
    legend,
    plot,
  );
  draw();
  return view.done;
}

export default { render };
