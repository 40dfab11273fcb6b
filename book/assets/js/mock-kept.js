/* The questions as the lists on the page hold them, the drills too, and what the store keeps of both in the section mock:
 *
 *   ratings   {QUESTION: {row: [of the question, of its first follow-up, ...], at}}, null in a row where there is none
 *   session   {names, index, done: [[step, rating, seconds], ...], pool}, the interview that is held now
 *   history   {DATE: {at, questions, rated, mean, minutes, topics, pool, target}}, an entry for each interview with a rating
 *   drills    {DRILL: {rating, minutes, at}}
 *   round     {names, index, done: [[place, rating, seconds, said], ...], used, at}, the coding round that is held now
 *   coding    {DATE: {at, drills, mean, minutes, target}}, an entry for each coding round
 *   timer     whether the timer shows;  target  {LEVEL: minutes}, the target times of the form
 */
(() => {
  "use strict";

  const mock = window.mockInterview;
  const lists = document.querySelector(".mock-lists");
  if (!mock || !lists) return;

  const store = window.practiceStore;
  const SECTION = "mock";
  const MOST = 50; // entries of each history; the oldest go
  const DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

  mock.LEVELS = { 1: "basic", 2: "solid", 3: "hard" };
  mock.TARGETS = { 1: 2, 2: 4, 3: 6 }; // minutes to think and to say the answer: what we suggest, an assumption
  const topics = [...lists.querySelectorAll(".mock-topic")].map((fold) => fold.dataset);
  mock.topics = topics.map(({ topic, title }) => [topic, title]);
  mock.questions = [...lists.querySelectorAll(".mock-question")].map((box) => ({
    ...box.dataset,
    asked: box.querySelector(".mock-asked"),
    part: (name) => box.querySelector(`:scope > [data-part="${name}"]`),
    followUps: [...box.querySelectorAll(".mock-follow-ups > li")].map((item) => ({
      asked: item.querySelector('[data-part="follow-up"]'),
      answer: item.querySelector('[data-part="answer"]'),
    })),
  }));
  mock.drills = [...document.querySelectorAll(".coding-drill")].map((item) => ({
    ...item.dataset,
    minutes: Number(item.dataset.minutes),
    link: item.querySelector("a"),
  }));
  mock.drillTopics = [...document.querySelectorAll(".coding-topic")].map(({ dataset }) => [dataset.topic, dataset.title]);
  mock.titles = Object.fromEntries([...mock.drillTopics, ...mock.topics]);
  mock.byName = new Map(mock.questions.map((question) => [question.name, question]));
  mock.drillByName = new Map(mock.drills.map((drill) => [drill.name, drill]));

  /** The steps of an interview: each question (-1), and then its follow-ups. */
  mock.stepsOf = (list) => list.flatMap((question, index) => [-1, ...question.followUps.keys()].map((at) => ({ question, index, at })));

  // ---- What is kept, and is not trusted: another edition of the book or a file may have written it

  const { isRating, plain } = mock;
  const amount = (value) => Number.isFinite(value) && value >= 0;
  const whole = (value) => Number.isInteger(value) && value > 0;
  const dated = (value) => plain(value) && DATE.test(value.at);
  const names = (value, known) => Array.isArray(value) && value.length > 0 && value.every((name) => known.has(name));
  const fitting = (value, fits) => Object.fromEntries(Object.entries(plain(value) ? value : {}).filter(([, entry]) => fits(entry)));

  /** The newest entries of a history, by their dates. */
  const newest = (entries) => Object.fromEntries(Object.values(entries)
    .sort((one, other) => (one.at < other.at ? -1 : 1)).slice(-MOST).map((entry) => [entry.at, entry]));

  const isInterview = (entry) => dated(entry) && whole(entry.questions) && whole(entry.rated) && amount(entry.mean) && entry.mean <= 3
    && amount(entry.minutes) && Array.isArray(entry.topics) && entry.topics.every((topic) => typeof topic === "string")
    && (entry.target === undefined || amount(entry.target));
  const isRound = (entry) => dated(entry) && whole(entry.drills) && amount(entry.mean) && entry.mean <= 3
    && amount(entry.minutes) && amount(entry.target);

  /** Whether an interview that was kept can go on: its questions are still here, and its steps are steps of it. */
  function begun(session) {
    if (!plain(session) || !names(session.names, mock.byName) || !Array.isArray(session.done)) return false;
    const count = mock.stepsOf(session.names.map((name) => mock.byName.get(name))).length;
    const isStep = (value) => Number.isInteger(value) && value >= 0 && value < count;
    return isStep(session.index)
      && session.done.every((one) => Array.isArray(one) && isStep(one[0]) && isRating(one[1]) && amount(one[2]));
  }

  /** The same for a coding round. */
  function opened(round) {
    if (!dated(round) || !names(round.names, mock.drillByName) || !Array.isArray(round.done) || !amount(round.used)) return false;
    const isPlace = (value) => Number.isInteger(value) && value >= 0 && value < round.names.length;
    return isPlace(round.index) && round.done.every((one) => Array.isArray(one) && isPlace(one[0]) && isRating(one[1])
      && amount(one[2]) && amount(one[3]));
  }

  mock.kept = () => {
    const kept = store.read(SECTION);
    const ratings = {};
    for (const { name } of mock.questions) {
      const { row, at } = (kept.ratings && Object.hasOwn(kept.ratings, name) && kept.ratings[name]) || {};
      const fits = (value) => value === null || isRating(value);
      if (Array.isArray(row) && row.every(fits) && row.some(isRating)) ratings[name] = { row, at };
    }
    const drills = fitting(kept.drills, (entry) => dated(entry) && isRating(entry.rating) && amount(entry.minutes));
    const minutes = plain(kept.target) ? Object.entries(kept.target) : [];
    return {
      ratings,
      timer: kept.timer !== false,
      target: Object.fromEntries(minutes.filter(([level, value]) => level in mock.LEVELS && amount(value) && value > 0 && value <= 60)),
      session: begun(kept.session) ? kept.session : null,
      history: newest(fitting(kept.history, isInterview)),
      drills: Object.fromEntries(Object.entries(drills).filter(([name]) => mock.drillByName.has(name))),
      round: opened(kept.round) ? kept.round : null,
      coding: newest(fitting(kept.coding, isRound)),
    };
  };

  mock.keep = (change) => store.write(SECTION, { ...mock.kept(), ...change });

  /** Add an entry to a history, `history` or `coding`. */
  mock.enter = (which, entry) => {
    const at = new Date().toISOString();
    mock.keep({ [which]: newest({ ...mock.kept()[which], [at]: { at, ...entry } }) });
  };

  /** Keep the rating of an answer: `at` is -1 for the question itself, or the number of a follow-up. */
  mock.remember = (question, at, value) => {
    const { ratings } = mock.kept();
    const row = Array.from({ length: question.followUps.length + 1 }, (_, i) => ratings[question.name]?.row[i] ?? null);
    row[at + 1] = value;
    mock.keep({ ratings: { ...ratings, [question.name]: { row, at: new Date().toISOString() } } });
  };

  mock.weak = ({ row }) => row.some((value) => value !== null && value <= mock.WEAK);
  mock.where = () => (store.available ? "Ratings stay in this browser and go nowhere else."
    : "This browser keeps nothing for this page, so ratings last until you leave it.");
})();
