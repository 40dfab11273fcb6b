import assert from "node:assert/strict";
import { test } from "node:test";
import { loadTraining } from "./load.js";

const { translator_engine, translator_parts, serve_training } = loadTraining();
const packed = {
  ...{
    symbols: "ab",
    phrases: [
      ["the cat", "le chat"],
      ["the white hen", "la poule blanche"],
    ],
  },
  ...{
    verbs: [
      ["sees", "voit"],
      ["hears", "entend"],
    ],
    train: "a0bb1aa1bb0b",
    test: "a0ab1b",
  },
  ...{ start: "<s>", end: "</s>" },
  english: ["<pad>", "<s>", "</s>", "cat", "hears", "hen", "sees", "the", "white"],
  french: ["<pad>", "<s>", "</s>", "blanche", "chat", "entend", "la", "le", "poule", "voit"],
};
const engine = translator_engine(packed, translator_parts, { width: 8, batch: 4 });
const switches = { scale: true, causal: true, warmup: false, rate: 0.01 };
const start = { ask: "start", seed: 2, switches, sentences: ["a0b"] };

// A worker whose clock stands still: `turn` lets what waits run once.
function served(sizes = { steps: 40, every: 5, measured: 10 }) {
  const reports = [];
  const waiting = [];
  const ask = serve_training(
    engine,
    (report) => reports.push(structuredClone(report)),
    sizes,
    (what) => waiting.push(what),
  );
  const turn = () => {
    for (const what of waiting.splice(0)) what();
  };
  return { reports, waiting, ask, turn };
}
function to_the_end(worker) {
  while (worker.waiting.length) worker.turn();
  return worker.reports;
}

test("a sentence of three characters becomes its words, with marks and padding", () => {
  const { source, shown, wanted } = engine.unpack("a0b");
  assert.deepEqual([...source], [7, 3, 6, 7, 8, 5, 0]);
  assert.deepEqual([...shown], [1, 7, 4, 9, 6, 8, 3, 0]);
  assert.deepEqual([...wanted], [7, 4, 9, 6, 8, 3, 2, 0]);
});

test("a worker reports at first, after every few steps, and counts mistakes now and then", () => {
  const worker = served();
  worker.ask(start);
  const reports = to_the_end(worker);
  assert.deepEqual(
    reports.map(({ step }) => step),
    [0, 5, 10, 15, 20, 25, 30, 35, 40],
  );
  assert.deepEqual(
    reports.map(({ wrong }) => wrong !== undefined),
    reports.map(({ step }) => step % 10 === 0),
  );
  assert.equal(reports[0].loss, null);
  const run = engine.new_run(2, switches);
  const five = Array.from({ length: 5 }, () => engine.train_step(run));
  assert.ok(Math.abs(reports[1].loss - five.reduce((a, b) => a + b) / 5) < 1e-12);
  assert.deepEqual(reports[1].looks, [engine.look(run, engine.unpack("a0b"))]);
});

test("two runs of one seed are the same to the last bit, and those of two seeds are not", () => {
  const [first, second] = [0, 1].map(() => {
    const worker = served();
    worker.ask(start);
    return to_the_end(worker);
  });
  assert.deepEqual(first, second);
  const other = served();
  other.ask({ ...start, seed: 3 });
  assert.notDeepEqual(to_the_end(other), first);
});

test("stopped and resumed, a run is the same to the last bit as one that was not", () => {
  const whole = served();
  whole.ask(start);
  const stopped = served();
  stopped.ask(start);
  stopped.turn();
  stopped.turn();
  stopped.ask({ ask: "stop" });
  assert.equal(to_the_end(stopped).length, 4);
  assert.deepEqual(stopped.reports.pop(), { stopped: true });
  stopped.ask({ ask: "resume" });
  assert.deepEqual(to_the_end(stopped), to_the_end(whole));
  assert.equal(whole.reports.length, 9);
});

test("stopped and resumed at once, a run goes on once and not twice", () => {
  const worker = served();
  worker.ask(start);
  worker.ask({ ask: "stop" });
  worker.ask({ ask: "resume" });
  assert.equal(worker.waiting.length, 1);
});

test("a run that is over does not go on when it is asked to", () => {
  const worker = served();
  worker.ask(start);
  const count = to_the_end(worker).length;
  worker.ask({ ask: "resume" });
  assert.equal(to_the_end(worker).length, count);
});
