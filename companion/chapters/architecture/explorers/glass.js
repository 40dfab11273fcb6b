// Glass: the released translator, or a model of the reader's, run here. Behind what computes (tensors.js, glass_model.js), opened.js, and the parts
// of the figure.

// A Chinese word with the English one that it most often translates, where it translates one.
function with_gloss(view, word) {
  const meaning = view.get("gloss")[word];
  return /\p{L}/u.test(word) && meaning ? `${word} (${meaning})` : word;
}

// What stands in place of the picture once the model is there. Returns its element and what draws it.
function open_glass(view, glass) {
  const sentences = view.get("sentences").map((text) => text.split(" "));
  const { words, most } = glass.about;
  const NEXT = { class: "ex-next" };
  const [language, lang] = view.get("languages");
  const token = (word) => words.indexOf(word);
  const symbols = { start: token(glass.about.start), end: token(glass.about.end), most };
  const meaning = (word) => view.get("gloss")[word];
  const with_meaning = (word) => with_gloss(view, word);
  const chinese = (word, props = {}) =>
    h("ruby", { ...props, lang }, word, h("rt", { lang: "en" }, /\p{L}/u.test(word) ? (meaning(word) ?? "") : ""));
  // Two texts, each with the words marked that the other has not.
  const compared = (...texts) => {
    const shared = in_both(...texts);
    const marked = (side) => (k, i) => {
      const props = shared.some((pair) => pair[side] === i) ? {} : { class: "ex-differs" };
      return k === symbols.end ? [] : [chinese(words[k], props), " "];
    };
    return texts.map((tokens, side) => tokens.flatMap(marked(side)));
  };
  const kind_of = (word) => view.get("kinds").find((kind) => kind.includes(word));
  const known = new Map(); // translations
  let now = null;
  let told = ""; // what is pointed at
  let pointed = null; // the row of the map that is looked at, in place of the newest
  let moving = false; // while a tour puts the figure into a state

  function switches() {
    const [off, head] = view.get("off") ? view.get("heads")[view.get("off") - 1].split(", head ") : [];
    const parts = ["causal", "positions", "norm", "scale"].map((name) => [name, view.get(name)]);
    return { off: off ? { [off]: [Number(head)] } : {}, ...Object.fromEntries(parts) };
  }
  function translate(source, chosen) {
    const key = JSON.stringify([source, chosen]);
    if (!known.has(key)) known.set(key, write_greedily(glass, source, { ...symbols, switches: chosen }));
    return known.get(key);
  }
  function compute() {
    const english = with_swaps(sentences[view.get("sentence")], view.get("swapped"), language);
    const source = english.map(token);
    const chosen = switches();
    const key = JSON.stringify([source, chosen, view.get("step")]);
    if (key === now?.key) return now;
    const written = translate(source, chosen);
    const step = Math.min(view.get("step"), written.length - 1);
    const encoder = encode_source(glass, source, chosen);
    const target = [symbols.start, ...written.slice(0, step)];
    const decoder = decode_target(glass, target, encoder.output, chosen);
    const goals = written.slice(0, step + 1).map((k) => words[k]);
    const read = target.map((k) => words[k]);
    const all = { ...encoder.kept, ...decoder.kept };
    const whole = translate(source, WHOLE);
    return { key, english, source, chosen, written, step, goals, read, all, ...decoder, whole };
  }

  const line = (name) => h("p", { class: "ex-line-of-words" }, h("span", { class: "ex-name" }, name), h("span"));
  const [english, far, whole, changed] = [language, "so far → next", "whole model", "with the change"].map(line);
  const fill_line = (node, ...parts) => node.lastChild.replaceChildren(...parts);
  const map = matrix({
    name: "weights",
    corner: "query",
    point(i, j, how) {
      if (how === "focus" && i !== row_shown()) {
        pointed = i;
        draw_steps();
        tour.draw();
      }
      const pair = [map_rows_words()[i], map_cols_words()[j]].map(with_meaning).join(" → ");
      say_more(`${pair}: weight ${num(row_of(weights(), i)[j])}. `);
    },
  });
  const say_more = (words) => {
    told = words;
    explain();
  };
  map.table.classList.add("ex-dense");
  const bars = h("div", { class: "ex-top" });
  const lacks = h("p", { class: "ex-caption" });
  const side = h("div", { class: "ex-panel ex-side" }, lacks, bars);
  const scale = h("p", { class: "ex-caption" });
  const heat = vector_map((i, j) => {
    const row = row_of(block().output, i);
    const where = `${block_words()[i]}, feature ${j}: ${num(row[j])}`;
    reading.textContent = `${where}; its vector has length ${num(Math.hypot(...row))}. `;
    say_more(reading.textContent);
  });
  const reading = h("p", { class: "ex-reading" }); // beside the picture; read aloud with the rest
  const steps = score_steps({ told: say_more });

  const side_of = () => PLACES[view.get("place")][0];
  const layer_name = () => `${side_of()}.layers.${view.get("layer")}.${view.get("place")}`;
  const attention = () => now.all[layer_name()].heads[view.get("head")];
  const weights = () => attention().weights;
  const row_shown = () => pointed ?? map_rows_words().length - 1;
  const hidden = (i, j) => view.get("place") === "self_attention" && now.chosen.causal && j > i;
  const map_rows_words = () => (side_of() === "encoder" ? now.english : now.goals);
  const map_cols_words = () => (view.get("place") === "self_attention" ? now.read : now.english);
  const paths = () => Object.keys(now.all).filter((path) => !/norm/.test(path) || now.all[path].output);
  const block = () => now.all[paths()[view.get("block")]];
  const block_words = () => (paths()[view.get("block")].startsWith("encoder") ? now.english : now.read);

  function explain() {
    const { step, goals, probabilities, chosen } = now;
    const row = row_shown();
    const best = largest_at(row_of(weights(), row));
    const p = row_of(probabilities, step)[token(goals[step])];
    const ends = goals[step] === glass.about.end;
    const what = ends ? "The next token ends the sentence" : `The next word is ${with_meaning(goals[step])}`;
    const head = `Layer ${view.get("layer")}, head ${view.get("head")} of the ${PLACES[view.get("place")][1]}`;
    const off = (chosen.off[layer_name()] ?? []).includes(view.get("head"));
    const at = map_rows_words()[row];
    const subject = side_of() === "encoder" || pointed !== null ? `, at ${quoted(with_meaning(at))},` : "";
    const elsewhere = !chosen.causal && view.get("place") !== "self_attention";
    const looks = off ? "is left out; it would look" : "looks";
    view.say(
      h("span", { class: "ex-digits" }, told),
      `${what}, with probability ${num(p)}. ${head}${subject} ${looks} most at ${quoted(with_meaning(map_cols_words()[best]))} `,
      `(${num(row_of(weights(), row)[best])}).`,
      elsewhere ? " The causal mask acts in the self-attention of the decoder." : "",
    );
    map.light([], [row, best]);
    map.box.classList.toggle("ex-leftout", off);
  }

  // A word that has others of its kind is a menu of them. The menus stay while their kinds do, and so does the focus.
  let boxes = [];
  function draw_english() {
    const key = JSON.stringify(now.english.map((word) => kind_of(word) ?? ""));
    if (english.dataset.kinds !== key) {
      english.dataset.kinds = key;
      boxes = now.english.map((word, i) => {
        const kind = kind_of(word);
        if (!kind) return h("span");
        const onchange = () => view.set("swapped", { ...view.get("swapped"), [i]: chip.value });
        const named = { "data-trait": `swap-${i}`, "aria-label": `word ${i + 1}` };
        const chip = h(
          "select",
          { class: "ex-chip", ...named, onchange },
          ...kind.map((one) => h("option", null, one)),
        );
        return chip;
      });
      fill_line(english, ...boxes.flatMap((box) => [box, " "]));
    }
    now.english.forEach((word, i) => {
      boxes[i][boxes[i].tagName === "SELECT" ? "value" : "textContent"] = word;
    });
    view.root.dataset.english = now.english.join(" ");
  }

  // What is left out of the model.
  function missing() {
    const { off, ...parts } = now.chosen;
    const heads = Object.entries(off).flatMap(([path, list]) => list.map((k) => `head ${k} of ${name_of(path)}`));
    return [
      ...heads,
      ...Object.keys(LEFT_OUT)
        .filter((name) => !parts[name])
        .map((name) => LEFT_OUT[name]),
    ];
  }
  function draw_translations() {
    const { whole: right, written, chosen } = now;
    const same = JSON.stringify(chosen) === JSON.stringify(WHOLE);
    const [before, after] = compared(right, written);
    fill_line(whole, ...before);
    const alike = JSON.stringify(right) === JSON.stringify(written);
    fill_line(changed, ...(same ? ["nothing is left out"] : alike ? ["the same translation"] : after));
    view.root.dataset.whole = right.map((k) => words[k]).join(" ");
    view.root.dataset.changed = written.map((k) => words[k]).join(" ");
  }

  function draw_steps() {
    const row = row_shown();
    const word = map_rows_words()[row];
    const query = side_of() === "encoder" ? quoted(word) : `the step that predicts ${with_meaning(word)}`;
    steps.box.hidden = !view.get("scores");
    if (steps.box.hidden) return;
    const keys = map_cols_words();
    steps.fill({
      title: `From score to weight, for ${query}: exp is taken of the score less the largest, and divided by the sum of its column. Choose a cell in another row of the map for another query.`,
      ...{ keys, row, head: attention(), hidden: keys.map((_, j) => hidden(row, j)) },
      root: now.chosen.scale ? attention().query.cols : null,
      causal: view.get("place") === "self_attention" && now.chosen.causal,
    });
  }

  function draw() {
    if (moving) return;
    told = "";
    pointed = null;
    now = compute();
    draw_all();
  }

  function draw_all() {
    const { step, goals, probabilities, written } = now;
    draw_english();
    fill_line(far, ...goals.slice(0, -1).flatMap((word) => [chinese(word), " "]), "→ ", chinese(goals[step], NEXT));
    const [rows, cols] = [map_rows_words(), map_cols_words()];
    map.fill({
      title: `${PLACES[view.get("place")][1]}, layer ${view.get("layer")}, head ${view.get("head")}: each row looks at the columns`,
      label: "attention weights, one row a query, one column a key",
      rows: rows.map(with_meaning),
      cols: cols.map(with_meaning),
      data: rows.map((row, i) =>
        cols.map((col, j) => {
          const w = row_of(weights(), i)[j];
          return { text: "", words: `${row} to ${col}: ${num(w)}`, tone: "plus", amount: w, hidden: hidden(i, j) };
        }),
      ),
    });
    const without = missing();
    lacks.textContent =
      ["next word", `next word, without ${without[0]}`][without.length] ?? `next word, without ${without.length} parts`;
    const next = row_of(probabilities, step);
    const order = range(next.length).sort((a, b) => next[b] - next[a]);
    bars.replaceChildren(
      ...order
        .slice(0, 6)
        .map((k) =>
          h(
            "p",
            { class: "ex-topkey" },
            h("span", { lang }, with_meaning(words[k])),
            h("span", { class: "ex-bar ex-plus", "aria-hidden": "true", "--a": next[k] }, h("i")),
            h("span", { class: "ex-value" }, num(next[k], 3)),
          ),
        ),
    );
    const full = heat.fill(
      name_of(paths()[view.get("block")]),
      block_words(),
      block().output,
      block_words().map(with_meaning),
    );
    reading.textContent = "";
    scale.textContent = `one row a position, one column a feature; blue above 0, orange below, full at ${num(full)}`;
    draw_translations();
    for (const [button, over] of ends) button.setAttribute("aria-disabled", String(over(step, written.length - 1)));
    view.root.dataset.step = step;
    draw_steps();
    beams.draw([now.source, now.chosen], (width) => ({
      search: write_beam(glass, now.source, { ...symbols, width, switches: now.chosen }),
      ...{ tokens: written, score: score_text(glass, now.source, written, { ...symbols, switches: now.chosen }) },
    }));
    tour.draw();
    explain();
  }

  const all_back = { off: 0, causal: true, positions: true, norm: true, scale: true };
  function put_back(more = {}) {
    moving = true;
    for (const [name, value] of Object.entries({ ...all_back, ...more })) view.set(name, value);
    moving = false;
    draw();
  }
  const go = (to) => view.set("step", Math.max(0, Math.min(to, now.written.length - 1)));
  const ends = [
    [action("back", "back", () => go(now.step - 1)), (step) => step === 0],
    [action("next", "next word", () => go(now.step + 1)), (step, last) => step === last],
    [action("all", "all words", () => go(most)), (step, last) => step === last],
  ];
  const apart = sentences.length % 17 ? 17 : 1; // so that all have their turn
  const another = () => view.set("sentence", (view.get("sentence") + apart) % sentences.length);
  const counted = (name, most) => choice(view, { name, label: name, options: range(most).map((k) => [k, String(k)]) });
  const head_name = (text) => {
    const [path, head] = text.split(", head ");
    return `${name_of(path)}, head ${head}`;
  };
  now = compute();
  const beams = beam_part(view, {
    name: ({ token: k }) => (k === symbols.end ? "end" : words[k]),
    meaning: ({ token: k }) => (/\p{L}/u.test(words[k]) ? (meaning(words[k]) ?? "") : ""),
    read: (tokens) => tokens.map((k) => words[k]).join(""),
    ...{ compared, told: say_more },
  });
  const texts = h("div", null, whole, changed);
  const parts = { map: map.box, next: side, steps: steps.box, texts, tree: beams.lit };
  const tour = tour_part(view, {
    parts,
    row: () => pointed,
    apply(state, at) {
      moving = true;
      for (const [name, value] of Object.entries(state)) view.set(name, value);
      moving = false;
      now = compute();
      told = "";
      pointed = at ?? null;
      draw_all();
    },
  });
  view.watch("tour", () => {
    if (!view.get("tour")) put_back({ scores: false, tree: false });
    if (view.get("stop")) view.set("stop", 0);
    else tour.show();
  });
  view.watch("stop", () => tour.show());
  // Who looks into an attention sees its weights in the map above, too.
  view.watch("block", () => {
    const [, , layer, place] = paths()[view.get("block")].split(".");
    if (!PLACES[place] || moving) return;
    moving = true;
    view.set("place", place);
    view.set("layer", Number(layer));
    moving = false;
    draw();
  });
  new ResizeObserver(() => view.get("tree") && draw()).observe(beams.box);
  const box = h(
    "div",
    { class: "ex-glass" },
    tour.box,
    controls(
      menu(view, { name: "sentence", label: "sentence", options: sentences.map((text, k) => [k, text.join(" ")]) }),
      action("another", "draw another", another),
    ),
    english,
    controls(...ends.map(([button]) => button)),
    far,
    controls(
      menu(view, {
        name: "place",
        label: "attention",
        options: Object.entries(PLACES).map(([k, [, text]]) => [k, text]),
      }),
      counted("layer", glass.config.n_layers),
      counted("head", glass.config.n_heads),
    ),
    h("div", { class: "ex-flow ex-mapflow" }, map.box, side),
    hatch_key("hidden by the causal mask"),
    view.readout,
    controls(toggle(view, { name: "scores", label: "how the scores become weights" })),
    steps.box,
    h("p", { class: "ex-part" }, "Take parts out"),
    controls(
      menu(view, {
        name: "off",
        label: "head left out",
        options: ["none", ...view.get("heads").map(head_name)].map((text, k) => [k, text]),
      }),
      toggle(view, { name: "causal", label: "with causal mask" }),
      toggle(view, { name: "positions", label: "with positions" }),
      toggle(view, { name: "norm", label: "with norms" }),
      toggle(view, { name: "scale", label: "with scale" }),
      action("whole", "put everything back", () => put_back()),
    ),
    texts,
    beams.box,
    h("p", { class: "ex-part" }, "Look into a block"),
    h("div", { class: "ex-machineflow" }, machine(view, paths()), h("div", null, scale, heat.plot, reading)),
  );
  return { box, draw };
}

