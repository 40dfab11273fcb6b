// The small GPT behind tensors.js: its tokens, its pass with a cache of keys and values, and the rules of sampling.

// What this engine does not compute is refused, so that no other model is shown with wrong numbers.
function gpt_model({ about, tensors }) {
  const { config, symbols } = about;
  const kinds = { position: "learned", activation: "gelu-tanh", norm: "layer", norm_placement: "pre", bias: true };
  const plain = { tied: true, n_kv_heads: null, scale_embedding: false, segments: 0, embedding_norm: false };
  for (const [name, value] of Object.entries({ ...kinds, ...plain }))
    if (config[name] !== value)
      throw new Error(`the small GPT has ${name} ${value}: got ${config[name]}. Use GPT-2's design.`);
  return { config, tensors, symbols: [...symbols] };
}

function encode_text(model, text) {
  return [...text].map((symbol) => {
    const token = model.symbols.indexOf(symbol);
    if (token < 0) throw new Error(`the model knows the ${model.symbols.length} characters of its text: got ${symbol}`);
    return token;
  });
}

const gelu_tanh = (x) =>
  matrix_of(
    x.rows,
    x.cols,
    x.data.map((value) => 0.5 * value * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (value + 0.044715 * value ** 3)))),
  );

const below = (x, y) => {
  const data = new Float64Array(x.data.length + y.data.length);
  data.set(x.data);
  data.set(y.data, x.data.length);
  return matrix_of(x.rows + y.rows, y.cols, data);
};

// A cache has, for each layer, one row a token that was read: its keys of all heads, and its values.
const new_cache = ({ config }) =>
  Array.from({ length: config.n_layers }, () => ({
    keys: matrix_of(0, config.d_model),
    values: matrix_of(0, config.d_model),
  }));
const cache_length = (cache) => cache[0].keys.rows;

// Read tokens after those that the cache holds. The logits after each of them, the cache with them, and by layer and
// head the weights with which the last one looks at all; the old cache stays as it was.
function read_tokens(model, tokens, cache = new_cache(model)) {
  const { tensors, config } = model;
  const start = cache_length(cache);
  if (start + tokens.length > config.max_len)
    throw new Error(`the model has ${config.max_len} positions: got ${start + tokens.length} tokens. Cut the text.`);
  const layer_of = (name, x) => linear(x, tensors[`${name}.weight`], tensors[`${name}.bias`]);
  const norm = (name, x) => layer_norm(x, tensors[`${name}.weight`], tensors[`${name}.bias`], config.eps);
  const table = tensors["embedding.token.weight"];
  const width = config.d_model / config.n_heads;
  let x = map_rows(matrix_of(tokens.length, config.d_model), config.d_model, (_, to, i) => {
    const position = row_of(tensors["embedding.position.weight"], start + i);
    row_of(table, tokens[i]).forEach((value, j) => {
      to[j] = value + position[j];
    });
  });
  const looks = [];
  const grown = cache.map((old, layer) => {
    const at = `decoder.layers.${layer}`;
    const before = norm(`${at}.norm_1`, x);
    const [q, k, v] = ["q", "k", "v"].map((letter) => layer_of(`${at}.self_attention.w_${letter}`, before));
    const [keys, values] = [below(old.keys, k), below(old.values, v)];
    const heads = Array.from({ length: config.n_heads }, (_, head) => {
      const [query, key, value] = [q, keys, values].map((all) => columns_of(all, head * width, width));
      const scores = scaled(linear(query, key), 1 / Math.sqrt(width));
      const weights = softmax_rows(scores, (i, j) => j <= start + i);
      return { look: row_of(weights, tokens.length - 1), output: weighted_sum(weights, value) };
    });
    looks.push(heads.map(({ look }) => look));
    x = add(x, layer_of(`${at}.self_attention.w_o`, beside(heads.map(({ output }) => output))));
    const inner = gelu_tanh(layer_of(`${at}.feed_forward.w_1`, norm(`${at}.norm_3`, x)));
    x = add(x, layer_of(`${at}.feed_forward.w_2`, inner));
    return { keys, values };
  });
  return { logits: linear(norm("decoder.final_norm", x), table), cache: grown, looks };
}

// The distribution that is drawn from, as companion.generate.sample makes it: temperature, then top-k, then top-p of
// what top-k left. Tokens in order of their probability, and of each the probability before and after the cut.
function distribution(logits, { temperature = 1, top_k = logits.length, top_p = 1 } = {}) {
  const one = (list) => softmax_rows(matrix_of(1, list.length, Float64Array.from(list))).data;
  const most = Math.max(...logits);
  const divided = Array.from(logits, (value) => (value - most) / temperature);
  const whole = one(divided);
  const order = divided.map((_, k) => k).sort((a, b) => divided[b] - divided[a] || a - b);
  const first = order.slice(0, top_k);
  const left = one(first.map((k) => divided[k]));
  let ahead = 0;
  const kept = first.filter((_, place) => {
    const stays = top_p === 1 || ahead < top_p;
    ahead += left[place];
    return stays;
  });
  const drawn = one(kept.map((k) => divided[k]));
  return order.map((token, place) => ({ token, whole: whole[token], drawn: place < kept.length ? drawn[place] : 0 }));
}

// The token at which the sum of what is drawn from passes `u`, a number from 0 up to 1.
function pick(choices, u) {
  const kept = choices.filter(({ drawn }) => drawn > 0);
  let total = 0;
  for (const { token, drawn } of kept) {
    total += drawn;
    if (u < total) return token;
  }
  return kept[kept.length - 1].token;
}

// A number from 0 up to 1 for one draw of one series: always the same, without a pattern, and different for each of both
// (the integer hash lowbias32).
function uniform(series, draw) {
  let a = series * 1000 + draw + 1;
  a = Math.imul(a ^ (a >>> 16), 0x7feb352d);
  a = Math.imul(a ^ (a >>> 15), 0x846ca68b);
  return ((a ^ (a >>> 16)) >>> 0) / 2 ** 32;
}
