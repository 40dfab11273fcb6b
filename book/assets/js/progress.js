/* The page of a reader's progress: it writes into the table and the lists, which Sphinx made, what the reader has done,
 * lists what went wrong, and says what to do next. The rule of that stands in the text of the page.
 */
(() => {
  "use strict";

  const { h } = dom;
  const { plural } = util;
  const { ratings, state, inWords, toRepeat, items, itemInWords, drills, watch } = practice;
  const root = dom.one(".progress-desk");
  const table = dom.one(".progress-table");
  const lists = dom.one(".progress-lists");
  const place = dom.one(".progress-file");

  // ---- The pieces, as the lists hold them. A piece is `done`, `wrong` (what went wrong comes first) or neither.

  const NAMES = { question: "question", item: "quiz item", drill: "drill" };
  const topics = dom.all(".progress-topic", lists).map((fold) => ({
    fold: /** @type {HTMLDetailsElement} */ (fold),
    key: fold.dataset.topic,
    title: fold.dataset.title,
    left: fold.querySelector(".progress-left"),
    parts: dom.all(".progress-pieces", fold),
    pieces: dom.all(".progress-piece", fold).map((row) => {
      const mark = h("span", { class: "progress-mark" });
      row.querySelector("p").append(" ", mark);
      const { kind, name } = row.dataset;
      return {
        row,
        mark,
        kind,
        name,
        link: row.querySelector("a"),
        tried: false,
        done: false,
        wrong: false,
        words: "",
      };
    }),
  }));
  const pieces = topics.flatMap((topic) => topic.pieces);

  // The two-day plan: its steps, each with its questions and drills in their order.
  const steps = dom.all(".progress-step").map((row) => ({
    row,
    key: row.dataset.key,
    pieces: (row.dataset.pieces ?? "").split(" ").flatMap((name) => pieces.filter((one) => one.name === name)),
  }));
  const planned = steps.flatMap((step) => step.pieces);
  const isTicked = ({ key }) => store.read("plans")["plan-two-days"]?.[key]?.done === true;

  // Who follows it sees its questions and drills alone, and may ask for all.
  const only = h("input", { type: "checkbox", id: "progress-planned", change: () => fill() });
  const words = ["question", "drill"].map((kind) => plural(planned.filter((one) => one.kind === kind).length, kind));
  dom
    .one(".progress-only")
    .append(only, " ", h("label", { for: only.id }, `Only the two-day plan: ${words.join(", ")}`));
  const within = (list) => (only.checked ? list.filter((one) => planned.includes(one)) : list);
  let follows = false;
  function followPlan() {
    if (steps.some(isTicked) === follows) return; // the box is as the reader left it
    follows = !follows;
    only.checked = follows;
  }
  const known = new Set(pieces.filter((one) => one.kind === "drill").map((one) => one.name));
  const ofKind = (list, kind) => list.filter((one) => one.kind === kind);
  const number = (list, test) => list.filter(test).length;

  const LOOK = {
    question(one, saved) {
      const entry = saved.question.get(one.name);
      const word = state(entry);
      return { tried: word !== "new", done: word === "good", wrong: word === "weak", words: inWords(entry) };
    },
    item(one, saved) {
      const past = saved.item.get(one.name);
      const words = past ? itemInWords(past, "↻") : "not tried yet";
      return { tried: !!past, done: !!past?.right, wrong: !!past && !past.right, words };
    },
    drill(one, saved) {
      const past = saved.drill.get(one.name);
      const words = { solved: "✓ solved", tried: "↻ tried, not solved" }[past] ?? "not tried yet";
      return { tried: !!past, done: past === "solved", wrong: past === "tried", words };
    },
  };

  function look() {
    const saved = { question: ratings(), item: items(), drill: drills() };
    for (const one of pieces) Object.assign(one, LOOK[one.kind](one, saved));
  }

  // ---- The table

  const cells = dom.all("td[data-kind]", table).map((cell) => {
    const topic = topics.find(({ key }) => key === /** @type {HTMLElement} */ (cell.parentElement).dataset.topic);
    const all = ofKind(topic ? topic.pieces : pieces, cell.dataset.kind);
    const count = cell.querySelector("a") ?? h("span", {}, String(all.length));
    const first = h("p", {});
    const further = h("p", { class: "progress-more" });
    if (all.length) cell.replaceChildren(first, further);
    return { all, topic: topic?.key, kind: cell.dataset.kind, count, first, further, row: cell.parentElement };
  });
  const DONE = { question: "good", item: "right", drill: "solved" };

  function fillTable() {
    for (const { all, topic, kind, count, first, further, row } of cells) {
      const own = within(all);
      if (kind === "question") row.hidden = !own.length;
      count.textContent = String(own.length);
      const tried = number(own, (one) => one.tried);
      const wrong = number(own, (one) => one.wrong);
      first.replaceChildren(
        ...(own.length ? [`${number(own, (one) => one.done)} of `, count, ` ${DONE[kind]}`] : ["–"]),
      );
      further.replaceChildren(
        !own.length ? "" : tried ? `${tried} ${kind === "question" ? "rated" : "tried"}` : "none yet",
      );
      if (!tried || kind !== "question") continue;
      const repeat = `${wrong} to repeat`;
      further.append(", ", wrong ? h("a", { href: toRepeat(topic) }, repeat) : repeat);
    }
    table.querySelector("caption").textContent = "What you have practised";
  }

  // ---- The lists

  const all = h("input", { type: "checkbox", id: "progress-all", change: fillLists });
  lists.before(
    h("p", { class: "progress-choose" }, all, " ", h("label", { for: all.id }, "Show what is done as well")),
  );

  function fillLists() {
    for (const topic of topics) {
      const own = within(topic.pieces);
      topic.fold.hidden = !own.length;
      for (const one of topic.pieces) {
        one.row.hidden = (one.done && !all.checked) || !own.includes(one);
        one.mark.textContent = one.words;
      }
      for (const one of own.filter(({ wrong }) => wrong).reverse()) one.row.parentElement.prepend(one.row);
      for (const part of topic.parts) {
        part.hidden = !dom.all(":scope > :not([hidden])", part).length;
        /** @type {HTMLElement} */ (part.previousElementSibling).hidden = part.hidden; // its heading
      }
      const missing = own.filter((one) => !one.done);
      const words = Object.entries(NAMES)
        .map(([kind, name]) => [ofKind(missing, kind).length, name])
        .filter(([count]) => count);
      topic.left.textContent = missing.length
        ? `missing: ${words.map(([count, name]) => plural(count, name)).join(", ")}`
        : "✓ nothing is missing";
    }
  }

  // ---- What to do next

  /** The topic with the smallest share of what is done; the first in the book where two are equal. */
  function nextTopic() {
    const share = ({ pieces: own }) => number(own, (one) => one.done) / own.length;
    return topics.reduce((least, topic) => (share(topic) < share(least) ? topic : least));
  }

  /** A link to a piece, with the words and the formulas of its own. */
  function linked(one) {
    const link = h("a", { href: one.link.getAttribute("href") });
    link.append(...[...one.link.childNodes].map((node) => node.cloneNode(true)));
    return link;
  }

  /** What went wrong, all of it, before anything new. */
  function repeat() {
    const wrong = pieces.filter((one) => one.wrong);
    if (!wrong.length) return [];
    return [
      h("p", { class: "progress-next" }, `To repeat: ${wrong.length}`),
      h(
        "ul",
        { class: "progress-wrong" },
        ...wrong.map((one) => h("li", {}, linked(one), ` (${NAMES[one.kind]}, ${one.words.replace("↻ ", "")})`)),
      ),
    ];
  }

  function adviceOfPlan() {
    const left = steps.filter((step) => !isTicked(step));
    const done = number(planned, (one) => one.done);
    const told = `${steps.length - left.length} of ${plural(steps.length, "step")} done, ${done} of ${planned.length} questions and drills.`;
    const [step] = left;
    const words = step ? [" Next step: ", ...step.row.querySelector("p").cloneNode(true).childNodes] : [];
    const one = [...left.flatMap((open) => open.pieces), ...planned].find((piece) => !piece.tried);
    return h("p", { class: "progress-next" }, told, ...words, ...(one ? [" Next: “", linked(one), "”."] : []));
  }

  function advice() {
    if (only.checked) return adviceOfPlan();
    const done = number(pieces, (one) => one.done);
    if (done === pieces.length) {
      return h(
        "p",
        { class: "progress-next" },
        "Nothing is missing: every question is good, every item right and every drill " +
          "solved. Hold a mock interview on what you rated longest ago.",
      );
    }
    const topic = nextTopic();
    const one = topic.pieces.find((piece) => !piece.done && !piece.wrong) ?? topic.pieces.find((piece) => !piece.done);
    const own = number(topic.pieces, (piece) => piece.done);
    const go = h("a", { href: `#${topic.fold.id}` }, topic.title);
    const begun = pieces.some((piece) => piece.tried)
      ? ""
      : "No question, item or drill is tried in this browser yet. ";
    return h(
      "p",
      { class: "progress-next" },
      `${begun}Next topic: `,
      go,
      ` (${own} of ${topic.pieces.length} done). Begin with the ${NAMES[one.kind]} “`,
      linked(one),
      `” (${one.words}).`,
    );
  }

  /** A sentence on the last mock interview, or coding round, from where the mock interview keeps them. */
  function lastOf(history, name, key, counted) {
    const whole = (one) => util.isCount(one[key]) && Number.isFinite(one.mean) && !Number.isNaN(Date.parse(one.at));
    const held = [...util.entries(history, whole).values()].sort(
      (one, other) => Date.parse(one.at) - Date.parse(other.at),
    );
    const last = held.at(-1);
    if (!last) return [];
    const day = new Date(last.at).toLocaleDateString(document.documentElement.lang || "en", { dateStyle: "long" });
    return [
      h(
        "p",
        {},
        `Your last ${name} was on ${day}: ${plural(last[key], counted)} rated, ${last.mean.toFixed(1)} of 3 on average.`,
      ),
    ];
  }

  function lastHeld() {
    const { history, coding } = store.read("mock");
    return [
      ...lastOf(history, "mock interview", "rated", "answer"),
      ...lastOf(coding, "coding round", "drills", "drill"),
    ];
  }

  function fill() {
    followPlan();
    look();
    fillTable();
    fillLists();
    root.replaceChildren(...repeat(), advice(), ...lastHeld());
  }

  /** An address that names a topic opens its list. */
  function follow() {
    const topic = topics.find(({ fold }) => `#${fold.id}` === location.hash);
    if (!topic) return;
    topic.fold.open = true;
    topic.fold.querySelector("summary").focus();
    topic.fold.scrollIntoView();
  }

  place.replaceChildren(...progressFile.panel(fill, (name) => known.has(name)));
  fill();
  watch(fill);
  addEventListener("hashchange", follow);
  follow();
  root.dataset.ready = "";
})();
