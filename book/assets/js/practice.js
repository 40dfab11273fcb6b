/* What a reader did with each question, quiz item and drill, read from the store; one module for every page that shows it.
 *
 * practice = {
 *   isRating(value), isWeak(value)   a rating is 0 to 3; one up to `vocabulary.weak` is to be repeated
 *   ratings()                 Map of the rated questions: name -> {row: [of the question, of its follow-ups, ...], at}
 *   rate(name, value, place)  keeps the rating of the question, place 0, or of a follow-up; null takes it back
 *   state(entry)              "new" without an entry, "weak" with a rating to be repeated in its row, else "good"
 *   inWords(entry)            the same in words
 *   toRepeat(topic)           the address of the list of questions to be repeated, of one topic or of all
 *   items()                   Map of the quiz items that were tried: id -> {tries, right, at}
 *   note(id, right)           keeps a try of an item
 *   itemInWords(entry, sign)  what became of an item, with the sign of one that was not right
 *   drills()                  Map of the drills that were tried: name -> "tried" or "solved"
 *   advance(states, known)    keeps the states of drills that go further than those kept, and counts them
 *   asked                     what this tab keeps: the address of a question that was chosen to be answered, {href}
 *   watch(call)               calls when another tab may have changed any of it, and when the page shows: a browser that
 *                             comes back to a page gives its controls their old values after the scripts ran
 * }
 *
 * Ratings stand in section `mock`, since the mock interview rates the same questions. Drills lie in section `drills`, as
 * {tried: {NAME: {at}}, solved: ...}: two lists of dates, so that an import never takes back what was solved.
 */
const practice = (() => {
  "use strict";

  const { isObject, isPlace, isCount, entries, now, plural } = util;
  const STATES = ["open", "tried", "solved"];
  const TO_REPEAT = "to-repeat";

  const isRating = (value) => isPlace(value, vocabulary.ratings.length);
  const isWeak = (value) => value !== null && value <= vocabulary.weak;
  const isRow = ({ row }) =>
    Array.isArray(row) && row.every((value) => value === null || isRating(value)) && row.some(isRating);
  const ratings = () => entries(store.read("mock").ratings, isRow);

  function rate(name, value, place = 0) {
    const section = store.read("mock"); // what the mock interview keeps beside the ratings stays
    const all = new Map(Object.entries(isObject(section.ratings) ? section.ratings : {}));
    const row = [...(ratings().get(name)?.row ?? [])];
    while (row.length <= place) row.push(null);
    row[place] = value;
    if (isRow({ row })) all.set(name, { row, at: now() });
    else all.delete(name);
    store.write("mock", { ...section, ratings: Object.fromEntries(all) });
  }

  const state = (entry) => {
    if (!entry) return "new";
    return entry.row.some(isWeak) ? "weak" : "good";
  };

  function inWords(entry) {
    if (!entry) return "not rated yet";
    const [own, ...further] = entry.row;
    const weak = further.filter(isWeak).length;
    const main = own === null ? "follow-ups rated" : `rated ${own}: ${vocabulary.ratings[own].toLowerCase()}`;
    return `${state(entry) === "weak" ? "↻ " : "✓ "}${main}${weak ? `, ${plural(weak, "follow-up")} to repeat` : ""}`;
  }

  const root = () => new URL(document.documentElement.dataset.content_root ?? "./", location.href);
  const toRepeat = (topic = "") =>
    new URL(`book/interview/index.html#${TO_REPEAT}${topic && `-${topic}`}`, root()).href;

  const isItem = ({ tries, right, at }) => isCount(tries) && typeof right === "boolean" && typeof at === "string";
  const items = () => entries(store.read("quiz").items, isItem);

  function note(id, right) {
    const all = items();
    all.set(id, { tries: (all.get(id)?.tries ?? 0) + 1, right, at: now() });
    store.write("quiz", { ...store.read("quiz"), items: Object.fromEntries(all) });
  }

  const itemInWords = ({ tries, right }, sign) =>
    `${right ? "✓ last time right" : `${sign} last time not right`}, ${plural(tries, "try", "tries")}`;

  function drills() {
    const { tried, solved } = store.read("drills");
    const hasDate = ({ at }) => typeof at === "string";
    const found = new Map([...entries(tried, hasDate).keys()].map((name) => [name, "tried"]));
    for (const name of entries(solved, hasDate).keys()) found.set(name, "solved");
    return found;
  }

  /**
   * @param {Map<string, string>} states by name: open, tried or solved
   * @param {(name: string) => boolean} known whether there is a drill of a name
   */
  function advance(states, known) {
    const before = drills();
    const section = store.read("drills");
    const all = { tried: { ...section.tried }, solved: { ...section.solved } };
    const at = now();
    const count = { solved: 0, tried: 0, same: 0, strange: 0 };
    for (const [name, state] of states) {
      if (state === "open") continue;
      if (!known(name)) {
        count.strange += 1;
      } else if (STATES.indexOf(state) > STATES.indexOf(before.get(name) ?? "open")) {
        all[state][name] = { at };
        count[state] += 1;
      } else {
        count.same += 1;
      }
    }
    if (count.solved + count.tried) store.write("drills", all);
    return count;
  }

  function watch(call) {
    addEventListener("storage", call);
    addEventListener("pageshow", () => call());
  }

  return Object.freeze({
    STATES,
    TO_REPEAT,
    isRating,
    isWeak,
    ratings,
    rate,
    state,
    inWords,
    toRepeat,
    items,
    note,
    itemInWords,
    drills,
    advance,
    asked: util.inTab("transformers-tested-asked"),
    watch,
  });
})();
