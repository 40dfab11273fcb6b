// Glass: the released translator, run here. Behind tensors.js and glass_model.js, which compute, and opened.js.

const PLACES = {
  cross_attention: ["decoder", "cross-attention"],
  self_attention: ["decoder", "self-attention of the decoder"],
  attention: ["encoder", "self-attention of the encoder"],
};
const BLOCKS = {
  embedding: "embeddings and positions",
  attention: "self-attention",
  self_attention: "self-attention",
  cross_attention: "cross-attention",
  feed_forward: "feed-forward network",
};
function name_of(path) {
  const [side, , layer, part] = path.includes(".layers.") ? path.split(".") : [path.split(".")[0], "", "", "embedding"];
  const words = BLOCKS[part] ?? `after add and norm ${part.slice(-1)}`;
  return `${side}${layer ? ` layer ${layer}` : ""}: ${words}`;
}
const quoted = (word) => `“${word}”`;

// The longest list of entries that two lists have in the same order, as pairs of places.
function in_both(a, b) {
  const most = range(a.length + 1).map(() => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i -= 1)
    for (let j = b.length - 1; j >= 0; j -= 1)
      most[i][j] = a[i] === b[j] ? 1 + most[i + 1][j + 1] : Math.max(most[i + 1][j], most[i][j + 1]);
  const pairs = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) pairs.push([i++, j++]);
    else if (most[i + 1][j] >= most[i][j + 1]) i += 1;
    else j += 1;
  }
  return pairs;
}

// A heat map of vectors, one row a position; `point(i, j)` is called when a number is touched. A row whose numbers stay
// is not drawn again.
function vector_map(point) {
  const plot = h("svg", { class: "ex-plot ex-heat", role: "group" });
  const rover = rove(plot, point);
  const rows = [];
  const mark = (i, j) =>
    h("rect", {
      ...{ x: 66 + 5 * j, y: 18 * i + 1, width: 4.6, height: 16, role: "img", tabindex: "-1" },
      ...{ "data-i": i, "data-j": j },
    });
  function add_row(i, cols) {
    const name = h("text", { x: 60, y: 18 * i + 13, "text-anchor": "end" });
    const marks = range(cols).map((j) => mark(i, j));
    const box = h("g", null, name, marks);
    plot.append(box);
    return { box, name, marks, key: "" };
  }
  return {
    plot,
    fill(label, words, x) {
      const most = largest([[...x.data]]);
      plot.setAttribute("viewBox", `0 0 ${70 + 5 * x.cols} ${18 * x.rows}`);
      plot.setAttribute("aria-label", label);
      for (const { box } of rows.splice(x.rows)) box.remove();
      while (rows.length < x.rows) rows.push(add_row(rows.length, x.cols));
      rows.forEach((row, i) => {
        const key = [words[i], most, ...row_of(x, i)].join(" ");
        if (key === row.key) return;
        row.key = key;
        row.name.textContent = words[i];
        row_of(x, i).forEach((value, j) => {
          const { tone, amount } = signed(value, most);
          row.marks[j].setAttribute("class", `ex-${tone}`);
          row.marks[j].style.setProperty("--a", amount.toFixed(3));
          row.marks[j].setAttribute("aria-label", `${words[i]}, feature ${j}: ${num(value)}`);
        });
      });
      rover.enter(0, 0);
      return most;
    },
  };
}

// The words of a sentence, those that have others of their kind as menus; "a" becomes "an" where the next word asks.
function with_swaps(words, swapped) {
  const list = words.map((word, i) => swapped[i] ?? word);
  return list.map((word, i) => (/^an?$/.test(word) ? (/^[aeiou]/.test(list[i + 1]) ? "an" : "a") : word));
}

