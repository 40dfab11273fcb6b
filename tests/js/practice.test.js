import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { fakeStorage, load, SHARED } from "./load.js";

const AT = "2026-01-01T00:00:00.000Z";
let store;
let practice;
let progressFile;
beforeEach(() => {
  ({ store, practice, progressFile } = load([...SHARED, "progress-file"], { localStorage: fakeStorage() }));
});

test("a rating is kept beside those of the follow-ups and beside what else the section holds", () => {
  store.write("mock", { ratings: { "q-one": { row: [3, 1], at: AT } }, timer: false, history: [1] });
  practice.rate("q-one", 2);
  const section = store.read("mock");
  assert.deepEqual(section.ratings["q-one"].row, [2, 1]);
  assert.ok(section.ratings["q-one"].at > AT);
  assert.deepEqual([section.timer, section.history], [false, [1]]);
  practice.rate("q-one", null);
  assert.deepEqual(practice.ratings().get("q-one").row, [null, 1]);
  practice.rate("q-one", null, 1);
  assert.equal(practice.ratings().size, 0, "no rating is left");
  practice.rate("q-two", 1, 2);
  assert.deepEqual(practice.ratings().get("q-two").row, [null, null, 1]);
});

test("damaged ratings count as none", () => {
  const ratings = {
    a: { row: [9], at: AT },
    b: { row: [null] },
    c: { row: "3" },
    d: 3,
    e: { row: [0, null] },
    f: { row: [3, 9] },
  };
  store.write("mock", { ratings });
  assert.deepEqual([...practice.ratings().keys()], ["e"]);
  store.write("mock", { ratings: [1] });
  assert.equal(practice.ratings().size, 0);
});

test("an entry is new, weak or good, and says so", () => {
  const says = {
    "not rated yet": undefined,
    "✓ rated 3: right and complete": { row: [3] },
    "✓ rated 2: right, with gaps": { row: [2, null, 3] },
    "↻ rated 1: a part of it": { row: [1] },
    "↻ rated 3: right and complete, 1 follow-up to repeat": { row: [3, 1] },
    "↻ follow-ups rated, 2 follow-ups to repeat": { row: [null, 0, 1] },
  };
  for (const [words, entry] of Object.entries(says)) assert.equal(practice.inWords(entry), words);
  const states = [undefined, { row: [2] }, { row: [2, 0] }].map(practice.state);
  assert.deepEqual(states, ["new", "good", "weak"]);
});

test("a try of an item is counted, and the last one counts", () => {
  store.write("quiz", { items: { damaged: { tries: "many", right: true, at: AT } }, exam: null });
  practice.note("quiz-a", false);
  practice.note("quiz-a", true);
  const { tries, right } = practice.items().get("quiz-a");
  assert.deepEqual([tries, right, practice.items().size], [2, true, 1]);
  assert.equal(store.read("quiz").exam, null);
  assert.equal(practice.itemInWords({ tries: 1, right: true }, "✗"), "✓ last time right, 1 try");
  assert.equal(practice.itemInWords({ tries: 2, right: false }, "✗"), "✗ last time not right, 2 tries");
});

test("drills move forward only", () => {
  store.write("drills", { tried: { a: { at: AT }, b: { at: AT } }, solved: { a: { at: AT } } });
  assert.deepEqual(
    [...practice.drills()],
    [
      ["a", "solved"],
      ["b", "tried"],
    ],
  );
  const states = new Map([
    ["a", "tried"],
    ["b", "solved"],
    ["c", "open"],
    ["d", "tried"],
    ["gone", "solved"],
  ]);
  const count = practice.advance(states, (name) => name !== "gone");
  assert.deepEqual(count, { solved: 1, tried: 1, same: 1, strange: 1 });
  assert.deepEqual(Object.fromEntries(practice.drills()), { a: "solved", b: "solved", d: "tried" });
  assert.equal(store.read("drills").solved.a.at, AT, "what was solved keeps its date");
  const before = store.exportText();
  practice.advance(new Map([["a", "solved"]]), () => true);
  assert.equal(store.exportText(), before);
});

test("a file of drills is told from an export, and a damaged one is refused", () => {
  const { drillStates } = progressFile;
  assert.deepEqual(
    [...drillStates('{"exercises": {"a": "solved", "b": "open"}}')],
    [
      ["a", "solved"],
      ["b", "open"],
    ],
  );
  for (const text of ["", "{", "[]", '{"version": 1, "sections": {}}', '{"sections": {}, "exercises": {}}']) {
    assert.equal(drillStates(text), null, text);
  }
  for (const text of [
    '{"exercises": []}',
    '{"exercises": {"a": "done"}}',
    `{"exercises": {"${"a".repeat(200_000)}": "open"}}`,
  ]) {
    assert.throws(() => drillStates(text), /This file is damaged/);
  }
});
