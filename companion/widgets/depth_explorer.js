// DepthExplorer: gradients and activations by depth for three orders of norm and sum. All numbers come from Python.

function render({ model, el }) {
  const view = open_view(model, el);
  const ORDERS = ["post-norm", "pre-norm", "no residual"];
  const DEPTHS = [6, 12, 24];
  const SCALES = [0.5, 1, 2];
  const SIGNALS = [
    ["gradient", "gradient of the feed-forward matrix", "gradient of the second feed-forward matrix"],
    ["queries", "gradient of the query matrix", "gradient of the query matrix"],
    ["size", "size of the activations", "root mean square of the layer's output"],
    ["tokens", "difference between tokens", "share of the output that differs between tokens"],
  ];
  const FLOOR = -12;
  const [W, H, LEFT, BASE] = [360, 210, 44, 176];
  const levels = model.get("levels").map((row) => row.map((list) => list.split(" ").map(Number)));
  const small = { "-": "\u207b", 0: "\u2070", 1: "\u00b9", 2: "\u00b2", 3: "\u00b3", 4: "\u2074", 5: "\u2075", 6: "\u2076", 7: "\u2077", 8: "\u2078", 9: "\u2079" };
  const power = (e) => `10${[...String(e)].map((c) => small[c]).join("")}`;
  let touched = [0, 0];

  function amount(level) {
    if (level <= FLOOR) return `below ${power(FLOOR)}`;
    const value = 10 ** level;
    if (level >= -2 && level < 3) return String(Number(value.toPrecision(2)));
    const exponent = Math.floor(level + 1e-9);
    const digits = (10 ** (level - exponent)).toFixed(1);
    return digits === "10.0" ? `1.0 × ${power(exponent + 1)}` : `${digits} × ${power(exponent)}`;
  }

  const brief = (level) => amount(level).replace("below ", "< ");

  function lines() {
    const place = (DEPTHS.indexOf(view.get("depth")) * SCALES.length + SCALES.indexOf(view.get("scale"))) * ORDERS.length;
    const signal = SIGNALS.findIndex(([name]) => name === view.get("signal"));
    return ORDERS.map((_, s) => levels[place + s][signal]);
  }

  const axis = h("g");
  const curves = ORDERS.map((_, s) => h("polyline", { class: `ex-line ex-line${s} ex-active` }));
  const dots = h("g");
  const plot = h("svg", { viewBox: `0 0 ${W} ${H}`, role: "group", class: "ex-plot" }, axis, curves, dots);
  const rover = rove(plot, (s, j) => { touched = [s, j]; speak(); });
  const legend = h("p", { class: "ex-legend" }, ORDERS.map((words, s) => h("span", null,
    h("span", { class: `ex-swatch ex-line${s}`, "aria-hidden": "true" }), words)));
  const table = h("div", { class: "ex-table ex-ends", role: "table", "aria-label": "first and last layer" });
  const text = (x, y, words, anchor = "middle") => h("text", { x, y, "text-anchor": anchor }, words);

  function speak() {
    const now = lines();
    const [s, j] = touched;
    const name = SIGNALS.find(([value]) => value === view.get("signal"))[2];
    view.root.dataset.point = `${s} ${j}`;
    const ends = ORDERS.map((words, k) => `${words} ${amount(now[k][0])} to ${amount(now[k].at(-1))}`);
    view.say(h("span", { class: "ex-digits" }, `${ORDERS[s]}, layer ${j + 1} of ${now[s].length}: ${amount(now[s][j])}. `),
      `The ${name}, from the first layer to the last: ${ends.join("; ")}.`);
  }

  function draw() {
    const now = lines();
    const count = now[0].length;
    const every = now.flat();
    const low = Math.floor(Math.min(...every));
    const high = Math.max(low + 1, Math.ceil(Math.max(...every)));
    const px = (j) => LEFT + 8 + (j / (count - 1)) * (W - LEFT - 18);
    const py = (level) => 10 + ((high - level) / (high - low)) * (BASE - 10);
    const step = Math.ceil((high - low) / 6);
    const name = SIGNALS.find(([value]) => value === view.get("signal"))[2];
    axis.replaceChildren(
      ...range(Math.floor((high - low) / step) + 1).flatMap((k) => {
        const y = py(low + k * step).toFixed(1);
        return [h("line", { class: "ex-grid", x1: LEFT, x2: W, y1: y, y2: y }), text(LEFT - 4, Number(y) + 4, power(low + k * step), "end")];
      }),
      ...[0, Math.floor((count - 1) / 2), count - 1].map((j) => text(px(j), BASE + 16, String(j + 1))),
      text(px((count - 1) / 2), BASE + 31, "layer"));
    curves.forEach((line, s) => line.setAttribute("points", now[s].map((v, j) => `${px(j).toFixed(1)},${py(v).toFixed(1)}`).join(" ")));
    touched = [touched[0], Math.min(touched[1], count - 1)];
    dots.replaceChildren(...now.flatMap((list, s) => list.map((v, j) => h("circle", {
      class: `ex-point ex-line${s}`, r: 3, cx: px(j).toFixed(1), cy: py(v).toFixed(1), role: "img", tabindex: "-1",
      "data-i": s, "data-j": j, "aria-label": `${ORDERS[s]}, layer ${j + 1}: ${amount(v)}`,
    }))));
    plot.setAttribute("aria-label", `${name} by layer, one line an order`);
    rover.enter(...touched);
    const cell = (words, role = "cell") => h("span", { role }, words);
    table.replaceChildren(
      h("div", { role: "row", class: "ex-tablehead" }, ["order", "first layer", "last layer", "first / last"].map((words) => cell(words, "columnheader"))),
      ...ORDERS.map((words, s) => {
        const [first, last] = [now[s][0], now[s].at(-1)];
        const ratio = Math.min(first, last) <= FLOOR ? "\u2013" : amount(first - last);
        return h("div", { role: "row", "data-order": s }, cell(words, "rowheader"), cell(brief(first)), cell(brief(last)), cell(ratio));
      }));
    speak();
  }

  view.watch("depth scale signal", draw);
  view.show(
    h("div", { class: "ex-controls ex-depth" },
      menu(view, { name: "signal", label: "what is shown", options: SIGNALS.map(([value, words]) => [value, words]) }),
      slider(view, {
        name: "depth", label: "layers", min: 0, max: 2, at: (v) => DEPTHS.indexOf(v), value: (k) => DEPTHS[k],
      }),
      slider(view, {
        name: "scale", label: "initial weights times", min: 0, max: 2, at: (v) => SCALES.indexOf(v), value: (k) => SCALES[k],
      })),
    h("div", { class: "ex-two" }, h("div", null, legend, plot), table),
  );
  draw();
  return view.done;
}

export default { render };