function render({ model, el }) {
  const view = open_view(model, el);
  const { source, target, weights, layer, head } = view.get("still");
  const picture = matrix({
    name: "still",
    corner: "word generated",
    point: (i, j) => view.say(`${target[i]} → ${source[j]}: weight ${num(weights[i][j])}.`),
  });
  picture.table.classList.add("ex-dense");
  picture.fill({
    title: `cross-attention, layer ${layer}, head ${head}: rows are the words generated, columns the words read`,
    rows: target.map((word) => with_gloss(view, word)),
    cols: source,
    data: weights.map((row, i) =>
      row.map((w, j) => ({ text: "", words: `${target[i]} to ${source[j]}: ${num(w)}`, tone: "plus", amount: w })),
    ),
  });
  const { still, draw } = before_opening(view, {
    lead: "A trained Transformer, whole: run it here, word by word, and take parts out of it.",
    picture: picture.box,
    make: glass_model,
    show: open_glass,
  });
  view.watch("sentence", () => {
    view.set("swapped", {});
    view.set("step", 0);
  });
  view.watch("sentence swapped step place layer head block off causal positions norm scale scores tree width", draw);
  view.show(still);
  view.say("The model’s own weights on one sentence. Choose a cell for its number.");
  return view.done;
}

export default { render };
