// AcceptanceRule: a guess is accepted with probability min(1, p/q), else a token is drawn from the residual of p - q.

const WIDE = 340;
const HIGH = 152;
const TOPS = [0.4, 0.6, 0.8, 1];
const ROWS = ["draft q", "target p", "accepted", "residual", "redrawn", "in all"];

// All of it from whole per cent and tenths, so that equal numbers are equal and sums are right as they are shown.
function accept(target, draft, mix) {
  const percent = (list) => list.map((x) => Math.round(100 * x));
  const [to, from] = [percent(target), percent(draft)];
  const p = to.map((n) => (10 * n) / 1000);
  const q = from.map((n, i) => ((10 - mix) * n + mix * to[i]) / 1000);
  const accepted = p.map((x, i) => Math.min(x, q[i]));
  const rest = p.map((x, i) => Math.max(0, x - q[i]));
  const refused = sum(rest);
  const residual = rest.map((x) => (refused > 0 ? x / refused : 0));
  const redrawn = residual.map((x) => refused * x);
  const total = accepted.map((x, i) => x + redrawn[i]);
  return { rows: [q, p, accepted, residual, redrawn, total], rate: sum(accepted), refused };
}

const tokens_a_pass = (rate, guesses) => sum(range(guesses + 1).map((k) => rate ** k));

