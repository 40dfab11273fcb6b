// The search with beams as a tree: one column a generated word where there is room, else one row. Behind glass_parts.js.

const NARROWEST = 54; // pixels of a word with its meaning below it

// `name` is what a token is shown as, `meaning` the English below it; `point(node)` is called when a node is touched.
function beam_tree({ name, meaning, point }) {
  const plot = h("svg", { class: "ex-plot ex-tree", role: "group" });
  let steps = [];
  let across = true;
  const rover = rove(plot, (i, j) => point(across ? steps[j][i] : steps[i][j]));

  // Which kind of mark a node is; `won` and `greedy` are the paths of two texts.
  const kind_of_node = (node, won, greedy) =>
    [
      node.kept || node.score !== null ? "ex-kept" : "ex-dropped",
      won.has(node) ? "ex-won" : greedy.has(node) ? "ex-greedy" : "",
    ].join(" ");

  return {
    plot,
    // Draw a search into `room` pixels.
    fill({ search, greedy, room }) {
      steps = search.steps;
      const slots = Math.max(...steps.map((row) => row.length));
      across = steps.length * NARROWEST <= room;
      const wide = Math.min(Math.floor(room / (across ? steps.length : slots)), 84);
      const glossed = wide >= NARROWEST;
      const [width, height, high] = [
        wide - (across ? 12 : 6),
        glossed ? 46 : 34,
        (glossed ? 46 : 34) + (across ? 8 : 18),
      ];
      const won = new Set();
      for (let node = search.done[0]; node?.tokens.length; node = node.parent) won.add(node);
      const corner = (step, slot) => (across ? [step * wide, slot * high] : [slot * wide, step * high]);
      const [right, below] = across ? [steps.length, slots] : [slots, steps.length];
      const size = [right * wide, below * high];
      plot.setAttribute("viewBox", `0 0 ${size.join(" ")}`);
      plot.style.setProperty("width", `${size[0]}px`);
      plot.setAttribute("aria-label", `the search: one ${across ? "column" : "row"} for each generated word`);
      const edges = [];
      const nodes = [];
      steps.forEach((row, step) =>
        row.forEach((node, slot) => {
          const [x, y] = corner(step, slot);
          const kind = kind_of_node(node, won, greedy);
          if (step > 0) {
            const from = corner(step - 1, steps[step - 1].indexOf(node.parent));
            const ends = across
              ? { x1: from[0] + width, y1: from[1] + height / 2, x2: x, y2: y + height / 2 }
              : { x1: from[0] + width / 2, y1: from[1] + height, x2: x + width / 2, y2: y };
            edges.push([kind, h("line", { class: `ex-edge ${kind}`, ...ends })]);
          }
          const text = (dy, className, words) =>
            h("text", { class: className, x: x + width / 2, y: y + dy, "text-anchor": "middle" }, words);
          const ended = node.score !== null;
          const [i, j] = across ? [slot, step] : [step, slot];
          nodes.push(
            h(
              "g",
              {
                ...{ class: `ex-node ${kind}`, role: "img", tabindex: "-1", "data-i": i, "data-j": j },
                "aria-label": `word ${step + 1}, place ${slot + 1}: ${name(node)}, probability ${num(node.p)}`,
              },
              h("rect", { x, y, width, height, rx: 4 }),
              text(14, "ex-node-word", node === search.done[0] ? `${name(node)} ★` : name(node)),
              glossed ? text(27, "ex-node-gloss", ended ? `score ${num(node.score)}` : meaning(node)) : null,
              text(glossed ? 40 : 28, "ex-node-p", num(node.p)),
            ),
          );
        }),
      );
      const strength = ([kind]) => ["dropped", "kept", "greedy", "won"].findLastIndex((name) => kind.includes(name));
      edges.sort((a, b) => strength(a) - strength(b));
      plot.replaceChildren(...edges.map(([, line]) => line), ...nodes);
      rover.enter(0, 0);
      return across ? "column" : "row";
    },
  };
}

