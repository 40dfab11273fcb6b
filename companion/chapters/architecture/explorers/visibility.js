// VisibilityExplorer: which tokens reach each output of a model. All dependences were followed in Python.

function render({ model, el }) {
  const view = open_view(model, el);
  const reach = model.get("reach");
  const kinds = ["encoder-decoder", "no source mask", "not shifted", "encoder-only", "decoder-only"];
  const count = reach[kinds[0]].length;
  let at = null;

  function now() {
    const kind = view.get("model_kind");
    const length = view.get("length");
    const tables = reach[kind][length - 1];
    const pair = Boolean(tables.source);
    const numbered = (letter) => range(count).map((k) => `${letter}${k + 1}`);
    const words = numbered("x").map((word, k) => (kind !== "decoder-only" && k >= length ? "pad" : word));
    const written = pair ? numbered("y") : words;
    const read = pair && kind !== "not shifted" ? ["<s>", ...written.slice(0, -1)] : written;
    const verb = { "encoder-only": "is the vector of", "decoder-only": "predicts" }[kind] || "predicts";
    const goal = kind === "decoder-only" ? range(count).map((k) => `x${k + 2}`) : written;
    return { kind, length, tables, pair, words, read, goal, verb };
  }

  const point = (name) => (i, j) => {
    at = [name, i, j];
    if (view.get("output") === i) explain();
    else view.set("output", i);
  };
  const panels = Object.fromEntries(
    ["source", "target"].map((name) => [name, matrix({ name, corner: "output", point: point(name) })]),
  );
  const bits = (row) => [...row].map((bit) => bit === "1");
  const named = (list) => (list.length ? list.join(", ") : "nothing");

  // A dependence that must not be: padding acts, or an output reads the very token that it is to predict.
  const wrong = (state, name, i, j) => {
    const word = (name === "source" ? state.words : state.read)[j];
    return word === "pad" ? state.goal[i] !== "pad" : state.kind === "not shifted" && name === "target" && i === j;
  };

  function explain() {
    const state = now();
    const i = view.get("output");
    const parts = [];
    const faults = [];
    for (const [name, words] of Object.entries({ source: state.words, target: state.read })) {
      panels[name].light(
        state.tables[name] ? range(count).map((k) => [i, k]) : [],
        at && at[0] === name ? at.slice(1) : null,
      );
      if (!state.tables[name]) continue;
      const seen = bits(state.tables[name][i]);
      parts.push(`${state.pair ? `${name}: ` : ""}${named(words.filter((_, j) => seen[j]))}`);
      faults.push(...words.filter((_, j) => seen[j] && wrong(state, name, i, j)));
    }
    view.root.dataset.cell = at ? at.join(" ") : "none";
    view.say(
      h(
        "span",
        { class: "ex-digits" },
        `Output ${i + 1} ${state.verb} ${state.goal[i]}. It depends on ${parts.join("; ")}. `,
      ),
      faults.length
        ? `A fault: ${faults.includes("pad") ? "padding acts on it." : "it reads the token that it is to predict."}`
        : "As it should be.",
    );
  }

  const padded = slider(view, { name: "length", label: "real words", min: 1, max: count });

  function draw() {
    const state = now();
    const chosen = view.get("output");
    padded.hidden = state.kind === "decoder-only";
    panels.source.box.hidden = !state.pair;
    for (const [name, words] of Object.entries({ source: state.words, target: state.read })) {
      if (!state.tables[name]) continue;
      panels[name].fill({
        title: `${state.pair ? `${name} tokens` : "tokens"} that each output depends on`,
        rows: state.goal,
        cols: words,
        data: state.tables[name].map((row, i) =>
          bits(row).map((seen, j) => ({
            text: seen ? "●" : "",
            words: `${state.goal[i]} ${seen ? "depends" : "does not depend"} on ${words[j]}${seen && wrong(state, name, i, j) ? ": a fault" : ""}`,
            hidden: !seen,
            tone: wrong(state, name, i, j) ? "minus" : "plus",
            amount: seen ? (i === chosen ? 0.9 : 0.35) : 0,
          })),
        ),
      });
      panels[name].enter(chosen, at && at[0] === name ? at[2] : 0);
    }
    explain();
  }

  view.watch("model_kind length output", draw);
  view.show(
    controls(
      menu(view, { name: "model_kind", label: "model", options: kinds.map((name) => [name, name]) }),
      padded,
      slider(view, { name: "output", label: "output", min: 0, max: count - 1, text: (k) => String(k + 1) }),
    ),
    h("div", { class: "ex-flow ex-mapflow" }, panels.source.box, panels.target.box),
    hatch_key("the output does not depend on this token"),
  );
  draw();
  return view.done;
}

export default { render };
