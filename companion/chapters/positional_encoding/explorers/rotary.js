// RotaryExplorer: the pairs of one query and one key, rotated by their positions, and the score that comes out.

const WIDE = 340;
const SPAN = 64;

function render({ model, el }) {
  const view = open_view(model, el);
  const [query, key] = [model.get("query"), model.get("key")];
  const pairs = query.length / 2;
  const rate = (i) => 10000 ** (-i / pairs);
  const features = (i, layout) => (layout === "half" ? [i, i + pairs] : [2 * i, 2 * i + 1]);
  const turn = (vector, i, place, layout) => {
    const [a, b] = features(i, layout).map((f) => vector[f]);
    const [cos, sin] = [Math.cos(place * rate(i)), Math.sin(place * rate(i))];
    return [a * cos - b * sin, b * cos + a * sin];
  };
  const terms = (p, distance, layout) =>
    range(pairs).map((i) => {
      const [q, k] = [turn(query, i, p, layout), turn(key, i, p - distance, layout)];
      return { q, k, product: q[0] * k[0] + q[1] * k[1] };
    });
  const score = (p, distance, layout) => sum(terms(p, distance, layout).map((t) => t.product));
  const now = () => ({ p: view.get("position"), distance: view.get("distance"), layout: view.get("pairing") });
  /** @param {number[]} v */
  const degrees = ([a, b]) => `${Math.round(((Math.atan2(b, a) * 180) / Math.PI + 360) % 360)}°`;
  const most = Math.max(
    ...[query, key].flatMap((v) =>
      LAYOUTS.flatMap(([layout]) => range(pairs).map((i) => Math.hypot(...features(i, layout).map((f) => v[f])))),
    ),
    1e-9,
  );
  let at = [0, 2];

  const columns = Math.min(pairs, 4);
  const rows = Math.ceil(pairs / 4);
  const face = (i) => ({ x: 42.5 + 85 * (i % 4), y: 36 + 92 * Math.floor(i / 4) });
  const clocks = range(pairs).map((i) => {
    const { x, y } = face(i);
    const hand = h("line", { class: "ex-hand", x1: x, y1: y });
    const later = h("line", { class: "ex-hand ex-later", x1: x, y1: y });
    const words = h("text", { x, y: y + 47, "text-anchor": "middle" });
    return {
      group: h("g", null, h("circle", { class: "ex-dial", cx: x, cy: y, r: 32 }), hand, later, words),
      hand,
      later,
      words,
    };
  });
  const dials = h(
    "svg",
    { viewBox: `0 0 ${85 * columns} ${92 * rows}`, role: "img", class: "ex-plot" },
    clocks.map((c) => c.group),
  );

  const table = matrix({
    name: "pairs",
    corner: "pair of features",
    point: (i, j) => {
      at = [i, j];
      speak();
    },
  });

  const H = 150;
  const cx = (d) => 30 + (d / SPAN) * (WIDE - 40);
  const line = h("polyline", { class: "ex-line ex-line1 ex-active ex-plain" });
  const grid = h("g");
  const cursor = h("line", { class: "ex-cursor", y1: 8, y2: H - 34 });
  const here = h("circle", { class: "ex-point ex-line0", r: 4 });
  const label = (x, y, words, anchor = "middle") => h("text", { x, y, "text-anchor": anchor }, words);
  const curve = h(
    "svg",
    { viewBox: `0 0 ${WIDE} ${H}`, role: "img", class: "ex-plot" },
    grid,
    [0, 16, 32, 48, 64].map((d) => label(cx(d), H - 18, String(d), d === 64 ? "end" : "middle")),
    label(cx(32), H - 3, "distance"),
    cursor,
    line,
    here,
  );

  function speak() {
    const { p, distance, layout } = now();
    const found = terms(p, distance, layout);
    const [i] = at;
    const { q, k, product } = found[i];
    const digits = fewest(
      2,
      (d) =>
        Math.abs(rounded(q[0], d) * rounded(k[0], d) + rounded(q[1], d) * rounded(k[1], d) - product) <
          0.5 * 10 ** -2 &&
        rounded(rounded(q[0], d) * rounded(k[0], d) + rounded(q[1], d) * rounded(k[1], d), 2) === rounded(product, 2),
    );
    table.light([], at);
    view.root.dataset.cell = at.join(" ");
    view.say(
      h(
        "span",
        { class: "ex-words" },
        `Features ${features(i, layout).join(" and ")}, ${num(rate(i), 3)} radians a position: `,
      ),
      h(
        "span",
        { class: "ex-digits" },
        `${short(q[0], false, digits)} × ${short(k[0], true, digits)} + ${short(q[1], true, digits)} × ${short(k[1], true, digits)} = ${num(product)}`,
      ),
      `. All pairs: score ${num(sum(found.map((t) => t.product)), 3)} for every query and key ${distance} apart.`,
    );
  }

  function draw() {
    const { p, distance, layout } = now();
    const found = terms(p, distance, layout);
    clocks.forEach(({ hand, later, words, group }, i) => {
      const { x, y } = face(i);
      [
        [hand, found[i].q],
        [later, found[i].k],
      ].forEach(([arm, [a, b]]) => {
        arm.setAttribute("x2", (x + (30 * a) / most).toFixed(2));
        arm.setAttribute("y2", (y - (30 * b) / most).toFixed(2));
      });
      words.textContent = `features ${features(i, layout).join(", ")}`;
      group.dataset.values = [...found[i].q, ...found[i].k].map((v) => v.toFixed(6)).join(" ");
    });
    dials.setAttribute("aria-label", `${pairs} pairs, query at position ${p}, key at ${p - distance}`);
    table.fill({
      title: "angles of query and key, and their product",
      label: "one row a pair",
      rows: range(pairs).map((i) => features(i, layout).join(", ")),
      cols: ["query", "key", "product"],
      data: found.map(({ q, k, product }, i) => [
        { text: degrees(q), words: `pair ${i}, query: ${degrees(q)}` },
        { text: degrees(k), words: `pair ${i}, key: ${degrees(k)}` },
        {
          text: num(product),
          words: `pair ${i}, product: ${num(product, 3)}`,
          ...signed(product, largest([found.map((t) => t.product)])),
        },
      ]),
    });
    table.enter(...at);
    const scores = range(SPAN + 1).map((d) => score(p, d, layout));
    const reach = Math.max(1, Math.ceil(Math.max(...scores.map(Math.abs))));
    const cy = (v) => 8 + ((1 - v / reach) / 2) * (H - 42);
    grid.replaceChildren(
      ...[reach, 0, -reach].flatMap((v) => [
        h("line", { class: "ex-grid", x1: 30, x2: WIDE - 10, y1: cy(v), y2: cy(v) }),
        label(25, cy(v) + 4, short(v), "end"),
      ]),
    );
    line.setAttribute("points", scores.map((v, d) => `${cx(d).toFixed(1)},${cy(v).toFixed(1)}`).join(" "));
    curve.setAttribute(
      "aria-label",
      `score by distance, from ${num(Math.min(...scores))} to ${num(Math.max(...scores))}`,
    );
    for (const name of ["x1", "x2"]) cursor.setAttribute(name, cx(distance));
    here.setAttribute("cx", cx(distance));
    here.setAttribute("cy", cy(scores[distance]).toFixed(1));
    view.root.dataset.score = scores[distance].toFixed(6);
    view.root.dataset.scores = scores.map((v) => v.toFixed(6)).join(" ");
    speak();
  }

  view.watch("position distance pairing", draw);
  view.show(
    controls(
      slider(view, { name: "position", label: "both: position of the query", min: 0, max: 200 }),
      slider(view, { name: "distance", label: "distance to the key", min: 0, max: SPAN }),
      choice(view, { name: "pairing", label: "which features are a pair", options: LAYOUTS }),
    ),
    h(
      "div",
      { class: "ex-two" },
      h(
        "div",
        { class: "ex-panel" },
        h("p", { class: "ex-caption" }, "the pairs, rotated"),
        dials,
        h(
          "p",
          { class: "ex-legend" },
          h("span", null, h("span", { class: "ex-swatch ex-hand-a", "aria-hidden": "true" }), "query"),
          h("span", null, h("span", { class: "ex-swatch ex-hand-b", "aria-hidden": "true" }), "key"),
        ),
      ),
      h(
        "div",
        { class: "ex-panel" },
        h("p", { class: "ex-caption" }, "score by distance, the same for each position"),
        curve,
      ),
    ),
    table.box,
  );
  draw();
  return view.done;
}

const LAYOUTS = [
  ["interleaved", "interleaved"],
  ["half", "half"],
];

export default { render };
