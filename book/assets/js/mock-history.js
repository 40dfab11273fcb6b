/* The reports of the mock interview and of the coding round over time, and whether the ratings rise. */
(() => {
  "use strict";

  const mock = window.mockInterview;
  if (!mock || !mock.kept) return;
  const { h, plural } = mock;
  const FEWEST = 3; // entries before anything is said about a rise
  const COMPARED = 8; // the newest of them: all their orders can be gone through
  const SHOWN = 10;
  const RARE = 0.05;

  /** How many pairs rise minus how many fall, from an earlier value to a later one. */
  function balance(values) {
    let up = 0;
    let down = 0;
    values.forEach((value, place) => {
      for (const later of values.slice(place + 1)) {
        up += later > value;
        down += later < value;
      }
    });
    return { up, down };
  }

  /** The share of all orders of the values that are at least as one-sided as theirs, up or down: Kendall's test, exact. */
  function chance(values) {
    const { up, down } = balance(values);
    const bound = Math.abs(up - down);
    const order = [...values];
    let all = 0;
    let asClear = 0;
    const swap = (one, other) => { [order[one], order[other]] = [order[other], order[one]]; };
    const go = (fixed, sum) => {
      if (fixed === order.length) {
        all += 1;
        asClear += Math.abs(sum) >= bound;
        return;
      }
      for (let next = fixed; next < order.length; next += 1) {
        swap(fixed, next);
        let gained = 0;
        for (let before = 0; before < fixed; before += 1) gained += Math.sign(order[fixed] - order[before]);
        go(fixed + 1, sum + gained);
        swap(fixed, next);
      }
    };
    go(0, 0);
    return asClear / all;
  }

  /** Say whether averages rise, from the oldest to the newest; honest about how little a few of them tell. */
  mock.trend = (averages, word) => {
    if (averages.length < FEWEST) {
      return `After ${FEWEST} ${word}s this page says whether your ratings rise: ${averages.length} so far.`;
    }
    const values = averages.slice(-COMPARED);
    const { up, down } = balance(values);
    const share = chance(values);
    const orders = share < 0.01 ? "fewer than 1 of 100 random orders" : `${Math.round(100 * share)} of 100 random orders`;
    const counted = `Of the ${(values.length * (values.length - 1)) / 2} pairs among your last ${values.length} ${word}s, the later one has `
      + `the higher average in ${up} and the lower in ${down}; ${orders} of these averages would be as one-sided.`;
    const clear = share <= RARE;
    const verdict = clear && up > down ? "Your ratings rise." : clear ? "Your ratings fall." : "No clear rise or fall.";
    return `${verdict} ${counted} You rate yourself, and what is asked differs, so take it as a hint.`;
  };

  const day = (at) => {
    const date = new Date(at);
    return [date.getFullYear(), date.getMonth() + 1, date.getDate()].map((part) => String(part).padStart(2, "0")).join("-");
  };
  const clock = (minutes) => mock.time(60 * minutes);
  const used = ({ minutes, target }) => (target ? `${clock(minutes)} of ${clock(target)}` : clock(minutes));
  const repeats = ({ pool }) => pool === "weak" || pool === "again";

  function about(entry) {
    const topics = entry.topics.length === 1 ? mock.titles[entry.topics[0]] ?? entry.topics[0] : plural(entry.topics.length, "topic");
    return `${plural(entry.questions, "question")}, ${topics}${repeats(entry) ? ", repeated" : ""}`;
  }

  /** The head of a row: the day, and below it what was asked. */
  const head = (at, words) => h("span", {}, day(at), h("small", {}, words));

  function section(name, caption, heads, rows, said) {
    if (!rows.length) return [];
    const table = mock.table(caption, heads, rows.slice(-SHOWN).reverse());
    return [h("section", { class: "mock-history", "aria-label": name }, table, h("p", { class: "mock-note" }, said))];
  }

  /** What the start view of the interview shows: the last reports, newest first, and a sentence. */
  mock.interviewHistory = () => {
    const entries = Object.values(mock.kept().history);
    const fresh = entries.filter((entry) => !repeats(entry)).map(({ mean }) => mean);
    const without = fresh.length < entries.length ? " Interviews on questions that you repeat are listed and not compared." : "";
    const rows = entries.map((entry) =>
      [head(entry.at, about(entry)), String(entry.rated), entry.mean.toFixed(1), used(entry)]);
    return section("Past interviews", "Your last interviews, averages from 0 to 3", ["Interview", "Ratings", "Average", "Time"], rows,
      mock.trend(fresh, "interview") + without);
  };

  /** The same for the coding round. */
  mock.codingHistory = () => {
    const entries = Object.values(mock.kept().coding);
    const rows = entries.map((entry) => [head(entry.at, plural(entry.drills, "drill")), entry.mean.toFixed(1), used(entry)]);
    return section("Past coding rounds", "Your last coding rounds, averages from 0 to 3", ["Round", "Average", "Time"], rows,
      mock.trend(entries.map(({ mean }) => mean), "round"));
  };
})();
