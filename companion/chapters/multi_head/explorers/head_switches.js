// HeadSwitches: heads of a trained model on and off, and what it still can do. All scores were measured in Python.

function render({ model, el }) {
  const view = open_view(model, el);
  const runs = model.get("runs");
  const tasks = model.get("tasks");
  const count = model.get("n_heads");
  const percent = (x) => `${num(100 * x, 0)}%`;
  const scores = (on) => (runs[view.get("run")] || runs[0]).scores[on];
  let at = [0, 0];

  const table = matrix({
    name: "scores",
    corner: "task",
    point: (i, j) => {
      at = [i, j];
      explain();
    },
  });

  function explain() {
    const on = view.get("on");
    const [task, column] = at;
    const names = range(count).filter((head) => (on >> head) & 1);
    const state = names.length ? `On: ${names.map((head) => `head ${head}`).join(", ")}. ` : "No head is on. ";
    table.light([], at);
    view.root.dataset.cell = `${task} ${column}`;
    const head = column - 1;
    const after = column ? scores(on ^ (1 << head)) : scores(on);
    const what = column ? `Head ${head} switched ${(on >> head) & 1 ? "off" : "on"}: ` : "Now: ";
    view.say(
      h("span", { class: "ex-digits" }, `${what}${tasks[task]} ${percent(after[task])}. `),
      state,
      `Guessing gives ${percent(model.get("chance"))}.`,
    );
  }

  function draw() {
    const on = view.get("on");
    const columns = [on, ...range(count).map((head) => on ^ (1 << head))];
    table.fill({
      title: "share right now, and with one more head off or on",
      rows: tasks,
      cols: ["now", ...range(count).map((head) => `${head} ${(on >> head) & 1 ? "off" : "on"}`)],
      data: tasks.map((name, i) =>
        columns.map((subset, j) => ({
          text: percent(scores(subset)[i]),
          words: `${name}, ${j ? `head ${j - 1} switched` : "now"}: ${percent(scores(subset)[i])}`,
          tone: "plus",
          amount: scores(subset)[i],
        })),
      ),
    });
    table.enter(...at);
    explain();
  }

  const boxes = range(count).map((head) =>
    h("input", {
      type: "checkbox",
      "data-trait": `on-${head}`,
      onchange: (event) =>
        view.set("on", event.target.checked ? view.get("on") | (1 << head) : view.get("on") & ~(1 << head)),
    }),
  );
  const tick = () =>
    boxes.forEach((box, head) => {
      box.checked = Boolean((view.get("on") >> head) & 1);
    });
  view.watch("on", tick);
  tick();
  view.watch("run on", draw);
  view.show(
    controls(
      runs.length > 1 ? menu(view, { name: "run", label: "model", options: runs.map((r, k) => [k, r.title]) }) : null,
      h(
        "div",
        { class: "ex-switches" },
        boxes.map((box, head) => h("label", { class: "ex-toggle" }, box, h("span", null, `head ${head}`))),
      ),
    ),
    table.box,
  );
  draw();
  return view.done;
}

export default { render };
