// ScalingExplorer: what d_k does to the scores of one query, to their softmax and to its gradient.

const WIDE = 340; // units of every drawing: about one a pixel
const SCALINGS = [
  ["none", "no scale", "no scale"],
  ["sqrt", "1/√d_k", "scaled by 1/√d_k"],
  ["linear", "1/d_k", "scaled by 1/d_k"],
];
const MEASURES = [
  ["sd", "spread of the scores"],
  ["top", "largest weight"],
  ["entropy", "evenness: entropy (0: one key has all)"],
  ["slope", "derivatives of the softmax"],
  ["gradient", "gradient at the query"],
];
// The largest score and weight that the drawings of one query can show: the smallest step that holds them all.
const REACHES = [0.1, 0.3, 1, 3, 10, 30, 100, 300];
const TOPS = [0.03, 0.1, 0.3, 1];
const step = (steps, most) => steps.find((s) => most <= s) ?? steps[steps.length - 1];
const LEVELS = { "-1": "⁻¹", "-2": "⁻²", "-3": "⁻³", "-4": "⁻⁴", "-5": "⁻⁵", "-6": "⁻⁶" };

// Three significant digits: 22.6, 0.0412, 4.02×10⁻⁷.
function tiny(x) {
  if (x === 0 || x >= 0.001) return x.toPrecision(3);
  const [digits, power] = x.toExponential(2).split("e");
  const raised = power.replace("-", "⁻").replace(/\d/g, (d) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[d]);
  return `${digits}×10${raised}`;
}

function measures(dots, scale, gradient) {
  const scores = dots.map((x) => x * scale);
  const p = softmax(scores);
  const mean = sum(scores) / scores.length;
  return {
    scores,
    weights: p,
    sd: Math.sqrt(sum(scores.map((s) => (s - mean) ** 2)) / scores.length),
    top: Math.max(...p),
    gradient,
  };
}

