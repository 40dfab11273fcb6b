// AdamSteps: the running means, their correction and the step of Adam, for a few gradients of one weight.

function render({ model, el }) {
  const view = open_view(model, el);
  const EPS = 1e-9;
  const given = model.get("gradients");
  const betas = model.get("betas");
  const names = ["g", "m", "v", "m corrected", "v corrected", "step / rate"];
  const heads = ["g", "m", "v", "m̂", "v̂", "step"]; // a column each, so that the table fits a phone
  let at = [5, 0];

  // Three digits that count, as a person writes them.
  const brief = (x) => {
    const size = Math.abs(x);
    if (size === 0) return "0";
    if (size < 1e-3 || size >= 1e5) {
      const [d, e] = x.toExponential(1).split("e");
      return minus(`${d}e`) + minus(e.replace("+", ""));
    }
    return minus(String(Number(x.toPrecision(3))));
  };

  function rows() {
    const [b1, b2, factor, correct] = ["beta_1", "beta_2", "factor", "correct"].map(view.get);
    const table = names.map(() => []);
    let [m, v] = [0, 0];
    given.forEach((gradient, k) => {
      const g = gradient * factor;
      m = b1 * m + (1 - b1) * g;
      v = b2 * v + (1 - b2) * g * g;
      const [mh, vh] = correct ? [m / (1 - b1 ** (k + 1)), v / (1 - b2 ** (k + 1))] : [m, v];
      [g, m, v, mh, vh, -mh / (Math.sqrt(vh) + EPS)].forEach((x, i) => table[i].push(x));
    });
    return table;
  }

  const table = matrix({
    name: "steps",
    corner: "step",
    point: (k, i) => {
      at = [i, k];
      explain();
    },
  });

  function explain() {
    const [i, j] = at;
    const t = rows();
    const [b1, b2, correct] = ["beta_1", "beta_2", "correct"].map(view.get);
    const before = (row) => brief(j ? t[row][j - 1] : 0);
    const made = [
      "the gradient",
      `${b1} × ${before(1)} + ${num(1 - b1, 2)} × ${brief(t[0][j])}`,
      `${b2} × ${before(2)} + ${short(1 - b2, false, 3)} × ${brief(t[0][j])}²`,
      correct ? `${brief(t[1][j])} / ${brief(1 - b1 ** (j + 1))}` : `${brief(t[1][j])}, not corrected`,
      correct ? `${brief(t[2][j])} / ${brief(1 - b2 ** (j + 1))}` : `${brief(t[2][j])}, not corrected`,
      `${MINUS}${brief(t[3][j])} / √${brief(t[4][j])}`,
    ][i];
    table.light([], [j, i]);
    view.root.dataset.cell = `${i} ${j}`;
    const sizes = t[5].map((x) => rounded(Math.abs(x), 6)); // equal steps are equal
    const longest = sizes.indexOf(Math.max(...sizes));
    view.say(
      h(
        "span",
        { class: "ex-digits" },
        `Step ${j + 1}, ${names[i]}: ${made}${i ? ` ≈ ${brief(t[i][j])}` : ` ${brief(t[i][j])}`}. `,
      ),
      `In units of the rate the first step is ${brief(sizes[0])} long; the longest, step ${longest + 1}, is ${brief(sizes[longest])}; the last is ${brief(sizes[sizes.length - 1])}.`,
    );
  }

  function draw() {
    const t = rows();
    table.fill({
      title: "one weight, one row a step; m̂ and v̂ are corrected, the step is in units of the rate",
      label: "Adam's numbers, one row a step",
      rows: given.map((_, k) => String(k + 1)),
      cols: heads,
      data: given.map((_, k) =>
        t.map((row, i) => ({
          text: brief(row[k]),
          words: `step ${k + 1}, ${names[i]}: ${brief(row[k])}`,
          ...signed(row[k], largest([row]) * 1.4),
        })),
      ),
    });
    view.root.dataset.steps = t[5].map((x) => x.toFixed(8)).join(" ");
    table.enter(at[1], at[0]);
    explain();
  }

  view.watch("beta_1 beta_2 factor correct", draw);
  view.show(
    controls(
      slider(view, {
        name: "beta_1",
        label: math("β_1").childNodes,
        min: 0,
        max: 0.99,
        step: 0.01,
        text: (b) => num(b, 2),
      }),
      slider(view, {
        name: "beta_2",
        label: math("β_2").childNodes,
        min: 0,
        max: betas.length - 1,
        at: (b) => betas.indexOf(b),
        value: (k) => betas[k],
      }),
      slider(view, {
        name: "factor",
        label: "all gradients times",
        min: -3,
        max: 3,
        step: 1,
        text: String,
        at: (f) => Math.round(Math.log10(f)),
        value: (e) => Number((10 ** e).toPrecision(3)),
      }),
      toggle(view, { name: "correct", label: "bias correction" }),
    ),
    table.box,
  );
  draw();
  return view.done;
}

export default { render };
