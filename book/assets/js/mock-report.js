/* The report of an interview: averages by topic and by kind, the time against the target, and what to repeat. */
const mockReport = (() => {
  "use strict";

  const { h, copied } = dom;
  const { plural, clockTime, duration } = util;
  const { table, mean, total, rounded } = session;
  const isWeak = (row) => practice.isWeak(row.rating);

  function grouped(caption, key, name, done) {
    const values = [...new Set(done.map(({ question }) => question[key]))];
    const rows = values.map((value) => {
      const own = done.filter(({ question }) => question[key] === value);
      return [name(value), String(own.length), mean(own).toFixed(1), String(own.filter(isWeak).length)];
    });
    const words = `By ${caption.toLowerCase()}, averages from 0 to 3`;
    return table(words, [caption, "Answers", "Average", "To repeat"], rows, { "data-by": key });
  }

  /** Thinking against the target, by level; nothing where no target was set. */
  function against(done) {
    const timed = done.filter(({ limit }) => limit > 0);
    if (!timed.length) return [];
    const late = (rows) => rows.filter(({ seconds, limit }) => seconds > limit).length;
    const rows = Object.entries(vocabulary.levels)
      .map(([level, word]) => ({ word, own: timed.filter(({ question }) => question.level === level) }))
      .filter(({ own }) => own.length)
      .map(({ word, own }) => [
        word,
        String(own.length),
        clockTime(total(own, "seconds")),
        clockTime(total(own, "limit")),
        String(late(own)),
      ]);
    const words =
      `You took ${clockTime(total(timed, "seconds"))}, and your targets add up to ${clockTime(total(timed, "limit"))}; ` +
      `${late(timed)} of ${plural(timed.length, "answer")} took longer than the target.`;
    const heads = ["Level", "Answers", "Taken", "Target", "Longer"];
    return [
      h("p", { class: "mock-against" }, words),
      table("Time to think, by level", heads, rows, { "data-by": "time" }),
    ];
  }

  function repeated(again, done) {
    const list = h("ul", { class: "mock-repeat" });
    for (const question of again) {
      const rows = done.filter((row) => row.question === question && isWeak(row));
      const where = rows.map(
        ({ at, rating }) =>
          `${at < 0 ? "the question" : `follow-up ${at + 1}`}: ${rating}, ${vocabulary.ratings[rating].toLowerCase()}`,
      );
      list.append(
        h(
          "li",
          {},
          copied(question.asked, "span", "mock-asked"),
          h("p", {}, `${where.join("; ")}.`),
          copied(question.part("evidence"), "div", "mock-evidence"),
        ),
      );
    }
    return list;
  }

  /** Enter the interview in the history. */
  function enter(done, pool) {
    const rated = [...new Set(done.map(({ question }) => question))];
    const target = total(done, "limit") / 60;
    mock.storage.enter("history", {
      questions: rated.length,
      rated: done.length,
      mean: rounded(mean(done), 3),
      minutes: rounded(total(done, "seconds") / 60, 2),
      topics: [...new Set(rated.map(({ topic }) => topic))],
      pool,
      ...(target ? { target } : {}),
    });
  }

  /** Show the report of what was done; `repeat` holds an interview on some questions, `anew` goes back to the form. */
  function show(root, list, done, pool, { repeat, anew }) {
    const again = list.filter((question) => done.some((row) => row.question === question && isWeak(row)));
    const words = done.length
      ? `You rated ${plural(done.length, "answer")}: ${mean(done).toFixed(1)} of 3 on average, with ` +
        `${duration(total(done, "seconds"))} of thinking in all.`
      : "You rated no answer, so there is nothing to report.";
    /** @type {HTMLElement[]} */
    const made = [session.title("Report"), h("p", { class: "mock-sum" }, words)];
    if (done.length) {
      enter(done, pool);
      made.push(
        ...against(done),
        grouped("Topic", "topic", mock.title, done),
        grouped("Kind", "kind", (kind) => kind, done),
        h("h4", {}, "What to repeat"),
        again.length ? repeated(again, done) : h("p", {}, "Nothing: you rated every answer 2 or 3."),
        h(
          "p",
          {},
          h("a", { href: "progress.html" }, "Your progress"),
          " counts these ratings with all others, and says what to do next.",
        ),
      );
    }
    if (again.length) made.push(session.button("Ask me these again", () => repeat(again), true));
    made.push(session.button("New interview", anew, !again.length));
    session.show(root, ...made);
  }

  return Object.freeze({ show });
})();
