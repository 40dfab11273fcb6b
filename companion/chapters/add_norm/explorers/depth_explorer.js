// DepthExplorer: gradients and activations by depth for three placements of the norm. All numbers come from Python.

function render({ model, el }) {
  const view = open_view(model, el);
  const PLACEMENTS = ["post-norm", "pre-norm", "no residual"];
  const DEPTHS = [6, 12, 24];
  const SCALES = [0.5, 1, 2];
  const SIGNALS = [
    ["gradient", "gradient of the feed-forward matrix", "gradient of the second feed-forward matrix"],
    ["queries", "gradient of the query matrix", "gradient of the query matrix"],
    ["size", "size of the activations", "root mean square of the layer's output"],
    ["tokens", "difference between tokens", "share of the output that differs between tokens"],
  ];
  const FLOOR = -12;
  const levels = model.get("levels").map((row) => row.map((list) => list.split(" ").map(Number)));
  let touched = [0, 0];

  function amount(level) {
    if (level <= FLOOR) return `below ${ten_to(FLOOR)}`;
    const value = 10 ** level;
    if (level >= -2 && level < 3) return String(Number(value.toPrecision(2)));
    const exponent = Math.floor(level + 1e-9);
    const digits = (10 ** (level - exponent)).toFixed(1);
    return digits === "10.0" ? `1.0 × ${ten_to(exponent + 1)}` : `${digits} × ${ten_to(exponent)}`;
  }

  const brief = (level) => amount(level).replace("below ", "< ");

  function lines() {
    const place =
      (DEPTHS.indexOf(view.get("depth")) * SCALES.length + SCALES.indexOf(view.get("scale"))) * PLACEMENTS.length;
    const signal = SIGNALS.findIndex(([name]) => name === view.get("signal"));
    return PLACEMENTS.map((_, s) => levels[place + s][signal]);
  }

  const { plot, legend, fill } = curve_plot({
    names: PLACEMENTS,
    size: [360, 210, 44, 176],
    radius: 3,
    point: (s, j) => {
      touched = [s, j];
      speak();
    },
  });
  const table = h("div", { class: "ex-table ex-ends", role: "table", "aria-label": "first and last layer" });

  function speak() {
    const now = lines();
    const [s, j] = touched;
    const name = SIGNALS.find(([value]) => value === view.get("signal"))[2];
    view.root.dataset.point = `${s} ${j}`;
    const ends = PLACEMENTS.map((words, k) => `${words} ${amount(now[k][0])} to ${amount(now[k].at(-1))}`);
    view.say(
      h("span", { class: "ex-digits" }, `${PLACEMENTS[s]}, layer ${j + 1} of ${now[s].length}: ${amount(now[s][j])}. `),
      `The ${name}, from the first layer to the last: ${ends.join("; ")}.`,
    );
  }

  function draw() {
    const now = lines();
    const last = now[0].length - 1;
    const low = Math.floor(Math.min(...now.flat()));
    const high = Math.max(low + 1, Math.ceil(Math.max(...now.flat())));
    const name = SIGNALS.find(([value]) => value === view.get("signal"))[2];
    touched = [touched[0], Math.min(touched[1], last)];
    fill({
      label: `${name} by layer, one line for each placement of the norm`,
      title: "layer",
      ticks: [0, Math.floor(last / 2), last].map((j) => [j / last, String(j + 1)]),
      levels: decades(low, high),
      curves: now.map((list, s) =>
        list.map((v, j) => [j / last, (v - low) / (high - low), `${PLACEMENTS[s]}, layer ${j + 1}: ${amount(v)}`]),
      ),
      at: touched,
    });
    const cell = (words, role = "cell") => h("span", { role }, words);
    table.replaceChildren(
      h(
        "div",
        { role: "row", class: "ex-tablehead" },
        ["placement", "first layer", "last layer", "first / last"].map((words) => cell(words, "columnheader")),
      ),
      ...PLACEMENTS.map((words, s) => {
        const [first, end] = [now[s][0], now[s].at(-1)];
        const ratio = Math.min(first, end) <= FLOOR ? "\u2013" : amount(first - end);
        return h(
          "div",
          { role: "row", "data-placement": s },
          cell(words, "rowheader"),
          cell(brief(first)),
          cell(brief(end)),
          cell(ratio),
        );
      }),
    );
    speak();
  }

  view.watch("depth scale signal", draw);
  view.show(
    h(
      "div",
      { class: "ex-controls ex-depth" },
      menu(view, { name: "signal", label: "what is shown", options: SIGNALS.map(([value, words]) => [value, words]) }),
      slider(view, {
        name: "depth",
        label: "layers",
        min: 0,
        max: 2,
        at: (v) => DEPTHS.indexOf(v),
        value: (k) => DEPTHS[k],
      }),
      slider(view, {
        name: "scale",
        label: "initial weights times",
        min: 0,
        max: 2,
        at: (v) => SCALES.indexOf(v),
        value: (k) => SCALES[k],
      }),
    ),
    h("div", { class: "ex-two" }, h("div", null, legend, plot), table),
  );
  draw();
  return view.done;
}

export default { render };
