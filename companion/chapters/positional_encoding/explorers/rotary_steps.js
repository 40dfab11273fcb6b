// RotarySteps: a query and a key on a line of positions, and their pairs of features as arrows.

const WIDE = 340;
const FURTHEST = 44; // the end of the line of positions
const TURN = 180 / Math.PI;
const SPAN = 24; // pieces of the arc between two arrows

function render({ model, el }) {
  const view = open_view(model, el);
  const contents = model.get("contents");
  const pairs = contents[0][0].length / 2;
  const most = Math.max(...contents.flat().flatMap((v) => range(pairs).map((i) => Math.hypot(v[2 * i], v[2 * i + 1]))));
  const rate = (i) => 10000 ** (-i / pairs);
  const px = (place) => Number((10 + (place / FURTHEST) * (WIDE - 20)).toFixed(2));
  const line = (x1, x2, y, name) => ({ tag: "line", class: name, x1, x2, y1: y, y2: y });
  // An arrow of a length that is a share of the longest, in a dial of radius 100.
  const arrow = (name, place, angle, share, opacity) => {
    const end = Number((94 * share).toFixed(1));
    return {
      tag: "path",
      class: `ex-arm ${name}`,
      d: `M0 0L${end} 0M${(end - 15).toFixed(1)} -9L${end} 0L${(end - 15).toFixed(1)} 9`,
      transform: `${place} rotate(${(-angle * TURN).toFixed(3)})`,
      opacity,
    };
  };

  function scene(step) {
    const [at_query, at_key, count, which] = model.get("plan")[step];
    const places = [at_query, at_key];
    const found = range(pairs).map((i) => {
      const [q, k] = contents[which].map((/** @type {number[]} */ v, who) => {
        const [a, b] = [v[2 * i], v[2 * i + 1]];
        return { long: Math.hypot(a, b), angle: Math.atan2(b, a) + rate(i) * places[who] };
      });
      return { q, k, product: q.long * k.long * Math.cos(q.angle - k.angle) };
    });
    const score = sum(found.slice(0, count).map((pair) => pair.product));
    const dial = (i) => (count === 1 ? { x: WIDE / 2, y: 152, r: 62 } : { x: 42.5 + 85 * i, y: 152, r: 38 });
    const marks = found.flatMap(({ q, k, product }, i) => {
      const { x, y, r } = dial(i);
      const there = i < count;
      const opacity = there ? 1 : 0;
      const place = `translate(${x} ${y}) scale(${r / 100})`;
      const between = Math.atan2(Math.sin(q.angle - k.angle), Math.cos(q.angle - k.angle));
      const arc = range(SPAN + 1).map((n) => (n / SPAN) * between);
      const words = `Pair ${i + 1}, ω = ${short(rate(i), false, 3)}: rotated by ${num(rate(i) * at_query, 2)} and ${num(rate(i) * at_key, 2)} radians, product ${num(product, 3)}.`;
      return [
        {
          tag: "circle",
          class: "ex-face",
          cx: x,
          cy: y,
          r,
          opacity,
          visibility: there ? "visible" : "hidden",
          role: "img",
          "data-i": 1,
          "data-j": i,
          "data-values": [product, between].map((v) => v.toFixed(6)).join(" "),
          "aria-label": words,
        },
        {
          tag: "polyline",
          class: "ex-between",
          points: arc.map((a) => `${(36 * Math.cos(a)).toFixed(2)},${(-36 * Math.sin(a)).toFixed(2)}`).join(" "),
          transform: `${place} rotate(${(-k.angle * TURN).toFixed(3)})`,
          opacity,
        },
        arrow("ex-of-query", place, q.angle, q.long / most, opacity),
        arrow("ex-of-key", place, k.angle, k.long / most, opacity),
        text_mark(x, y + r + 18, `ω = ${short(rate(i), false, 3)}`, "middle", "", opacity),
        text_mark(x, y + r + 34, `q·k ${num(product)}`, "middle", "ex-said", opacity),
      ];
    });
    const marker = (who, name, y) => ({
      tag: "circle",
      class: `ex-place ex-of-${name}`,
      cx: px(places[who]),
      cy: y,
      r: 5.5,
      role: "img",
      "data-i": 0,
      "data-j": who,
      "aria-label": `The ${name} stands at position ${places[who]}.`,
    });
    return [
      line(0, 22, 7, "ex-arm ex-of-query"),
      text_mark(28, 11, `query at ${at_query}`, "start", "ex-said"),
      line(104, 126, 7, "ex-arm ex-of-key"),
      text_mark(132, 11, `key at ${at_key}`, "start", "ex-said"),
      text_mark(WIDE, 11, `distance ${at_query - at_key}`, "end", "ex-strong"),
      line(px(0), px(FURTHEST), 48, "ex-axis"),
      ...range(FURTHEST / 10 + 1).map((n) => text_mark(px(10 * n), 63, String(10 * n), "middle", "")),
      marker(0, "query", 26),
      marker(1, "key", 39),
      text_mark(WIDE, 84, `score ${num(score, 3)}`, "end", "ex-strong"),
      ...marks,
    ];
  }

  return show_steps(view, { size: [WIDE, 254], label: "query and key at their positions, and as arrows", scene });
}

export default { render };
