import assert from "node:assert/strict";
import { test } from "node:test";
import { loadGlass } from "./load.js";

const glass = loadGlass();
const { matrix_of, linear, weighted_sum, softmax_rows, layer_norm, beside, columns_of, sinusoids } = glass;
const of = (...rows) => matrix_of(rows.length, rows[0].length, Float64Array.from(rows.flat()));
const near = (x, want) => {
  assert.equal(x.data.length, want.flat().length);
  want.flat().forEach((value, k) => {
    assert.ok(Math.abs(x.data[k] - value) < 1e-12, `${x.data} is not ${want}`);
  });
};

test("a linear layer has one row of weights an output, and a weighted sum one weight a row", () => {
  near(linear(of([1, 2]), of([3, 4], [5, 6], [7, 8]), [0.5, 0, -1]), [[11.5, 17, 22]]);
  near(weighted_sum(of([0.25, 0.75]), of([4, 0, 8], [0, 4, 8])), [[1, 3, 8]]);
});

test("a softmax gives nothing to what is hidden, and stays finite", () => {
  near(
    softmax_rows(of([1000, 1000], [3, 1003]), (i, j) => j <= i),
    [
      [1, 0],
      [0, 1],
    ],
  );
  near(softmax_rows(of([0, Math.log(3)])), [[0.25, 0.75]]);
});

test("a layer norm takes mean and variance of each row, then a gain and a bias", () => {
  near(layer_norm(of([1, 3], [10, 10]), [2, 3], [0.5, -1], 1), [
    [0.5 - Math.SQRT2, Math.sqrt(4.5) - 1],
    [0.5, -1],
  ]);
});

test("heads are cut from neighbouring columns and laid side by side again", () => {
  const x = of([1, 2, 3, 4], [5, 6, 7, 8]);
  near(columns_of(x, 2, 2), [
    [3, 4],
    [7, 8],
  ]);
  near(beside([columns_of(x, 2, 2), columns_of(x, 0, 1)]), [
    [3, 4, 1],
    [7, 8, 5],
  ]);
});

test("a position is a sine and its cosine for each pair of columns", () => {
  near(sinusoids(2, 4), [
    [0, 1, 0, 1],
    [Math.sin(1), Math.cos(1), Math.sin(0.01), Math.cos(0.01)],
  ]);
});

test("a model that the engine would compute wrongly is refused", () => {
  const right = {
    position: "sinusoidal",
    activation: "relu",
    norm: "layer",
    norm_placement: "post",
    bias: true,
    tied: true,
    target_vocab: null,
    n_kv_heads: null,
  };
  assert.equal(glass.glass_model({ about: { config: right }, tensors: {} }).config, right);
  assert.throws(
    () => glass.glass_model({ about: { config: { ...right, norm_placement: "pre" } }, tensors: {} }),
    /norm_placement post: got pre\. Use the model of 2017/,
  );
});
