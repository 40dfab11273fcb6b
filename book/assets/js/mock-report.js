/* The report of an interview: averages by topic and by kind, the time against the target, and what to repeat. */
(() => {
  "use strict";

  const mock = window.mockInterview;
  if (!mock || !mock.kept) return;
  const { h, plural, spent } = mock;
  const isWeak = (row) => row.rating <= mock.WEAK;

  function grouped(caption, key, name, done) {
    const values = [...new Set(done.map(({ question }) => question[key]))];
    const rows = values.map((value) => {
      const own = done.filter(({ question }) => question[key] === value);
      return [name(value), String(own.length), mock.mean(own).toFixed(1), String(own.filter(isWeak).length)];
    });
    return mock.table(`By ${caption.toLowerCase()}, averages from 0 to 3`, [caption, "Answers", "Average", "To repeat"], rows, { "data-by": key });
  }

  /** Thinking against the target, by level; nothing where no target was set. */
  function against(done) {
    const timed = done.filter(({ limit }) => limit > 0);
    if (!timed.length) return [];
    const levels = Object.keys(mock.LEVELS).filter((level) => timed.some(({ question }) => question.level === level));
    const sum = (rows, key) => rows.reduce((total, row) => total + row[key], 0);
    const rows = levels.map((level) => {
      const own = timed.filter(({ question }) => question.level === level);
      const late = own.filter(({ seconds, limit }) => seconds > limit).length;
      return [mock.LEVELS[level], String(own.length), mock.time(sum(own, "seconds")), mock.time(sum(own, "limit")), String(late)];
    });
    const late = timed.filter(({ seconds, limit }) => seconds > limit).length;
    const said = `You took ${mock.time(sum(timed, "seconds"))}, and your targets add up to ${mock.time(sum(timed, "limit"))}; `
      + `${late} of ${plural(timed.length, "answer")} took longer than the target.`;
    return [h("p", { class: "mock-against" }, said),
      mock.table("Time to think, by level", ["Level", "Answers", "Taken", "Target", "Longer"], rows, { "data-by": "time" })];
  }

  function repeated(again, done) {
    const list = h("ul", { class: "mock-repeat" });
    for (const question of again) {
      const rows = done.filter((row) => row.question === question && isWeak(row));
      const where = rows.map(({ at, rating: value }) =>
        `${at < 0 ? "the question" : `follow-up ${at + 1}`}: ${value}, ${mock.RATINGS[value].toLowerCase()}`);
      list.append(h("li", {}, mock.copied(question.asked, "span", "mock-asked"), h("p", {}, `${where.join("; ")}.`),
        mock.copied(question.part("evidence"), "div", "mock-evidence")));
    }
    return list;
  }

  /** Enter the interview in the history. */
  function enter(done, { pool }) {
    const rated = [...new Set(done.map(({ question }) => question))];
    const target = done.reduce((sum, { limit }) => sum + limit, 0) / 60;
    mock.enter("history", {
      questions: rated.length,
      rated: done.length,
      mean: Number(mock.mean(done).toFixed(3)),
      minutes: Number((mock.seconds(done) / 60).toFixed(2)),
      topics: [...new Set(rated.map(({ topic }) => topic))],
      pool,
      ...(target ? { target } : {}),
    });
  }

  /** Show the report of what was done; `repeat` holds an interview on some questions, `anew` goes back to the form. */
  mock.report = (stage, list, done, given, { repeat, anew }) => {
    const again = list.filter((question) => done.some((row) => row.question === question && isWeak(row)));
    const said = done.length
      ? `You rated ${plural(done.length, "answer")}: ${mock.mean(done).toFixed(1)} of 3 on average, after ${spent(mock.seconds(done))} of thinking.`
      : "You rated no answer, so there is nothing to report.";
    const made = [mock.titled("Report"), h("p", { class: "mock-sum" }, said)];
    if (done.length) {
      enter(done, given);
      made.push(...against(done), grouped("Topic", "topic", (topic) => mock.titles[topic], done), grouped("Kind", "kind", (kind) => kind, done));
      made.push(h("h4", {}, "What to repeat"));
      made.push(again.length ? repeated(again, done) : h("p", {}, "Nothing: you rated every answer 2 or 3."));
      made.push(h("p", {}, h("a", { href: "progress.html" }, "What is still missing"), " counts these ratings with all others, and says what to do next."));
    }
    if (again.length) made.push(mock.button("Ask me these again", () => repeat(again), true));
    made.push(mock.button("New interview", anew, !again.length));
    mock.show(stage, ...made);
    mock.typeset(stage);
  };
})();
