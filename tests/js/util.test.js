import assert from "node:assert/strict";
import { test } from "node:test";
import { fakeStorage, load } from "./load.js";

const { util } = load(["util"]);

test("a dated entry has its date in UTC, to the second at least", () => {
  for (const at of ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.123Z"]) assert.ok(util.isDated({ at }), at);
  for (const at of ["2026-01-01", "2026-01-01T00:00:00", "x", 3, undefined])
    assert.ok(!util.isDated({ at }), String(at));
  for (const value of [null, "2026-01-01T00:00:00Z", [], 3]) assert.ok(!util.isDated(value));
});

test("a tab remembers an object, and what is not one counts as none", () => {
  const sessionStorage = fakeStorage();
  const fresh = () => load(["util"], { sessionStorage }).util.inTab("place");
  assert.deepEqual(fresh().read(), {});
  fresh().write({ id: "item-3" });
  assert.deepEqual(fresh().read(), { id: "item-3" });
  for (const other of ["null", "3", '"words"', "[1]", "{", "words"]) {
    sessionStorage.setItem("place", other);
    assert.deepEqual(fresh().read(), {}, other);
  }
  sessionStorage.getItem = sessionStorage.setItem = () => {
    throw new Error("refused");
  };
  fresh().write({ id: "item-4" });
  assert.deepEqual(fresh().read(), {});
});

test("values that a file may bring are told apart", () => {
  assert.deepEqual([0, 2, 2.5, Number.NaN, -1, "1", null].map(util.isAmount), [
    true,
    true,
    true,
    false,
    false,
    false,
    false,
  ]);
  assert.deepEqual([0, 1, 2.5, -1, "1"].map(util.isCount), [false, true, false, false, false]);
  assert.deepEqual(
    [-1, 0, 2, 3, 0.5].map((value) => util.isPlace(value, 3)),
    [false, true, true, false, false],
  );
  const known = new Map([["a", 1]]);
  assert.deepEqual(
    [["a"], [], ["b"], "a", null].map((value) => util.areNames(value, known)),
    [true, false, false, false, false],
  );
});

test("entries reach no prototype and hold only what fits", () => {
  const found = util.entries(JSON.parse('{"__proto__": {"a": 1}, "b": {"a": 2}, "c": 3, "d": []}'), ({ a }) => a > 0);
  assert.deepEqual(
    [...found],
    [
      ["__proto__", { a: 1 }],
      ["b", { a: 2 }],
    ],
  );
  for (const value of [null, undefined, [1], "text"]) assert.equal(util.entries(value, () => true).size, 0);
});

test("numbers are said as people say them", () => {
  assert.deepEqual(
    [0, 1, 2].map((number) => util.plural(number, "step")),
    ["0 steps", "1 step", "2 steps"],
  );
  assert.equal(util.plural(2, "entry", "entries"), "2 entries");
  assert.deepEqual([0, 59.9, 60, 754].map(util.clockTime), ["0:00", "0:59", "1:00", "12:34"]);
  assert.deepEqual([1, 119.9, 120, 3600].map(util.duration), ["1 second", "119 seconds", "2 minutes", "60 minutes"]);
});

test("every order is as likely, and a seed gives one", () => {
  const counts = new Map();
  for (let seed = 0; seed < 24000; seed += 1) {
    const order = util.shuffled(["a", "b", "c", "d"], `exam-${seed}/quiz-one`).join("");
    counts.set(order, (counts.get(order) ?? 0) + 1);
  }
  assert.equal(counts.size, 24);
  const chiSquare = [...counts.values()].reduce((sum, count) => sum + (count - 1000) ** 2 / 1000, 0);
  assert.ok(chiSquare < 49.7, `${chiSquare}`); // 23 degrees of freedom: exceeded by chance once in a thousand
  const list = [...Array(50).keys()];
  assert.deepEqual(util.shuffled(list, "seed"), util.shuffled(list, "seed"));
  assert.deepEqual(list, [...Array(50).keys()], "the list itself stays");
  assert.equal(new Set(Array.from({ length: 20 }, util.freshSeed)).size, 20);
});

test("what is drawn keeps the order of the list, and differs from draw to draw", () => {
  const list = [...Array(200).keys()].map((number) => `q-${number}`);
  const draws = Array.from({ length: 20 }, () => util.sample(list, 12));
  for (const drawn of draws) {
    assert.equal(new Set(drawn).size, 12);
    assert.deepEqual(
      drawn,
      [...drawn].sort((one, other) => list.indexOf(one) - list.indexOf(other)),
    );
  }
  assert.equal(new Set(draws.map(String)).size, 20);
  assert.deepEqual(util.sample(["a", "b"], 5), ["a", "b"], "no more than there are");
});

test("what is drawn fills a room as far as it goes, and differs from draw to draw", () => {
  const list = [...Array(60).keys()].map((number) => ({ number, size: [5, 9, 15][number % 3] }));
  const size = (one) => one.size;
  const total = (drawn) => drawn.reduce((sum, one) => sum + one.size, 0);
  const draws = Array.from({ length: 20 }, () => util.filling(list, 30, size, () => ""));
  for (const drawn of draws) {
    assert.equal(new Set(drawn).size, drawn.length);
    assert.ok(total(drawn) > 25 && total(drawn) <= 30, `${total(drawn)}`); // whatever fits goes in
    assert.deepEqual(
      drawn,
      [...drawn].sort((one, other) => one.number - other.number),
    );
  }
  assert.ok(new Set(draws.map((drawn) => JSON.stringify(drawn))).size > 15);
  assert.deepEqual(util.filling(list, 4, size, () => "").map(size), [5], "one at least, of the smallest");
  assert.deepEqual(
    util.filling([], 4, size, () => ""),
    [],
  );
});

test("groups take turns in what is drawn, however large they are", () => {
  const list = [...Array(60).keys()].map((number) => ({ number, group: number < 54 ? "large" : "small" }));
  for (let turn = 0; turn < 20; turn++) {
    const drawn = util.filling(
      list,
      4,
      () => 1,
      (one) => one.group,
    );
    assert.deepEqual(
      drawn.map((one) => one.group),
      ["large", "large", "small", "small"],
    );
  }
});

test("a large piece leaves room for the smallest of each other group, where there is room for all", () => {
  const list = [..."aabbcc"].map((group, place) => ({ group, size: place % 2 ? 9 : 2 }));
  const groups = (room) =>
    util
      .filling(
        list,
        room,
        (one) => one.size,
        (one) => one.group,
      )
      .map((one) => one.group);
  for (let turn = 0; turn < 20; turn++) {
    assert.deepEqual(groups(13), ["a", "b", "c"].sort(), "one of each, and one of them may be large");
    assert.ok(groups(5).length === 2, "two of three, where all do not fit");
  }
});