// The part of the figure with the tree, its legend and the finished texts. `compared` shows two texts with
// their differences, `read` writes one, `told` says something of a node, `name` and `meaning` are as above.
function beam_part(view, { name, meaning, read, compared, told }) {
  const caption = h("p", { class: "ex-caption" });
  const verdict = h("p", { class: "ex-verdict" });
  const texts = h("div");
  const tree = beam_tree({ name, meaning, point: (node) => told(about_node(node)) });
  const swatch = (kind, words) =>
    h("span", null, h("span", { class: `ex-swatch ${kind}`, "aria-hidden": "true" }), words);
  const legend = h(
    "p",
    { class: "ex-legend" },
    swatch("ex-won", "best text ★"),
    swatch("ex-kept", "kept"),
    swatch("ex-dropped", "dropped"),
    swatch("ex-greedy", "greedy’s path, where it differs"),
  );
  const paper = h("div", null, tree.plot);
  const width = choice(view, { name: "width", label: "beams", options: [1, 2, 3, 4].map((k) => [k, String(k)]) });
  const shown = h("div", null, verdict, caption, paper, legend, texts);
  const part = h("p", { class: "ex-part" }, "Beam search");
  const box = h(
    "div",
    { class: "ex-beams" },
    part,
    controls(toggle(view, { name: "tree", label: "show the search as a tree" }), width),
    shown,
  );
  let drawn = "";

  function about_node(node) {
    const before = node.parent.tokens.length ? `after ${read(node.parent.tokens)}` : "at the beginning";
    const sense = meaning(node) ? ` (${meaning(node)})` : "";
    const fate = node.kept ? "kept" : "dropped, as others are likelier";
    const end = node.score === null ? fate : `finished, with score ${num(node.score)}`;
    return `${name(node)}${sense}, ${before}: probability ${num(node.p)}; log-probability of the text ${num(node.log_probability)}; ${end}. `;
  }
  const ranks = ["second", "third", "fourth"];
  const line_of = (label, score, parts) =>
    h(
      "p",
      { class: "ex-line-of-words" },
      h("span", { class: "ex-name" }, `${label}: ${num(score)}`),
      h("span", null, parts),
    );

  return {
    box,
    lit: shown,
    // `find` runs the search with a width: `search`, and greedy's `tokens` with their `score`. `key` names its input.
    draw(key, find) {
      width.hidden = !view.get("tree");
      shown.hidden = width.hidden;
      if (shown.hidden) return;
      const beams = view.get("width");
      const room = paper.clientWidth || 320;
      const all = JSON.stringify([key, beams, room]);
      if (all === drawn) return;
      drawn = all;
      const { search, tokens, score } = find(beams);
      const [best] = search.done;
      const path = new Set(
        search.steps.flatMap((row) => row.filter((node) => node.tokens.every((t, k) => t === tokens[k]))),
      );
      const same = JSON.stringify(best.tokens) === JSON.stringify(tokens);
      const columns = tree.fill({ search, greedy: path, room });
      caption.textContent =
        `Each ${columns} has the ${2 * beams} likeliest ways to go on from the texts kept before, the likeliest first, each ` +
        `with the probability of its word. The first ${beams === 1 ? "one" : beams} that ${beams === 1 ? "does" : "do"} not end ${beams === 1 ? "is" : "are"} kept.`;
      verdict.textContent = same
        ? "The best text of this search is that of greedy search."
        : `The best text of this search is not that of greedy search: its score is ${num(best.score)}, that of greedy’s ${num(score)}.`;
      const [of_beam, of_greedy] = compared(best.tokens, tokens);
      const others = search.done
        .slice(1)
        .map((text, k) => line_of(ranks[k], text.score, compared(best.tokens, text.tokens)[1]));
      texts.replaceChildren(
        h(
          "p",
          { class: "ex-caption" },
          "Finished texts with their scores: the log-probability, divided by a penalty that grows with the length",
        ),
        line_of("best text", best.score, of_beam),
        ...(same ? [] : [line_of("greedy", score, of_greedy)]),
        ...others,
      );
    },
  };
}
