import assert from "node:assert/strict";
import { test } from "node:test";
import { fakeStorage, load } from "./load.js";

const AT = "2026-01-01T00:00:00.000Z";
const LATER = "2026-02-01T00:00:00.000Z";
const fresh = (localStorage) => load(["util", "store"], { localStorage }).store;
const file = (sections) => JSON.stringify({ version: 1, sections });

test("sections are kept apart under one key, and read as copies", () => {
  const localStorage = fakeStorage();
  const store = fresh(localStorage);
  store.write("cards", { box: [1, 2] });
  store.write("quiz", { items: {} });
  store.read("cards").box.push(3);
  assert.deepEqual(store.read("cards"), { box: [1, 2] });
  assert.deepEqual(store.read("mock"), {});
  assert.deepEqual([...localStorage.items.keys()], ["transformers-tested"]);
  const text = store.exportText();
  store.erase();
  assert.equal(localStorage.items.size, 0);
  assert.deepEqual(store.read("cards"), {});
  store.write("mock", { runs: 1 });
  store.importText(text);
  assert.deepEqual([store.read("cards"), store.read("mock")], [{ box: [1, 2] }, { runs: 1 }]);
});

test("a section has a lower-case name and holds an object", () => {
  const store = fresh();
  for (const name of ["A B", "__proto__", "", 3]) assert.throws(() => store.read(name), /lower-case name/);
  for (const value of [[1], null, "x"]) assert.throws(() => store.write("quiz", value), /holds an object/);
});

const BAD = {
  nothing: ["", /not JSON/],
  "cut off": ['{"version": 1, "sections": {', /not JSON/],
  "of something else": ['{"a": 1}', /does not hold progress/],
  "of a later version": ['{"version": 2, "sections": {}}', /version 2, and this page reads version 1/],
  "with a damaged section": ['{"version": 1, "sections": {"cards": {}, "quiz": 3}}', /nothing was imported/],
  "with a prototype": ['{"version": 1, "sections": {"__proto__": {}}}', /nothing was imported/],
  "too large": ["x".repeat(2_000_001), /too large/],
};
for (const [name, [text, message]] of Object.entries(BAD)) {
  test(`a file ${name} changes nothing`, () => {
    const store = fresh();
    store.write("quiz", { mark: 1 });
    assert.throws(() => store.importText(text), message);
    assert.deepEqual([store.read("quiz"), store.read("cards")], [{ mark: 1 }, {}]);
  });
}

test("an import keeps the newer of two entries, what is here where both are of one time, and counts both", () => {
  const store = fresh();
  const entry = (at, tries) => ({ tries, right: true, at });
  store.write("quiz", { items: { a: entry(LATER, 1), b: entry(AT, 1), c: entry(AT, 1) }, exam: null });
  const there = { a: entry(AT, 2), b: entry(LATER, 2), c: entry(AT, 2), d: entry(AT, 2) };
  const ticks = { "plan-two-days": { read: { done: true, at: AT } } };
  const count = store.importText(file({ quiz: { items: there, exam: { seed: "s" } }, plans: ticks }));
  assert.deepEqual(count, { taken: 3, kept: 2 });
  const { items, exam } = store.read("quiz");
  assert.deepEqual(
    ["a", "b", "c", "d"].map((name) => items[name].tries),
    [1, 2, 1, 2],
  );
  assert.equal(exam, null, "what has no date comes only where nothing is kept");
  assert.deepEqual(store.read("plans"), ticks);
});

test("a newer entry of another kind does not replace one", () => {
  const store = fresh();
  store.write("quiz", { items: { a: { tries: 1, right: true, at: AT } } });
  store.importText(file({ quiz: { items: { a: { tries: "many", right: true, at: LATER } } } }));
  assert.equal(store.read("quiz").items.a.tries, 1);
});

test("an import of what was exported changes nothing, and dates without a zone count as none", () => {
  const store = fresh();
  store.write("mock", { history: { [AT]: { at: AT, mean: 2 } }, target: { 1: 2 } });
  const before = store.exportText();
  assert.deepEqual(store.importText(before), { taken: 0, kept: 1 });
  assert.equal(store.exportText(), before);
  assert.deepEqual(store.importText(file({ mock: { x: { at: "2026-03-01" } } })), { taken: 0, kept: 0 });
});

test("text that is damaged counts as none", () => {
  const localStorage = fakeStorage(new Map([["transformers-tested", "{"]]));
  assert.deepEqual(fresh(localStorage).read("quiz"), {});
});

const refusing = {
  getItem: () => null,
  removeItem: () => {},
  setItem() {
    throw new Error("full");
  },
};
test("where storage is refused it lasts as long as the page", () => {
  const store = fresh(refusing);
  assert.equal(store.available, false);
  store.write("quiz", { mark: 1 });
  assert.deepEqual(store.read("quiz"), { mark: 1 });
});

test("storage that is full later is given up for memory", () => {
  const localStorage = fakeStorage();
  const store = fresh(localStorage);
  store.write("quiz", { mark: 1 });
  localStorage.setItem = refusing.setItem;
  store.write("quiz", { mark: 2 });
  assert.equal(store.available, false);
  assert.deepEqual(store.read("quiz"), { mark: 2 });
});
