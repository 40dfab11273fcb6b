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
  let shown = "";
  return {
    box,
    fill(symbols, read, looks, says) {
      const most = Math.max(...looks);
      const place = box.scrollTop;
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
      box.scrollTop = shown === symbols.join("") ? place : box.scrollHeight; // a new text shows its end
      shown = symbols.join("");
    },
  };
}

// Buttons that put the figure into the state of something to try, and one place for what each says and for `refusal`,
// as high as the longest of them. `before` is called first.
function tries_part(view, refusal, before) {
  const tries = view.get("tries");
  const hint = "Each of these sets the figure, and says here what to compare.";
  const texts = [hint, ...tries.map(({ text }) => text)].map((text) => h("p", null, text));
  const buttons = tries.map(({ title, state }, k) =>
    action(`try-${k}`, title, () => {
      before();
      const { step, ...rest } = state;
      view.set("step", 0);
      for (const [name, value] of Object.entries(rest)) view.set(name, value);
      view.set("step", step); // another beginning has set it back
      choose(k + 1);
    }),
  );
  function choose(shown) {
    texts.forEach((text, k) => text.toggleAttribute("data-shown", k === shown));
    buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(k + 1 === shown)));
  }
  choose(0);
  const label = { class: "ex-tries", role: "group", "aria-label": "things to try" };
  return h(
    "div",
    null,
    h("div", label, h("span", null, "try"), buttons),
    h("div", { class: "ex-said", "aria-live": "polite" }, texts, refusal),
  );
}

