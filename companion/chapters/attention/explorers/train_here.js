// TrainHere: the small translator, trained in the reader's browser. Behind train_parts.js and train_engine.js, which
// compute, and train_worker.js, which lets them.

const MOST_RUNS = 6;
const [LOW, HIGH] = [-4, 1]; // the axis of losses, in powers of ten

const loss_words = (loss) => num(loss, loss < 0.1 ? 4 : 2);
const share_of = (loss) => Math.min(1, Math.max(0, (Math.log10(loss) - LOW) / (HIGH - LOW)));

const title_of = ({ seed, scale, causal, warmup, rate }) =>
  [
    `seed ${seed}`,
    ...(scale ? [] : ["no scale"]),
    ...(causal ? [] : ["no causal mask"]),
    ...(warmup ? ["warm-up"] : []),
    ...(rate === 0.005 ? [] : [`rate ${rate}`]),
  ].join(", ");

// One run: its numbers, its map, and what it generates.
function run_card(line, point) {
  const name = h("p", { class: "ex-run" });
  const facts = h("div", { class: "ex-facts" });
  const says = h("p", { class: "ex-says" });
  const map = matrix({ name: `run ${line}`, corner: "french word", point });
  map.table.classList.add("ex-dense");
  const box = h("div", { class: "ex-panel ex-card" }, name, facts, map.box, says);
  return {
    box,
    fill(run, { english, french }, at, counts) {
      const { weights, says: said } = run.looks[at];
      name.replaceChildren(h("span", { class: `ex-swatch ex-line${line}`, "aria-hidden": "true" }), run.title);
      const fact = (words, value) => h("p", null, h("span", null, words), h("span", { class: "ex-value" }, value));
      const then = run.counted === undefined ? "" : ` at step ${run.counted}`;
      const counted = (x, of) => (x === undefined ? "…" : `${x} of ${of.toLocaleString("en")}`);
      facts.replaceChildren(
        fact("step", `${run.step} of ${STEPS}`),
        fact("loss", run.losses.length ? loss_words(run.losses[run.losses.length - 1]) : "…"),
        fact(`words wrong${then}`, counted(run.wrong, counts.words)),
        fact(`sentences right${then}`, counted(run.right, counts.sentences)),
      );
      const rows = [...french, "end"];
      map.fill({
        title: "where each next word looks",
        label: `${run.title}: cross-attention, one row a French word, one column an English word`,
        rows,
        cols: english,
        data: weights.map((row, i) =>
          row.map((w, j) => ({ text: "", words: `${rows[i]} to ${english[j]}: ${num(w)}`, tone: "plus", amount: w })),
        ),
      });
      says.replaceChildren(
        h("span", { class: "ex-name" }, "alone it says "),
        ...said.flatMap((word, i) => [
          h("span", { lang: "fr", class: word === french[i] ? "" : "ex-differs" }, word),
          " ",
        ]),
        ...(said.length || !run.step ? [] : ["nothing: it ends at once"]),
        ...(said.length && said.length < french.length ? [h("span", { class: "ex-differs" }, "…")] : []),
      );
    },
  };
}

