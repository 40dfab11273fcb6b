import assert from "node:assert/strict";
import { test } from "node:test";
import { loadGpt } from "./load.js";

const { gpt_model, encode_text, decode_tokens, pick, cut_cache, matrix_of } = loadGpt();
const config = {
  ...{ position: "learned", activation: "gelu-tanh", norm: "layer", norm_placement: "pre", bias: true },
  ...{ tied: true, n_kv_heads: null, scale_embedding: false, segments: 0, embedding_norm: false },
};
const model = gpt_model({ about: { config, symbols: "\n ab" }, tensors: {} });

test("a text comes back from its tokens, and a strange character is refused", () => {
  assert.deepEqual(encode_text(model, "b a\n"), [3, 1, 2, 0]);
  assert.equal(decode_tokens(model, [3, 1, 2, 0]), "b a\n");
  assert.throws(() => encode_text(model, "aé"), /the 4 characters of its text: got é/);
});

test("a draw takes the token at which the sum passes it, and never one that is cut", () => {
  const choices = [
    { token: 7, drawn: 0.5 },
    { token: 2, drawn: 0.5 },
    { token: 4, drawn: 0 },
  ];
  assert.deepEqual(
    [0, 0.49, 0.5, 0.99, 1].map((u) => pick(choices, u)),
    [7, 7, 2, 2, 2],
  );
});

test("a cache that is cut has its first rows, and the other one stays whole", () => {
  const of = (...data) => matrix_of(data.length / 2, 2, Float64Array.from(data));
  const cache = [{ keys: of(1, 2, 3, 4), values: of(5, 6, 7, 8) }];
  const [{ keys, values }] = cut_cache(cache, 1);
  assert.deepEqual([keys.rows, ...keys.data, ...values.data], [1, 1, 2, 5, 6]);
  assert.equal(cache[0].keys.rows, 2);
});

test("a model that the engine would compute wrongly is refused", () => {
  assert.throws(
    () => gpt_model({ about: { config: { ...config, position: "rope" }, symbols: "a" }, tensors: {} }),
    /position learned: got rope\. Use GPT-2's design/,
  );
});
