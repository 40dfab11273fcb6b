// SamplingRules: what a temperature, top-k, top-p and min-p leave of a distribution of the small GPT.

const WIDE = 340;
const HIGH = 176;
const SHOWN = 20; // characters with a bar of their own; the others share one
const RULES = ["model", "1 temperature", "2 top-k", "3 top-p", "4 min-p"];
const NAMES = { " ": "space", "\n": "new line" };
const SIGNS = { " ": "␣", "\n": "↵" };

// The distribution of the model, and what is left after each rule, in the order of companion.generate.sample: each rule
// sees what the one before it left. `order` has the tokens by their probability, which no rule changes.
function left_by_rules(logits, { temperature, top_k, top_p, min_p }) {
  const most = Math.max(...logits);
  const own = logits.map((z) => z - most);
  const warm = own.map((z) => z / temperature);
  const order = range(own.length).sort((a, b) => own[b] - own[a] || a - b);
  const all = own.map(() => true);
  const best = new Set(order.slice(0, top_k));
  const in_k = all.map((_, token) => best.has(token));
  const shares = softmax(warm, in_k);
  let ahead = 0;
  const in_p = [...in_k];
  for (const token of order) {
    in_p[token] = in_k[token] && (top_p === 1 || ahead < top_p);
    ahead += shares[token];
  }
  const in_min = in_p.map((stays, token) => stays && (min_p === 0 || warm[token] >= Math.log(min_p)));
  const p = softmax(warm);
  const stages = [all, all, in_k, in_p, in_min].map((kept, stage) => {
    const now = stage === 0 ? softmax(own) : softmax(warm, kept);
    return {
      kept,
      p: now,
      left: sum(kept.map(Number)),
      share: sum(p.filter((_, token) => kept[token])),
      bits: -sum(now.map((x) => (x > 0 ? x * Math.log2(x) : 0))),
    };
  });
  return { order, stages };
}

