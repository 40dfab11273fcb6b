// DistanceBiasExplorer: what ALiBi leaves of a weight at each distance, and which distances share a bucket of T5.

const WIDE = 340;
const FAR = 140;

// As in T5's own code the logarithm is in single precision: it decides on which side of an edge a whole number falls.
function bucket(distance, buckets, reach, causal) {
  const count = causal ? buckets : buckets / 2;
  const exact = Math.floor(count / 2);
  if (distance < exact) return distance;
  const log = Math.fround(Math.log(Math.fround(distance / exact)));
  const part = Math.fround(Math.fround(log / Math.fround(Math.log(reach / exact))) * (count - exact));
  return Math.min(count - 1, exact + Math.floor(part));
}

function render({ model, el }) {
  const view = open_view(model, el);
  const heads = model.get("heads");
  const now = () => {
    const n = view.get("n_heads");
    const head = Math.min(view.get("head"), n);
    return {
      n,
      head,
      slope: 2 ** ((-8 * head) / n),
      distance: view.get("distance"),
      found: range(FAR + 1).map((d) => bucket(d, view.get("buckets"), view.get("max_distance"), view.get("causal"))),
    };
  };
  let at = null;

  const H = 132;
  const width = (WIDE - 34) / (FAR + 1);
  const cx = (d) => 26 + (d + 0.5) * width;
  const cy = (part) => 8 + (1 - part) * (H - 42);
  const label = (x, y, words, anchor = "middle") => h("text", { x, y, "text-anchor": anchor }, words);
  const hits = (top, height) =>
    range(FAR + 1).map((d) =>
      h("rect", {
        class: "ex-hit",
        x: 26 + d * width,
        width,
        y: top,
        height,
        role: "img",
        tabindex: d ? "-1" : "0",
        "data-i": 0,
        "data-j": d,
      }),
    );
  const axis = (y) => [0, 35, 70, 105, 140].map((d) => label(cx(d), y, String(d), d === 140 ? "end" : "middle"));

  const line = h("polyline", { class: "ex-line ex-line1 ex-active ex-plain" });
  const cursors = range(2).map(() => h("line", { class: "ex-cursor", y1: 8, y2: 200 }));
  const here = h("circle", { class: "ex-point ex-line0", r: 4 });
  const slopes = hits(6, H - 38);
  const fall = h(
    "svg",
    { viewBox: `0 0 ${WIDE} ${H}`, role: "group", "aria-label": "ALiBi, by distance", class: "ex-plot" },
    [1, 0.5, 0].flatMap((v) => [
      h("line", { class: "ex-grid", x1: 26, x2: WIDE - 8, y1: cy(v), y2: cy(v) }),
      label(22, cy(v) + 4, short(v), "end"),
    ]),
    axis(H - 18),
    label(cx(70), H - 3, "distance, query minus key"),
    cursors[0],
    line,
    here,
    slopes,
  );

  const blocks = h("g");
  const shares = hits(4, 52);
  const strip = h(
    "svg",
    { viewBox: `0 0 ${WIDE} 100`, role: "group", "aria-label": "buckets of T5, by distance", class: "ex-plot" },
    blocks,
    cursors[1],
    axis(72),
    label(cx(70), 88, "distance, query minus key"),
    shares,
  );
  const headBox = h("div", { class: "ex-slot" });
  const total = h("p", { class: "ex-note" });

  for (const svg of [fall, strip])
    rove(svg, (_, d) => {
      at = d;
      speak();
    });

  const shared = (found, d) => [found.indexOf(found[d]), found.lastIndexOf(found[d])];
  const reachOf = (found, d) => {
    const [low, high] = shared(found, d);
    if (high === FAR) return `${low} and more`;
    return low === high ? `${low} alone` : `${low} to ${high}`;
  };
  const factor = (x) => (x < 0.0005 ? "less than 0.001" : num(x, 3));

  function speak() {
    const { n, head, slope, distance, found } = now();
    const d = at === null ? distance : at;
    view.say(
      h("span", { class: "ex-digits" }, `Distance ${d}. `),
      `ALiBi, head ${head} of ${n}, slope ${short(slope, false, 4)}: ${num(-slope * d)} on the score, so ${factor(Math.exp(-slope * d))} ` +
        `of the weight of an equal key at distance 0. T5: bucket ${found[d]}, for distance ${reachOf(found, d)}; one learned number a head.`,
    );
  }

  function draw() {
    const { slope, distance, found } = now();
    at = null;
    const parts = range(FAR + 1).map((d) => Math.exp(-slope * d));
    line.setAttribute("points", parts.map((part, d) => `${cx(d).toFixed(1)},${cy(part).toFixed(1)}`).join(" "));
    here.setAttribute("cx", cx(distance));
    here.setAttribute("cy", cy(parts[distance]).toFixed(1));
    for (const cursor of cursors) for (const name of ["x1", "x2"]) cursor.setAttribute(name, cx(distance));
    cursors[0].setAttribute("y2", H - 34);
    cursors[1].setAttribute("y2", 58);
    const starts = range(FAR + 1).filter((d) => d === 0 || found[d] !== found[d - 1]);
    blocks.replaceChildren(
      ...starts.flatMap((start, n) => {
        const end = n + 1 < starts.length ? starts[n + 1] : FAR + 1;
        const mine = found[start] === found[distance];
        const box = h("rect", {
          class: `ex-bucket${n % 2 ? " ex-odd" : ""}${mine ? " ex-mine" : ""}`,
          x: (26 + start * width).toFixed(2),
          y: 6,
          width: ((end - start) * width).toFixed(2),
          height: 48,
        });
        const words =
          (end - start) * width > 15
            ? [
                h(
                  "text",
                  { class: "ex-inside", x: 26 + ((start + end) / 2) * width, y: 34, "text-anchor": "middle" },
                  String(found[start]),
                ),
              ]
            : [];
        return [box, ...words];
      }),
    );
    slopes.forEach((hit, d) => hit.setAttribute("aria-label", `distance ${d}: factor ${factor(parts[d])}`));
    shares.forEach((hit, d) => hit.setAttribute("aria-label", `distance ${d}: bucket ${found[d]}`));
    const causal = view.get("causal");
    total.textContent = causal
      ? `${view.get("buckets")} buckets for the past`
      : `${view.get("buckets") / 2} buckets for the past (shown), as many for the future`;
    view.root.dataset.slope = String(slope);
    view.root.dataset.buckets = found.join(" ");
    speak();
  }

  function offer() {
    headBox.replaceChildren(
      slider(view, {
        name: "head",
        label: "head",
        min: 1,
        max: now().n,
        at: (v) => Math.min(v, now().n),
        text: (v) => String(Math.min(v, now().n)),
      }),
    );
  }

  view.watch("n_heads", offer);
  view.watch("n_heads head distance buckets max_distance causal", draw);
  offer();
  const listed = (values) => values.map((v) => [v, String(v)]);
  view.show(
    slider(view, { name: "distance", label: "distance", min: 0, max: FAR, wide: true }),
    h(
      "div",
      { class: "ex-two" },
      h(
        "div",
        null,
        controls(choice(view, { name: "n_heads", label: "ALiBi: heads", options: listed(heads) }), headBox),
        h(
          "div",
          { class: "ex-panel" },
          h("p", { class: "ex-caption" }, "ALiBi: what is left of the weight, e to the bias"),
          fall,
        ),
      ),
      h(
        "div",
        null,
        controls(
          choice(view, { name: "buckets", label: "T5: buckets", options: listed([8, 16, 32]) }),
          menu(view, { name: "max_distance", label: "largest distance", options: listed([32, 64, 128, 256]) }),
          toggle(view, { name: "causal", label: "causal" }),
        ),
        h(
          "div",
          { class: "ex-panel" },
          h("p", { class: "ex-caption" }, "T5: distances that share one number"),
          strip,
          total,
        ),
      ),
    ),
  );
  draw();
  return view.done;
}

export default { render };
