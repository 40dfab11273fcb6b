import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { fakeStorage, load, SHARED } from "./load.js";

const day = (number) => `2026-01-${String(number).padStart(2, "0")}T10:00:00.000Z`;
const questions = [
  { name: "q-one", followUps: ["a", "b"] },
  { name: "q-two", followUps: [] },
];
const drills = [{ name: "causal" }, { name: "softmax" }];
const interview = (number, mean = 2) => ({
  at: day(number),
  questions: 2,
  rated: 5,
  mean,
  minutes: 7.5,
  topics: ["attention"],
  pool: "all",
});
let store;
let mockStorage;
let storage;
beforeEach(() => {
  ({ store, mockStorage } = load([...SHARED, "mock-storage"], { localStorage: fakeStorage() }));
  storage = mockStorage.open(questions, drills);
});

test("an interview asks each question and then its follow-ups", () => {
  const steps = mockStorage.stepsOf(questions).map(({ question, index, at }) => [question.name, index, at]);
  assert.deepEqual(steps, [
    ["q-one", 0, -1],
    ["q-one", 0, 0],
    ["q-one", 0, 1],
    ["q-two", 1, -1],
  ]);
});

test("an interview that was cut off goes on only where all of it fits", () => {
  const open = { names: ["q-one", "q-two"], index: 3, done: [[0, 2, 10.5]], pool: "all", target: {} };
  storage.save({ session: open });
  assert.deepEqual(storage.load().session, open);
  const bad = [
    null,
    { ...open, names: ["gone"] },
    { ...open, names: [] },
    { ...open, index: 4 },
    { ...open, index: "0" },
    { ...open, done: {} },
    { ...open, done: [[4, 2, 1]] },
    { ...open, done: [[0, 9, 1]] },
    { ...open, done: [[0, 2]] },
    { ...open, done: [[0, 2, -1]] },
  ];
  for (const session of bad) {
    storage.save({ session });
    assert.equal(storage.load().session, null, JSON.stringify(session));
  }
});

test("so does a coding round", () => {
  const open = { names: ["causal", "softmax"], index: 1, done: [[0, 3, 60, 2]], used: 5, at: day(1) };
  storage.save({ round: open });
  assert.deepEqual(storage.load().round, open);
  const bad = [
    { ...open, names: ["gone", "softmax"] },
    { ...open, index: 2 },
    { ...open, used: -1 },
    { ...open, at: "yesterday" },
    { ...open, done: [[0, 3, 60]] },
  ];
  for (const round of bad) {
    storage.save({ round });
    assert.equal(storage.load().round, null, JSON.stringify(round));
  }
});

test("a history keeps the newest 50 of what is whole, the oldest first", () => {
  const many = Array.from({ length: 60 }, (_, minute) => {
    const at = `2026-01-01T10:${String(59 - minute).padStart(2, "0")}:00.000Z`;
    return { ...interview(1), at: minute < 60 ? at : day(1) };
  });
  const spoiled = [
    { at: "x" },
    { ...interview(2), mean: 9 },
    { ...interview(2), topics: [3] },
    { ...interview(2), rated: 0 },
  ];
  const whole = Object.fromEntries([...many, ...spoiled].map((entry, place) => [place, entry]));
  storage.save({ history: { ...whole, y: 3 } });
  const { history } = storage.load();
  assert.equal(history.length, 50);
  assert.deepEqual([history[0].at, history.at(-1).at], ["2026-01-01T10:10:00.000Z", "2026-01-01T10:59:00.000Z"]);
  storage.enter("history", { ...interview(1), at: day(31) });
  const saved = store.read("mock").history;
  assert.equal(Object.keys(saved).length, 50);
  assert.ok(Object.entries(saved).every(([key, entry]) => key === entry.at));
  assert.ok(day(31) in saved);
  assert.ok(!("2026-01-01T10:10:00.000Z" in saved));
});

test("target times are those of a level, above 0 and up to an hour", () => {
  storage.save({ target: { 1: -1, 2: "x", 3: 5, 4: 5 } });
  assert.deepEqual(storage.load().target, { 3: 5 });
  storage.save({ target: { 1: 0, 2: 60, 3: 61 } });
  assert.deepEqual(storage.load().target, { 2: 60 });
});

test("ratings of drills and of questions are those of this edition, and saving one thing keeps the rest", () => {
  const gone = { rating: 1, minutes: 1, at: day(1) };
  store.write("mock", {
    drills: { gone, softmax: { ...gone, rating: 9 } },
    ratings: { "q-gone": { row: [1], at: day(1) } },
  });
  assert.deepEqual([storage.load().drills.size, storage.load().ratings.size], [0, 0]);
  storage.save({ timer: false });
  storage.rateDrill("causal", 2, 3.5);
  const { rating, minutes } = storage.load().drills.get("causal");
  assert.deepEqual([rating, minutes, storage.load().timer], [2, 3.5, false]);
  assert.deepEqual(store.read("mock").ratings["q-gone"].row, [1]);
});
