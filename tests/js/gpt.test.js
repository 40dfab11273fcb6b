import assert from "node:assert/strict";
import { test } from "node:test";
import { loadGpt } from "./load.js";

const { gpt_model, encode_text, pick } = loadGpt();
const config = {
  ...{ position: "learned", activation: "gelu-tanh", norm: "layer", norm_placement: "pre", bias: true },
  ...{ tied: true, n_kv_heads: null, scale_embedding: false, segments: 0, embedding_norm: false },
};
const model = gpt_model({ about: { config, symbols: "\n ab" }, tensors: {} });

test("a text becomes tokens, and a strange character is refused", () => {
  assert.deepEqual(encode_text(model, "b a\n"), [3, 1, 2, 0]);
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

test("a model that the engine would compute wrongly is refused", () => {
  assert.throws(
    () => gpt_model({ about: { config: { ...config, position: "rope" }, symbols: "a" }, tensors: {} }),
    /position learned: got rope\. Use GPT-2's design/,
  );
});
