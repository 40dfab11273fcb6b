// GlassGPT: the small GPT, run here. Behind tensors.js and gpt_model.js, which compute, and opened.js.

const MOST = 64; // characters that it generates
const FIRST = 8; // characters whose probabilities are shown
const NAMES = { " ": "space", "\n": "new line" };
const SIGNS = { " ": "␣", "\n": "↵" };
const name_of = (symbol) => NAMES[symbol] ?? symbol;
const sign_of = (symbol) => SIGNS[symbol] ?? symbol;
const quoted = (symbol) => (NAMES[symbol] ? name_of(symbol) : `“${symbol}”`);

// Bars of probabilities: of each character the one before the cut, and the one with which it is drawn.
const bars_of = (rows) =>
  rows.map(([symbol, whole, drawn]) =>
    h(
      "p",
      { class: `ex-topkey${drawn === 0 ? " ex-cut" : ""}` },
      h("span", null, sign_of(symbol), NAMES[symbol] ? h("span", { class: "ex-heard" }, name_of(symbol)) : ""),
      h("span", { class: "ex-bar ex-twice", "aria-hidden": "true", "--a": drawn, "--b": whole }, h("i"), h("b")),
      h("span", { class: "ex-value" }, num(whole, 3)),
      h("span", { class: "ex-value" }, drawn === 0 ? "cut" : num(drawn, 3)),
    ),
  );
const bars_head = () =>
  h("p", { class: "ex-topkey ex-keyhead" }, ...["next", "", "before", "after"].map((word) => h("span", null, word)));

// The characters as boxes, one a token; a new line breaks the line. `point(j)` is called when one is touched.
function token_boxes(point) {
  const box = h("div", { class: "ex-tokens", role: "group", "aria-label": "the text, one box a token" });
  const rover = rove(box, (_, j) => point(j));
  return {
    box,
    fill(symbols, read, looks, says) {
      const most = Math.max(...looks);
      box.replaceChildren(
        ...symbols.flatMap((symbol, j) => [
          h(
            "span",
            {
              class: `ex-token ex-plus${j < read ? "" : " ex-made"}`,
              role: "img",
              tabindex: "-1",
              "data-i": 0,
              "data-j": j,
              "--a": (looks[j] / most).toFixed(3),
              "aria-label": says(j),
            },
            sign_of(symbol),
          ),
          ...(symbol === "\n" ? [h("span", { class: "ex-break" })] : []),
        ]),
      );
      rover.enter(0, symbols.length - 1);
    },
  };
}

// What the cache holds: a column for each token, a row for the keys and one for the values of each layer.
function cache_strip(layers, point) {
  const plot = h("svg", { class: "ex-plot ex-cache", role: "group", viewBox: `0 0 440 ${layers * 36}` });
  const rover = rove(plot, point);
  const rows = range(layers).flatMap((layer) => ["keys", "values"].map((part) => ({ layer, part })));
  return {
    plot,
    rows,
    fill(columns, fresh, says) {
      const width = Math.min(22, 368 / columns);
      plot.setAttribute("aria-label", `the cache: ${columns} tokens, keys and values of ${layers} layers`);
      plot.replaceChildren(
        ...rows.flatMap(({ layer, part }, i) => {
          const y = layer * 36 + (i % 2) * 16;
          return [
            h("text", { x: 66, y: y + 12, "text-anchor": "end" }, `${layer} ${part}`),
            ...range(columns).map((j) =>
              h("rect", {
                ...{ x: (72 + j * width).toFixed(1), y, width: (width - 1).toFixed(1), height: 14 },
                ...{ role: "img", tabindex: "-1", "data-i": i, "data-j": j, "aria-label": says(i, j) },
                class: j < columns - fresh ? "ex-kept" : "ex-fresh",
              }),
            ),
          ];
        }),
      );
      rover.enter(0, columns - 1);
    },
  };
}

