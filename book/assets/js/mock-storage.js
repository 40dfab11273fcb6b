/* What the store keeps of the mock interview and of the coding round, in the section mock:
 *
 *   ratings   {QUESTION: {row: [of the question, of its first follow-up, ...], at}}, null in a row where there is none
 *   session   {names, index, done: [[step, rating, seconds], ...], pool, target, at}, the interview that is held now
 *   history   {DATE: {at, questions, rated, mean, minutes, topics, pool, target}}, an entry for each interview with a rating
 *   drills    {DRILL: {rating, minutes, at}}
 *   round     {names, index, done: [[place, rating, seconds, said], ...], used, at}, the coding round that is held now
 *   coding    {DATE: {at, drills, mean, minutes, target}}, an entry for each coding round
 *   timer     whether the timer shows;  target  {LEVEL: minutes}, the target times of the form
 *
 * What is kept is not trusted: another edition of the book or a file may have written it.
 */
const mockStorage = (() => {
  "use strict";

  const { isObject, isDated, isAmount, isCount, isPlace, areNames, entries, now } = util;
  const SECTION = "mock";
  const MOST = 50; // entries of each history; the oldest go
  const LONGEST = 60; // minutes of a target

  const isTarget = (value) => isAmount(value) && value > 0 && value <= LONGEST;
  const isReport = (entry) => isDated(entry) && isAmount(entry.mean) && entry.mean <= 3 && isAmount(entry.minutes);
  const isInterview = (entry) =>
    isReport(entry) &&
    isCount(entry.questions) &&
    isCount(entry.rated) &&
    Array.isArray(entry.topics) &&
    entry.topics.every((topic) => typeof topic === "string") &&
    (entry.target === undefined || isAmount(entry.target));
  const isRound = (entry) => isReport(entry) && isCount(entry.drills) && isAmount(entry.target);
  const isDrill = (entry) => isDated(entry) && practice.isRating(entry.rating) && isAmount(entry.minutes);

  /** The steps of an interview: each question (-1), and then its follow-ups. */
  const stepsOf = (list) =>
    list.flatMap((question, index) => [-1, ...question.followUps.keys()].map((at) => ({ question, index, at })));

  /** The newest entries of a history, the oldest of them first. */
  const newest = (list) => list.sort((one, other) => (one.at < other.at ? -1 : 1)).slice(-MOST);
  const history = (value, fits) => newest([...entries(value, fits).values()]);

  /**
   * Whether what was cut off can go on: its pieces are still here, and its rows, [place, rating, amount, ...], are of steps
   * that it has.
   */
  const canGoOn = (value, known, count, length) =>
    isObject(value) &&
    areNames(value.names, known) &&
    isPlace(value.index, count(value.names)) &&
    Array.isArray(value.done) &&
    value.done.every(
      (row) =>
        Array.isArray(row) &&
        row.length >= length &&
        isPlace(row[0], count(value.names)) &&
        practice.isRating(row[1]) &&
        row.slice(2).every(isAmount),
    );

  /**
   * @param {{name: string, followUps: unknown[]}[]} questions
   * @param {{name: string}[]} drills
   */
  function open(questions, drills) {
    const byName = new Map(questions.map((question) => [question.name, question]));
    const drillByName = new Map(drills.map((drill) => [drill.name, drill]));
    const stepCount = (names) => stepsOf(names.map((name) => byName.get(name))).length;
    const isSession = (value) => canGoOn(value, byName, stepCount, 3);
    const isOpenRound = (value) =>
      isDated(value) && isAmount(value.used) && canGoOn(value, drillByName, (names) => names.length, 4);

    function load() {
      const saved = store.read(SECTION);
      const target = isObject(saved.target) ? Object.entries(saved.target) : [];
      return {
        ratings: new Map([...practice.ratings()].filter(([name]) => byName.has(name))),
        timer: saved.timer !== false,
        target: Object.fromEntries(target.filter(([level, value]) => level in vocabulary.levels && isTarget(value))),
        session: isSession(saved.session) ? saved.session : null,
        history: history(saved.history, isInterview),
        drills: new Map([...entries(saved.drills, isDrill)].filter(([name]) => drillByName.has(name))),
        round: isOpenRound(saved.round) ? saved.round : null,
        coding: history(saved.coding, isRound),
      };
    }

    const save = (change) => store.write(SECTION, { ...store.read(SECTION), ...change });

    return Object.freeze({
      byName,
      drillByName,
      load,
      save,
      /** Add a report to a history, `history` or `coding`. */
      enter(which, report) {
        const all = newest([...load()[which], { at: now(), ...report }]);
        save({ [which]: Object.fromEntries(all.map((entry) => [entry.at, entry])) });
      },
      rateDrill(name, rating, minutes) {
        save({ drills: Object.fromEntries([...load().drills, [name, { rating, minutes, at: now() }]]) });
      },
    });
  }

  return Object.freeze({ LONGEST, stepsOf, isTarget, open });
})();
