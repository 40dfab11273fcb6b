// MaskExplorer: a mask in three conventions, its code, and the weights that it leaves of scores drawn once.

// "1 query × 5 keys"
const counted = (queries, keys, between) =>
  `${queries} ${queries === 1 ? "query" : "queries"}${between}${keys} ${keys === 1 ? "key" : "keys"}`;

function render({ model, el }) {
  const view = open_view(model, el);
  const stored = model.get("scores");
  let at = null;

  function now() {
    const g = (name) => model.get(name);
    const [tq, tk, pattern] = [g("t_q"), g("t_k"), g("pattern")];
    const real = Math.min(g("length"), tk);
    const shift = tk - tq; // the last query stands at the last key
    const may = range(tq).map((i) =>
      range(tk).map((j) => {
        if (g("padded") && j >= real) return false;
        if (pattern === "every") return true;
        return j <= i + shift && (pattern === "causal" || i + shift - j < g("size"));
      }),
    );
    const refused = pattern !== "every" && tq > tk;
    // A row without a key: 0 here and in scaled_dot_product_attention, NaN in the two other lines of code.
    const weights = may.map((row, i) =>
      row.some(Boolean) || g("convention") === "look" ? softmax(stored[i].slice(0, tk), row) : row.map(() => NaN),
    );
    return {
      tq,
      tk,
      pattern,
      real,
      may,
      refused,
      weights,
      padded: g("padded"),
      size: g("size"),
      convention: g("convention"),
    };
  }

  function code({ tq, tk, pattern, real, padded, size, convention }) {
    const square = tq === tk;
    const parts = [];
    if (pattern === "causal") parts.push(square ? `masks.causal(${tq})` : `masks.causal(${tq}, ${tk})`);
    if (pattern === "window")
      parts.push(square ? `masks.window(${tq}, ${size})` : `masks.window(${tq}, ${size}, ${tk})`);
    if (padded) parts.push(`masks.padding([${real}], ${tk})`);
    const made = parts.length > 1 ? `masks.and_masks(${parts.join(", ")})` : parts[0];
    if (!parts.length) return ["mask = None", "every query may look at every key: no mask"];
    const shape = padded ? `(1, ${pattern === "every" ? 1 : tq}, ${tk})` : `(${tq}, ${tk})`;
    const use = {
      look: [
        "output = attention(query, key, value, mask)",
        "True = may look: this package and scaled_dot_product_attention",
      ],
      hide: [
        `hide = ~mask${padded ? "[0]" : ""}${pattern === "every" ? `.expand(${tq}, ${tk})` : ""}` +
          `${padded ? "  # mask[0]: that of the only sentence; attn_mask is (t_q, t_k)" : ""}` +
          "\noutput, weights = layer(query, key, value, attn_mask=hide)  # layer: an nn.MultiheadAttention",
        "True = hidden: nn.MultiheadAttention",
      ],
      additive: [
        "bias = torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)\nweights = (scores + bias).softmax(-1)",
        "added to the scores: 0 keeps one, minus infinity removes it",
      ],
    }[convention];
    return [`mask = ${made}  # shape ${shape}\n${use[0]}`, use[1]];
  }

  const symbol = (may, convention) =>
    convention === "additive" ? (may ? "0" : `${MINUS}∞`) : may === (convention === "look") ? "True" : "False";
  const point = (i, j) => {
    at = [i, j];
    explain();
  };
  const panels = [
    matrix({ name: "mask", corner: "query", point }),
    matrix({ name: "weights", corner: "query", point }),
  ];
  const listing = h("code", { class: "ex-code" });
  const meaning = h("p", { class: "ex-lead" });
  const refusal = h("p", { class: "ex-refusal", role: "status" });
  const flow = h("div", { class: "ex-flow" }, panels[0].box, panels[1].box);

  function explain() {
    const state = now();
    if (state.refused) return;
    const [i, j] = at;
    for (const panel of panels) panel.light([], at);
    view.root.dataset.cell = `mask ${i} ${j}`;
    const why =
      state.padded && j >= state.real
        ? "padding"
        : j > i + state.tk - state.tq
          ? "a later position"
          : "outside the window";
    const empty = range(state.tq).filter((k) => !state.may[k].some(Boolean));
    const named = empty.length
      ? `${empty.length > 1 ? "Queries" : "Query"} ${empty.join(", ")} may look at no key: ${
          {
            look: "all weights are 0 and so is the output, in this package and in scaled_dot_product_attention",
            hide: "nn.MultiheadAttention, called as in the code, gives NaN, where this package gives 0",
            additive: `the softmax of ${MINUS}∞ alone is 0/0, so this code gives NaN, where this package gives 0`,
          }[state.convention]
        }.`
      : "Every query may look at some key, so each row of weights sums to 1.";
    view.say(
      h(
        "span",
        { class: "ex-words" },
        state.may[i][j] ? `query ${i} may look at key ${j}: ` : `query ${i} may not look at key ${j}, ${why}: `,
      ),
      h(
        "span",
        { class: "ex-digits" },
        `${state.may[i][j] ? `score ${num(stored[i][j])}, ` : ""}` +
          `weight ${state.may[i][j] ? num(state.weights[i][j]) : state.weights[i][j]}. `,
      ),
      named,
    );
  }

  const optional = {};
  function draw() {
    const state = now();
    optional.size.hidden = state.pattern !== "window";
    optional.length.hidden = !state.padded;
    for (const name of ["size", "length"]) optional[name].querySelector("input").max = state.tk;
    view.root.dataset.refused = state.refused ? "yes" : "no";
    refusal.hidden = !state.refused;
    flow.hidden = hatched.hidden = state.refused;
    listing.hidden = state.refused;
    meaning.hidden = state.refused;
    optional.convention.hidden = state.refused;
    if (state.refused) {
      refusal.textContent = `The package refuses this: the last query stands at the last key, so a causal mask needs at least as many keys as queries. Here are ${counted(state.tq, state.tk, " and ")}.`;
      view.say("No mask: more queries than keys.");
      return;
    }
    const empty = state.may.map((row) => !row.some(Boolean));
    const rows = range(state.tq).map((i) => `q${i}`);
    const cols = range(state.tk).map((j) => `k${j}`);
    panels[0].fill({
      title: `mask, ${counted(state.tq, state.tk, " × ")}`,
      rows,
      cols,
      data: state.may.map((row) =>
        row.map((may) => ({
          text: symbol(may, state.convention),
          hidden: !may,
          tone: "plus",
          amount: may ? 0.45 : 0,
          words: may ? `${symbol(may, state.convention)}, may look` : `${symbol(may, state.convention)}, hidden`,
        })),
      ),
    });
    panels[1].fill({
      title: "weights, from scores drawn once at random",
      rows: rows.map((word, i) => (empty[i] ? `${word} no key` : word)),
      cols,
      data: state.weights.map((row, i) =>
        row.map((w, j) => ({ text: num(w), hidden: !state.may[i][j], tone: "plus", amount: w })),
      ),
    });
    const [text, words] = code(state);
    listing.textContent = text;
    meaning.textContent = words;
    if (!at || at[0] >= state.tq || at[1] >= state.tk) at = [state.tq - 1, state.tk - 1];
    panels.forEach((panel) => panel.enter(...at));
    explain();
  }

  const hatched = hatch_key("hidden by the mask");
  optional.size = slider(view, { name: "size", label: "window size", min: 1, max: 6 });
  optional.length = slider(view, { name: "length", label: "keys that are not padding", min: 0, max: 6 });
  optional.convention = choice(view, {
    name: "convention",
    label: "Written as",
    options: [
      ["look", "True = look"],
      ["hide", "True = hide"],
      ["additive", `0 and ${MINUS}∞`],
    ],
  });
  view.watch("pattern t_q t_k size padded length convention", draw);
  view.show(
    controls(
      choice(view, {
        name: "pattern",
        label: "A query looks at",
        options: [
          ["every", "every key"],
          ["causal", "the past (causal)"],
          ["window", "a window"],
        ],
      }),
      toggle(view, { name: "padded", label: "padding" }),
    ),
    controls(
      slider(view, { name: "t_q", label: math("queries t_q").childNodes, min: 1, max: 6 }),
      slider(view, { name: "t_k", label: math("keys t_k").childNodes, min: 1, max: 6 }),
      optional.size,
      optional.length,
    ),
    flow,
    hatched,
    refusal,
    optional.convention,
    meaning,
    listing,
  );
  draw();
  return view.done;
}

export default { render };