// What the cache holds: a column for each token, a row for the keys and one for the values of each layer.
function cache_strip(layers, point) {
  const plot = h("svg", { class: "ex-plot ex-cache", role: "group", viewBox: `0 0 440 ${layers * 36}` });
  const rover = rove(plot, point);
  const rows = range(layers).flatMap((layer) => ["keys", "values"].map((part) => ({ layer, part })));
  return {
    plot,
    rows,
    // `state(i, j)` is kept, fresh, or same: read anew, with the numbers that it had before.
    fill(columns, state, says, chosen) {
      const width = Math.min(12, 368 / columns);
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
                class: `ex-${state(i, j)}${chosen?.i === i && chosen.j === j ? " ex-on" : ""}`,
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
  let before = null; // the cache that was there when the beginning changed
  let told = ""; // what is pointed at
  let chosen = null; // the part of the cache that is pointed at, and its length when it was

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
    if (String(path[0]?.tokens) !== String(first)) {
      before = path.length ? path[path.length - 1].cache : null;
      path = [read(first)];
    }
    for (const step of range(view.get("step"))) {
      const token = drawn_at(step);
      if (path[step + 1]?.tokens[0] === token) continue;
      path = [...path.slice(0, step + 1), read([token], path[step].cache)];
    }
    path = path.slice(0, view.get("step") + 1);
  }

  const boxes = token_boxes((j) => {
    told = `${token_words(j)} `;
    chosen = null;
    explain();
  });
  const strip = cache_strip(n_layers, (i, j) => {
    chosen = { i, j, size: size_at(i, j) };
    told = `${cache_words(i, j)} `;
    for (const mark of strip.plot.querySelectorAll(".ex-on")) mark.classList.remove("ex-on");
    strip.plot.querySelector(`[data-i="${i}"][data-j="${j}"]`).classList.add("ex-on");
    explain();
  });
  const bars = h("div", { class: "ex-top" });
  const text = h("p", { class: "ex-heard" });
  const held = h("p", { class: "ex-caption ex-held" });
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
  const row_at = (cache, i, j) => row_of(cache[strip.rows[i].layer][strip.rows[i].part], j);
  const cache_now = () => path[path.length - 1].cache;
  const size_at = (i, j) => Math.hypot(...row_at(cache_now(), i, j));
  function cache_words(i, j) {
    const { layer, part } = strip.rows[i];
    const one = part === "keys" ? "the key" : "the value";
    const was = chosen?.i === i && chosen.j === j ? chosen.size : null;
    const now = num(size_at(i, j));
    const then = was === null || num(was) === now ? "" : ` (it was ${num(was)})`;
    return `Layer ${layer}, ${one} of ${quoted(symbol_at(j))} at position ${j}: ${d_model} numbers, length ${now}${then}.`;
  }
  // Whether a row that was read anew has the numbers that it had in the cache before, up to rounding.
  function is_same(i, j) {
    const { layer, part } = strip.rows[i];
    if (!before || j >= before[layer][part].rows) return false;
    const [old, now] = [before, cache_now()].map((cache) => row_at(cache, i, j));
    return now.every((x, k) => Math.abs(x - old[k]) < 1e-9);
  }

  function explain() {
    const step = view.get("step");
    const choices = choices_at(step);
    const kept = choices.filter(({ drawn }) => drawn > 0).length;
    const [best] = choices;
    const next = gpt.symbols[drawn_at(step)];
    const looks = looks_now();
    const look = largest_at(looks);
    const back = looks.length - 1 - look;
    const far = back === 0 ? "itself the newest" : `${back} ${back === 1 ? "character" : "characters"} back`;
    const ends = sum([...looks].filter((_, j) => symbol_at(j) === "\n"));
    view.say(
      h("span", { class: "ex-digits" }, told),
      `Most probable next: ${quoted(gpt.symbols[best.token])}, ${num(best.whole)}. `,
      `${kept} of ${choices.length} characters can be drawn; the next draw gives ${quoted(next)}. `,
      `Layer ${view.get("layer")}, head ${view.get("head")} looks most at ${quoted(symbol_at(look))}, ${far} `,
      `(${num(looks[look])}), and puts ${num(ends)} on ends of lines.`,
      step === MOST ? ` That was character ${MOST}, the last one that this figure generates.` : "",
    );
  }

  function draw() {
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
    if (chosen && chosen.j >= count) chosen = null;
    told = chosen ? `${cache_words(chosen.i, chosen.j)} ` : "";
    const state = (i, j) => (j < count - fresh ? "kept" : step === 0 && is_same(i, j) ? "same" : "fresh");
    strip.fill(count, state, cache_words, chosen);
    held.textContent =
      `The cache holds ${n_layers} layers × 2 (keys and values) × ${count} tokens × ${d_model} = ` +
      `${(2 * n_layers * d_model * count).toLocaleString("en")} numbers. ` +
      (step === 0
        ? `The whole beginning, ${fresh === 1 ? "one token" : `${fresh} tokens`}, was read in one pass.`
        : `The last pass computed one token; without the cache it would have computed ${count}.`);
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
  const anew = action("other", "other random numbers", () => view.set("series", (view.get("series") + 1) % 100));
  const plain = action("plain", "reset the sliders", () => {
    for (const [name, value] of Object.entries({ temperature: 1, top_k: gpt.symbols.length, top_p: 1 }))
      view.set(name, value);
  });
  const kinds = { kept: "from the cache", fresh: "computed in this pass", same: "computed anew, same numbers" };
  const legend = h(
    "p",
    { class: "ex-legend" },
    Object.entries(kinds).map(([name, words]) =>
      h("span", null, h("span", { class: `ex-cachekey ex-${name}`, "aria-hidden": "true" }), words),
    ),
  );

  const id = newId();
  const field = h("textarea", { id, rows: 2, maxlength: 48, "data-trait": "prompt", spellcheck: "false" });
  const fill_field = () => {
    if (field.value !== view.get("prompt")) field.value = view.get("prompt");
  };
  field.addEventListener("input", () => {
    const unknown = [...field.value].filter((symbol) => !gpt.symbols.includes(symbol));
    refusal.textContent = unknown.length
      ? `The model knows the ${gpt.symbols.length} characters of its text, and ${quoted(unknown[0])} is none of them. The figure keeps the text that was there before.`
      : field.value === ""
        ? "The model continues a text: type at least one character."
        : "";
    if (!refusal.textContent) view.set("prompt", field.value);
  });
  view.watch("prompt", fill_field);
  fill_field();
  const tries = tries_part(view, refusal, () => {
    refusal.textContent = "";
    fill_field();
  });

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
    tries,
    h("div", { class: "ex-field ex-typed" }, h("label", { for: id }, "beginning"), field),
    controls(
      share("temperature", "temperature", 0.1),
      slider(view, { name: "top_k", label: "top-k", min: 1, max: gpt.symbols.length }),
      share("top_p", "top-p", 0.05),
    ),
    controls(plain),
    controls(...ends.map(([button]) => button), anew),
    boxes.box,
    text,
    controls(
      counted("layer", n_layers),
      counted("head", n_heads),
      h("p", { class: "ex-caption" }, "The stronger the colour, the more this head looks at the character."),
    ),
    h(
      "p",
      { class: "ex-caption" },
      "probability of the next character at this temperature: tick and “before” without top-k and top-p, bar and “after” with them",
    ),
    bars,
    view.readout,
    h("p", { class: "ex-part" }, "What the cache holds"),
    held,
    strip.plot,
    legend,
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
  view.say(
    "The most probable characters after this beginning, from the model’s own weights. Choose one for its number.",
  );
  return view.done;
}

export default { render };