function render({ model, el }) {
  const view = open_view(model, el);
  const [packed, still, examples] = ["packed", "still", "examples"].map(view.get);
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  let runs = []; // as they were started; each has its line, a place of the plot and a card
  let queue = []; // what is to be trained next
  let worker = null;
  let active = null; // the run that the worker has
  let going = false;
  let resting = false; // stopped, with no step under way
  let told = () => ""; // what is pointed at
  let problem = "";
  let said = 0; // when the words were last renewed while a run goes on

  const settings = () =>
    Object.fromEntries(["scale", "causal", "warmup", "rate"].map((name) => [name, view.get(name)]));
  const chosen = () => (view.get("seed") === "all" ? [1, 2, 3] : [view.get("seed")]);
  const beforehand = { title: "seed 1, trained by PyTorch beforehand", line: 0, step: STEPS, counted: STEPS, ...still };
  const shown = () => (runs.length ? runs : [beforehand]);
  const run_at = (line) => shown().find((run) => run.line === line);

  const plot = curve_plot({
    names: range(MOST_RUNS).map(() => ""),
    size: [440, 190, 30, 148],
    point(line, j) {
      told = () => {
        const loss = run_at(line)?.losses[j];
        return loss === undefined ? "" : `${run_at(line).title}, step ${(j + 1) * EVERY}: loss ${loss_words(loss)}. `;
      };
      explain();
    },
  });
  const cards = range(MOST_RUNS).map((line) =>
    run_card(line, (i, j) => {
      told = () => {
        const weights = run_at(line)?.looks[view.get("sentence")].weights;
        const { english, french } = examples[view.get("sentence")];
        if (weights?.[i]?.[j] === undefined) return "";
        return `${run_at(line).title}: ${[...french, "end"][i]} → ${english[j]}, weight ${num(weights[i][j])}. `;
      };
      explain();
    }),
  );
  const deck = h("div", { class: "ex-cards" });

  // Shown, and read aloud too unless it is the progress of a run between its hundreds of steps.
  function explain(aloud = true) {
    const run = active ?? shown()[shown().length - 1];
    const { words, sentences } = still.counts;
    const loss = run.losses.length ? `, loss ${loss_words(run.losses[run.losses.length - 1])}` : "";
    const title = `${run.title[0].toUpperCase()}${run.title.slice(1)}`;
    const counts =
      run.wrong === undefined
        ? ""
        : ` Counted at step ${run.counted}: given the right words before each, it predicts ${run.wrong} of ` +
          `${words.toLocaleString("en")} words wrongly; by itself it generates ${run.right} of ${sentences} sentences ` +
          "without a mistake.";
    const state = active && resting ? " Stopped." : "";
    const place =
      active && going && !aloud ? `${title} is being trained.` : `${title}: step ${run.step} of ${STEPS}${loss}.`;
    const parts = [problem, h("span", { class: "ex-digits" }, told()), `${place}${counts}${state}`];
    if (aloud) view.say(...parts);
    else view.readout.replaceChildren(...parts);
  }

  function draw_curves() {
    const curves = range(MOST_RUNS).map((line) =>
      (run_at(line)?.losses ?? []).map((loss, j) => {
        const step = (j + 1) * EVERY;
        return [step / STEPS, share_of(loss), `${run_at(line).title}, step ${step}: loss ${loss_words(loss)}`];
      }),
    );
    const first = Math.max(
      0,
      curves.findIndex((curve) => curve.length),
    );
    const mark = document.activeElement;
    const { i, j } = plot.plot.contains(mark) ? /** @type {SVGElement} */ (mark).dataset : {};
    plot.fill({
      label: "loss by training step, one curve a run",
      title: "training step",
      ticks: [0, 100, 200, 300, 400].map((step) => [step / STEPS, String(step)]),
      levels: decades(LOW, HIGH),
      curves,
      at: i === undefined ? [first, Math.max(0, curves[first].length - 1)] : [i, j],
    });
    /** @type {SVGElement} */ (plot.plot.querySelector(`[data-i="${i}"][data-j="${j}"]`))?.focus({
      preventScroll: true,
    });
  }
  const draw_card = (run) =>
    cards[run.line].fill(run, examples[view.get("sentence")], view.get("sentence"), still.counts);

  function draw_buttons() {
    const titles = chosen().map((seed) => title_of(/** @type {any} */ ({ seed, ...settings() })));
    train.textContent = `Train ${view.get("seed") === "all" ? titles[0].replace("seed 1", "seeds 1 to 3 in turn") : titles[0]}`;
    stop.textContent = active && !going ? `Resume ${active.title}` : "Stop";
    train.setAttribute("aria-disabled", String(going));
    stop.setAttribute("aria-disabled", String(!active));
    reset.setAttribute("aria-disabled", String(!runs.length));
    view.root.dataset.going = String(going);
  }
  function draw() {
    draw_buttons();
    draw_curves();
    shown().forEach(draw_card);
    const boxes = shown().map((run) => cards[run.line].box);
    boxes.reverse(); // the newest first, where it is seen
    if (boxes.length !== deck.childElementCount || boxes.some((box, k) => box !== deck.children[k]))
      deck.replaceChildren(...boxes);
    explain();
  }

  function receive({ stopped = false, step, loss, looks, ...counts }) {
    if (stopped) {
      resting = !going; // it may be on its way again
      explain();
      return;
    }
    Object.assign(active, { step, looks, ...counts });
    if (counts.wrong !== undefined) active.counted = step;
    if (loss !== null) active.losses.push(loss);
    if (step >= STEPS) {
      explain();
      leave();
      if (queue.length) start_next();
      draw();
      return;
    }
    if (calm && counts.wrong === undefined) return;
    draw_curves();
    draw_card(active);
    const hundred = step % 100 === 0;
    if (hundred || performance.now() - said > 1000) {
      said = performance.now();
      explain(hundred);
    }
  }
  function fail(message) {
    leave();
    queue = [];
    problem = `The training stopped (${message}). `;
    draw();
  }
  // Let the worker go; what it trained stays as it is.
  function leave() {
    worker?.end();
    worker = null;
    active = null;
    going = resting = false;
    problem = "";
  }
  function start_next() {
    const { seed, ...switches } = queue.shift();
    const title = title_of({ seed, ...switches });
    runs = runs.filter((run) => run.title !== title).slice(1 - MOST_RUNS);
    const line = range(MOST_RUNS).find((k) => runs.every((run) => run.line !== k));
    const looks = examples.map(({ english, french }) => ({
      weights: [...french, "end"].map(() => english.map(() => 0)),
      says: [],
    }));
    active = { title, line, step: 0, losses: [], looks };
    runs = [...runs, active];
    going = true;
    try {
      worker = training_worker(packed, receive, fail);
    } catch (error) {
      fail(String(error));
      return;
    }
    worker.ask({ ask: "start", seed, switches, sentences: examples.map(({ text }) => text) });
  }

  const button = (trait, onclick) =>
    h("button", {
      type: "button",
      "data-trait": trait,
      onclick: (event) => {
        if (event.currentTarget.getAttribute("aria-disabled") === "true") return;
        onclick();
        draw();
      },
    });
  const train = button("train", () => {
    leave();
    told = () => "";
    queue = chosen().map((seed) => ({ seed, ...settings() }));
    start_next();
  });
  const stop = button("stop", () => {
    going = !going;
    resting = false;
    worker.ask({ ask: going ? "resume" : "stop" });
  });
  const reset = button("reset", () => {
    leave();
    queue = [];
    runs = [];
    told = () => "";
  });
  reset.textContent = "Reset";

  view.watch("seed scale causal warmup rate", draw_buttons);
  view.watch("sentence", draw);
  view.show(
    controls(
      choice(view, {
        name: "seed",
        label: "seed",
        options: [...[1, 2, 3].map((k) => [k, String(k)]), ["all", "all three"]],
      }),
      menu(view, {
        name: "rate",
        label: "learning rate",
        options: view.get("rates").map((rate) => [rate, String(rate)]),
      }),
      toggle(view, { name: "scale", label: "with scale" }),
      toggle(view, { name: "causal", label: "with causal mask" }),
      toggle(view, { name: "warmup", label: "with warm-up" }),
    ),
    controls(train),
    controls(stop, reset),
    h(
      "div",
      { class: "ex-trainflow" },
      h(
        "div",
        null,
        controls(
          menu(view, {
            name: "sentence",
            label: "sentence of the maps",
            options: examples.map(({ english }, k) => [k, english.join(" ")]),
          }),
        ),
        deck,
      ),
      h(
        "div",
        null,
        h(
          "p",
          { class: "ex-caption" },
          "loss of the training batches, mean of 10 steps; each line is a tenth of the one above",
        ),
        plot.plot,
      ),
    ),
  );
  plot.plot.classList.add("ex-train");
  plot.plot.after(view.readout);
  draw();
  return () => {
    leave();
    view.done();
  };
}

export default { render };