function render({ model, el }) {
  const view = open_view(model, el);
  const numbers = (rows) => (typeof rows === "string" ? rows.split(" ").map(Number) : rows.map(numbers));
  const widths = model.get("widths");
  const dots = numbers(model.get("dots"));
  const gradients = numbers(model.get("gradients"));
  const quantiles = numbers(model.get("quantiles"));
  const nDraws = dots[0].length;
  const nKeys = dots[0][0].length;
  const factor = (s, w) => [1, 1 / Math.sqrt(widths[w]), 1 / widths[w]][s];
  const query = ({ s, w, q }) => measures(dots[w][q], factor(s, w), gradients[w][s][q]);
  // The 10%, 50% and 90% quantiles of a measure over 2048 queries, computed by the package.
  const spread = (s, w, name) => quantiles[w][s][MEASURES.findIndex(([value]) => value === name)];

  const state = () => ({
    s: SCALINGS.findIndex(([value]) => value === model.get("scaling")),
    w: widths.indexOf(model.get("d_k")),
    q: model.get("draw"),
  });
  const text = (x, y, words, anchor = "middle") => h("text", { x, y, "text-anchor": anchor }, words);

  // 64 scores on an axis of one of the fixed lengths; the shaded part is always from -1 to 1.
  const sx = (part) => WIDE / 2 + part * (WIDE / 2 - 8);
  const unit = h("rect", { class: "ex-unit", y: 6, height: 57 });
  const reaches = [-1, -0.5, 0, 0.5, 1].map((f) =>
    text(sx(f), 80, "", f === -1 ? "start" : f === 1 ? "end" : "middle"),
  );
  const reachNote = h("strong");
  const marks = range(nKeys).map((k) =>
    h("circle", { class: "ex-mark", r: 3.2, cy: 12 + ((k * 37) % nKeys) * (44 / nKeys) }),
  );
  const strip = h(
    "svg",
    { viewBox: `0 0 ${WIDE} 84`, role: "img", class: "ex-plot" },
    unit,
    h("line", { class: "ex-axis", x1: 0, x2: WIDE, y1: 63, y2: 63 }),
    [-1, -0.5, 0, 0.5, 1].map((f) => h("line", { class: "ex-axis", x1: sx(f), x2: sx(f), y1: 63, y2: 67 })),
    reaches,
    marks,
  );

  // Their weights, largest first.
  const H = 120;
  const bw = (WIDE - 34) / nKeys;
  const by = (part) => 8 + (1 - part) * (H - 16);
  const tops = [0, 0.5, 1].map((f) => text(27, by(f) + 4, "", "end"));
  const topNote = h("strong");
  const even = h("line", { class: "ex-uniform", x1: 32, x2: WIDE });
  const bars = range(nKeys).map((k) =>
    h("rect", { class: k ? "ex-rect" : "ex-rect ex-best", x: 32 + k * bw, width: Math.max(1, bw - 1) }),
  );
  const hits = range(nKeys).map((k) =>
    h("rect", {
      class: "ex-hit",
      x: 32 + k * bw,
      width: bw,
      y: 4,
      height: H - 8,
      role: "img",
      tabindex: k ? "-1" : "0",
      "data-i": 0,
      "data-j": k,
    }),
  );
  const chart = h(
    "svg",
    {
      viewBox: `0 0 ${WIDE} ${H}`,
      role: "group",
      "aria-label": "weights of the 64 keys, largest first",
      class: "ex-plot",
    },
    [0, 0.5, 1].map((f) => h("line", { class: "ex-grid", x1: 32, x2: WIDE, y1: by(f), y2: by(f) })),
    tops,
    bars,
    even,
    hits,
  );

  // One measure over every width, for the three scalings.
  const C = 178;
  const cx = (w) => 42 + (w / (widths.length - 1)) * (WIDE - 56);
  const axis = h("g");
  const whiskers = widths.map(() => h("line", { class: "ex-whisker" }));
  const lines = SCALINGS.map((_, s) => h("polyline", { class: `ex-line ex-scale${s}` }));
  const points = SCALINGS.map((_, s) =>
    widths.map((__, w) =>
      h("circle", {
        class: `ex-point ex-scale${s}`,
        r: 3.5,
        cx: cx(w),
        role: "img",
        tabindex: "-1",
        "data-i": s,
        "data-j": w,
      }),
    ),
  );
  const cursor = h("line", { class: "ex-cursor", y1: 8, y2: C - 28 });
  const curves = h(
    "svg",
    { viewBox: `0 0 ${WIDE} ${C}`, role: "group", class: "ex-plot" },
    axis,
    cursor,
    whiskers,
    lines,
    points.flat(),
  );
  const legend = h(
    "p",
    { class: "ex-legend" },
    SCALINGS.map(([, words], s) =>
      h("span", null, h("span", { class: `ex-swatch ex-scale${s}`, "aria-hidden": "true" }), math(words)),
    ),
  );

  const scales = {
    top: { ticks: [0, 0.5, 1], y: (v) => v },
    entropy: { ticks: [0, 2, 4], y: (v) => v / Math.log(nKeys) },
    slope: { log: [-6, 0] },
    gradient: { log: [-6, 2] },
  };
  const cy = (name, v) => {
    const { log, y } = scales[name];
    const part = log ? (Math.max(log[0], Math.log10(Math.max(v, 1e-300))) - log[0]) / (log[1] - log[0]) : y(v);
    return C - 30 - part * (C - 42);
  };

  const table = h("div", {
    class: "ex-table",
    role: "table",
    "aria-label": "the numbers of this query and of all queries",
  });
  let touched = null;

  rove(chart, (_, k) => {
    touched = ["bar", k];
    speak();
  });
  rove(curves, (s, w) => {
    touched = ["point", s, w];
    speak();
  });

  const named = (s) => SCALINGS[s][2];

  function speak() {
    const { s, w, q } = state();
    const m = query({ s, w, q });
    const order = range(nKeys).sort((a, b) => m.weights[b] - m.weights[a]);
    marks.forEach((mark, k) => {
      mark.classList.toggle("ex-best", k === order[0]);
      mark.classList.toggle("ex-on", touched !== null && touched[0] === "bar" && k === order[touched[1]]);
    });
    const [low, middle] = spread(s, w, "gradient");
    const general =
      `d_k = ${widths[w]}, ${named(s)}: the scores have a standard deviation of ${tiny(m.sd)}, the largest weight is ` +
      `${tiny(m.top)}. Over many queries the median gradient is ${tiny(middle)}; one query in ten has less than ` +
      `${tiny(low)}.`;
    let detail = "";
    if (touched && touched[0] === "bar") {
      const k = order[touched[1]];
      detail = `Rank ${touched[1] + 1} of ${nKeys}: score ${num(m.scores[k])}, weight ${tiny(m.weights[k])}. `;
    } else if (touched) {
      const [, ts, tw] = touched;
      const [least, mid, most] = spread(ts, tw, model.get("measure"));
      detail = `d_k = ${widths[tw]}, ${named(ts)}: median ${tiny(mid)}, eight queries in ten between ${tiny(least)} and ${tiny(most)}. `;
    }
    view.say(
      ...(detail ? [h("span", { class: "ex-digits" }, ...math(detail).childNodes)] : []),
      ...math(general).childNodes,
    );
  }

  function draw() {
    const { s, w, q } = state();
    const m = query({ s, w, q });
    const order = range(nKeys).sort((a, b) => m.weights[b] - m.weights[a]);
    view.root.dataset.draw = q;
    const reach = step(REACHES, Math.max(...m.scores.map(Math.abs)));
    const most = step(TOPS, m.top);
    reachNote.textContent = `±${reach}`;
    topNote.textContent = `0 to ${most}`;
    reaches.forEach((tick, k) => {
      tick.textContent = short((k / 2 - 1) * reach, false, 3);
    });
    tops.forEach((tick, k) => {
      tick.textContent = short((k / 2) * most, false, 3);
    });
    const side = sx(Math.min(1, 1 / reach)) - sx(0);
    unit.setAttribute("x", (sx(0) - side).toFixed(2));
    unit.setAttribute("width", (2 * side).toFixed(2));
    for (const y of ["y1", "y2"]) even.setAttribute(y, by(1 / nKeys / most).toFixed(2));
    marks.forEach((mark, k) => mark.setAttribute("cx", sx(m.scores[k] / reach).toFixed(2)));
    strip.setAttribute(
      "aria-label",
      `${nKeys} scores on an axis from ${MINUS}${reach} to ${reach}: from ${num(Math.min(...m.scores))} to ${num(Math.max(...m.scores))}`,
    );
    order.forEach((k, rank) => {
      const y = by(m.weights[k] / most);
      bars[rank].setAttribute("y", y.toFixed(2));
      bars[rank].setAttribute("height", (by(0) - y).toFixed(2));
      hits[rank].setAttribute(
        "aria-label",
        `rank ${rank + 1}: score ${num(m.scores[k])}, weight ${tiny(m.weights[k])}`,
      );
    });
    const cell = (words, role = "cell") => h("span", { role }, words);
    table.replaceChildren(
      h(
        "div",
        { role: "row", class: "ex-tablehead" },
        ["measure", "this query", "median of 2048", "a tenth is below"].map((words) => cell(words, "columnheader")),
      ),
      ...MEASURES.filter(([name]) => name in m).map(([name, words]) => {
        const [low, middle] = spread(s, w, name);
        const row = h(
          "div",
          { role: "row", "data-measure": name },
          cell(words, "rowheader"),
          [m[name], middle, low].map((v) => cell(tiny(v))),
        );
        row.dataset.values = [m[name], middle, low].map((v) => v.toPrecision(8)).join(" ");
        return row;
      }),
    );

    const name = model.get("measure");
    const { log, ticks } = scales[name];
    const at = log ? range((log[1] - log[0]) / 2 + 1).map((k) => log[0] + 2 * k) : ticks;
    axis.replaceChildren(
      ...at.flatMap((v) => {
        const y = cy(name, log ? 10 ** v : v);
        const words = log ? (v === 0 ? "1" : v === 2 ? "100" : `10${LEVELS[v]}`) : short(v);
        return [h("line", { class: "ex-grid", x1: 36, x2: WIDE, y1: y, y2: y }), text(32, y + 4, words, "end")];
      }),
      ...widths.map((v, k) => (k % 3 === 0 ? text(cx(k), C - 14, String(v)) : null)).filter(Boolean),
      text(cx(4.5), C - 1, "width of query and key"),
    );
    cursor.setAttribute("x1", cx(w));
    cursor.setAttribute("x2", cx(w));
    SCALINGS.forEach((_, k) => {
      const ys = widths.map((__, v) => cy(name, spread(k, v, name)[1]));
      lines[k].setAttribute("points", ys.map((y, v) => `${cx(v).toFixed(1)},${y.toFixed(1)}`).join(" "));
      lines[k].classList.toggle("ex-active", k === s);
      points[k].forEach((point, v) => {
        point.setAttribute("cy", ys[v].toFixed(1));
        point.setAttribute("aria-label", `d_k ${widths[v]}, ${named(k)}: median ${tiny(spread(k, v, name)[1])}`);
      });
    });
    whiskers.forEach((line, v) => {
      const [low, , high] = spread(s, v, name);
      for (const [key, x] of Object.entries({
        x1: cx(v),
        x2: cx(v),
        y1: cy(name, low).toFixed(1),
        y2: cy(name, high).toFixed(1),
      }))
        line.setAttribute(key, x);
    });
    curves.setAttribute("aria-label", `${MEASURES.find(([value]) => value === name)[1]} over d_k, one line a scaling`);
    if (!curves.querySelector('[tabindex="0"]')) points[s][w].setAttribute("tabindex", "0");
    speak();
  }

  view.watch("d_k scaling draw measure", draw);
  const panel = (words, ...nodes) =>
    h("div", { class: "ex-panel" }, h("p", { class: "ex-caption" }, ...words), ...nodes);
  view.show(
    controls(
      slider(view, {
        name: "d_k",
        label: ["width ", ...math("d_k").childNodes],
        min: 1,
        max: widths.length,
        at: (v) => widths.indexOf(v) + 1,
        value: (x) => widths[x - 1],
      }),
      choice(view, {
        name: "scaling",
        label: "Factor of the scores",
        options: SCALINGS.map(([value, words]) => [value, [...math(words).childNodes]]),
      }),
      h(
        "button",
        { type: "button", "data-trait": "draw", onclick: () => view.set("draw", (model.get("draw") + 1) % nDraws) },
        "Another query",
      ),
    ),
    h(
      "div",
      { class: "ex-two" },
      h(
        "div",
        null,
        panel([`${nKeys} scores of one query; axis `, reachNote, `, shaded: ${MINUS}1\u00a0to\u00a01`], strip),
        panel(["their weights, largest first; axis ", topNote, `, dashed: 1/${nKeys}, all equal`], chart),
        h(
          "p",
          { class: "ex-note" },
          "Both axes change in steps (±100, ±30, ±10 …): each the smallest that holds this query.",
        ),
      ),
      h("div", null, table),
    ),
    h(
      "div",
      { class: "ex-two ex-over" },
      h(
        "div",
        null,
        menu(view, { name: "measure", label: "over every width", options: MEASURES.slice(1) }),
        legend,
        h(
          "p",
          { class: "ex-note" },
          "Lines: medians of 2048 queries. Bars: eight queries in ten, for the scaling chosen above. What is below 10⁻⁶ is drawn there.",
        ),
      ),
      curves,
    ),
  );
  draw();
  return view.done;
}

export default { render };
