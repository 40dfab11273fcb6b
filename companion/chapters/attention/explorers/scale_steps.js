// ScaleSteps: 64 scores that spread with the width, their weights, and the derivatives of the weights.

const WIDE = 340;
const REACH = 50; // the axis of the scores, the same in all steps
const LEFT = 28;

function render({ model, el }) {
  const view = open_view(model, el);
  const dots = model.get("dots").map((row) => (typeof row === "string" ? row.split(" ").map(Number) : row));
  const n = dots[0].length;
  const sx = (score) => Number((WIDE / 2 + (score / REACH) * (WIDE / 2 - 14)).toFixed(2));
  const pitch = (WIDE - LEFT) / n;
  const line = (y, name, x1 = LEFT) => ({ tag: "line", class: name, x1, x2: WIDE, y1: y, y2: y });
  const bar = (k, share, base, tall, best) => {
    const height = Number((share * tall).toFixed(2));
    return {
      tag: "rect",
      class: best ? "ex-rect ex-best" : "ex-rect",
      x: LEFT + k * pitch,
      width: pitch - 1,
      y: base - height,
      height,
    };
  };

  function scene(step) {
    const [width, divisor] = model.get("plan")[step];
    const scores = dots[model.get("widths").indexOf(width)].map((dot) => dot / divisor);
    const weights = softmax(scores);
    const slopes = weights.map((w) => w * (1 - w));
    const mean = sum(scores) / n;
    const spread = Math.sqrt(sum(scores.map((s) => (s - mean) ** 2)) / n);
    const best = weights.indexOf(Math.max(...weights));
    const expected = Math.sqrt(width) / divisor;
    const named =
      divisor === 1
        ? `scores at width ${width}; shaded ±√${width}`
        : `scores at width ${width}, ÷ ${divisor}; shaded ±${short(expected)}`;
    return [
      text_mark(0, 11, named, "start", "ex-said"),
      text_mark(WIDE, 11, `spread ${num(spread)}`, "end", "ex-strong"),
      { tag: "rect", class: "ex-unit", x: sx(-expected), width: 2 * (sx(expected) - WIDE / 2), y: 18, height: 60 },
      line(78, "ex-axis", 0),
      ...[-REACH, -REACH / 2, 0, REACH / 2, REACH].map((s) => text_mark(sx(s), 92, short(s), "middle")),
      ...range(n).map((k) => ({
        tag: "circle",
        class: k === best ? "ex-mark ex-best" : "ex-mark",
        r: 3.2,
        cx: sx(scores[k]),
        cy: 24 + ((k * 37) % n) * (48 / n),
      })),
      text_mark(0, 114, `weights w of the ${n} keys`, "start", "ex-said"),
      text_mark(WIDE, 114, `largest ${num(weights[best], 3)}`, "end", "ex-strong"),
      line(124, "ex-grid"),
      line(184, "ex-axis"),
      text_mark(LEFT - 5, 128, "1", "end"),
      text_mark(LEFT - 5, 188, "0", "end"),
      ...range(n).map((k) => bar(k, weights[k], 184, 60, k === best)),
      text_mark(0, 206, "derivatives w (1 − w)", "start", "ex-said"),
      text_mark(WIDE, 206, `sum ${num(sum(slopes), 3)}`, "end", "ex-strong"),
      line(216, "ex-grid"),
      line(256, "ex-axis"),
      text_mark(LEFT - 5, 220, "0.25", "end"),
      text_mark(LEFT - 5, 260, "0", "end"),
      ...range(n).map((k) => bar(k, slopes[k] * 4, 256, 40, k === best)),
      ...range(n).map((k) => ({
        tag: "rect",
        class: "ex-hit",
        x: LEFT + k * pitch,
        width: pitch,
        y: 120,
        height: 140,
        role: "img",
        "data-i": 0,
        "data-j": k,
        "aria-label": `Key ${k + 1}: score ${num(scores[k])}, weight ${num(weights[k], 3)}, derivative ${num(slopes[k], 3)}.`,
      })),
    ];
  }

  const label = `the scores of ${n} keys, their weights, and the derivatives of the weights`;
  return show_steps(view, { size: [WIDE, 262], label, scene });
}

export default { render };
