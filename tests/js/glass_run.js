// Answers questions about a model of the Glass Transformer for tests/chapters/architecture/test_glass.py:
// node glass_run.js WEIGHTS QUESTIONS ANSWERS, each a file. A question has `ask`, `source`, and what else it needs.
import { readFileSync, writeFileSync } from "node:fs";
import { loadGlass } from "./load.js";

const { read_safetensors, glass_model, WHOLE, encode_source, decode_target, write_greedily, write_beam, score_text } =
  loadGlass();
const [weights, questions, answers] = process.argv.slice(2);
const bytes = readFileSync(weights);
const model = glass_model(read_safetensors(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)));
const word = (text) => model.about.words.indexOf(text);
const symbols = { start: word(model.about.start), end: word(model.about.end), most: model.about.most };
const lists = (x) => Array.from({ length: x.rows }, (_, i) => [...x.data.subarray(i * x.cols, (i + 1) * x.cols)]);
const listed = (value) => {
  if (Array.isArray(value)) return value.map(listed);
  if (value.data) return lists(value);
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, listed(part)]));
};

const ask = {
  write: ({ source, switches }) => write_greedily(model, source, { ...symbols, switches }),
  beam({ source, width, switches }) {
    const { done, steps } = write_beam(model, source, { ...symbols, width, switches });
    const plain = ({ tokens, log_probability, p, score, kept }) => ({ tokens, log_probability, p, score, kept });
    return [done.map(plain), steps.map((texts) => texts.map(plain))];
  },
  score: ({ source, tokens, switches }) => score_text(model, source, tokens, { ...symbols, switches }),
  look({ source, target, switches }) {
    const encoder = encode_source(model, source, switches);
    const { kept, logits, probabilities } = decode_target(model, target, encoder.output, switches);
    return { logits: lists(logits), probabilities: lists(probabilities), kept: listed({ ...encoder.kept, ...kept }) };
  },
  // The least milliseconds of five for one step: encoder and decoder anew.
  time({ source, target }) {
    const once = () => {
      const start = performance.now();
      decode_target(model, target, encode_source(model, source).output);
      return performance.now() - start;
    };
    return Math.min(...Array.from({ length: 5 }, once));
  },
};
const told = JSON.parse(readFileSync(questions, "utf8")).map((question) =>
  ask[question.ask]({ ...question, switches: { ...WHOLE, ...question.switches } }),
);
writeFileSync(answers, JSON.stringify(told));
