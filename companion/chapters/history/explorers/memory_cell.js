// MemoryCell: the product of the forget gates, step by step, and beside it that of equal gates.

function render({ model, el }) {
  const view = open_view(model, el);
  const LAGS = [5, 10, 25, 50, 100, 200, 500, 1000];
  const LINES = ["these gates", "equal gates"];
  const POINTS = 40;
  const given = model.get("draws");
  const draws = typeof given === "string" ? given.split(" ").map(Number) : given;
  const sigmoid = (u) => 1 / (1 + Math.exp(-u));
  let touched = [0, POINTS];

  // The share that is left after each step, from 1 at the start; a curve for the spread that is set, and one without.
  function shares() {
    const [bias, spread, lag] = ["bias", "spread", "lag"].map(view.get);
    return [spread, 0].map((size) => {
      const left = [1];
      range(lag).forEach((k) => left.push(left[k] * sigmoid(bias + size * draws[k % draws.length])));
      return left;
    });
  }

  function places() {
    const lag = view.get("lag");
    return [...new Set(range(POINTS + 1).map((k) => Math.round((k * lag) / POINTS)))];
  }

  function percent(share) {
    const value = 100 * share;
    return value < 0.001 ? "less than 0.001%" : `${num(value, value < 0.1 ? 3 : value < 10 ? 2 : 1)}%`;
  }

  const said = (s, n, left) => `${LINES[s]}, ${n} ${n === 1 ? "step" : "steps"}: ${percent(left)} left`;
  const { plot, legend, fill } = curve_plot({
    names: LINES,
    size: [360, 190, 36, 156],
    right: 14,
    point: (s, j) => {
      touched = [s, j];
      speak();
    },
  });

  function speak() {
    const now = shares();
    const [bias, spread, lag] = ["bias", "spread", "lag"].map(view.get);
    const at = places();
    const [s, j] = [touched[0], Math.min(touched[1], at.length - 1)];
    const gates = range(lag).map((k) => sigmoid(bias + spread * draws[k % draws.length]));
    view.root.dataset.point = `${s} ${j}`;
    const half = Math.log(2) / Math.log1p(Math.exp(-bias));
    const differ =
      spread > 0 ? ` The gates lie between ${num(Math.min(...gates), 4)} and ${num(Math.max(...gates), 4)}.` : "";
    view.say(
      h("span", { class: "ex-digits" }, `${said(s, at[j], now[s][at[j]])}. `),
      `With a bias of ${num(bias, 1)} an equal gate is ${num(sigmoid(bias), 4)}, and half is left after ${num(half, 1)} steps. ` +
        `After ${lag} steps ${percent(now[0].at(-1))} of the memory is left.${differ}`,
    );
  }

  function draw() {
    const now = shares();
    const at = places();
    const lag = view.get("lag");
    touched = [touched[0], Math.min(touched[1], at.length - 1)];
    fill({
      label: "share of the memory that is left, by steps",
      title: "steps",
      ticks: [0, 0.5, 1].map((x) => [x, String(x * lag)]),
      levels: [0, 0.5, 1].map((share) => [share, `${100 * share}%`]),
      curves: now.map((left, s) => at.map((n) => [n / lag, left[n], said(s, n, left[n])])),
      at: touched,
    });
    speak();
  }

  view.watch("bias lag spread", draw);
  view.show(
    controls(
      slider(view, {
        name: "bias",
        label: "bias of the forget gate",
        min: -2,
        max: 10,
        step: 0.5,
        text: (v) => num(v, 1),
      }),
      slider(view, {
        name: "lag",
        label: "steps",
        min: 0,
        max: LAGS.length - 1,
        at: (v) => LAGS.indexOf(v),
        value: (k) => LAGS[k],
      }),
      slider(view, { name: "spread", label: "gates differ by", min: 0, max: 5, step: 0.5, text: (v) => num(v, 1) }),
    ),
    legend,
    plot,
  );
  draw();
  return view.done;
}

export default { render };