function render({ model, el }) {
  const view = open_view(model, el);
  const symbols = view.get("symbols");
  const beginnings = view.get("beginnings");
  const logits = view.get("logits").map((row) => (typeof row === "string" ? row.split(" ").map(Number) : row));
  const total = symbols.length;
  const settings = () => ({
    temperature: view.get("temperature"),
    top_k: view.get("top_k"),
    top_p: view.get("top_p"),
    min_p: view.get("min_p"),
  });
  const now = (prompt = view.get("prompt")) => left_by_rules(logits[prompt], settings());
  const quoted = (symbol) => NAMES[symbol] ?? `“${symbol}”`;
  const shown = (text) => [...text].map((symbol, i) => (i === text.length - 1 ? (SIGNS[symbol] ?? symbol) : symbol));
  const named = (prompt) => `“${shown(beginnings[prompt]).join("").replaceAll(" ", "\u00a0")}”`; // on one line
  const small = (p) => (p > 0 && p < 0.0005 ? "less than 0.001" : num(p, 3));
  const characters = (n) => `${n} ${n === 1 ? "character" : "characters"}`;

  // One bar a character, before and after, and one for all that have none of their own.
  const pitch = (WIDE - 40) / (SHOWN + 1);
  const x = (j) => 28 + j * pitch + (j === SHOWN ? 12 : 0);
  const y = (part) => 8 + (1 - part) * (HIGH - 46);
  const word = (at, height, words, anchor = "middle") =>
    h("text", { x: at, y: height, "text-anchor": anchor, "aria-hidden": "true" }, words);
  const levels = [0, 0.5, 1].map((part) => word(24, y(part) + 4, short(part, false, 3), "end"));
  const columns = range(SHOWN + 1).map((j) => ({
    before: h("rect", { class: "ex-whole", x: (x(j) + 1.5).toFixed(2), width: (pitch - 3).toFixed(2) }),
    after: h("rect", { class: "ex-rect", x: (x(j) + 4).toFixed(2), width: (pitch - 8).toFixed(2) }),
    letter: word(j === SHOWN ? WIDE : x(j) + pitch / 2, HIGH - 22, "", j === SHOWN ? "end" : "middle"),
    cross: word(x(j) + pitch / 2, HIGH - 6, ""),
    hit: h("rect", {
      ...{ class: "ex-hit", x: x(j).toFixed(2), width: pitch.toFixed(2), y: 2, height: HIGH - 4 },
      ...{ role: "img", tabindex: j ? "-1" : "0", "data-i": 0, "data-j": j },
    }),
  }));
  const plot = h(
    "svg",
    { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "group", class: "ex-plot" },
    [0, 0.5, 1].map((part) => h("line", { class: "ex-grid", x1: 28, x2: WIDE, y1: y(part), y2: y(part) })),
    levels,
    columns.flatMap(({ before, after, letter, cross, hit }) => [before, after, letter, cross, hit]),
  );
  const legend = h(
    "p",
    { class: "ex-legend", "aria-hidden": "true" },
    h("span", null, h("span", { class: "ex-key-whole" }), "the model"),
    h("span", null, h("span", { class: "ex-key-left" }), "what is drawn from"),
    h("span", null, "× cut"),
  );

  const lead = h("p", { class: "ex-lead" });

  let told = () => "";
  rove(plot, (_, j) => {
    told = () => column_words(now(), j);
    explain();
  });
  const table = matrix({
    name: "rules",
    corner: "rule",
    point: (i) => {
      told = () => rule_words(now(), i);
      explain();
    },
  });

  function column_words({ order, stages }, j) {
    const [first, last] = [stages[0], stages[4]];
    if (j < SHOWN) {
      const token = order[j];
      const by = stages.findIndex(({ kept }) => !kept[token]);
      const after = by < 0 ? `${small(last.p[token])} after the rules` : `cut by ${RULES[by].slice(2)}`;
      return `${quoted(symbols[token])}: ${small(first.p[token])} in the model, ${after}. `;
    }
    const rest = order.slice(SHOWN);
    const [before, after] = [first, last].map(({ p }) => sum(rest.map((token) => p[token])));
    const stay = sum(rest.map((token) => Number(last.kept[token])));
    return (
      `The ${rest.length} others together: ${small(before)} in the model, ` +
      `${stay ? `${small(after)} after the rules, which leave ${stay}` : "all cut"}. `
    );
  }

  function rule_words({ stages }, i) {
    const { left, share, bits } = stages[i];
    const where = i === 0 ? "In the model" : `After ${RULES[i].slice(2)}`;
    return `${where}: ${characters(left)}, share ${num(share, 3)}, entropy ${num(bits)} bits. `;
  }

  function explain() {
    const found = now();
    const [{ bits: own }, , , , { left, share, bits }] = found.stages;
    view.say(
      h("span", { class: "ex-digits" }, told()),
      `After ${named(view.get("prompt"))} the rules leave ${characters(left)} of ${total} and a share of ` +
        `${num(share, 3)} of the probability; the entropy is ${num(bits)} bits, in the model ${num(own)}.`,
    );
  }

  function draw() {
    const { order, stages } = now();
    const [first, , , third, last] = stages;
    const rest = order.slice(SHOWN);
    const bars = [...order.slice(0, SHOWN).map((token) => [token]), rest].map((tokens) => ({
      before: sum(tokens.map((token) => first.p[token])),
      after: sum(tokens.map((token) => last.p[token])),
      cut: !tokens.some((token) => last.kept[token]),
    }));
    columns.forEach(({ before, after, letter, cross, hit }, j) => {
      const bar = bars[j];
      for (const [rect, p] of [
        [before, bar.before],
        [after, bar.after],
      ]) {
        rect.setAttribute("y", y(p).toFixed(2));
        rect.setAttribute("height", (y(0) - y(p)).toFixed(2));
      }
      before.setAttribute("class", bar.cut ? "ex-whole ex-gone" : "ex-whole");
      letter.textContent = j === SHOWN ? "rest" : (SIGNS[symbols[order[j]]] ?? symbols[order[j]]);
      cross.textContent = bar.cut ? "×" : "";
      hit.setAttribute("aria-label", column_words({ order, stages }, j).trim());
    });
    plot.setAttribute(
      "aria-label",
      `probability of the next character after ${named(view.get("prompt"))}, in the model and after the rules, most ` +
        "probable first",
    );
    const { temperature, top_k, top_p, min_p } = settings();
    const asked = [
      "–",
      `÷ ${num(temperature, 1)}`,
      top_k === total ? "off" : `best ${top_k}`,
      top_p === 1 ? "off" : `sum ${num(top_p)}`,
      min_p === 0 ? "off" : `≥ ${num(min_p * Math.max(...third.p), 3)}`,
    ];
    table.fill({
      title: "the rules in their order; share: of the probability after the temperature; bits: entropy",
      label: "what each rule leaves, in their order",
      rows: RULES,
      cols: ["rule", "left", "share", "bits"],
      data: stages.map(({ left, share, bits }, i) => [
        { text: asked[i] },
        { text: String(left), tone: "plus", amount: (0.6 * left) / total },
        { text: num(share, 3), tone: "plus", amount: 0.6 * share },
        { text: num(bits), tone: "plus", amount: (0.6 * bits) / Math.log2(total) },
      ]),
    });
    const counts = range(beginnings.length).map((prompt) => `${named(prompt)}\u00a0${now(prompt).stages[4].left}`);
    lead.textContent = `characters left: ${counts.join(", ")}`;
    Object.assign(view.root.dataset, { order: order.join(" "), drawn: last.p.map((p) => p.toFixed(7)).join(" ") });
    explain();
  }

  const by_hundredths = (v) => rounded(v, 2);
  view.watch("prompt temperature top_k top_p min_p", draw);
  view.show(
    controls(
      choice(view, {
        name: "prompt",
        label: "beginning, after “ROMEO:” and a new line",
        options: beginnings.map((text, prompt) => [prompt, shown(text).join("")]),
      }),
    ),
    h(
      "div",
      { class: "ex-controls ex-fourrules" },
      slider(view, {
        ...{ name: "temperature", label: "temperature", min: 0.1, max: 2, step: 0.1 },
        ...{ text: (v) => num(v, 1), value: by_hundredths },
      }),
      slider(view, {
        ...{ name: "top_k", label: "top-k", min: 1, max: total },
        text: (v) => (v === total ? "off" : String(v)),
      }),
      slider(view, {
        ...{ name: "top_p", label: "top-p", min: 0.05, max: 1, step: 0.05 },
        ...{ text: (v) => (v === 1 ? "off" : num(v)), value: by_hundredths },
      }),
      slider(view, {
        ...{ name: "min_p", label: "min-p", min: 0, max: 0.5, step: 0.01 },
        ...{ text: (v) => (v === 0 ? "off" : num(v)), value: by_hundredths },
      }),
    ),
    lead,
    h(
      "div",
      { class: "ex-two ex-rulesleft" },
      h(
        "div",
        { class: "ex-panel" },
        h("p", { class: "ex-caption" }, "probability of the next character"),
        plot,
        legend,
      ),
      table.box,
    ),
  );
  draw();
  return view.done;
}

export default { render };
