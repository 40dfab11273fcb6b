// How the scores of one query become its weights, as a table: a row a key, a column a step. Behind glass_parts.js.

function score_steps({ told }) {
  let now = null;
  const table = matrix({ name: "steps", corner: "key", point: (i, j) => told(worked(i, j)) });
  const box = h("div", { class: "ex-steps-table" }, table.box);

  // The arithmetic behind one number, with as many decimals as it takes to be right as it is shown.
  function worked(i, j) {
    const { keys, raw, scores, exps, weights, hidden, root, causal } = now;
    const key = quoted(keys[i]);
    const step = causal || j < 2 ? j : j + 1;
    if (step === 0) return `${key}: query · key = ${num(raw[i])}. `;
    if (step === 1 && root === null) return `${key}: the score stays ${num(raw[i])}, as the scale is switched off. `;
    if (step === 1) {
      const d = fewest(2, (n) => rounded(rounded(raw[i], n) / Math.sqrt(root), n) === rounded(scores[i], n));
      return `${key}: ${num(raw[i], d)} / √${root} = ${num(scores[i], d)}. `;
    }
    if (hidden[i]) return `${key} is a later word: the mask makes its score ${MINUS}∞, and its weight 0. `;
    if (step === 2) return `${key} is not masked: its score stays ${num(scores[i])}. `;
    const total = sum(exps);
    if (step === 3) {
      const below = scores[i] - now.top;
      const d = fewest(2, (n) => rounded(Math.exp(rounded(below, n)), n) === rounded(exps[i], n));
      return `${key}: e^(${num(below, d)}) = ${num(exps[i], d)}, for a score ${num(Math.abs(below), d)} below the largest. `;
    }
    const d = fewest(2, (n) => rounded(rounded(exps[i], n) / rounded(total, n), n) === rounded(weights[i], n));
    return `${key}: ${num(exps[i], d)} / ${num(total, d)} = ${num(weights[i], d)}. The last column is the one before, divided by its sum. `;
  }

  const masked = (j, most) =>
    now.hidden[j] ? { text: `${MINUS}∞`, hidden: true } : { text: num(now.scores[j]), ...signed(now.scores[j], most) };

  return {
    box,
    // `hidden` tells of each key whether it is masked, `root` what the scale takes the root of, or null without a scale.
    fill({ title, keys, head, row, hidden, root, causal }) {
      const query = row_of(head.query, row);
      const scores = [...row_of(head.scores, row)];
      const top = Math.max(...scores.filter((_, j) => !hidden[j]));
      now = {
        ...{ keys, scores, hidden, root, top, causal },
        raw: keys.map((_, j) => dot(query, row_of(head.key, j))),
        exps: scores.map((score, j) => (hidden[j] ? 0 : Math.exp(score - top))),
        weights: [...row_of(head.weights, row)],
      };
      const most = largest([now.raw]);
      table.fill({
        title,
        label: "from score to weight: one row a key",
        rows: keys,
        cols: ["query · key", root === null ? "no scale" : `/ √${root}`, ...(causal ? ["mask"] : []), "exp", "weight"],
        data: keys.map((_, j) => [
          { text: num(now.raw[j]), ...signed(now.raw[j], most) },
          { text: num(scores[j]), ...signed(scores[j], most) },
          ...(causal ? [masked(j, most)] : []),
          { text: num(now.exps[j]), tone: "plus", amount: now.exps[j] },
          { text: num(now.weights[j]), tone: "plus", amount: now.weights[j] },
        ]),
      });
    },
  };
}
