import assert from "node:assert/strict";
import { test } from "node:test";
import { loadExplorers } from "./load.js";

const { num, short, fewest, softmax, decades, ten_to, signed, largest } = loadExplorers(
  "num",
  "short",
  "fewest",
  "softmax",
  "decades",
  "ten_to",
  "signed",
  "largest",
);

test("a number has its decimals, a real minus sign, and no minus zero", () => {
  assert.deepEqual(
    [1.005, -1.5, -0.001, 0].map((x) => num(x)),
    ["1.00", "\u22121.50", "0.00", "0.00"],
  );
  assert.deepEqual(
    [1.5, -1.5, 2, -0.001].map((x) => short(x)),
    ["1.5", "\u22121.5", "2", "0"],
  );
  assert.deepEqual([short(-2, true), short(2, true)], ["(\u22122)", "2"]);
});

test("an equation gets the fewest decimals with which it is right", () => {
  assert.equal(
    fewest(1, (digits) => digits >= 3),
    3,
  );
  assert.equal(
    fewest(2, () => true),
    2,
  );
  assert.equal(
    fewest(2, () => false),
    6,
  );
});

test("a softmax sums to one over what is allowed, and stays finite", () => {
  const weights = softmax([1000, 999, 5], [true, true, false]);
  assert.ok(Math.abs(weights[0] - 1 / (1 + Math.exp(-1))) < 1e-12);
  assert.deepEqual([weights[2], softmax([1, 2], [false, false])], [0, [0, 0]]);
});

test("a grid of powers of ten has at most seven lines", () => {
  assert.equal(ten_to(-12), "10⁻¹²");
  for (const [low, high] of [
    [-1, 1],
    [-8, 0],
    [-300, 20],
  ]) {
    const lines = decades(low, high);
    assert.ok(lines.length <= 7);
    assert.deepEqual(lines[0], [0, ten_to(low)]);
    assert.ok(lines.every(([share]) => share >= 0 && share <= 1));
  }
});

test("a signed number has a tone and a strength", () => {
  assert.deepEqual(signed(-1, 2), { tone: "minus", amount: 0.5 });
  assert.deepEqual(signed(3, 0), { tone: "plus", amount: 0 });
  assert.equal(
    largest([
      [1, -3],
      [2, 0],
    ]),
    3,
  );
});
