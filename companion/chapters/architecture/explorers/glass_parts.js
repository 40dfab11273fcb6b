// Parts of the Glass Transformer's figure that need no model: names, comparisons of texts, the heat map of vectors.

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
// The blocks of the model as it is drawn: encoder left, decoder right, read from the bottom up. One of them is looked into.
function machine(view, paths) {
  const sides = ["encoder", "decoder"].map((side) => paths.filter((path) => path.startsWith(side)));
  const most = Math.max(...sides.map((side) => side.length));
  const words = (path) => {
    const [side, what] = name_of(path).split(": ");
    const [, , layer] = side.split(" ");
    return [
      h("span", { class: "ex-heard" }, `${path.split(/[._]/)[0]}: `),
      layer === undefined ? what : `${layer} ${what}`,
    ];
  };
  const options = paths.map((path, k) => [k, words(path)]);
  const label = "block: encoder left, decoder right, from the bottom up; the number is the layer";
  const box = choice(view, { name: "block", label, options, className: "ex-choice ex-machine" });
  box.querySelectorAll("label").forEach((one, k) => {
    const side = sides.findIndex((list) => list.includes(paths[k]));
    one.style.gridArea = `${most - sides[side].indexOf(paths[k])} / ${side + 1}`;
    one.classList.toggle("ex-attends", /attention$/.test(paths[k]));
  });
  return box;
}
const LEFT_OUT = { causal: "the causal mask", positions: "positions", norm: "norms", scale: "the scale" };
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
// is not drawn again. Rows are named in the picture as `names` says.
function vector_map(point) {
  const plot = h("svg", { class: "ex-plot ex-heat", role: "group" });
  const rover = rove(plot, point);
  const rows = [];
  const mark = (i, j) =>
    h("rect", {
      ...{ x: 136 + 5 * j, y: 18 * i + 1, width: 4.6, height: 16, role: "img", tabindex: "-1" },
      ...{ "data-i": i, "data-j": j },
    });
  function add_row(i, cols) {
    const name = h("text", { x: 130, y: 18 * i + 13, "text-anchor": "end" });
    const marks = range(cols).map((j) => mark(i, j));
    const box = h("g", null, name, marks);
    plot.append(box);
    return { box, name, marks, key: "" };
  }
  return {
    plot,
    fill(label, words, x, names) {
      const most = largest([[...x.data]]);
      plot.setAttribute("viewBox", `0 0 ${140 + 5 * x.cols} ${18 * x.rows}`);
      plot.setAttribute("aria-label", label);
      for (const { box } of rows.splice(x.rows)) box.remove();
      while (rows.length < x.rows) rows.push(add_row(rows.length, x.cols));
      rows.forEach((row, i) => {
        const key = [words[i], most, ...row_of(x, i)].join(" ");
        if (key === row.key) return;
        row.key = key;
        row.name.textContent = names[i];
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

// The words of a sentence, some of them swapped; in English "a" becomes "an" where the next word asks.
function with_swaps(words, swapped, language) {
  const list = words.map((word, i) => swapped[i] ?? word);
  if (language !== "English") return list;
  return list.map((word, i) => (/^an?$/.test(word) ? (/^[aeiou]/.test(list[i + 1]) ? "an" : "a") : word));
}
