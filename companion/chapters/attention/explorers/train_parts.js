// The parts of a small translator, each forward and backward, in float64: linear maps, attention, embeddings. It is one
// function, because a worker gets it as text: everything that it uses stands within. A matrix is a row of numbers with
// `width` columns. A backward function adds to the gradients of what its part was given.

function translator_parts(width) {
  // Two rows of x and two of W at a time, which is about twice as fast as one: y = x W^T for `n` rows of x.
  function linear(x, W, y, n) {
    const out = W.length / width;
    for (let i = 0; i < n; i += 2) {
      const j = Math.min(i + 1, n - 1);
      const [a, b] = [i * width, j * width];
      for (let o = 0; o < out; o += 2) {
        const [c, d] = [o * width, (o + 1) * width];
        let [ac, ad, bc, bd] = [0, 0, 0, 0];
        for (let k = 0; k < width; k += 1) {
          ac += x[a + k] * W[c + k];
          ad += x[a + k] * W[d + k];
          bc += x[b + k] * W[c + k];
          bd += x[b + k] * W[d + k];
        }
        y[i * out + o] = ac;
        y[i * out + o + 1] = ad;
        y[j * out + o] = bc;
        y[j * out + o + 1] = bd;
      }
    }
  }
  function linear_back(x, W, dy, dx, dW, n) {
    const out = W.length / width;
    for (let i = 0; i < n; i += 2) {
      const j = Math.min(i + 1, n - 1);
      const more = j > i ? 1 : 0; // 0 where a last row stands alone
      const [a, b] = [i * width, j * width];
      for (let o = 0; o < out; o += 2) {
        const [c, d] = [o * width, (o + 1) * width];
        const [ac, ad] = [dy[i * out + o], dy[i * out + o + 1]];
        const [bc, bd] = [more * dy[j * out + o], more * dy[j * out + o + 1]];
        for (let k = 0; k < width; k += 1) {
          dx[a + k] += ac * W[c + k] + ad * W[d + k];
          dx[b + k] += bc * W[c + k] + bd * W[d + k];
          dW[c + k] += ac * x[a + k] + bc * x[b + k];
          dW[d + k] += ad * x[a + k] + bd * x[b + k];
        }
      }
    }
  }

  // out += softmax(scale q k^T) v, for `n` sentences of `t` queries and `s` keys; `may` tells which key a query sees
  function attend({ q, k, v, weights }, out, { n, t, s, scale, may }) {
    for (let row = 0; row < n * t; row += 1) {
      const keys = Math.floor(row / t) * s;
      const w = weights.subarray(row * s, (row + 1) * s);
      let top = -Infinity;
      for (let j = 0; j < s; j += 1) {
        w[j] = -Infinity;
        if (!may(row, j)) continue;
        let sum = 0;
        for (let c = 0, a = row * width, b = (keys + j) * width; c < width; c += 1) sum += q[a + c] * k[b + c];
        w[j] = sum * scale;
        top = Math.max(top, w[j]);
      }
      let sum = 0;
      for (let j = 0; j < s; j += 1) sum += w[j] = Math.exp(w[j] - top);
      for (let j = 0; j < s; j += 1) {
        w[j] /= sum;
        if (w[j] > 0)
          for (let c = 0, a = row * width, b = (keys + j) * width; c < width; c += 1) out[a + c] += w[j] * v[b + c];
      }
    }
  }
  function attend_back({ q, k, v, weights, dq, dk, dv }, dout, { n, t, s, scale }) {
    const dw = new Float64Array(s);
    for (let row = 0; row < n * t; row += 1) {
      const keys = Math.floor(row / t) * s;
      let mean = 0;
      for (let j = 0; j < s; j += 1) {
        const w = weights[row * s + j];
        let sum = 0;
        for (let c = 0, a = row * width, b = (keys + j) * width; c < width; c += 1) {
          sum += dout[a + c] * v[b + c];
          dv[b + c] += w * dout[a + c];
        }
        dw[j] = sum;
        mean += w * sum;
      }
      for (let j = 0; j < s; j += 1) {
        const ds = weights[row * s + j] * (dw[j] - mean) * scale;
        for (let c = 0, a = row * width, b = (keys + j) * width; c < width; c += 1) {
          dq[a + c] += ds * k[b + c];
          dk[b + c] += ds * q[a + c];
        }
      }
    }
  }

  // word + position, and back; `most` words of a sentence stand in `tokens`, of which the first `t` are used
  function embed(tokens, most, words, positions, n, t) {
    const x = new Float64Array(n * t * width);
    for (let row = 0; row < n * t; row += 1) {
      const token = tokens[Math.floor(row / t) * most + (row % t)];
      for (let c = 0; c < width; c += 1)
        x[row * width + c] = words[token * width + c] + positions[(row % t) * width + c];
    }
    return x;
  }
  function embed_back(tokens, dx, dwords, dpositions, n, t) {
    for (let row = 0; row < n * t; row += 1)
      for (let c = 0; c < width; c += 1) {
        dwords[tokens[row] * width + c] += dx[row * width + c];
        dpositions[(row % t) * width + c] += dx[row * width + c];
      }
  }

  return { linear, linear_back, attend, attend_back, embed, embed_back };
}
