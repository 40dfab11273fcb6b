import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.js";

const { quizLogic: quiz } = load(["util", "quiz-logic"]);

const NUMBERS = [
  ["1e9", "", 1e9],
  ["2^20", "", 2 ** 20],
  ["e^0.5", "", Math.exp(0.5)],
  ["3 * exp(-2)", "", 3 * Math.exp(-2)],
  ["2**20 bytes", "bytes", 2 ** 20],
  ["1,048,576", "", 2 ** 20],
  ["1 048 576 bytes", "bytes", 2 ** 20],
  ["1\u202f048\u202f576", "", 2 ** 20],
  ["1_048_576", "", 2 ** 20],
  ["4 MiB", "bytes", 2 ** 22],
  ["4 MB", "bytes", 4e6],
  ["1/64", "", 1 / 64],
  ["3*10^-5", "", 3e-5],
  ["3 · 10⁻⁵", "", 3e-5],
  ["512 × 512", "", 512 ** 2],
  ["0,5", "", 0.5],
  ["0,125", "", 0.125],
  ["1,234,567.5", "", 1234567.5],
  ["−0.5", "", -0.5],
  ["- 0.5", "", -0.5],
  ["-2^2", "", -4],
  [".5", "", 0.5],
  ["21 pairs", "pairs", 21],
  ["1 round", "rounds", 1],
  ["12 %", "", 0.12],
];
test("numbers are read as readers write them", () => {
  for (const [typed, unit, value] of NUMBERS) {
    const found = quiz.parseNumber(typed, unit);
    assert.ok(Math.abs(found.value - value) <= 1e-12 * Math.abs(value), `${typed} gives ${JSON.stringify(found)}`);
  }
});

const NO_NUMBERS = [
  ["", "", "Type a number first."],
  ["many", "", "not a number that the page can read"],
  ["5 tokens", "bytes", "The answer is in bytes, and this ends in “tokens”."],
  ["1 2", "", "ends in “2”, and the answer has no unit"],
  ["1e999", "", "not finite"],
  ["1/0", "", "not finite"],
  ["2^", "", "ends in “^”"],
];
test("what is no number is named", () => {
  for (const [typed, unit, problem] of NO_NUMBERS) {
    assert.ok(
      quiz.parseNumber(typed, unit).problem.includes(problem),
      `${typed}: ${quiz.parseNumber(typed, unit).problem}`,
    );
  }
});

test("a key is met within its tolerance and no further", () => {
  const near = [
    [100, 100, 0],
    [101, 100, 0.01],
    [101.1, 100, 0.01],
    [-101, -100, 0.01],
    [99, 100, 0],
    [100.001, 100, 0],
    [0, 0, 0],
    [1e-9, 0, 0],
  ].map((given) => quiz.isNear(...given));
  assert.deepEqual(near, [true, true, false, true, false, false, true, false]);
});

test("a key that is rounded too far needs more digits", () => {
  const needed = [
    [0.33, 0.32768, 0.001],
    [0.3, 0.32768, 0.001],
    [0.34, 0.32768, 0.001],
    [1.05e6, 1048576, 0],
    [0.328, 0.32768, 0.01],
    [100, 96, 0],
    [200, 150, 0],
  ].map((given) => quiz.digitsMissing(...given));
  assert.deepEqual(needed, [3, 0, 0, 7, 0, 2, 0]);
});

test("a single choice is right or not", () => {
  assert.deepEqual(quiz.judgeChoice([1], [1], false), { right: true, said: "Right." });
  assert.deepEqual(quiz.judgeChoice([0], [1], false), { right: false, said: "Not right." });
  assert.equal(quiz.judgeChoice(null, [1], false).problem, "Choose an option first.");
  assert.equal(quiz.judgeChoice(["1"], [1], false).problem, "Choose an option first.");
});

test("of several that hold, those that were found and those too many are counted", () => {
  assert.equal(quiz.judgeChoice([2, 0], [0, 2], true).right, true);
  const says = {
    "Not right: you have 1 of the 2 that hold.": [0],
    "Not right: you have 1 of the 2 that hold, and 1 that does not.": [0, 1],
    "Not right: you have 2 of the 2 that hold, and 2 that do not.": [0, 1, 2, 3],
    "Not right: you have 0 of the 2 that hold, and 1 that does not.": [3],
  };
  for (const [said, value] of Object.entries(says))
    assert.deepEqual(quiz.judgeChoice(value, [0, 2], true), { right: false, said });
  assert.equal(quiz.judgeChoice(null, [0, 2], true).problem, "Choose at least one option first.");
});

