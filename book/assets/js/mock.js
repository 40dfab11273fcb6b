/* The mock interview: asks the drawn questions in turn, shows each answer step by step, and asks for a rating. */
(() => {
  "use strict";

  const { h, copied } = dom;
  const { plural } = util;
  const { button, ratingField } = session;
  const { questions, storage } = mock;
  const root = dom.one(".mock-stage");
  if (!root) return;
  const TARGETS = vocabulary.targets; // minutes to think and to say the answer: what we suggest, an assumption
  const FOLLOW_UP = vocabulary.followUp; // of the time of its question
  const ASKED = 3; // follow-ups of a question
  const PARTS = [
    ["short", "Show the short answer"],
    ["full", "Show the whiteboard answer"],
    ["mistake", "Show the common wrong answer"],
  ];

  /** The target times: minutes to think for each level, and a button that fills in what we suggest. */
  function targets() {
    const { target } = storage.load();
    const levels = Object.keys(vocabulary.levels);
    const fields = levels.map((level) =>
      h("input", {
        type: "number",
        name: `target-${level}`,
        min: 0.1,
        max: mockStorage.LONGEST,
        step: "any",
        value: target[level] ?? "",
      }),
    );
    const fill = (values) => {
      levels.forEach((level, place) => {
        fields[place].value = values[level] ?? "";
      });
      element.dispatchEvent(new Event("input", { bubbles: true }));
    };
    const suggested = levels.map((level) => TARGETS[level]).join(", ");
    const element = h(
      "fieldset",
      { class: "checkboxes mock-targets" },
      h("legend", {}, "Target time for a question, in minutes (empty: none)"),
      ...levels.map((level, place) => h("label", {}, `${vocabulary.levels[level]} `, fields[place])),
      h(
        "p",
        {},
        button(`Fill in ${suggested}`, () => fill(TARGETS)),
        button("No target", () => fill({})),
      ),
    );

    /** The minutes that were typed, or the first field that holds something else. */
    function read() {
      const isEmpty = (field) => field.value === "" && !field.validity.badInput;
      const isBad = (field) =>
        !isEmpty(field) && !(Number(field.value) >= 0.1 && mockStorage.isTarget(Number(field.value)));
      const bad = fields.find(isBad);
      for (const field of fields) field.setAttribute("aria-invalid", String(field === bad));
      const problem = `Type a target time from 0.1 to ${mockStorage.LONGEST} minutes, or leave it empty.`;
      if (bad) return { field: bad, problem };
      const typed = levels.filter((_, place) => !isEmpty(fields[place]));
      return { value: Object.fromEntries(typed.map((level) => [level, Number(fields[levels.indexOf(level)].value)])) };
    }
    return { element, read };
  }

  /** The minutes of questions by the times that we suggest, with as many follow-ups as an interviewer has time for. */
  const minutesOf = (list) =>
    list.reduce(
      (sum, { level, followUps }) => sum + TARGETS[level] * (1 + FOLLOW_UP * Math.min(ASKED, followUps.length)),
      0,
    );

  /** How long an interview on these questions takes. */
  const length = (drawn) =>
    `${plural(drawn.length, "question")}, about ${Math.round(minutesOf(drawn))} min, counting ${ASKED} follow-ups each`;

  const repeats = ({ pool }) => pool === "weak" || pool === "again";

  function about(report) {
    const topics = report.topics.length === 1 ? mock.title(report.topics[0]) : plural(report.topics.length, "topic");
    return `${plural(report.questions, "question")}, ${topics}${repeats(report) ? ", repeated" : ""}`;
  }

  const forTwoDays = location.hash === "#mock-two-days"; // the last step of that plan
  const start = session.startView({
    root,
    noun: "question",
    name: "mock-form",
    label: "The interview you want",
    prefix: "",
    groups: [
      { key: "topic", legend: "Topics", options: mock.topics(questions), all: "topics" },
      { key: "level", legend: "Levels", options: Object.entries(vocabulary.levels) },
      {
        key: "kind",
        legend: "Kinds",
        options: vocabulary.kinds
          .filter((kind) => questions.some((question) => question.kind === kind))
          .map((kind) => [kind, kind]),
      },
    ],
    pieces: questions,
    rated: () => storage.load().ratings,
    isWeak: (entry) => practice.state(entry) === "weak",
    pools: { sheet: ["Forty questions for two days", (_, question) => question.sheet === "yes"] },
    minutes: {
      choices: [10, 15, 20, 30, 45],
      chosen: forTwoDays ? 30 : 20,
      of: (question) => minutesOf([question]),
    },
    number: 5,
    pool: forTwoDays ? "sheet" : "all",
    needs: "one topic, one level and one kind",
    choice: "Choose topics, levels, kinds and target times",
    submit: "Start the interview",
    order: "They are drawn at random, then asked by topic, the easier ones of a topic first.",
    length,
    extra: targets,
    begin(drawn, pool, target) {
      storage.save({ target });
      hold(drawn, { pool, target });
    },
    unfinished() {
      const { session: open } = storage.load();
      if (!open) return null;
      const list = open.names.map((name) => storage.byName.get(name));
      const { index } = mockStorage.stepsOf(list)[open.index];
      return {
        label: "An interview in progress",
        words: `You have an interview in progress, at question ${index + 1} of ${list.length}, with ${plural(open.done.length, "rating")}.`,
        resume: () => hold(list, open, open.index, open.done),
        discard: () => storage.save({ session: null }),
      };
    },
    history: () =>
      session.historyTable(
        "Past interviews",
        "Your last interviews, averages from 0 to 3",
        ["Interview", "Ratings", "Average", "Time"],
        storage.load().history,
        (report) => [about(report), String(report.rated), report.mean.toFixed(1), session.minutesUsed(report)],
      ),
    forget: "Forget my ratings and past interviews",
    clear: () => storage.save({ ratings: {}, history: {} }),
  });

  /** Load the questions, and ask. @param {Parameters<typeof ask>} given */
  const hold = (...given) => {
    /** Only the form has a place to tell it; from a report on they are loaded. @param {string} words */
    const tell = (words) => {
      const told = root.querySelector(".mock-told");
      if (told) told.textContent = words;
    };
    tell("The questions are being loaded.");
    return mock.open(given[0]).then(
      () => ask(...given),
      () => tell("The questions did not load. Try again."),
    );
  };

  /** Ask the questions in turn, each followed by its follow-ups; `from` is a step, and `before` what was done before it. */
  function ask(list, { pool, target: given }, from = 0, before = []) {
    const steps = mockStorage.stepsOf(list);
    const target = util.isObject(given) ? given : {};
    /** Seconds that the reader wants to take for a step, or 0. */
    const limit = ({ question, at }) => 60 * (target[question.level] ?? 0) * (at < 0 ? 1 : FOLLOW_UP);
    const rated = (index, rating, seconds) => ({ ...steps[index], index, rating, seconds, limit: limit(steps[index]) });
    const done = before.map(([index, rating, seconds]) => rated(index, rating, seconds));
    const end = () => {
      storage.save({ session: null });
      mockReport.show(root, list, done, pool, {
        repeat: (again) => hold(again, { pool: "again", target }),
        anew: start.back,
      });
    };
    const go = (index) => {
      if (index >= steps.length) return end();
      save(index);
      return step(index);
    };
    const save = (index) => {
      const rows = done.map((one) => [one.index, one.rating, one.seconds]);
      const names = list.map(({ name }) => name);
      storage.save({ session: { names, index, done: rows, pool, target, at: util.now() } });
    };

    function step(index) {
      const { question, index: number, at } = steps[index];
      const follow = at >= 0 ? question.followUps[at] : null;
      const parts = follow ? [["answer", "Show the answer"]] : PARTS;
      const of = (one) => `follow-up ${one.at + 1} of ${one.question.followUps.length}`;
      const following = steps[index + 1];
      const further = following?.at >= 0 ? `Next: ${of(following)}` : "Next question";
      const title = `Question ${number + 1} of ${list.length}${follow ? `, ${of(steps[index])}` : ""}`;
      const asked = copied(follow ? follow.asked : question.asked, "div", "mock-asking");
      const before = (word, words) => h("div", { class: "mock-before" }, word, copied(words, "span", ""));
      const first = follow ? [before("After: ", question.asked)] : [];
      if (at > 0) first.push(before("And: ", dom.one("p", question.followUps[at - 1].asked)));
      const answers = h("div", { class: "mock-answers" });
      const actions = h("p", { class: "mock-actions" });
      const rating = ratingField("How did you answer?", vocabulary.ratings, "Say how you answered, or skip this one.");
      const watch = session.clock({
        label: "Thinking",
        limit: limit(steps[index]),
        visible: storage.load().timer,
        hiding: (timer) => storage.save({ timer }),
      });
      let shown = 0;

      const reveal = () => {
        watch.stop();
        const part = copied(follow ? follow.answer : question.part(parts[shown][0]), "div", "mock-answer");
        if (follow) part.prepend(h("p", { class: "mock-part" }, "Answer"));
        const head = dom.one(".mock-part", part);
        head.tabIndex = -1;
        answers.append(part);
        shown += 1;
        if (shown === 1) answers.after(rating.set);
        offer();
        head.focus({ preventScroll: true });
        // All of the answer and what comes next, or where that is more than the screen holds, the answer from its beginning.
        for (const place of [actions, head]) place.scrollIntoView({ block: "nearest" });
      };
      const next = () => go(index + 1);
      const skip = button("Skip, no rating", next);
      // A rating is kept as soon as it is chosen: who leaves here goes on with the next step.
      rating.set.addEventListener("change", () => {
        const row = rated(index, rating.value(), watch.seconds());
        const place = done.findIndex((one) => one.index === index);
        done.splice(place < 0 ? done.length : place, 1, row);
        practice.rate(question.name, row.rating, at + 1);
        save(index);
        skip.disabled = true;
      });
      const rate = () => rating.value() !== null && next();
      const nextQuestion = steps.findIndex((one) => one.index > number);
      const offer = () => {
        actions.replaceChildren();
        if (shown < parts.length) actions.append(button(parts[shown][1], reveal, shown === 0));
        if (shown) actions.append(button(following ? further : "See the report", rate, true));
        actions.append(skip);
        if (following?.at >= 0 && nextQuestion > 0) actions.append(button("Next question", () => go(nextQuestion)));
        actions.append(button("End the interview", end));
      };
      offer();
      const badges = session.badges(
        mock.title(question.topic),
        question.kind,
        vocabulary.levels[question.level],
        plural(question.followUps.length, "follow-up"),
      );
      const far = h("progress", { class: "mock-far", max: steps.length, value: index, "aria-hidden": "true" });
      const top = session.title(title);
      session.show(root, top, far, badges, ...first, asked, watch.bar, answers, actions);
      for (const place of [actions, top]) place.scrollIntoView({ block: "nearest" });
    }

    go(done.some(({ index }) => index === from) ? from + 1 : from);
  }

  start.show();
})();
