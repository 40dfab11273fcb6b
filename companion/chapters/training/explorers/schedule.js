// ScheduleExplorer: the learning rate over the steps, with the inverse square root of 2017 or a cosine after a warm-up.

function render({ model, el }) {
  const view = open_view(model, el);
  const lists = {
    d_model: model.get("widths"),
    warmup: model.get("warmups"),
    total: model.get("totals"),
    peak: model.get("peaks"),
  };
  const grouped = (x) => String(x).replace(/\B(?=(\d{3})+$)/g, ",");
  const power = (x) => {
    if (x === 0) return "0";
    const [digits, exponent] = x.toExponential(2).split("e");
    return `${digits}e${minus(exponent.replace("+", ""))}`;
  };
  const [W, H, LEFT, TOP, BOTTOM] = [420, 210, 54, 12, 28];
  let at = null;

  function rate(step) {
    const w = view.get("warmup");
    if (view.get("kind") === "root") return view.get("d_model") ** -0.5 * Math.min(step ** -0.5, step * w ** -1.5);
    if (step <= w) return (view.get("peak") * step) / w;
    const progress = Math.min(1, (step - w) / (view.get("total") - w));
    return (view.get("peak") * (1 + Math.cos(Math.PI * progress))) / 2;
  }
  function marks() {
    const [w, total] = [view.get("warmup"), view.get("total")];
    const all = [1, Math.max(1, Math.floor(w / 2)), w, Math.floor(total / 4), Math.floor(total / 2), total];
    return [...new Set(all)].sort((a, b) => a - b);
  }

  const svg = h("svg", { class: "ex-plot", viewBox: `0 0 ${W} ${H}`, role: "img" });
  const table = matrix({
    name: "rates",
    corner: "step",
    point: (i) => {
      at = i;
      speak();
      place();
    },
  });
  const dot = h("circle", { r: 5, class: "ex-point ex-line1" });
  const x = (step) => LEFT + ((W - LEFT - 10) * step) / view.get("total");
  const y = (value, top) => H - BOTTOM - ((H - BOTTOM - TOP) * value) / top;

  function speak() {
    const [w, total, steps] = [view.get("warmup"), view.get("total"), marks()];
    const here = at === null || at >= steps.length ? steps.indexOf(w) : at;
    const share = (100 * w) / total;
    const root = view.get("kind") === "root";
    view.say(
      h("span", { class: "ex-digits" }, `Step ${grouped(steps[here])}: rate ${power(rate(steps[here]))}. `),
      `The peak is ${power(rate(w))}, at step ${grouped(w)}, after ${num(share, 1)}% of the steps. `,
      root
        ? "Four times as late the rate is half of that; the number of steps changes nothing before the end."
        : "Halfway between the warm-up and the end the rate is half of that, and at the end it is 0.",
    );
  }
  function place() {
    const steps = marks();
    const here = at === null || at >= steps.length ? steps.indexOf(view.get("warmup")) : at;
    dot.setAttribute("cx", x(steps[here]));
    dot.setAttribute("cy", y(rate(steps[here]), rate(view.get("warmup"))));
  }
  function draw() {
    const [w, total, steps] = [view.get("warmup"), view.get("total"), marks()];
    const top = rate(w);
    const grid = [
      ...new Set([
        ...range(26).map((k) => Math.max(1, (w * k) / 25)),
        ...range(101).map((k) => w + ((total - w) * k) / 100),
      ]),
    ];
    const path = grid.map((step) => `${x(step).toFixed(1)},${y(rate(step), top).toFixed(1)}`).join(" ");
    svg.setAttribute(
      "aria-label",
      `learning rate over ${grouped(total)} steps, peak ${power(top)} at step ${grouped(w)}`,
    );
    svg.replaceChildren(
      h("line", { class: "ex-axis", x1: LEFT, x2: W - 10, y1: H - BOTTOM, y2: H - BOTTOM }),
      h("line", { class: "ex-axis", x1: LEFT, x2: LEFT, y1: TOP, y2: H - BOTTOM }),
      h("line", { class: "ex-cursor", x1: x(w), x2: x(w), y1: TOP, y2: H - BOTTOM }),
      h("text", { x: LEFT - 6, y: TOP + 9, "text-anchor": "end" }, power(top)),
      h("text", { x: LEFT - 6, y: H - BOTTOM, "text-anchor": "end" }, "0"),
      h("text", { x: W - 10, y: H - 8, "text-anchor": "end" }, `step ${grouped(total)}`),
      h("text", { x: LEFT, y: H - 8 }, "1"),
      h("polyline", { class: "ex-line ex-line1 ex-active", points: path }),
      dot,
    );
    table.fill({
      title: "learning rate",
      rows: steps.map((step) => `step ${grouped(step)}`),
      cols: ["rate", "share of the peak"],
      data: steps.map((step) =>
        [power(rate(step)), num(rate(step) / top, 3)].map((text, j) => ({
          text,
          words: `step ${grouped(step)}: ${j ? "share of the peak " : ""}${text}`,
          tone: "plus",
          amount: (rate(step) / top) * 0.7,
        })),
      ),
    });
    fields.d_model.hidden = view.get("kind") !== "root";
    fields.peak.hidden = view.get("kind") === "root";
    view.root.dataset.rates = steps.map((step) => rate(step).toExponential(10)).join(" ");
    view.root.dataset.marks = steps.join(" ");
    place();
    speak();
  }

  const size = (name, label, text = grouped) =>
    slider(view, {
      name,
      label,
      text,
      min: 0,
      max: lists[name].length - 1,
      at: (v) => lists[name].indexOf(v),
      value: (k) => lists[name][k],
    });
  const fields = { d_model: size("d_model", math("width d_model").childNodes), peak: size("peak", "peak", power) };
  view.watch("kind d_model warmup total peak", draw);
  view.show(
    controls(
      choice(view, {
        name: "kind",
        label: "schedule",
        options: [
          ["root", "inverse square root"],
          ["cosine", "cosine"],
        ],
      }),
      fields.d_model,
      fields.peak,
      size("warmup", "warm-up steps"),
      size("total", "steps in all"),
    ),
    h("div", { class: "ex-two" }, svg, table.box),
  );
  draw();
  return view.done;
}

export default { render };
