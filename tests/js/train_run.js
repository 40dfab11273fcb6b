// Answers questions about the small translator for tests/chapters/attention/test_train_here.py:
// node train_run.js PACKED QUESTIONS ANSWERS, each a file. A question has `ask` and what else it needs.
import { readFileSync, writeFileSync } from "node:fs";
import { loadTraining } from "./load.js";

const { translator_engine, translator_parts } = loadTraining();
const [packed, questions, answers] = process.argv.slice(2);
const engine = translator_engine(JSON.parse(readFileSync(packed, "utf8")), translator_parts);
const lists = (data, most) =>
  Array.from({ length: data.length / most }, (_, i) => [...data.slice(i * most, (i + 1) * most)]);

function run_of({ seed = 1, switches, values = null, steps = 0 }) {
  const run = engine.new_run(seed, switches);
  if (values) run.values.set(values);
  const losses = Array.from({ length: steps }, () => engine.train_step(run));
  return { run, losses };
}
const ask = {
  data: ({ part }) => {
    const { source, shown, wanted } = engine[part];
    return [lists(source, 7), lists(shown, 8), lists(wanted, 8)];
  },
  draws: ({ seed, step }) => {
    const run = engine.new_run(seed, {});
    return { values: [...run.values], rows: engine.rows_of(run, step) };
  },
  gradients(question) {
    const { run } = run_of(question);
    const loss = engine.backward(run, engine.chosen(engine.test, question.rows));
    return { loss, gradients: [...run.gradients] };
  },
  train(question) {
    const { run, losses } = run_of(question);
    const [wrong, right] = [engine.words_wrong(run), engine.sentences_right(run)];
    const looks = question.examples.map((text) => engine.look(run, engine.unpack(text)));
    return { losses, values: [...run.values], wrong, right, looks };
  },
  // The mean milliseconds of ten steps, the least of three times.
  time(question) {
    const { run } = run_of(question);
    const ten = () => {
      const start = performance.now();
      for (let k = 0; k < 10; k += 1) engine.train_step(run);
      return (performance.now() - start) / 10;
    };
    ten(); // the compiler's
    return Math.min(ten(), ten(), ten());
  },
};
const told = JSON.parse(readFileSync(questions, "utf8")).map((question) => ask[question.ask](question));
writeFileSync(answers, JSON.stringify(told));
