/* What a reader did with each question, quiz item and drill, read from the store; one module for every page that shows it.
 *
 * window.practice = {
 *   h, plural          an element, and a number with its word
 *   RATINGS            what the ratings 0 to 3 are called
 *   ratings()          Map of the rated questions: name -> {row: [of the question, of its follow-ups, ...], at}
 *   rate(name, value)  keeps a rating of the question itself; null takes it back
 *   state(entry)       "new" without an entry, "weak" with a rating of 0 or 1 in its row, else "good"
 *   said(entry)        the same in words
 *   items()            Map of the quiz items that were tried: id -> {tries, right, at}
 *   drills()           Map of the drills that were tried: name -> "tried" or "solved"
 *   watch(call)        calls when another tab may have changed any of it, and when the page shows: a browser that comes back to
 *                      a page gives its controls their old values after the scripts ran
 * }
 *
 * Ratings stand where the mock interview keeps them, in section `mock`: one rating shows in both.
 */
(() => {
  "use strict";

  const store = window.practiceStore;
  const RATINGS = Object.freeze(["No answer", "A part of it", "Right, with gaps", "Right and complete"]);
  const WEAK = 1; // a rating up to this one is to be repeated

  /** Make an element; an attribute that is a function listens to the event of its name. */
  function h(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") made.addEventListener(name, value);
      else if (value === true) made.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }
  const plural = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;

  const plain = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  const entries = (section, whole) =>
    new Map(Object.entries(plain(section) ? section : {}).filter(([, entry]) => plain(entry) && whole(entry)));

  const isRating = (value) => value === null || (Number.isInteger(value) && value >= 0 && value < RATINGS.length);
  const isRow = ({ row }) => Array.isArray(row) && row.every(isRating) && row.some((value) => value !== null);
  const isWeak = (value) => value !== null && value <= WEAK;
  const ratings = () => entries(store.read("mock").ratings, isRow);

  function rate(name, value) {
    const section = store.read("mock"); // what the mock interview keeps beside the ratings stays
    const all = new Map(Object.entries(plain(section.ratings) ? section.ratings : {}));
    const row = [value, ...(ratings().get(name)?.row.slice(1) ?? [])];
    if (isRow({ row })) all.set(name, { row, at: new Date().toISOString() });
    else all.delete(name);
    store.write("mock", { ...section, ratings: Object.fromEntries(all) });
  }

  const state = (entry) => {
    if (!entry) return "new";
    return entry.row.some(isWeak) ? "weak" : "good";
  };

  function said(entry) {
    if (!entry) return "not rated yet";
    const [own, ...further] = entry.row;
    const weak = further.filter(isWeak).length;
    const main = own === null ? "follow-ups rated" : `rated ${own}: ${RATINGS[own].toLowerCase()}`;
    return `${state(entry) === "weak" ? "↻ " : "✓ "}${main}${weak ? `, ${plural(weak, "follow-up")} to repeat` : ""}`;
  }

  const isItem = ({ tries, right, at }) =>
    Number.isInteger(tries) && tries > 0 && typeof right === "boolean" && typeof at === "string";
  const items = () => entries(store.read("quiz").items, isItem);

  function drills() {
    const { tried, solved } = store.read("drills");
    const dated = ({ at }) => typeof at === "string";
    const found = new Map([...entries(tried, dated).keys()].map((name) => [name, "tried"]));
    for (const name of entries(solved, dated).keys()) found.set(name, "solved");
    return found;
  }

  function watch(call) {
    addEventListener("storage", call);
    addEventListener("pageshow", () => call());
  }

  window.practice = Object.freeze({ h, plural, RATINGS, ratings, rate, state, said, items, drills, watch });
})();