test("a number is right, a known error, too coarse, or wrong", () => {
  const asked = { key: 0.32768, within: 0.001, unit: "", known: [0.5, 0.4096] };
  assert.equal(quiz.judgeNumber("0.3277", asked).right, true);
  assert.match(quiz.judgeNumber("1/2", asked).said, /known error/);
  assert.deepEqual(
    [quiz.knownError("1/2", asked.known, 0.001, ""), quiz.knownError("0.6", asked.known, 0.001, "")],
    [0, -1],
  );
  assert.equal(quiz.judgeNumber("0.33", asked).problem, "Too coarse: give 3 significant digits.");
  assert.match(quiz.judgeNumber("7", asked).said, /None of the errors/);
  assert.equal(quiz.judgeNumber("", asked).problem, "Type a number first.");
  assert.equal(quiz.judgeNumber(null, asked).problem, "Type a number first.");
  const coarse = { ...asked, known: [0.33] };
  assert.match(quiz.judgeNumber("0.33", coarse).said, /known error/, "a known error is no rounding of the key");
});

test("an order is right where every step stands in its place", () => {
  assert.equal(quiz.judgeOrder([1, 2, 3], 3).right, true);
  assert.equal(quiz.judgeOrder([2, 1, 3], 3).said, "Not right: 1 of 3 steps stand in place.");
  assert.match(quiz.judgeOrder(null, 3).problem, /Move the steps/);
  assert.deepEqual(
    [[1, 2, 3], [3, 1, 2], [1, 2], [1, 1, 2], [0, 1, 2], [1, 2, 4], "123", null].map((value) => quiz.isOrder(value, 3)),
    [true, true, false, false, false, false, false, false],
  );
});

test("steps never start in order, and every other order occurs", () => {
  const steps = [1, 2, 3].map((place) => ({ place }));
  const found = new Set();
  for (let seed = 0; seed < 300; seed += 1)
    found.add(
      quiz
        .mixedSteps(steps, `seed-${seed}`)
        .map(({ place }) => place)
        .join(""),
    );
  assert.deepEqual([...found].sort(), ["132", "213", "231", "312", "321"]);
  assert.deepEqual(quiz.mixedSteps(steps, "s"), quiz.mixedSteps(steps, "s"));
});

const known = new Map([
  ["a", 1],
  ["b", 1],
  ["c", 1],
]);
const exam = {
  seed: "s",
  ids: ["b", "a"],
  minutes: 20,
  started: 1_000_000,
  answers: { b: [0], a: null },
  current: 1,
  ended: 0,
};

test("an exam that was kept goes on only where all of it fits", () => {
  assert.equal(quiz.validExam(exam, known), exam);
  const bad = [
    null,
    [exam],
    { ...exam, seed: 3 },
    { ...exam, ids: [] },
    { ...exam, ids: ["gone", "a"] },
    { ...exam, ids: ["a", "a"] },
    { ...exam, minutes: "20" },
    { ...exam, started: null },
    { ...exam, current: 2 },
    { ...exam, current: -1 },
    { ...exam, answers: null },
    { ...exam, answers: [1] },
  ];
  for (const one of bad) assert.equal(quiz.validExam(one, known), null, JSON.stringify(one));
});

test("an exam knows what has an answer, and how much time is left", () => {
  assert.deepEqual(
    ["a", "b", "c"].map((id) => quiz.hasAnswer(exam, id)),
    [false, true, false],
  );
  assert.equal(quiz.endOf(exam), 1_000_000 + 20 * 60_000);
  assert.equal(quiz.secondsLeft(exam, exam.started), 1200);
  assert.equal(quiz.secondsLeft(exam, exam.started + 1), 1200, "a second that has begun counts");
  assert.equal(quiz.secondsLeft(exam, quiz.endOf(exam)), 0);
});

test("a result counts by topic, in the order of the topics, and lists what was missed", () => {
  const items = [
    ["x", "b"],
    ["y", "a"],
    ["z", "b"],
  ].map(([id, topic]) => ({ id, topic }));
  const found = quiz.examResult(items, ({ id }) => id !== "z", [
    ["a", "First"],
    ["none", "Unused"],
    ["b", "Second"],
  ]);
  assert.deepEqual(found, {
    right: 2,
    of: 3,
    rows: [
      { title: "First", right: 1, of: 1, missed: [] },
      { title: "Second", right: 1, of: 2, missed: [items[2]] },
    ],
  });
});
