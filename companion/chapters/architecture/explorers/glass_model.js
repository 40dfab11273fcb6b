// The Glass Transformer: an encoder and a decoder in post-norm, with every number on the way kept. It stands behind
// tensors.js. Layers have the names that they have in companion.transformer.

/** @typedef {{off: Object<string, number[]>, causal: boolean, positions: boolean, norm: boolean, scale: boolean}} Switches */

/** @type {Switches} */
const WHOLE = { off: {}, causal: true, positions: true, norm: true, scale: true };

// What this engine does not compute is refused, so that no other model is shown with wrong numbers.
function glass_model({ about, tensors }) {
  const { config } = about;
  const wanted = { position: "sinusoidal", activation: "relu", norm: "layer", norm_placement: "post", bias: true };
  for (const [name, value] of Object.entries({ ...wanted, tied: true, target_vocab: null, n_kv_heads: null }))
    if (config[name] !== value)
      throw new Error(`the Glass Transformer has ${name} ${value}: got ${config[name]}. Use the model of 2017.`);
  return { config, tensors, about };
}

function embed(model, tokens, switches) {
  const { tensors, config } = model;
  const table = tensors["source_embedding.token.weight"];
  const raw = matrix_of(tokens.length, table.cols);
  tokens.forEach((token, i) => {
    row_of(raw, i).set(row_of(table, token));
  });
  const token = config.scale_embedding ? scaled(raw, Math.sqrt(table.cols)) : raw;
  const position = switches.positions ? sinusoids(tokens.length, table.cols) : matrix_of(tokens.length, table.cols);
  return { token, position, output: add(token, position) };
}

// One attention layer: queries of `x`, keys and values of `memory`. `kept` are those of each head; a head that is off
// gives zeros, as companion.interpret.ablate does.
function attend(model, name, x, memory, causal, switches) {
  const { tensors, config } = model;
  const project = (letter, from) =>
    linear(from, tensors[`${name}.w_${letter}.weight`], tensors[`${name}.w_${letter}.bias`]);
  const [q, k, v] = [project("q", x), project("k", memory), project("v", memory)];
  const width = config.d_model / config.n_heads;
  const off = switches.off[name] ?? [];
  const may = causal && switches.causal ? (i, j) => j <= i : () => true;
  const heads = Array.from({ length: config.n_heads }, (_, head) => {
    const [query, key, value] = [q, k, v].map((all) => columns_of(all, head * width, width));
    const scores = scaled(linear(query, key), switches.scale ? 1 / Math.sqrt(width) : 1);
    const weights = softmax_rows(scores, may);
    const output = off.includes(head) ? matrix_of(x.rows, width) : weighted_sum(weights, value);
    return { query, key, value, scores, weights, output };
  });
  return { heads, output: project("o", beside(heads.map((head) => head.output))) };
}

function feed_forward(model, name, x) {
  const { tensors } = model;
  const inner = relu(linear(x, tensors[`${name}.w_1.weight`], tensors[`${name}.w_1.bias`]));
  return { inner, output: linear(inner, tensors[`${name}.w_2.weight`], tensors[`${name}.w_2.bias`]) };
}

// The residual sum and its normalisation.
function add_norm(model, name, x, change, switches) {
  const { tensors, config } = model;
  const sum = add(x, change);
  const output = switches.norm ? layer_norm(sum, tensors[`${name}.weight`], tensors[`${name}.bias`], config.eps) : sum;
  return { sum, output };
}

// Run a stack of layers; `kept` holds each block's numbers by its name.
function run_stack(model, side, tokens, memory, switches) {
  /** @type {Object<string, any>} */
  const kept = { [`${side}.embedding`]: embed(model, tokens, switches) };
  let x = kept[`${side}.embedding`].output;
  const block = (name, made, norm) => {
    kept[name] = made;
    kept[norm] = add_norm(model, norm, x, made.output, switches);
    x = kept[norm].output;
  };
  for (let layer = 0; layer < model.config.n_layers; layer += 1) {
    const at = `${side}.layers.${layer}`;
    const own = `${at}.${side === "encoder" ? "attention" : "self_attention"}`;
    block(own, attend(model, own, x, x, side === "decoder", switches), `${at}.norm_1`);
    if (side === "decoder") {
      const cross = `${at}.cross_attention`;
      block(cross, attend(model, cross, x, memory, false, switches), `${at}.norm_2`);
    }
    const last = side === "decoder" ? 3 : 2;
    block(`${at}.feed_forward`, feed_forward(model, `${at}.feed_forward`, x), `${at}.norm_${last}`);
  }
  return { kept, output: x };
}

const encode_source = (model, source, switches = WHOLE) => run_stack(model, "encoder", source, null, switches);

// Read the target so far; logits and probabilities of the next word after each of its words.
function decode_target(model, target, memory, switches = WHOLE) {
  const { kept, output } = run_stack(model, "decoder", target, memory, switches);
  const logits = linear(output, model.tensors["source_embedding.token.weight"]);
  return { kept, output, logits, probabilities: softmax_rows(logits) };
}

// Write greedily until the end symbol, at most `most` words. The new tokens, the end among them.
function write_greedily(model, source, { start, end, most, switches = WHOLE }) {
  const memory = encode_source(model, source, switches).output;
  const target = [start];
  while (target.length <= most && (target.length === 1 || target[target.length - 1] !== end)) {
    const { logits } = decode_target(model, target, memory, switches);
    target.push(largest_at(row_of(logits, target.length - 1)));
  }
  return target.slice(1);
}

const length_penalty = (length, alpha = 0.6) => ((5 + length) / 6) ** alpha;

// What beam search ranks a text by: its log-probability over its length penalty.
function score_text(model, source, tokens, { start, switches = WHOLE }) {
  const memory = encode_source(model, source, switches).output;
  const { probabilities } = decode_target(model, [start, ...tokens.slice(0, -1)], memory, switches);
  const logs = tokens.map((token, i) => Math.log(row_of(probabilities, i)[token]));
  return logs.reduce((a, b) => a + b, 0) / length_penalty(tokens.length);
}

// Beam search with the length penalty of Wu et al. (2016), as companion.generate.beam. `done` has the best texts, the
// best first; `steps` for each length the candidates, the best first, each with the text that it goes on from.
function write_beam(model, source, { start, end, most, width, switches = WHOLE }) {
  const memory = encode_source(model, source, switches).output;
  const done = [];
  const steps = [];
  /** @type {any[]} */
  let alive = [{ tokens: [], log_probability: 0 }];
  for (let length = 1; length <= most && alive.length; length += 1) {
    const next = alive.flatMap((parent) => {
      const { probabilities } = decode_target(model, [start, ...parent.tokens], memory, switches);
      return Array.from(row_of(probabilities, length - 1), (p, token) => ({
        ...{ parent, token, p },
        log_probability: parent.log_probability + Math.log(p),
      }));
    });
    const best = next.sort((a, b) => b.log_probability - a.log_probability).slice(0, 2 * width);
    const texts = best.map((text) => ({
      ...text,
      tokens: [...text.parent.tokens, text.token],
      score: text.token === end || length === most ? text.log_probability / length_penalty(length) : null,
      kept: false,
    }));
    steps.push(texts);
    done.push(...texts.filter(({ score }) => score !== null));
    done.sort((a, b) => b.score - a.score).splice(width);
    alive = texts.filter(({ score }) => score === null).slice(0, width);
    for (const text of alive) text.kept = true;
    const hope = alive.length ? alive[0].log_probability / length_penalty(most) : -Infinity;
    if (done.length === width && done[width - 1].score >= hope) break;
  }
  return { done, steps };
}
