// CurveClinic: one loss curve at a time; the reader names the fault, and learns why it is that or is not.

function render({ model, el }) {
  const view = open_view(model, el);
  const [curves, causes, lines, every, top] = ["curves", "causes", "lines", "every", "top"].map(view.get);
  const [W, H, LEFT, RIGHT, TOP, BOTTOM] = [440, 230, 34, 68, 10, 26];
  let at = null;

  const svg = h("svg", { class: "ex-plot ex-clinic", viewBox: `0 0 ${W} ${H}`, role: "group" });
  rove(svg, (i, j) => {
    at = [i, j];
    speak();
  });
  const x = (k, n) => LEFT + (W - LEFT - RIGHT) * (n > 1 ? k / (n - 1) : 0);
  const y = (loss) => H - BOTTOM - ((H - BOTTOM - TOP) * Math.min(loss, top)) / top;
  const now = () => curves[view.get("curve")] || curves[0];
  const kinds = [
    ["train", "training", "ex-line1"],
    ["new", "validation", "ex-line0"],
  ];

  function speak() {
    const [curve, guess] = [now(), view.get("guess")];
    const last = curve.new.length - 1;
    const [i, j] = at === null || at[1] > last ? [0, last] : at;
    const here = `Step ${(j + 1) * every}: loss ${num(curve[kinds[i][0]][j])} in ${kinds[i][1]}. `;
    const ends = `At the end ${num(curve.train[last])} in training, ${num(curve.new[last])} in validation. `;
    const cause = causes[guess];
    const verdict = !cause
      ? "Name the fault."
      : guess === curve.cause
        ? `Yes, ${cause[0]}. ${curve.sign}`
        : `Look again. Where ${cause[0]}, the picture is another: ${cause[1]}`;
    view.root.dataset.right = cause ? String(guess === curve.cause) : "";
    view.say(h("span", { class: "ex-digits" }, here), ends, h("span", { class: "ex-verdict" }, verdict));
  }

  function draw() {
    const curve = now();
    const n = curve.train.length;
    const words = ["guessing", "floor"];
    const points = kinds.flatMap(([name, said, line], i) =>
      curve[name].map((loss, j) =>
        h("circle", {
          class: `ex-point ${line}`,
          cx: x(j, n).toFixed(1),
          cy: y(loss).toFixed(1),
          r: i ? 2.6 : 3,
          tabindex: "-1",
          role: "img",
          "data-i": i,
          "data-j": j,
          "aria-label": `step ${(j + 1) * every}, ${said}: ${num(loss)}`,
        }),
      ),
    );
    svg.setAttribute("aria-label", `run ${curve.title}: loss over ${n * every} steps`);
    svg.replaceChildren(
      h("line", { class: "ex-axis", x1: LEFT, x2: W - RIGHT, y1: H - BOTTOM, y2: H - BOTTOM }),
      h("line", { class: "ex-axis", x1: LEFT, x2: LEFT, y1: TOP, y2: H - BOTTOM }),
      ...range(Math.floor(top) + 1).map((loss) =>
        h("text", { x: LEFT - 6, y: y(loss) + 4, "text-anchor": "end" }, String(loss)),
      ),
      ...lines.flatMap((loss, k) => [
        h("line", { class: "ex-cursor", x1: LEFT, x2: W - RIGHT, y1: y(loss), y2: y(loss) }),
        h("text", { x: W - RIGHT + 5, y: y(loss) + 4 }, words[k] || ""),
      ]),
      h("text", { x: W - RIGHT, y: H - 7, "text-anchor": "end" }, `step ${n * every}`),
      ...kinds.map(([name, , line]) =>
        h("polyline", {
          class: `ex-line ${line}`,
          points: curve[name].map((loss, j) => `${x(j, n).toFixed(1)},${y(loss).toFixed(1)}`).join(" "),
        }),
      ),
      ...points,
    );
    points[0].setAttribute("tabindex", "0");
    const high = Math.max(...curve.train, ...curve.new);
    note.textContent = high > top ? `Losses above ${top} are drawn at ${top}; the highest is ${num(high, 1)}.` : "";
    view.root.dataset.curve = curve.title;
    speak();
  }

  const note = h("p", { class: "ex-note" });
  const legend = h(
    "div",
    { class: "ex-legend ex-clinic-legend" },
    kinds.map(([, said, line]) =>
      h("span", null, h("span", { class: `ex-swatch ${line}`, "aria-hidden": "true" }), said),
    ),
  );
  view.watch("curve", () => {
    at = null;
    view.set("guess", -1);
    draw();
  });
  view.watch("guess", speak);
  view.show(
    controls(
      choice(view, { name: "curve", label: "run", options: curves.map((c, k) => [k, c.title]) }),
      menu(view, {
        name: "guess",
        label: "what is wrong?",
        options: [[-1, "choose …"], ...causes.map(([name], k) => [k, name])],
      }),
    ),
    svg,
    legend,
    note,
  );
  draw();
  return view.done;
}

export default { render };
