// SinusoidExplorer: two positions as hands of clocks, and the dot product of their encodings by distance.

const WIDE = 340;
const SPAN = 64;
const SHOWN = 8; // clocks

function render({ model, el }) {
  const view = open_view(model, el);
  const widths = model.get("widths");
  const rate = (i, d) => 10000 ** ((-2 * i) / d);
  const now = () => {
    const d = view.get("d_model");
    const pairs = d / 2;
    const chosen = pairs <= SHOWN ? range(pairs) : range(SHOWN).map((j) => Math.round((j * (pairs - 1)) / (SHOWN - 1)));
    return { d, pairs, chosen, p: view.get("position"), k: view.get("step") };
  };
  const dot = (k, d) => sum(range(d / 2).map((i) => Math.cos(k * rate(i, d))));
  const degrees = (angle) => `${Math.round(((((angle * 180) / Math.PI) % 360) + 360) % 360)}°`;
  const waves = (i, d) => (2 * Math.PI) / rate(i, d);
  const brief = (x) => (x < 100 ? num(x, 1) : String(Math.round(x)).replace(/\B(?=(\d{3})+$)/g, ","));
  let at = null;

  // Position 0 points up, and the hands go round like those of a clock: sine to the right, cosine up.
  const face = (j) => ({ x: 42.5 + 85 * (j % 4), y: 36 + 92 * Math.floor(j / 4) });
  const clocks = range(SHOWN).map((j) => {
    const { x, y } = face(j);
    const later = h("line", { class: "ex-hand ex-later", x1: x, y1: y });
    const hand = h("line", { class: "ex-hand", x1: x, y1: y });
    const words = h("text", { x, y: y + 47, "text-anchor": "middle" });
    const dial = h("circle", {
      class: "ex-dial",
      cx: x,
      cy: y,
      r: 32,
      role: "img",
      tabindex: j ? "-1" : "0",
      "data-i": Math.floor(j / 4),
      "data-j": j % 4,
    });
    return { group: h("g", null, dial, later, hand, words), dial, hand, later, words };
  });
  const dials = h(
    "svg",
    {
      viewBox: `0 0 ${WIDE} 182`,
      role: "group",
      "aria-label": "one clock for each pair of features",
      class: "ex-plot",
    },
    clocks.map((clock) => clock.group),
  );

  const H = 150;
  const cx = (k) => 26 + ((k + SPAN) / (2 * SPAN)) * (WIDE - 34);
  const cy = (part) => 8 + ((1 - part) / 1.5) * (H - 42); // from 1 down to -0.5
  const line = h("polyline", { class: "ex-line ex-line1 ex-active ex-plain" });
  const cursor = h("line", { class: "ex-cursor", y1: 8, y2: H - 34 });
  const here = h("circle", { class: "ex-point ex-line0", r: 4 });
  const step = (WIDE - 34) / (2 * SPAN);
  const hits = range(2 * SPAN + 1).map((n) =>
    h("rect", {
      class: "ex-hit",
      x: cx(n - SPAN) - step / 2,
      width: step,
      y: 6,
      height: H - 38,
      role: "img",
      tabindex: n ? "-1" : "0",
      "data-i": 0,
      "data-j": n,
    }),
  );
  const label = (x, y, words, anchor = "middle") => h("text", { x, y, "text-anchor": anchor }, words);
  const curve = h(
    "svg",
    { viewBox: `0 0 ${WIDE} ${H}`, role: "group", "aria-label": "dot product by distance", class: "ex-plot" },
    [1, 0.5, 0, -0.5].flatMap((v) => [
      h("line", { class: "ex-grid", x1: 26, x2: WIDE - 8, y1: cy(v), y2: cy(v) }),
      label(22, cy(v) + 4, short(v), "end"),
    ]),
    [-64, -32, 0, 32, 64].map((k) => label(cx(k), H - 18, short(k), k === 64 ? "end" : "middle")),
    label(cx(0), H - 3, "distance of the two positions"),
    cursor,
    line,
    here,
    hits,
  );

  rove(dials, (i, j) => {
    at = ["clock", 4 * i + j];
    speak();
  });
  rove(curve, (_, n) => {
    at = ["distance", n - SPAN];
    speak();
  });

  function speak() {
    const { d, pairs, chosen, p, k } = now();
    let detail = "";
    if (at && at[0] === "clock" && at[1] < chosen.length) {
      const i = chosen[at[1]];
      const w = rate(i, d);
      detail =
        `Pair ${i}: one round in ${brief(waves(i, d))} positions. At ${p}: (${num(Math.sin(p * w), 3)}, ${num(Math.cos(p * w), 3)}). ` +
        `A step of ${short(k)} turns it by ${num(k * w, 3)} radians. `;
    } else if (at && at[0] === "distance") {
      detail = `Distance ${short(at[1])}: ${num(dot(at[1], d), 3)} of ${pairs}. `;
    }
    view.say(
      h("span", { class: "ex-digits" }, detail),
      `Position ${p} times position ${short(p + k)}: ${num(dot(k, d), 3)} of ${pairs}. Any two positions ${Math.abs(k)} apart have this product, on either side.`,
    );
  }

  function draw() {
    const { d, pairs, chosen, p, k } = now();
    clocks.forEach(({ group, dial, hand, later, words }, j) => {
      group.toggleAttribute("hidden", j >= chosen.length);
      group.style.display = j >= chosen.length ? "none" : "";
      if (j >= chosen.length) return;
      const i = chosen[j];
      const { x, y } = face(j);
      const angles = [p, p + k].map((place) => place * rate(i, d));
      [hand, later].forEach((arm, n) => {
        arm.setAttribute("x2", (x + (n ? 22 : 29) * Math.sin(angles[n])).toFixed(2));
        arm.setAttribute("y2", (y - (n ? 22 : 29) * Math.cos(angles[n])).toFixed(2));
      });
      words.textContent = `pair ${i}: ${brief(waves(i, d))}`;
      dial.setAttribute(
        "aria-label",
        `pair ${i}, one round in ${brief(waves(i, d))} positions: ${degrees(angles[0])} and ${degrees(angles[1])}`,
      );
      group.dataset.pair = i;
      group.dataset.values = angles
        .flatMap((angle) => [Math.sin(angle), Math.cos(angle)])
        .map((v) => v.toFixed(6))
        .join(" ");
    });
    const parts = range(2 * SPAN + 1).map((n) => dot(n - SPAN, d) / pairs);
    line.setAttribute("points", parts.map((part, n) => `${cx(n - SPAN).toFixed(1)},${cy(part).toFixed(1)}`).join(" "));
    hits.forEach((hit, n) =>
      hit.setAttribute("aria-label", `distance ${short(n - SPAN)}: ${num(parts[n] * pairs, 3)}`),
    );
    for (const name of ["x1", "x2"]) cursor.setAttribute(name, cx(k));
    here.setAttribute("cx", cx(k));
    here.setAttribute("cy", cy(parts[k + SPAN]).toFixed(1));
    view.root.dataset.dot = dot(k, d).toFixed(6);
    view.root.dataset.parts = parts.map((part) => part.toFixed(6)).join(" ");
    speak();
  }

  view.watch("d_model position step", draw);
  view.show(
    controls(
      slider(view, {
        name: "d_model",
        label: ["width ", ...math("d_model").childNodes],
        min: 0,
        max: widths.length - 1,
        at: (v) => widths.indexOf(v),
        value: (n) => widths[n],
      }),
      slider(view, { name: "position", label: "position", min: 0, max: 200 }),
      slider(view, { name: "step", label: "step to the other position", min: -SPAN, max: SPAN, text: (k) => short(k) }),
    ),
    h(
      "div",
      { class: "ex-two" },
      h(
        "div",
        { class: "ex-panel" },
        h("p", { class: "ex-caption" }, "pairs of features, with the positions that one round takes"),
        dials,
        h(
          "p",
          { class: "ex-legend" },
          h("span", null, h("span", { class: "ex-swatch ex-hand-a", "aria-hidden": "true" }), "position"),
          h("span", null, h("span", { class: "ex-swatch ex-hand-b", "aria-hidden": "true" }), "after the step"),
        ),
      ),
      h("div", { class: "ex-panel" }, h("p", { class: "ex-caption" }, "dot product, as a part of the largest"), curve),
    ),
  );
  draw();
  return view.done;
}

export default { render };
