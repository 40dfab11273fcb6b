// TileSteps: a row of scores in tiles, the terms of a softmax, and what is kept of them.

const WIDE = 340;
const [LEFT, RIGHT] = [22, 324];

function render({ model, el }) {
  const view = open_view(model, el);
  const [scores, values, tile] = ["scores", "values", "tile"].map((name) => model.get(name));
  const n = scores.length;
  const pitch = (RIGHT - LEFT) / n;
  const x = (k) => Number((LEFT + (k + 0.5) * pitch).toFixed(2));
  const [high, low] = [Math.max(0, ...scores), Math.min(0, ...scores)];
  const sy = (score) => Number((24 + ((high - score) / (high - low || 1)) * 80).toFixed(2));
  const ty = (share) => Number((226 - share * 64).toFixed(2));
  const ordinary = softmax(scores);
  const line = (y, name, more = {}) => ({ tag: "line", class: name, x1: LEFT, x2: RIGHT, y1: y, y2: y, ...more });

  function scene(step) {
    const [kind, now, peak, total, output] = model.get("stages")[step];
    const [start, end] = [kind === "start", kind === "end"];
    const m = peak ?? Math.max(...scores.slice(0, tile));
    const of = range(n).map((k) => Math.floor(k / tile));
    const read = of.map((t) => !start && (t < now || (t === now && kind !== "rescale"))); // its term is in the sums
    const clear = of.map((t) => (start || end || t === now ? 1 : 0.4));
    const term = scores.map((s, k) => (read[k] ? Math.exp(s - m) / (end ? total : 1) : 0));
    const last = Math.min(n, (now + 1) * tile);
    const kept = (name, x) => (start ? `${name} = ?` : `${name} = ${num(x)}`);
    return [
      {
        tag: "rect",
        class: "ex-unit",
        x: LEFT + now * tile * pitch,
        width: (last - now * tile) * pitch,
        y: 16,
        height: 260,
        opacity: start || end ? 0 : 0.7,
      },
      text_mark(0, 11, "scores s", "start", "ex-said"),
      text_mark(WIDE, 11, start ? "largest m = ?" : `largest m = ${num(m, 1)}`, "end", "ex-strong"),
      line(sy(0), "ex-axis"),
      ...range(n).map((k) => ({
        tag: "rect",
        class: !start && scores[k] === m && of[k] <= now ? "ex-rect ex-best" : "ex-rect",
        x: x(k) - 7,
        width: 14,
        y: Math.min(sy(0), sy(scores[k])),
        height: Math.abs(sy(scores[k]) - sy(0)),
        opacity: clear[k],
      })),
      line(sy(m), "ex-uniform", { opacity: start ? 0 : 1 }),
      text_mark(WIDE, sy(m) + 4, "m", "end", "ex-strong", start ? 0 : 1),
      ...range(n).map((k) => text_mark(x(k), 124, short(scores[k]), "middle", "ex-figures")),
      text_mark(0, 150, end ? "weights e^(s − m) / ℓ" : "terms e^(s − m)", "start", "ex-said"),
      text_mark(WIDE, 150, kept("sum ℓ", total), "end", "ex-strong"),
      line(ty(1), "ex-grid"),
      line(ty(0), "ex-axis"),
      text_mark(LEFT - 5, ty(1) + 4, "1", "end", ""),
      text_mark(LEFT - 5, ty(0) + 4, "0", "end", ""),
      ...range(n).map((k) => ({
        tag: "rect",
        class: "ex-rect ex-term",
        x: x(k) - 7,
        width: 14,
        y: ty(term[k]),
        height: Number((term[k] * 64).toFixed(2)),
        opacity: clear[k],
      })),
      ...range(n).map((k) => ({
        tag: "line",
        class: "ex-goal",
        x1: x(k) - 10,
        x2: x(k) + 10,
        y1: ty(ordinary[k]),
        y2: ty(ordinary[k]),
        opacity: end ? 1 : 0,
      })),
      text_mark(0, 252, "values v", "start", "ex-said"),
      text_mark(WIDE, 252, end ? `output o / ℓ = ${num(output / total)}` : kept("sum o", output), "end", "ex-strong"),
      ...range(n).map((k) => text_mark(x(k), 270, short(values[k]), "middle", "")),
      ...range(n).map((k) => ({
        tag: "rect",
        class: "ex-hit",
        x: x(k) - pitch / 2,
        width: pitch,
        y: 16,
        height: 260,
        role: "img",
        "data-i": 0,
        "data-j": k,
        "aria-label": `Key ${k + 1}: score ${num(scores[k], 1)}, value ${short(values[k])}, ${
          read[k] ? `${end ? "weight" : "term"} ${num(term[k], 3)}` : "not in the sums yet"
        }.`,
      })),
    ];
  }

  const label = `${n} scores in tiles of ${tile}, their terms, and their values`;
  return show_steps(view, { size: [WIDE, 280], label, scene });
}

export default { render };