function render({ model, el }) {
  const view = open_view(model, el);
  const tokens = view.get("tokens");
  const names = view.get("names");
  const drafts = view.get("drafts");
  const target = view.get("target");
  const now = () => accept(target, drafts[view.get("draft")], view.get("mix"));

  const guesses_now = () => `${view.get("guesses")} ${view.get("guesses") === 1 ? "guess" : "guesses"}`;

  // Two bars a token: of the draft what is accepted and what is refused, of the target what is accepted and redrawn.
  const pitch = (WIDE - 28) / tokens.length;
  const thick = Math.min(22, pitch / 2 - 6);
  const y = (part) => 8 + (1 - part) * (HIGH - 46);
  const word = (at, height, words, anchor = "middle") =>
    h("text", { x: at, y: height, "text-anchor": anchor, "aria-hidden": "true" }, words);
  const levels = [0, 0.5, 1].map((part) => word(24, y(part) + 4, "", "end"));
  const columns = tokens.map((token, j) => {
    const middle = 28 + (j + 0.5) * pitch;
    const bar = (kind, right) =>
      h("rect", {
        class: `ex-rect ex-${kind}`,
        x: (right ? middle + 2 : middle - 2 - thick).toFixed(2),
        width: thick.toFixed(2),
      });
    return {
      parts: [bar("taken", false), bar("refused", false), bar("taken", true), bar("redrawn", true)],
      words: [
        word(middle - 2 - thick / 2, HIGH - 24, "q"),
        word(middle + 2 + thick / 2, HIGH - 24, "p"),
        word(middle, HIGH - 8, token),
      ],
      hit: h("rect", {
        ...{ class: "ex-hit", x: (28 + j * pitch).toFixed(2), width: pitch.toFixed(2), y: 2, height: HIGH - 4 },
        ...{ role: "img", tabindex: j ? "-1" : "0", "data-i": 0, "data-j": j },
      }),
    };
  });
  const plot = h(
    "svg",
    {
      ...{ viewBox: `0 0 ${WIDE} ${HIGH}`, role: "group", class: "ex-plot" },
      "aria-label": "probability of each token in the draft and in the target, and of what both are made",
    },
    [0, 0.5, 1].map((part) => h("line", { class: "ex-grid", x1: 28, x2: WIDE, y1: y(part), y2: y(part) })),
    levels,
    columns.flatMap(({ parts, words, hit }) => [...parts, ...words, hit]),
  );
  const kinds = { taken: "accepted", refused: "refused", redrawn: "redrawn after a refusal" };
  const legend = h(
    "p",
    { class: "ex-legend", "aria-hidden": "true" },
    Object.entries(kinds).map(([kind, words]) => h("span", null, h("span", { class: `ex-part-${kind}` }), words)),
  );
  const lead = h("p", { class: "ex-lead ex-rate" });

  let told = () => "";
  rove(plot, (_, j) => {
    told = () => token_words(now(), j);
    explain();
  });
  const table = matrix({
    name: "rule",
    corner: "probability",
    point: (i, j) => {
      told = () => (j < tokens.length ? token_words(now(), j) : row_words(now(), i));
      explain();
    },
  });

  function token_words({ rows }, j) {
    const [q, p, accepted, , redrawn, total] = rows.map((row) => num(row[j], 3));
    return `“${tokens[j]}”: draft ${q}, target ${p}; accepted ${accepted} + redrawn ${redrawn} = ${total}. `;
  }
  const row_words = ({ rows }, i) => `All tokens together, ${ROWS[i]}: ${num(sum(rows[i]), 3)}. `;

  function explain() {
    const { rate, refused } = now();
    const pass = `A pass gives ${num(tokens_a_pass(rate, view.get("guesses")))} tokens with ${guesses_now()}.`;
    view.say(
      h("span", { class: "ex-digits" }, told()),
      refused > 0
        ? `A guess is accepted with probability ${num(rate, 3)} and refused with ${num(refused, 3)}. For every token, ` +
            `accepted and redrawn together are p. ${pass}`
        : `Draft and target agree: no guess is refused, and nothing is redrawn. ${pass}`,
    );
  }

  function draw() {
    const found = now();
    const { rows, rate, refused } = found;
    const [q, p, accepted, , redrawn] = rows;
    const most = Math.max(...target, ...drafts[view.get("draft")]); // of the draft before it moves, so the axis stays
    const top = TOPS.find((one) => most <= one) ?? 1;
    levels.forEach((level, k) => {
      level.textContent = short((k / 2) * top, false, 3);
    });
    columns.forEach(({ parts, hit }, j) => {
      const heights = [
        [0, accepted[j]],
        [accepted[j], q[j] - accepted[j]],
        [0, accepted[j]],
        [accepted[j], redrawn[j]],
      ];
      heights.forEach(([from, size], k) => {
        parts[k].setAttribute("y", y((from + size) / top).toFixed(2));
        parts[k].setAttribute("height", (y(0) - y(size / top)).toFixed(2));
        parts[k].classList.toggle("ex-none", size < 1e-9);
      });
      hit.setAttribute("aria-label", token_words(found, j).trim());
    });
    lead.replaceChildren(
      "acceptance ",
      h("strong", { "data-weight": "rate" }, num(rate, 3)),
      `, and with ${guesses_now()} `,
      h("strong", { "data-weight": "pass" }, num(tokens_a_pass(rate, view.get("guesses")))),
      " tokens a pass, if this is the rate at each guess, independently of the others",
    );
    table.fill({
      title: "accepted: min(p, q); residual: (p − q)₊ divided by its sum; redrawn: refusals × residual",
      label: "how the target’s probabilities come about",
      rows: ROWS,
      cols: [...tokens, "sum"],
      data: rows.map((row, i) =>
        [...row, sum(row)].map((value, j) => ({
          text: i === 3 && refused === 0 ? "–" : num(value, 3),
          words: `${tokens[j] ?? "sum"}, ${ROWS[i]}: ${i === 3 && refused === 0 ? "none" : num(value, 3)}`,
          tone: i === 0 || i === 3 || i === 4 ? "minus" : "plus",
          amount: j < tokens.length ? 0.6 * value : 0,
        })),
      ),
    });
    view.root.dataset.rows = rows.map((row) => row.map((value) => value.toFixed(7)).join(" ")).join(" ");
    view.root.dataset.pass = tokens_a_pass(rate, view.get("guesses")).toFixed(7);
    explain();
  }

  view.watch("draft mix guesses", draw);
  view.show(
    h(
      "div",
      { class: "ex-controls ex-threedials" },
      names.length > 1
        ? menu(view, { name: "draft", label: "the draft", options: names.map((name, k) => [k, name]) })
        : null,
      slider(view, {
        ...{ name: "mix", label: "target mixed in", min: 0, max: 10 },
        text: (v) => `${10 * v}%`,
      }),
      slider(view, { name: "guesses", label: "guesses a pass", min: 1, max: 8 }),
    ),
    lead,
    h("div", { class: "ex-two ex-acceptance" }, h("div", { class: "ex-panel" }, plot, legend), table.box),
  );
  draw();
  return view.done;
}

export default { render };