// What stands in place of the picture once the model is there. Returns its element and what draws it.
function open_glass(view, glass) {
  const sentences = view.get("sentences").map((text) => text.split(" "));
  const { words, most } = glass.about;
  const token = (word) => words.indexOf(word);
  const symbols = { start: token(glass.about.start), end: token(glass.about.end), most };
  const meaning = (word) => view.get("gloss")[word];
  const with_meaning = (word) => (/\p{L}/u.test(word) && meaning(word) ? `${word} (${meaning(word)})` : word);
  const chinese = (word, props = {}) =>
    h(
      "ruby",
      { ...props, lang: "zh" },
      word,
      h("rt", { lang: "en" }, /\p{L}/u.test(word) ? (meaning(word) ?? "") : ""),
    );
  const kind_of = (word) => view.get("kinds").find((kind) => kind.includes(word));
  const known = new Map(); // translations
  let now = null;
  let told = ""; // what is pointed at

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
    const english = with_swaps(sentences[view.get("sentence")], view.get("swapped"));
    const source = english.map(token);
    const chosen = switches();
    const written = translate(source, chosen);
    const step = Math.min(view.get("step"), written.length - 1);
    const encoder = encode_source(glass, source, chosen);
    const target = [symbols.start, ...written.slice(0, step)];
    const decoder = decode_target(glass, target, encoder.output, chosen);
    const goals = written.slice(0, step + 1).map((k) => words[k]);
    const read = target.map((k) => words[k]);
    const all = { ...encoder.kept, ...decoder.kept };
    return { english, chosen, written, step, goals, read, all, ...decoder, whole: translate(source, WHOLE) };
  }

  const line = (name) => h("p", { class: "ex-line-of-words" }, h("span", { class: "ex-name" }, name), h("span"));
  const [english, far, whole, changed] = ["English", "so far", "whole model", "with the change"].map(line);
  const fill_line = (node, ...parts) => node.lastChild.replaceChildren(...parts);
  const map = matrix({
    name: "weights",
    corner: "query",
    point(i, j) {
      told = `${map_rows_words()[i]} → ${map_cols_words()[j]}: weight ${num(row_of(weights(), i)[j])}. `;
      explain();
    },
  });
  map.table.classList.add("ex-dense");
  const bars = h("div", { class: "ex-top" });
  const side = h("div", { class: "ex-panel ex-side" }, h("p", { class: "ex-caption" }, "next word"), bars);
  const scale = h("p", { class: "ex-caption" });
  const heat = vector_map((i, j) => {
    const row = row_of(block().output, i);
    const where = `${block_words()[i]}, feature ${j}: ${num(row[j])}`;
    told = `${where}; its vector has length ${num(Math.hypot(...row))}. `;
    explain();
  });

  const side_of = () => PLACES[view.get("place")][0];
  const layer_name = () => `${side_of()}.layers.${view.get("layer")}.${view.get("place")}`;
  const weights = () => now.all[layer_name()].heads[view.get("head")].weights;
  const map_rows_words = () => (side_of() === "encoder" ? now.english : now.goals);
  const map_cols_words = () => (view.get("place") === "self_attention" ? now.read : now.english);
  const paths = () => Object.keys(now.all).filter((path) => !/norm/.test(path) || now.all[path].output);
  const block = () => now.all[paths()[view.get("block")]];
  const block_words = () => (paths()[view.get("block")].startsWith("encoder") ? now.english : now.read);

  function explain() {
    const { step, goals, probabilities, chosen, english: source } = now;
    const row = side_of() === "encoder" ? source.length - 1 : step;
    const best = largest_at(row_of(weights(), row));
    const p = row_of(probabilities, step)[token(goals[step])];
    const ends = goals[step] === glass.about.end;
    const what = ends ? "The next token ends the sentence" : `The next word is ${with_meaning(goals[step])}`;
    const head = `Layer ${view.get("layer")}, head ${view.get("head")} of the ${PLACES[view.get("place")][1]}`;
    const off = (chosen.off[layer_name()] ?? []).includes(view.get("head"));
    const subject = side_of() === "encoder" ? `, at ${quoted(source[row])},` : "";
    view.say(
      h("span", { class: "ex-digits" }, told),
      `${what}, with probability ${num(p)}. ${head}${subject} looks most at ${quoted(map_cols_words()[best])} `,
      `(${num(row_of(weights(), row)[best])})${off ? ", but it is left out" : ""}.`,
    );
    map.light([], [row, best]);
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

  function draw_translations() {
    const { whole: right, written, chosen } = now;
    const same = JSON.stringify(chosen) === JSON.stringify(WHOLE);
    const shared = in_both(right, written);
    const mark = (list, side) =>
      list.flatMap((k, i) =>
        k === symbols.end
          ? []
          : [chinese(words[k], shared.some((pair) => pair[side] === i) ? {} : { class: "ex-differs" }), " "],
      );
    fill_line(whole, ...mark(right, 0));
    fill_line(changed, ...(same ? ["nothing is left out"] : mark(written, 1)));
    view.root.dataset.whole = right.map((k) => words[k]).join(" ");
    view.root.dataset.changed = written.map((k) => words[k]).join(" ");
  }

  function draw() {
    told = "";
    now = compute();
    const { step, goals, probabilities, chosen, written } = now;
    const hidden = (i, j) => view.get("place") === "self_attention" && chosen.causal && j > i;
    draw_english();
    fill_line(far, ...goals.flatMap((word, i) => [chinese(word, i === step ? { class: "ex-next" } : {}), " "]), "?");
    const [rows, cols] = [map_rows_words(), map_cols_words()];
    map.fill({
      title: `${PLACES[view.get("place")][1]}, layer ${view.get("layer")}, head ${view.get("head")}: each row looks at the columns`,
      label: "attention weights, one row a query, one column a key",
      rows,
      cols,
      data: rows.map((row, i) =>
        cols.map((col, j) => {
          const w = row_of(weights(), i)[j];
          return { text: "", words: `${row} to ${col}: ${num(w)}`, tone: "plus", amount: w, hidden: hidden(i, j) };
        }),
      ),
    });
    const next = row_of(probabilities, step);
    const order = range(next.length).sort((a, b) => next[b] - next[a]);
    bars.replaceChildren(
      ...order
        .slice(0, 6)
        .map((k) =>
          h(
            "p",
            { class: "ex-topkey" },
            h("span", { lang: "zh" }, with_meaning(words[k])),
            h("span", { class: "ex-bar ex-plus", "aria-hidden": "true", "--a": next[k] }, h("i")),
            h("span", { class: "ex-value" }, num(next[k], 3)),
          ),
        ),
    );
    const full = heat.fill(name_of(paths()[view.get("block")]), block_words(), block().output);
    scale.textContent = `one row a position, one column a feature; blue above 0, orange below, full at ${num(full)}`;
    draw_translations();
    for (const [button, over] of ends) button.setAttribute("aria-disabled", String(over(step, written.length - 1)));
    view.root.dataset.step = step;
    explain();
  }

  const go = (to) => view.set("step", Math.max(0, Math.min(to, now.written.length - 1)));
  const ends = [
    [action("back", "back", () => go(now.step - 1)), (step) => step === 0],
    [action("next", "next word", () => go(now.step + 1)), (step, last) => step === last],
    [action("all", "all words", () => go(most)), (step, last) => step === last],
  ];
  const another = () => view.set("sentence", (view.get("sentence") + 17) % sentences.length);
  const counted = (name) => choice(view, { name, label: name, options: [0, 1].map((k) => [k, String(k)]) });
  const head_name = (text) => {
    const [path, head] = text.split(", head ");
    return `${name_of(path)}, head ${head}`;
  };
  now = compute();
  const box = h(
    "div",
    { class: "ex-glass" },
    controls(
      menu(view, { name: "sentence", label: "sentence", options: sentences.map((text, k) => [k, text.join(" ")]) }),
      action("another", "draw another", another),
    ),
    english,
    far,
    controls(...ends.map(([button]) => button)),
    controls(
      menu(view, {
        name: "place",
        label: "attention",
        options: Object.entries(PLACES).map(([k, [, text]]) => [k, text]),
      }),
      counted("layer"),
      counted("head"),
    ),
    h("div", { class: "ex-flow ex-mapflow" }, map.box, side),
    view.readout,
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
    ),
    whole,
    changed,
    h("p", { class: "ex-part" }, "Look into a block"),
    controls(menu(view, { name: "block", label: "block", options: paths().map((path, k) => [k, name_of(path)]) })),
    scale,
    heat.plot,
  );
  return { box, draw };
}

function render({ model, el }) {
  const view = open_view(model, el);
  const { source, target, weights } = view.get("still");
  const picture = matrix({
    name: "still",
    corner: "word generated",
    point: (i, j) => view.say(`${target[i]} → ${source[j]}: weight ${num(weights[i][j])}.`),
  });
  picture.table.classList.add("ex-dense");
  picture.fill({
    title: "cross-attention, layer 1, head 1: rows are the words generated, columns the words read",
    rows: target,
    cols: source,
    data: weights.map((row, i) =>
      row.map((w, j) => ({ text: "", words: `${target[i]} to ${source[j]}: ${num(w)}`, tone: "plus", amount: w })),
    ),
  });
  const { still, draw } = before_opening(view, {
    lead: "A trained Transformer, whole: run it here, word by word, and take parts out of it.",
    words: "Open the model, 290 kB",
    picture: picture.box,
    make: glass_model,
    show: open_glass,
  });
  view.watch("sentence", () => {
    view.set("swapped", {});
    view.set("step", 0);
  });
  view.watch("sentence swapped step place layer head block off causal positions norm scale", draw);
  view.show(still);
  view.say("The model’s own weights on one sentence. Point at a cell for its number.");
  return view.done;
}

export default { render };
