// AttentionWalk: a few tokens through scores, scaling, mask, softmax and the weighted sum, each number worked out.

const STAGES = [
  ["scores", "Scores"],
  ["scale", "Scale"],
  ["mask", "Mask"],
  ["softmax", "Softmax"],
  ["sum", "Sum"],
];
const MASKS = [
  ["none", "none"],
  ["causal", "causal"],
  ["padding", "padding"],
  ["both", "causal + padding"],
];

function render({ model, el }) {
  const view = open_view(model, el);
  const queries = model.get("tokens");
  const keys = model.get("key_tokens");
  const Q = model.get("query");
  const K = model.get("key");
  const V = model.get("value");
  const steps = model.get("results");
  const length = model.get("length");
  const root = Math.sqrt(Q[0].length);
  const every = (f) => queries.map((_, i) => keys.map((__, j) => f(i, j)));
  const dot = (a, b, d) => sum(a.map((x, c) => rounded(x, d) * rounded(b[c], d)));
  const products = (a, b, d, first) => a.map((x, c) => `${first(x, d)}×${short(b[c], true, d)}`).join(" + ");

  // The numbers of the state that the reader chose. All of them were computed by the package.
  function now() {
    const mask = steps.masks[model.get("mask")];
    const scaled = model.get("scaled");
    const { weights, output } = steps[scaled ? "on" : "off"][model.get("mask")];
    return { mask, scaled, weights, output, scores: steps.scores, logits: scaled ? steps.scaled : steps.scores };
  }

  // What each table holds: its cells, and for one cell the words, the arithmetic and the cells it comes from.
  const parts = (name, table, words) => ({
    title: [math(name)],
    label: `${name}, ${words} by component`,
    rows: words === "queries" ? queries : keys,
    cols: table[0].map((_, c) => String(c + 1)),
    data: table.map((row) => row.map((x) => ({ text: short(x), ...signed(x, 2 * largest(table)) }))),
    work: (i, c) => [
      `${words === "queries" ? "query" : words === "keys" ? "key" : "value of"} ` +
        `${(words === "queries" ? queries : keys)[i]}, component ${c + 1}`,
      short(table[i][c]),
    ],
    from: () => ({}),
  });
  const last = keys.slice(length);
  const padding =
    last.length === 1
      ? ` Here the last word, ${last[0]}, counts as padding.`
      : last.length
        ? ` Here the last ${last.length} words, ${last.join(" ")}, count as padding.`
        : " Here no word counts as padding.";
  const why = (i, j) =>
    j >= length && model.get("mask") !== "causal" ? `${keys[j]} is padding` : `${keys[j]} comes after ${queries[i]}`;

  const tables = {
    query: () => parts("queries Q", Q, "queries"),
    key: () => parts("keys K", K, "keys"),
    value: () => parts("values V", V, "values"),
    scores: () => {
      const { scores } = now();
      return {
        title: [math("scores Q Kᵀ")],
        rows: queries,
        cols: keys,
        data: every((i, j) => ({ text: num(scores[i][j]), ...signed(scores[i][j], largest(scores)) })),
        work: (i, j) => {
          const d = fewest(2, (n) => num(dot(Q[i], K[j], n)) === num(scores[i][j]));
          return [
            `query ${queries[i]} · key ${keys[j]}`,
            `${products(Q[i], K[j], d, (x) => short(x, true, d))} = ${num(scores[i][j])}`,
          ];
        },
        from: (i, j) => ({ query: Q[i].map((_, c) => [i, c]), key: K[j].map((_, c) => [j, c]) }),
      };
    },
    logits: () => {
      const { scores, logits, scaled } = now();
      return {
        title: scaled ? [math("scaled scores: Q Kᵀ / √d_k")] : ["scores, not scaled"],
        rows: queries,
        cols: keys,
        data: every((i, j) => ({ text: num(logits[i][j]), ...signed(logits[i][j], largest(scores)) })),
        work: (i, j) => {
          const [s, want] = [scores[i][j], num(logits[i][j])];
          const d = fewest(2, (n) => num(rounded(s, n) / rounded(root, n)) === want);
          return [
            `${queries[i]} · ${keys[j]}, ${scaled ? "scaled" : "not scaled"}`,
            scaled ? `${num(s, d)} / √${Q[0].length} = ${num(s, d)} / ${num(root, d)} = ${want}` : `stays ${want}`,
          ];
        },
        from: (i, j) => ({ scores: [[i, j]] }),
      };
    },
    masked: () => {
      const { scores, logits, mask, scaled } = now();
      return {
        title: [mask.flat().every(Boolean) ? (scaled ? "scaled scores" : "scores") : "masked scores"],
        rows: queries,
        cols: keys,
        data: every((i, j) =>
          mask[i][j]
            ? { text: num(logits[i][j]), ...signed(logits[i][j], largest(scores)) }
            : { text: `${MINUS}∞`, words: "minus infinity", hidden: true },
        ),
        work: (i, j) =>
          mask[i][j]
            ? [`${queries[i]} may look at ${keys[j]}`, `stays ${num(logits[i][j])}`]
            : [`${queries[i]} may not look at ${keys[j]}: ${why(i, j)}`, `${num(logits[i][j])} becomes ${MINUS}∞`],
        from: (i, j) => ({ logits: [[i, j]] }),
      };
    },
    weights: () => {
      const { logits, mask, weights } = now();
      return {
        title: ["weights: each row sums to 1"],
        rows: queries,
        cols: keys,
        data: every((i, j) => ({
          text: num(weights[i][j], 3),
          hidden: !mask[i][j],
          tone: "plus",
          amount: weights[i][j],
        })),
        work: (i, j) => {
          const words = `How much ${queries[i]} looks at ${keys[j]}`;
          if (!mask[i].some(Boolean)) return [words, `${queries[i]} may look at nothing: all weights are 0`];
          if (!mask[i][j]) return [words, `e^(${MINUS}∞) = 0, so the weight is 0`];
          const allowed = logits[i].filter((_, k) => mask[i][k]);
          const most = Math.max(...allowed);
          const top = most > 6 || most < -2 ? most : 0; // else the powers have too many digits, or none
          const [own, want] = [logits[i][j] - top, num(weights[i][j], 3)];
          const total = (d) => sum(allowed.map((x) => Math.exp(rounded(x - top, d))));
          // m decimals of the powers and d of the scores, with which each step follows from what stands before it.
          const right = (m, d) =>
            num(rounded(Math.exp(own), m) / rounded(total(6), m), 3) === want &&
            num(Math.exp(rounded(own, d)), m) === num(Math.exp(own), m) &&
            num(total(d), m) === num(total(6), m);
          const m = fewest(3, (n) => right(n, 6));
          const d = fewest(3, (n) => right(m, n));
          const power = (x) => (x - top < 0 ? `e^(${num(x - top, d)})` : `e^${num(x - top, d)}`);
          return [
            words + (top ? ` (largest score ${num(top, d)} subtracted first)` : ""),
            `${power(logits[i][j])} / (${allowed.map(power).join(" + ")}) = ` +
              `${num(Math.exp(own), m)} / ${num(total(6), m)} = ${want}`,
          ];
        },
        from: (i) => ({ masked: keys.map((_, k) => [i, k]) }),
      };
    },
    output: () => {
      const { weights, output } = now();
      return {
        title: [math("output: weights × V")],
        rows: queries,
        cols: V[0].map((_, c) => String(c + 1)),
        data: output.map((row) => row.map((x) => ({ text: num(x), ...signed(x, 2 * largest(V)) }))),
        work: (i, c) => {
          const values = V.map((row) => row[c]);
          const d = fewest(3, (n) => num(dot(weights[i], values, n)) === num(output[i][c]));
          return [
            `output of ${queries[i]}, component ${c + 1}`,
            `${products(weights[i], values, d, num)} = ${num(output[i][c])}`,
          ];
        },
        from: (i, c) => ({ weights: keys.map((_, k) => [i, k]), value: keys.map((_, k) => [k, c]) }),
      };
    },
  };
  const scenes = {
    scores: [["query", "key"], "scores", "Compare every query with every key: one dot product per pair."],
    scale: [["scores"], "logits", "Divide every score by √d_k, so that their spread does not grow with the width."],
    mask: [["logits"], "masked", "Hide the keys that a query may not see: their score becomes minus infinity."],
    softmax: [
      ["masked"],
      "weights",
      "Exponentiate, then divide each row by its sum: each query spreads a weight of 1.",
    ],
    sum: [["weights", "value"], "output", "Average the values with these weights: one output row per query."],
  };

  let at = null; // the table and the cell that the readout explains
  const shown = {};
  const panels = Object.fromEntries(
    Object.keys(tables).map((name) => [
      name,
      matrix({ name, corner: ["key", "value"].includes(name) ? name : "query", point: (i, j) => explain(name, i, j) }),
    ]),
  );
  const before = h("div", { class: "ex-before" });
  const after = h("div", { class: "ex-after" });
  const lead = h("p", { class: "ex-lead" });

  const thumbs = STAGES.map(() => h("span", { class: "ex-thumb", "aria-hidden": "true" }));
  const stepper = choice(view, {
    name: "stage",
    label: "Step",
    className: "ex-steps",
    options: STAGES.map(([value, words], s) => [
      value,
      [thumbs[s], h("span", { class: "ex-step" }, `${s + 1} ${words}`)],
    ]),
  });

  function explain(name, i, j) {
    if (!shown[name]) return;
    at = [name, i, j];
    const [words, digits] = shown[name].work(i, j);
    const from = shown[name].from(i, j);
    for (const other of Object.keys(shown)) panels[other].light(from[other], other === name ? [i, j] : null);
    view.root.dataset.cell = `${name} ${i} ${j}`;
    view.say(h("span", { class: "ex-words" }, words), ": ", h("span", { class: "ex-digits" }, digits));
  }

  function draw() {
    const stage = model.get("stage");
    const [inputs, result, words] = scenes[stage];
    for (const name of Object.keys(shown)) delete shown[name];
    for (const name of [...inputs, result]) {
      shown[name] = tables[name]();
      panels[name].fill(shown[name]);
    }
    const focused = /** @type {HTMLElement} */ (document.activeElement);
    before.replaceChildren(...inputs.map((name) => panels[name].box));
    after.replaceChildren(panels[result].box);
    if (focused !== document.activeElement && view.root.contains(focused)) focused.focus();
    const idle = {
      scale: !now().scaled && "Scaling is off: every score stays as it is.",
      mask: model.get("mask") === "none" && "No mask is chosen: every query may look at every key.",
    }[stage];
    lead.replaceChildren(...math(idle || words).childNodes, /padding|both/.test(model.get("mask")) ? padding : "");
    STAGES.forEach(([value], s) => {
      const { data } = tables[scenes[value][1]]();
      thumbs[s].style.setProperty("--cols", data[0].length);
      thumbs[s].replaceChildren(
        ...data.flat().map((cell) =>
          h("i", {
            class: cell.hidden ? "ex-hidden" : `ex-${cell.tone}`,
            "--a": Math.min(1, cell.amount || 0).toFixed(3),
          }),
        ),
      );
    });
    if (!at || at[0] !== result) {
      // Start at the largest number of the last query that is not padding.
      const row = queries.join() === keys.join() ? Math.max(length, 1) - 1 : queries.length - 1;
      const numbers = { scores: now().scores, logits: now().logits, output: now().output }[result] || now().weights;
      at = [result, row, numbers[row].indexOf(Math.max(...numbers[row]))];
    }
    panels[result].enter(at[1], at[2]);
    explain(...at);
  }

  view.watch("stage mask scaled", draw);
  // Where no key counts as padding, its masks change nothing, and are not offered.
  const padded = (value) => value === "padding" || value === "both";
  const offered = MASKS.filter(
    ([value]) => steps.masks[value] && (length < keys.length || !padded(value) || value === model.get("mask")),
  );
  view.show(
    stepper,
    controls(
      choice(view, { name: "mask", label: "Mask", options: offered }),
      toggle(view, { name: "scaled", label: ["divide by ", ...math("√d_k").childNodes] }),
    ),
    lead,
    h("div", { class: "ex-flow" }, before, h("span", { class: "ex-arrow", "aria-hidden": "true" }, "→"), after),
    offered.length > 1 ? hatch_key("hidden by the mask") : null,
  );
  draw();
  return view.done;
}

export default { render };
