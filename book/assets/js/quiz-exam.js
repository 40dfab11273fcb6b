/* The exam: chosen items in an order of their own, a clock, no feedback before the end, a result by topic.
 *
 * Its state is kept as {seed, ids, minutes, started, answers, current, ended}, so that a reload goes on with the same
 * items, the same order of options, the same answers and the same clock.
 */
const quizExam = (() => {
  "use strict";

  const { h } = dom;
  const { plural, clockTime } = util;
  const { validExam, hasAnswer, endOf, secondsLeft } = quizLogic;
  const SECTION = "quiz";
  const WARN = [5, 1]; // minutes before the end at which the time is announced
  const button = (name, text, click) => dom.button(`quiz-button ${name}`, text, click);
  const save = (change) => store.write(SECTION, { ...store.read(SECTION), ...change });

  /** The panel of the exam; `paper` is where the items go, `busy` and `free` say that an exam begins and that it is over. */
  return function quizExam({ items, topics, paper, busy, free }) {
    const byId = new Map(items.map((item) => [item.id, item]));
    const status = h("p", { class: "quiz-said", role: "status" });
    const panel = h("div", { class: "quiz-panel" });
    let exam = null;
    let ticking = 0;

    // ---- Before

    const boxes = dom.checkboxes({
      legend: "Topics",
      name: "quiz-exam-topic",
      options: topics.map(([topic, title]) => [
        topic,
        `${title} (${items.filter((item) => item.topic === topic).length})`,
      ]),
      all: "topics",
      buttonClass: "quiz-button",
    });
    boxes.set.addEventListener("input", ({ target }) => {
      limit();
      if (target !== boxes.set) return; // the buttons that tick all or none
      const chosen = boxes.values().length;
      status.textContent = chosen
        ? `All ${chosen} topics are chosen, with ${pool().length} items.`
        : "No topic is chosen.";
    });
    const number = h("input", {
      type: "number",
      id: "quiz-exam-number",
      min: 1,
      value: Math.min(15, items.length),
      required: true,
    });
    const minutes = h("input", {
      type: "number",
      id: "quiz-exam-minutes",
      min: 0,
      max: 300,
      value: 25,
      required: true,
    });
    const begin = h(
      "form",
      { class: "quiz-setup", submit: start },
      boxes.set,
      h("p", {}, h("label", { for: number.id }, "Number of items"), number),
      h("p", {}, h("label", { for: minutes.id }, "Minutes; 0 for no limit"), minutes),
      h(
        "p",
        { class: "quiz-help" },
        "There is no feedback until you hand in. A reload of the page keeps the exam and its clock.",
      ),
      h("button", { type: "submit", class: "quiz-button quiz-main" }, "Begin the exam"),
    );

    const pool = () => items.filter((item) => boxes.values().includes(item.topic));
    let wanted = number.value; // as it was typed last, while fewer items are chosen
    number.addEventListener("input", () => {
      wanted = number.value;
    });
    function limit() {
      const most = pool().length;
      number.max = String(Math.max(1, most));
      if (most && wanted) number.value = String(Math.min(Number(wanted), most));
    }
    function start(event) {
      event.preventDefault();
      if (!pool().length) {
        status.textContent = "Choose at least one topic.";
        return;
      }
      const seed = util.freshSeed();
      const ids = util
        .shuffled(pool(), `${seed}/items`)
        .slice(0, Number(number.value))
        .map((item) => item.id);
      exam = { seed, ids, minutes: Number(minutes.value), started: Date.now(), answers: {}, current: 0, ended: 0 };
      save({ exam });
      run();
      go(0, true);
    }

    // ---- While it runs

    const clock = h("span", { role: "timer", class: "quiz-time" });
    const hide = button("", "Hide the time", () => {
      clock.hidden = !clock.hidden;
      hide.textContent = clock.hidden ? "Show the time" : "Hide the time";
    });
    const map = h("ol", { class: "quiz-map" });
    const back = button("", "Previous item", () => go(exam.current - 1, true));
    const next = button("", "Next item", () => go(exam.current + 1, true));
    const hand = button("quiz-main", "Hand in", () => ask("hand"));
    const stop = button("", "Stop without a result", () => ask("stop"));
    const question = h("p");
    const yes = button("quiz-main", "Yes", () => (sure.dataset.what === "hand" ? end() : leave()));
    const no = button("", "No, go on", () => {
      sure.hidden = true;
      (sure.dataset.what === "hand" ? hand : stop).focus();
    });
    const sure = h(
      "div",
      { class: "quiz-sure", role: "group", "aria-label": "Are you sure?", hidden: true },
      question,
      yes,
      no,
    );
    const time = h("p", { class: "quiz-clock" }, clock, hide);
    const above = h("div", {}, time, h("nav", { "aria-label": "Items of the exam" }, map));
    const below = h("div", { class: "quiz-below" }, h("div", { class: "quiz-buttons" }, back, next, hand, stop), sure);
    const chosen = () => exam.ids.map((id) => byId.get(id));
    const left = () => secondsLeft(exam, Date.now());

    /** Give the items the order and the answers of the exam. */
    function lay() {
      for (const item of chosen()) {
        item.reset(exam.seed);
        item.put(exam.answers[item.id]);
      }
    }
    function run() {
      busy();
      lay();
      status.textContent = "";
      panel.replaceChildren(status, above);
      sure.hidden = true;
      time.hidden = exam.minutes === 0;
      paper.replaceChildren(...chosen().map((item) => item.element), below);
      for (const item of chosen()) {
        item.mode("exam");
        item.changed = () => {
          exam.answers[item.id] = item.value();
          save({ exam });
          mark();
        };
      }
      map.replaceChildren(
        ...exam.ids.map((_, index) =>
          h(
            "li",
            {},
            button("quiz-spot", String(index + 1), () => go(index, true)),
          ),
        ),
      );
      go(exam.current, false);
      clearInterval(ticking);
      if (exam.minutes) {
        let before = left();
        const tick = () => {
          const now = left();
          clock.textContent = clockTime(Math.max(0, now));
          const passed = WARN.find((warn) => before > warn * 60 && now <= warn * 60 && now > 0);
          if (passed) status.textContent = `${plural(passed, "minute")} left.`;
          before = now;
          if (now <= 0) end("The time is up, and the exam was handed in. ");
        };
        ticking = setInterval(tick, 1000);
        tick();
      }
    }
    function go(index, focus) {
      exam.current = index;
      save({ exam });
      chosen().forEach((item, at) => {
        item.element.hidden = at !== index;
      });
      back.setAttribute("aria-disabled", String(index === 0));
      next.setAttribute("aria-disabled", String(index === exam.ids.length - 1));
      mark();
      if (focus) chosen()[index].head();
    }
    function mark() {
      dom.all("button", map).forEach((spot, index) => {
        const done = hasAnswer(exam, exam.ids[index]);
        spot.setAttribute("aria-label", `Item ${index + 1}, ${done ? "answered" : "not answered"}`);
        spot.classList.toggle("quiz-done", done);
        if (index === exam.current) spot.setAttribute("aria-current", "true");
        else spot.removeAttribute("aria-current");
      });
    }
    function ask(what) {
      const open = exam.ids.filter((id) => !hasAnswer(exam, id)).length;
      const still = open ? `${open} of ${exam.ids.length} items have no answer. ` : "";
      question.textContent = what === "hand" ? `${still}Hand in now?` : "Your answers will be lost. Stop?";
      sure.dataset.what = what;
      sure.hidden = false;
      no.focus();
    }
    function end(why = "") {
      clearInterval(ticking);
      exam.ended = exam.minutes ? Math.min(Date.now(), endOf(exam)) : Date.now();
      save({ exam });
      save({ last: { ...exam, at: new Date(exam.ended).toISOString() } });
      for (const item of chosen()) {
        if (item.value() !== null) practice.note(item.id, item.judge(item.value()).right === true);
        item.showPast();
      }
      result(why).focus();
    }
    function leave() {
      clearInterval(ticking);
      for (const item of items) item.changed = () => {};
      exam = null;
      save({ exam: null });
      free();
      setup();
    }

    // ---- After

    /** What an exam came to, from its answers: a sentence, how long it took, and a table by topic. */
    function report(held) {
      const asked = held.ids.map((id) => byId.get(id));
      const isRight = (item) => item.judge(held.answers[item.id] ?? null).right === true;
      const { right, of, rows } = quizLogic.examResult(asked, isRight, topics);
      const reading = (missed) => {
        const links = new Map(missed.map(({ link }) => [link.href, link]));
        return links.size
          ? h("ul", {}, ...[...links.values()].map((link) => h("li", {}, link.cloneNode(true))))
          : "nothing here";
      };
      const cells = rows.map((row) => [row.title, `${row.right} of ${row.of}`, reading(row.missed)]);
      const table = h(
        "div",
        { class: "quiz-wide", tabindex: 0, role: "region", "aria-label": "Result by topic" },
        dom.table("Result by topic", ["Topic", "Right", "What to read"], cells, { class: "quiz-table" }),
      );
      const took = `It took ${util.duration((held.ended - held.started) / 1000)}.`;
      return { score: `${right} of ${of} right`, took, table };
    }
    function result(why = "") {
      busy();
      const { score, took, table } = report(exam);
      const heading = h("h2", { class: "quiz-result", tabindex: -1 }, score);
      panel.replaceChildren(
        heading,
        h("p", {}, `${why}${took} Below are the items with your answers and the reasons.`),
        table,
        h("div", { class: "quiz-buttons" }, button("quiz-main", "Close the result", leave)),
        h("p", { class: "quiz-help" }, "The table stays under “Your progress” until your next exam."),
      );
      paper.replaceChildren(...chosen().map((item) => item.element));
      for (const item of chosen()) {
        item.changed = () => {};
        item.element.hidden = false;
        item.mode("review");
      }
      return heading;
    }

    function setup() {
      status.textContent = "";
      panel.replaceChildren(begin, status);
      limit();
    }
    setup();
    return {
      panel,
      /** The elements of the last result, which stays until the next one; none where there is none. */
      last() {
        const held = validExam(store.read(SECTION).last, byId);
        if (!held || !Number.isFinite(held.ended)) return [];
        const { score, took, table } = report(held);
        const day = new Date(held.ended).toLocaleDateString("en-GB", { dateStyle: "long" });
        return [
          h("h2", { class: "quiz-result" }, `Your last exam: ${score}`),
          h("p", {}, `You handed it in on ${day}. ${took}`),
          table,
        ];
      },
      /** Go on with an exam that was kept; tells whether there is one. */
      resume() {
        exam = validExam(store.read(SECTION).exam, byId);
        if (!exam) return false;
        if (exam.ended) {
          lay();
          result();
        } else {
          run();
        }
        return true;
      },
    };
  };
})();
