// The training of a small translator, in float64: its data, its draws, the network forward and backward by hand, and
// Adam. One function, as the parts that it is given (train_parts.js): a worker gets both as text. No page.

function translator_engine(packed, parts, { width = 48, batch = 64, warmup = 100 } = {}) {
  const { linear, linear_back, attend, attend_back, embed, embed_back } = parts(width);
  const [S, T] = [7, 8]; // words of an English sentence at most, and of a French one with its end mark
  const { english, french } = packed;
  const [START, END] = [packed.start, packed.end].map((mark) => french.indexOf(mark));

  // ---- Data: a sentence is three characters, for the subject, the verb and the object.

  function unpack(text) {
    const n = text.length / 3;
    const [source, shown, wanted] = [S, T, T].map((most) => new Uint8Array(n * most)); // 0 is padding
    const words = (part, side) => part[side].split(" ").map((word) => [english, french][side].indexOf(word));
    const phrase = (k) => packed.phrases[packed.symbols.indexOf(text[k])];
    for (let i = 0; i < n; i += 1) {
      const parts = [phrase(3 * i), packed.verbs[Number(text[3 * i + 1])], phrase(3 * i + 2)];
      const [en, fr] = [0, 1].map((side) => parts.flatMap((part) => words(part, side)));
      source.set(en, i * S);
      shown.set([START, ...fr], i * T);
      wanted.set([...fr, END], i * T);
    }
    return { n, source, shown, wanted };
  }
  const [train, test] = [packed.train, packed.test].map(unpack);

  function chosen({ source, shown, wanted }, rows) {
    const take = (from, most) =>
      Uint8Array.from(rows.flatMap((row) => [...from.subarray(row * most, (row + 1) * most)]));
    return { n: rows.length, source: take(source, S), shown: take(shown, T), wanted: take(wanted, T) };
  }

  // ---- Parameters: one row of numbers, in PyTorch's order; a matrix has one row an output.

  const square = ["own.q", "own.k", "own.v", "cross.q", "cross.k", "cross.v"];
  const sizes = { english: english.length, french: french.length, position_en: S, position_fr: T };
  const places = {};
  let total = 0;
  for (const [name, rows] of [
    ...Object.entries(sizes),
    ...square.map((one) => [one, width]),
    ["output", french.length],
  ]) {
    places[name] = [total, total + rows * width];
    total += rows * width;
  }
  const views = (row) =>
    Object.fromEntries(Object.entries(places).map(([name, [from, to]]) => [name, row.subarray(from, to)]));

  // ---- Draws: the integer hash lowbias32, so that another language can draw the same.

  function uniform(k) {
    let a = (k + 1) | 0;
    a = Math.imul(a ^ (a >>> 16), 0x7feb352d);
    a = Math.imul(a ^ (a >>> 15), 0x846ca68b);
    return (((a ^ (a >>> 16)) >>> 0) + 0.5) / 2 ** 32;
  }
  const normal = (k) => Math.sqrt(-2 * Math.log(uniform(k))) * Math.cos(2 * Math.PI * uniform(k + 1));
  const STREAM = 2 ** 20; // draws of a seed: the first half for parameters, the second for batches

  function new_run(seed, switches) {
    const values = Float64Array.from({ length: total }, (_, k) => normal(seed * STREAM + 2 * k) * width ** -0.5);
    const row = () => new Float64Array(total);
    return { seed, switches, step: 0, values, gradients: row(), mean: row(), square: row() };
  }
  const rows_of = ({ seed }, step) =>
    Array.from({ length: batch }, (_, k) =>
      Math.floor(uniform(seed * STREAM + STREAM / 2 + step * batch + k) * train.n),
    );

  // ---- The network

  // Scores of the next word after each of the first `t` French words.
  function forward({ values, switches }, { n, source, shown }, t = T) {
    const p = views(values);
    const x = embed(source, S, p.english, p.position_en, n, S);
    const y = embed(shown, T, p.french, p.position_fr, n, t);
    const scale = switches.scale ? width ** -0.5 : 1;
    const project = (name, from, rows) => {
      const to = new Float64Array(rows * width);
      linear(from, p[name], to, rows);
      return to;
    };
    /** @type {any} */
    const own = { weights: new Float64Array(n * t * t), sizes: { n, t, s: t, scale } };
    for (const name of "qkv") own[name] = project(`own.${name}`, y, n * t);
    const middle = y.slice(); // what self-attention adds to
    attend(own, middle, { ...own.sizes, may: (row, j) => !switches.causal || j <= row % t });
    /** @type {any} */
    const cross = { weights: new Float64Array(n * t * S), sizes: { n, t, s: S, scale } };
    cross.q = project("cross.q", middle, n * t);
    for (const name of "kv") cross[name] = project(`cross.${name}`, x, n * S);
    const last = middle.slice();
    attend(cross, last, { ...cross.sizes, may: (row, j) => source[Math.floor(row / t) * S + j] > 0 });
    const scores = new Float64Array(n * t * french.length);
    linear(last, p.output, scores, n * t);
    return { x, y, own, middle, cross, last, scores };
  }

  // The mean loss over the words that are none of padding, and the gradient of the scores.
  function loss_of(scores, wanted) {
    const V = french.length;
    const count = wanted.reduce((sum, word) => sum + (word > 0 ? 1 : 0), 0);
    const dscores = new Float64Array(scores.length);
    let loss = 0;
    wanted.forEach((word, row) => {
      if (word === 0) return;
      const own = scores.subarray(row * V, (row + 1) * V);
      const top = Math.max(...own);
      let sum = 0;
      for (let j = 0; j < V; j += 1) sum += Math.exp(own[j] - top);
      loss += (Math.log(sum) + top - own[word]) / count;
      for (let j = 0; j < V; j += 1)
        dscores[row * V + j] = (Math.exp(own[j] - top) / sum - (j === word ? 1 : 0)) / count;
    });
    return { loss, dscores };
  }

  // Put the gradients of the loss on these sentences into the run; gives the loss.
  function backward(run, sentences) {
    const { n, source, shown, wanted } = sentences;
    const { x, y, own, middle, cross, last, scores } = forward(run, sentences);
    const { loss, dscores } = loss_of(scores, wanted);
    const [p, d] = [views(run.values), views(run.gradients.fill(0))];
    const [dx, dy] = [x, y].map((one) => new Float64Array(one.length)); // a residual sum passes dy on as it is
    const back = (part, name, from, dfrom, rows) =>
      linear_back(from, p[name], part[`d${name.slice(-1)}`], dfrom, d[name], rows);
    for (const part of [own, cross]) for (const name of "qkv") part[`d${name}`] = new Float64Array(part[name].length);
    linear_back(last, p.output, dscores, dy, d.output, n * T);
    attend_back(cross, dy, cross.sizes);
    back(cross, "cross.q", middle, dy, n * T);
    for (const name of "kv") back(cross, `cross.${name}`, x, dx, n * S);
    attend_back(own, dy, own.sizes);
    for (const name of "qkv") back(own, `own.${name}`, y, dy, n * T);
    embed_back(source, dx, d.english, d.position_en, n, S);
    embed_back(shown, dy, d.french, d.position_fr, n, T);
    return loss;
  }

  // ---- Adam

  function rate_at({ rate, warmup: on }, step) {
    return on ? rate * Math.min(1, (step + 1) / warmup) : rate;
  }
  function adam({ values, gradients, mean, square: squares, step, switches }) {
    const [first, second, eps] = [0.9, 0.999, 1e-8];
    const [correct, correct2] = [1 - first ** (step + 1), 1 - second ** (step + 1)];
    const size = rate_at(switches, step) / correct;
    for (let k = 0; k < values.length; k += 1) {
      mean[k] += (1 - first) * (gradients[k] - mean[k]);
      squares[k] = second * squares[k] + (1 - second) * gradients[k] * gradients[k];
      values[k] -= (size * mean[k]) / (Math.sqrt(squares[k] / correct2) + eps);
    }
  }
  function train_step(run) {
    const loss = backward(run, chosen(train, rows_of(run, run.step)));
    adam(run);
    run.step += 1;
    return loss;
  }

  // ---- What the network can do

  const best_at = (scores, row) => {
    const own = scores.subarray(row * french.length, (row + 1) * french.length);
    return own.indexOf(Math.max(...own));
  };
  // Wrong words, given the right words before each.
  function words_wrong(run, sentences = test) {
    const { scores } = forward(run, sentences);
    return sentences.wanted.reduce((sum, word, row) => sum + (word > 0 && best_at(scores, row) !== word ? 1 : 0), 0);
  }
  // The likeliest next word at each step, after what the network itself has generated. All T, also behind the end mark.
  function generate(run, { n, source }) {
    const shown = new Uint8Array(n * T);
    const written = new Uint8Array(n * T);
    for (let i = 0; i < n; i += 1) shown[i * T] = START;
    for (let t = 1; t <= T; t += 1) {
      const { scores } = forward(run, { n, source, shown }, t);
      for (let i = 0; i < n; i += 1) {
        written[i * T + t - 1] = best_at(scores, i * t + t - 1);
        if (t < T) shown[i * T + t] = written[i * T + t - 1];
      }
    }
    return written;
  }
  const until_end = (row) => [...row].slice(0, row.includes(END) ? row.indexOf(END) : T);
  const sentence_of = (tokens, i) => tokens.subarray(i * T, (i + 1) * T);
  function sentences_right(run, sentences = test) {
    const written = generate(run, sentences);
    const right = (i) =>
      String(until_end(sentence_of(written, i))) === String(until_end(sentence_of(sentences.wanted, i)));
    return Array.from({ length: sentences.n }, (_, i) => right(i)).filter(Boolean).length;
  }
  // Cross-attention of one sentence, given its translation, and what the network generates for it.
  function look(run, sentence) {
    const { cross } = forward(run, sentence);
    const rows = until_end(sentence.wanted).length + 1;
    const cols = sentence.source.filter((word) => word > 0).length;
    const weights = Array.from({ length: rows }, (_, i) => [...cross.weights.subarray(i * S, i * S + cols)]);
    return { weights, says: until_end(generate(run, sentence)).map((word) => french[word]) };
  }

  return {
    ...{ train, test, chosen, unpack, uniform, normal, new_run, rows_of, forward, backward, adam, rate_at, train_step },
    ...{ words_wrong, generate, sentences_right, look },
  };
}
