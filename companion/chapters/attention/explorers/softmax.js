// SoftmaxExplorer: scores, a temperature and a common constant; the weights, and the average that they make.

function render({ model, el }) {
  const view = open_view(model, el);
  const tokens = model.get("tokens");
  const values = model.get("values");

  const rows = tokens.map((token, i) => {
    const id = newId();
    const input = h("input", {
      type: "range",
      id,
      min: -6,
      max: 6,
      step: 0.1,
      "data-trait": `scores-${i}`,
      oninput: () => {
        const scores = copy(model.get("scores"));
        scores[i] = Number(input.value);
        view.set("scores", scores);
      },
    });
    const score = h("span", { class: "ex-value" });
    const weight = h("span", { class: "ex-value ex-weight", "data-weight": i });
    const bar = h("span", { class: "ex-bar ex-plus", "aria-hidden": "true" }, h("i"));
    const node = h(
      "div",
      { class: "ex-key" },
      h("label", { for: id }, token),
      input,
      score,
      bar,
      weight,
      h("span", { class: "ex-value ex-of" }, short(values[i])),
    );
    return { node, input, score, weight, bar };
  });
  const head = h(
    "div",
    { class: "ex-key ex-keyhead", "aria-hidden": "true" },
    ["key", "", "score", "", "weight", "value"].map((word) => h("span", null, word)),
  );

  // The number line of the values, and the average on it.
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const x = (v) => 6 + 88 * (high > low ? (v - low) / (high - low) : 0.5);
  const order = values
    .map((v, i) => [v, i])
    .sort((a, b) => a[0] - b[0])
    .map(([, i]) => i);

  // The labels under the line, for a figure at least `width` pixels wide: those that would overlap stand in two rows, and
  // become one where that is not enough.
  function labels(name, width) {
    const long = (words) => sum([...words].map((c) => (c > "\u2e7f" ? 14 : 7.5)));
    const label = (ids) => {
      const [words, numbers] = [ids.map((i) => tokens[i]).join(", "), ids.map((i) => short(values[i])).join(", ")];
      const wide = Math.min(width, Math.max(long(words), long(numbers)));
      const at = sum(ids.map((i) => x(values[i]))) / ids.length;
      const middle = Math.min(width - wide / 2, Math.max(wide / 2, (at * width) / 100));
      return { ids, words, numbers, wide, at, middle };
    };
    const list = order.map((i) => label([i]));
    const apart = (left, right) => !left || right.middle - left.middle >= (left.wide + right.wide) / 2 + 6;
    let ends = [];
    for (let k = 0; k < list.length; ) {
      if (k === 0) ends = [];
      const row = [0, 1].find((lane) => apart(ends[lane], list[k]));
      if (row === undefined) {
        list.splice(k - 1, 2, label([...list[k - 1].ids, ...list[k].ids]));
        k = 0;
      } else {
        list[k].row = row;
        ends[row] = list[k];
        k += 1;
      }
    }
    return h(
      "div",
      { class: name, "aria-hidden": "true" },
      list.map(({ words, numbers, wide, at, row }) =>
        h(
          "span",
          { class: row ? "ex-tick ex-lower" : "ex-tick", "--x": `${at}%`, "--w": `${wide}px` },
          h("span", null, words),
          h("span", null, numbers),
        ),
      ),
    );
  }

  const dots = values.map((v, i) =>
    h(
      "span",
      { class: "ex-dot", tabindex: i ? "-1" : "0", role: "img", "data-i": 0, "data-j": i, "--x": `${x(v)}%` },
      h("i"),
    ),
  );
  const average = h("span", { class: "ex-average" }, h("b"));
  const line = h(
    "div",
    { class: "ex-numberline", role: "group", "aria-label": "the values and their average" },
    dots,
    labels("ex-ticks-narrow", 270),
    labels("ex-ticks-wide", 620),
    average,
  );
  const legend = h(
    "p",
    { class: "ex-legend ex-lineof" },
    h("span", null, h("span", { class: "ex-dotkey", "aria-hidden": "true" }), "value, size = weight"),
    h("span", null, h("span", { class: "ex-markkey", "aria-hidden": "true" }), "weighted average"),
  );

  let at = null;
  order.forEach((i, rank) => {
    dots[i].dataset.j = rank;
  });
  rove(line, (_, rank) => {
    at = order[rank];
    speak();
  });

  const now = () => {
    const scores = model.get("scores").map((s) => s + model.get("shift"));
    return { scores, weights: softmax(scores.map((s) => s / model.get("temperature"))) };
  };

  function speak() {
    const { weights } = now();
    const top = weights.indexOf(Math.max(...weights));
    const shift = model.get("shift");
    const temperature = model.get("temperature");
    const mean = sum(weights.map((w, i) => w * values[i]));
    const point =
      at === null
        ? []
        : [
            h(
              "span",
              { class: "ex-words" },
              `${tokens[at]}: weight ${num(weights[at], 3)} × value ${short(values[at])} = ` +
                `${num(weights[at] * values[at])}. `,
            ),
          ];
    const lookup =
      weights[top] > 0.995
        ? `Almost a hard lookup: the weight on ${tokens[top]} is ${num(weights[top], 3)}, and the average is ${num(mean)}. `
        : `The largest weight, ${num(weights[top], 3)}, is on ${tokens[top]}; the average is ${num(mean)}. `;
    const divided =
      Math.abs(temperature - 1) < 0.005
        ? ""
        : `Divided by ${num(temperature, 2)}, the scores lie ${temperature < 1 ? "further apart" : "closer together"}. `;
    const constant =
      Math.abs(shift) < 0.05
        ? ""
        : `The constant ${num(shift, 1)} is in every score and cancels: it changes no weight.`;
    view.say(...point, lookup, divided, constant);
  }

  function draw() {
    const { scores, weights } = now();
    const mean = sum(weights.map((w, i) => w * values[i]));
    rows.forEach(({ input, score, weight, bar }, i) => {
      input.value = model.get("scores")[i];
      score.textContent = num(scores[i], 1);
      input.setAttribute("aria-valuetext", `score ${num(scores[i], 1)}, weight ${num(weights[i], 3)}`);
      weight.textContent = num(weights[i], 3);
      bar.style.setProperty("--a", weights[i].toFixed(4));
      dots[i].style.setProperty("--a", weights[i].toFixed(4));
      dots[i].setAttribute("aria-label", `${tokens[i]}: value ${short(values[i])}, weight ${num(weights[i], 3)}`);
    });
    average.style.setProperty("--x", `${x(mean).toFixed(2)}%`);
    average.firstChild.textContent = num(mean);
    view.root.dataset.average = num(mean, 4);
    view.root.dataset.weights = weights.map((w) => w.toFixed(6)).join(" ");
    speak();
  }

  view.watch("scores temperature shift", draw);
  view.show(
    h(
      "div",
      { class: "ex-keys" },
      head,
      rows.map(({ node }) => node),
    ),
    legend,
    line,
    controls(
      slider(view, {
        name: "temperature",
        label: "temperature",
        min: -2,
        max: 1,
        step: 0.05,
        text: (t) => num(t, 2),
        at: (t) => Math.log10(t),
        value: (e) => Math.min(10, Math.max(0.01, Number((10 ** e).toPrecision(4)))),
      }),
      slider(view, {
        name: "shift",
        label: "constant added to every score",
        min: -10,
        max: 10,
        step: 0.5,
        text: (c) => num(c, 1),
      }),
    ),
  );
  draw();
  return view.done;
}

export default { render };
