// Answers questions about the small GPT for tests/chapters/training/test_gpt_engine.py:
// node gpt_run.js WEIGHTS QUESTIONS ANSWERS, each a file. A question has `ask` and what else it needs.
import { readFileSync, writeFileSync } from "node:fs";
import { loadGpt } from "./load.js";

const gpt = loadGpt();
const [weights, questions, answers] = process.argv.slice(2);
const bytes = readFileSync(weights);
const model = gpt.gpt_model(gpt.read_safetensors(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)));
const lists = (x) => Array.from({ length: x.rows }, (_, i) => [...x.data.subarray(i * x.cols, (i + 1) * x.cols)]);

const ask = {
  tokens: ({ text }) => gpt.encode_text(model, text),
  // Logits after each token, read in pieces of these lengths, and the cache at the end.
  read({ tokens, pieces }) {
    let cache = gpt.new_cache(model);
    let at = 0;
    let looks = [];
    const logits = [];
    for (const length of pieces) {
      const step = gpt.read_tokens(model, tokens.slice(at, at + length), cache);
      logits.push(...lists(step.logits));
      at += length;
      cache = step.cache;
      looks = step.looks.map((heads) => heads.map((weights) => [...weights]));
    }
    return { logits, looks, cache: cache.map(({ keys, values }) => ({ keys: lists(keys), values: lists(values) })) };
  },
  distribution: ({ logits, rules }) => gpt.distribution(logits, rules),
  // The least milliseconds of five for one token after 127 others, with the cache and without.
  time({ tokens }) {
    const { cache } = gpt.read_tokens(model, tokens.slice(0, 127));
    const least = (once) =>
      Math.min(
        ...Array.from({ length: 5 }, () => {
          const start = performance.now();
          once();
          return performance.now() - start;
        }),
      );
    return {
      cached: least(() => gpt.read_tokens(model, tokens.slice(127), cache)),
      whole: least(() => gpt.read_tokens(model, tokens)),
    };
  },
};
const told = JSON.parse(readFileSync(questions, "utf8")).map((question) => ask[question.ask](question));
writeFileSync(answers, JSON.stringify(told));