// What stands in place of the picture once the model is there. Returns its element and what draws it.
function open_gpt(view, gpt) {
  const { n_layers, n_heads, d_model } = gpt.config;
  let path = []; // what was read: the beginning, then one character a step
  let told = ""; // what is pointed at

  const rules = () => Object.fromEntries(["temperature", "top_k", "top_p"].map((name) => [name, view.get(name)]));
  const last_row = (x) => row_of(x, x.rows - 1);
  function read(tokens, cache) {
    const found = read_tokens(gpt, tokens, cache);
    return { tokens, cache: found.cache, looks: found.looks, logits: last_row(found.logits) };
  }
  const choices_at = (step) => distribution(path[step].logits, rules());
  const drawn_at = (step) => pick(choices_at(step), uniform(view.get("series"), step));

  // Read what has not been read yet: with the same draws another rule may leave the first characters as they are.
  function walk() {
    const first = encode_text(gpt, view.get("prompt"));
    if (String(path[0]?.tokens) !== String(first)) path = [read(first)];
    for (const step of range(view.get("step"))) {
      const token = drawn_at(step);
      if (path[step + 1]?.tokens[0] === token) continue;
      path = [...path.slice(0, step + 1), read([token], path[step].cache)];
    }
    path = path.slice(0, view.get("step") + 1);
  }

  const boxes = token_boxes((j) => {
    told = `${token_words(j)} `;
    explain();
  });
  const strip = cache_strip(n_layers, (i, j) => {
    told = `${cache_words(i, j)} `;
    explain();
  });
  const bars = h("div", { class: "ex-top" });
  const text = h("p", { class: "ex-heard" });
  const held = h("p", { class: "ex-caption" });
  const refusal = h("p", { class: "ex-refusal", role: "alert" });

  const tokens_read = () => path.flatMap(({ tokens }) => tokens);
  const symbol_at = (j) => gpt.symbols[tokens_read()[j]];
  const looks_now = () => path[path.length - 1].looks[view.get("layer")][view.get("head")];
  const given = () => path[0].tokens.length;
  function token_words(j) {
    const seen = `${quoted(symbol_at(j))}, token ${tokens_read()[j]} at position ${j}, weight ${num(looks_now()[j])}`;
    if (j < given()) return `${seen}.`;
    const at = j - given();
    const place = choices_at(at).findIndex(({ token }) => token === path[at + 1].tokens[0]);
    return `${seen}; it was drawn with probability ${num(choices_at(at)[place].drawn)}, as number ${place + 1} in order.`;
  }
  function cache_words(i, j) {
    const { layer, part } = strip.rows[i];
    const { cache } = path[path.length - 1];
    const size = Math.hypot(...row_of(cache[layer][part], j));
    const one = part === "keys" ? "the key" : "the value";
    return `Layer ${layer}, ${one} of ${quoted(symbol_at(j))} at position ${j}: ${d_model} numbers, length ${num(size)}.`;
  }

  function explain() {
    const step = view.get("step");
    const choices = choices_at(step);
    const kept = choices.filter(({ drawn }) => drawn > 0).length;
    const [best] = choices;
    const next = gpt.symbols[drawn_at(step)];
    const look = largest_at(looks_now());
    view.say(
      h("span", { class: "ex-digits" }, told),
      `Most probable next: ${quoted(gpt.symbols[best.token])}, ${num(best.whole)}. `,
      `${kept} of ${choices.length} characters can be drawn; the next draw gives ${quoted(next)}. `,
      `Layer ${view.get("layer")}, head ${view.get("head")} looks most at ${quoted(symbol_at(look))} `,
      `at position ${look} (${num(looks_now()[look])}).`,
    );
  }

  function draw() {
    told = "";
    walk();
    const step = view.get("step");
    const symbols = tokens_read().map((token) => gpt.symbols[token]);
    boxes.fill(symbols, given(), looks_now(), token_words);
    text.textContent = `The text so far: ${symbols.join("")}`;
    const rows = choices_at(step).slice(0, FIRST);
    bars.replaceChildren(
      bars_head(),
      ...bars_of(rows.map(({ token, whole, drawn }) => [gpt.symbols[token], whole, drawn])),
    );
    const count = symbols.length;
    const fresh = path[path.length - 1].tokens.length;
    strip.fill(count, fresh, cache_words);
    held.textContent =
      `The cache holds ${n_layers} layers × 2 × ${count} tokens × ${d_model} = ` +
      `${(2 * n_layers * d_model * count).toLocaleString("en")} numbers. The last pass computed ` +
      `${fresh === 1 ? "one token" : `${fresh} tokens`}; without the cache it would have computed ${count}.`;
    for (const [button, over] of ends) button.setAttribute("aria-disabled", String(over(step)));
    Object.assign(view.root.dataset, { step, text: symbols.join("") });
    explain();
  }

  const go = (to) => view.set("step", Math.max(0, Math.min(to, MOST)));
  const by = (trait, words, change) => action(trait, words, () => go(view.get("step") + change));
  const ends = [
    [by("back", "back", -1), (step) => step === 0],
    [by("next", "next character", 1), (step) => step === MOST],
    [by("more", "ten more", 10), (step) => step === MOST],
  ];
  const anew = action("other", "other draws", () => view.set("series", (view.get("series") + 1) % 100));

  const id = newId();
  const field = h("textarea", { id, rows: 2, maxlength: 48, "data-trait": "prompt", spellcheck: "false" });
  const fill_field = () => {
    if (field.value !== view.get("prompt")) field.value = view.get("prompt");
  };
  field.addEventListener("input", () => {
    const unknown = [...field.value].filter((symbol) => !gpt.symbols.includes(symbol));
    refusal.textContent = unknown.length
      ? `The model knows the ${gpt.symbols.length} characters of its text, and ${quoted(unknown[0])} is none of them.`
      : field.value === ""
        ? "The model continues a text: type at least one character."
        : "";
    if (!refusal.textContent) view.set("prompt", field.value);
  });
  view.watch("prompt", fill_field);
  fill_field();

  const share = (name, label, min) =>
    slider(view, {
      name,
      label,
      min,
      max: name === "top_p" ? 1 : 2,
      step: min,
      text: (v) => num(v),
      value: rounded_to,
    });
  const rounded_to = (x) => rounded(x, 2);
  const counted = (name, n) => choice(view, { name, label: name, options: range(n).map((k) => [k, String(k)]) });
  const box = h(
    "div",
    { class: "ex-gpt" },
    h("div", { class: "ex-field ex-typed" }, h("label", { for: id }, "beginning"), field),
    refusal,
    controls(
      share("temperature", "temperature", 0.1),
      slider(view, { name: "top_k", label: "top-k", min: 1, max: gpt.symbols.length }),
      share("top_p", "top-p", 0.05),
    ),
    controls(...ends.map(([button]) => button), anew),
    boxes.box,
    text,
    h("p", { class: "ex-caption" }, "probability of the next character, before and after top-k and top-p"),
    bars,
    view.readout,
    h("p", { class: "ex-part" }, "What a head looks at"),
    controls(counted("layer", n_layers), counted("head", n_heads)),
    h("p", { class: "ex-part" }, "What the cache holds"),
    held,
    strip.plot,
  );
  return { box, draw };
}

function render({ model, el }) {
  const view = open_view(model, el);
  const { prompt, best } = view.get("still");
  const said = ([symbol, p]) => `${quoted(symbol)}: probability ${num(p, 3)}`;
  const picture = matrix({ name: "still", corner: "next character", point: (_, j) => view.say(`${said(best[j])}.`) });
  picture.fill({
    title: `probability of the next character after “${[...prompt].map(sign_of).join("")}”`,
    rows: ["next"],
    cols: best.map(([symbol]) => sign_of(symbol)),
    data: [best.map((one) => ({ text: num(one[1], 3), words: said(one), tone: "plus", amount: one[1] }))],
  });
  const { still, draw } = before_opening(view, {
    lead: "A trained GPT, whole: type a beginning, and let it go on, one character at a time.",
    picture: picture.box,
    make: gpt_model,
    show: open_gpt,
  });
  view.watch("prompt series", () => view.set("step", 0));
  view.watch("prompt step series temperature top_k top_p layer head", draw);
  view.show(still);
  view.say("The most probable characters after this beginning, from the model’s own weights. Point at one.");
  return view.done;
}

export default { render };
