// The arithmetic of the models that run in the browser, in float64: matrices of rows, one row a token. No page, no model.

/** @typedef {{rows: number, cols: number, data: Float64Array}} Matrix */

/** @returns {Matrix} */
const matrix_of = (rows, cols, data = new Float64Array(rows * cols)) => ({ rows, cols, data });
const row_of = (x, i) => x.data.subarray(i * x.cols, (i + 1) * x.cols);

function map_rows(x, cols, write) {
  const y = matrix_of(x.rows, cols);
  for (let i = 0; i < x.rows; i += 1) write(row_of(x, i), row_of(y, i), i);
  return y;
}

const dot = (a, b) => {
  let total = 0;
  for (let k = 0; k < a.length; k += 1) total += a[k] * b[k];
  return total;
};

// A linear layer as PyTorch stores it: `weight` has one row an output. Nearly all of a model's time is spent here, so
// that no view of a row is made for each number.
const linear = (x, weight, bias = null) =>
  map_rows(x, weight.rows, (from, to) => {
    const { data, cols } = weight;
    for (let j = 0, at = 0; j < weight.rows; j += 1, at += cols) {
      let total = 0;
      for (let k = 0; k < cols; k += 1) total += from[k] * data[at + k];
      to[j] = total + (bias ? bias[j] : 0);
    }
  });

// a times b; rows of `a` weigh the rows of `b`.
const weighted_sum = (a, b) =>
  map_rows(a, b.cols, (weights, to) => {
    for (let k = 0; k < b.rows; k += 1) {
      const from = row_of(b, k);
      for (let j = 0; j < to.length; j += 1) to[j] += weights[k] * from[j];
    }
  });

const add = (x, y) =>
  matrix_of(
    x.rows,
    x.cols,
    x.data.map((value, k) => value + y.data[k]),
  );
const scaled = (x, factor) =>
  matrix_of(
    x.rows,
    x.cols,
    x.data.map((value) => value * factor),
  );
const relu = (x) =>
  matrix_of(
    x.rows,
    x.cols,
    x.data.map((value) => Math.max(0, value)),
  );

const columns_of = (x, start, width) =>
  map_rows(x, width, (from, to) => {
    to.set(from.subarray(start, start + width));
  });

// Put matrices of equally many rows side by side.
const beside = (parts) =>
  map_rows(
    parts[0],
    parts.reduce((width, part) => width + part.cols, 0),
    (_, to, i) => {
      let at = 0;
      for (const part of parts) {
        to.set(row_of(part, i), at);
        at += part.cols;
      }
    },
  );

// A softmax of each row over what `may(i, j)` allows.
const softmax_rows = (scores, may = (_i, _j) => true) =>
  map_rows(scores, scores.cols, (from, to, i) => {
    let top = -Infinity;
    for (let j = 0; j < from.length; j += 1) if (may(i, j)) top = Math.max(top, from[j]);
    let total = 0;
    for (let j = 0; j < from.length; j += 1) {
      to[j] = may(i, j) ? Math.exp(from[j] - top) : 0;
      total += to[j];
    }
    for (let j = 0; j < to.length; j += 1) to[j] /= total;
  });

// Each row gets mean 0 and variance 1, then a gain and a bias for each feature.
const layer_norm = (x, gain, bias, eps) =>
  map_rows(x, x.cols, (from, to) => {
    const mean = from.reduce((a, b) => a + b, 0) / from.length;
    const variance = from.reduce((a, b) => a + (b - mean) ** 2, 0) / from.length;
    for (let j = 0; j < to.length; j += 1) to[j] = ((from[j] - mean) / Math.sqrt(variance + eps)) * gain[j] + bias[j];
  });

// The sinusoidal encoding of positions 0 to rows - 1: a sine and its cosine side by side.
function sinusoids(rows, cols) {
  const x = matrix_of(rows, cols);
  for (let i = 0; i < rows; i += 1)
    for (let j = 0; j < cols; j += 2) {
      const angle = i * 10000 ** (-j / cols);
      x.data[i * cols + j] = Math.sin(angle);
      x.data[i * cols + j + 1] = Math.cos(angle);
    }
  return x;
}

const largest_at = (list) => list.reduce((best, value, k) => (value > list[best] ? k : best), 0);

// Read the bytes of a safetensors file: its texts, and its tensors by name. A matrix of integers has one scale a row
// beside it, and becomes the float32 numbers that PyTorch would make of them.
function read_safetensors(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = Number(view.getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  const numbers = (name) => {
    const { dtype, shape, data_offsets } = header[name];
    const [start, end] = data_offsets.map((offset) => 8 + length + offset);
    if (dtype !== "I8" && dtype !== "F32") throw new Error(`a tensor is of I8 or F32: got ${dtype} for ${name}`);
    const size = dtype === "I8" ? 1 : 4;
    const read = (k) => (size === 1 ? view.getInt8(start + k) : view.getFloat32(start + 4 * k, true));
    return { shape, values: Float64Array.from({ length: (end - start) / size }, (_, k) => read(k)) };
  };
  const tensors = {};
  for (const name of Object.keys(header)) {
    if (name === "__metadata__" || name.endsWith(".scale")) continue;
    const { shape, values } = numbers(name);
    const scales = header[`${name}.scale`] && numbers(`${name}.scale`).values;
    const whole = scales ? values.map((z, k) => Math.fround(z * scales[Math.floor(k / shape[1])])) : values;
    tensors[name] = shape.length === 2 ? matrix_of(shape[0], shape[1], whole) : whole;
  }
  return { about: JSON.parse(header.__metadata__.about), tensors };
}
