// AlignmentView: a row to reverse, what two networks wrote, and where the one with attention looks.

function render({ model, el }) {
  const view = open_view(model, el);
  const examples = model.get("examples");
  const tables = model.get("weights");
  const accuracy = model.get("accuracy");
  const NAMES = [
    ["fixed", "fixed vector"],
    ["attention", "attention"],
  ];
  let at = null;

  function now() {
    const place = Math.min(view.get("example"), examples.length - 1);
    const given = examples[place];
    const weights = tables[place].map((row) => (typeof row === "string" ? row.split(" ").map(Number) : row));
    return { given, weights, target: [...given.source].reverse(), shares: accuracy[place] };
  }

  const map = matrix({
    name: "weights",
    corner: "symbol written",
    point: (i, j) => {
      at = [i, j];
      explain();
    },
  });
  const note = h("p", { class: "ex-note" }, "rows: symbols as they are written, columns: the source");
  const answers = h("div", { class: "ex-answers" });
  const wrong = (wrote, target) => range(Math.max(wrote.length, target.length)).filter((k) => wrote[k] !== target[k]);

  function explain() {
    const { given, weights, target, shares } = now();
    const [i, j] = at;
    const n = target.length;
    const right = n - 1 - i;
    map.light(view.get("outline") ? range(n).map((k) => [k, n - 1 - k]) : [], [i, j]);
    view.root.dataset.cell = `${i} ${j}`;
    const counts = NAMES.map(([name]) => wrong(given[name], target).length);
    view.say(
      h(
        "span",
        { class: "ex-digits" },
        `Writing symbol ${i + 1}, ${target[i]}: weight ${num(weights[i][j])} on symbol ${j + 1} of the source. `,
      ),
      j === right
        ? "That is the symbol to copy. "
        : `The symbol to copy is symbol ${right + 1}, with weight ${num(weights[i][right])}. `,
      `Wrong symbols here: fixed vector ${counts[0]}, attention ${counts[1]}, of ${n}. `,
      `All test rows of length ${n}: fixed vector ${num(100 * shares[0], 0)}% right, attention ${num(100 * shares[1], 0)}%.`,
    );
  }

  function draw() {
    const { given, weights, target } = now();
    map.table.classList.toggle("ex-dense", target.length > 8);
    map.fill({
      title: "where attention looks",
      label: "attention weights, one row a written symbol, one column a source symbol",
      rows: target,
      cols: given.source,
      data: weights.map((row, i) =>
        row.map((w, j) => ({
          text: target.length > 8 ? "" : num(w),
          words: `${target[i]} to symbol ${j + 1}, ${given.source[j]}: ${num(w)}`,
          tone: "plus",
          amount: w,
        })),
      ),
    });
    const line = (words, symbols, bad) =>
      h(
        "p",
        { class: "ex-answer" },
        h("span", { class: "ex-answername" }, words),
        h(
          "span",
          { class: "ex-symbols" },
          symbols.map((symbol, k) => h("span", { class: bad.includes(k) ? "ex-wrongsymbol" : null }, symbol)),
        ),
      );
    answers.replaceChildren(
      line("source", given.source, []),
      line("wanted", target, []),
      ...NAMES.map(([name, words]) => line(words, given[name], wrong(given[name], target))),
    );
    if (!at || at[0] >= target.length || at[1] >= target.length) at = [0, target.length - 1];
    map.enter(...at);
    explain();
  }

  view.watch("example", () => {
    at = null;
    draw();
  });
  view.watch("outline", explain);
  view.show(
    controls(
      slider(view, {
        name: "example",
        label: "length of the row",
        min: 0,
        max: examples.length - 1,
        text: (k) => String(examples[Math.min(k, examples.length - 1)].source.length),
      }),
      toggle(view, { name: "outline", label: "outline the symbol to copy" }),
    ),
    answers,
    h("div", { class: "ex-flow ex-mapflow" }, map.box),
    note,
  );
  draw();
  return view.done;
}

export default { render };
