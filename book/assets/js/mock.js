/* The mock interview: the form that draws questions from the lists on the page, and what it leads to. Everything shown is
 * a copy of what Sphinx wrote into the lists, so links and formulas are right.
 */
(() => {
  "use strict";

  const mock = window.mockInterview;
  const stage = document.querySelector(".mock-stage");
  const lists = document.querySelector(".mock-lists");
  if (!mock || !mock.kept || !stage) return;
  const { h, button, boxes, plural, questions, LEVELS } = mock;
  const LONGEST = 60; // minutes of a target
  const KINDS = ["concept", "derive", "compute", "code", "debug"]; // as the index has them

  lists.addEventListener("toggle", (event) => {
    if (!event.target.open) return;
    if (event.target.matches(".mock-question")) mock.typeset(event.target);
    else for (const head of event.target.querySelectorAll(":scope > .mock-question > summary")) mock.typeset(head);
  }, true);

  const POOLS = {
    all: ["All questions", () => true],
    new: ["Questions I have not rated yet", (name, ratings) => !ratings[name]],
    weak: ["Questions to repeat, rated 0 or 1", (name, ratings) => !!ratings[name] && mock.weak(ratings[name])],
  };
  const chosen = { topic: null, level: null, kind: null, pool: "all", number: 5 }; // null: all of them
  let recount = () => {}; // of the form that shows
  const counted = (key, value) => questions.filter((question) => question[key] === value).length;

  const hold = (list, given, from = 0, before = []) => mock.hold(stage, list, given, report, from, before);
  const report = (list, done, given) => mock.report(stage, list, done, given, {
    repeat: (again) => hold(again, { ...given, pool: "again" }),
    anew: back,
  });

  function back() {
    setUp();
    stage.querySelector(".mock-form input").focus();
  }

  /** The target times: minutes to think for each level, and a button that fills in what we suggest. */
  function targets() {
    const { target } = mock.kept();
    const set = h("fieldset", { class: "mock-choices mock-targets" }, h("legend", {}, "Target time for a question, in minutes (empty: none)"));
    for (const [level, word] of Object.entries(LEVELS)) {
      set.append(h("label", {}, `${word} `, h("input", {
        type: "number", name: `target-${level}`, min: 0.1, max: LONGEST, step: "any", value: target[level] ?? "",
      })));
    }
    const fields = [...set.querySelectorAll("input")];
    const fill = (values) => {
      Object.keys(LEVELS).forEach((level, place) => { fields[place].value = values[level] ?? ""; });
      set.dispatchEvent(new Event("input", { bubbles: true }));
    };
    const suggested = Object.keys(LEVELS).map((level) => mock.TARGETS[level]).join(", ");
    set.append(h("p", { class: "mock-all" }, button(`Fill in ${suggested}`, () => fill(mock.TARGETS)), button("No target", () => fill({}))));
    return set;
  }

  /** The minutes that were typed, or the field that holds something else. */
  function typed(form) {
    const found = {};
    for (const level of Object.keys(LEVELS)) {
      const field = form.querySelector(`[name=target-${level}]`);
      const empty = field.value === "" && !field.validity.badInput;
      const bad = !empty && !(Number(field.value) >= 0.1 && Number(field.value) <= LONGEST);
      field.setAttribute("aria-invalid", String(bad));
      if (bad) return { field };
      if (!empty) found[level] = Number(field.value);
    }
    return { found };
  }

  function setUp() {
    const { ratings, session } = mock.kept();
    const kinds = KINDS.filter((kind) => counted("kind", kind));
    const pool = h("select", { name: "pool" });
    for (const [value, [text]] of Object.entries(POOLS)) {
      pool.append(h("option", { value, selected: chosen.pool === value }, text));
    }
    const number = h("input", { type: "number", name: "number", min: 1, max: questions.length, value: chosen.number });
    const told = h("p", { role: "status", class: "mock-told" });
    const form = h("form", { class: "mock-form", novalidate: true, "aria-label": "The interview you want" },
      boxes("Topics", "topic", mock.topics.map(([topic, title]) => [topic, `${title} (${counted("topic", topic)})`]), chosen.topic, "topics"),
      boxes("Levels", "level", Object.entries(LEVELS).map(([level, word]) => [level, `${word} (${counted("level", level)})`]), chosen.level),
      boxes("Kinds", "kind", kinds.map((kind) => [kind, `${kind} (${counted("kind", kind)})`]), chosen.kind),
      targets(),
      h("p", {}, h("label", {}, "Draw from ", pool)),
      h("p", {}, h("label", {}, "Number of questions ", number)),
      told,
      h("p", {}, h("button", { type: "submit", class: "mock-button mock-main" }, "Start the interview")));
    const fitting = () => {
      for (const group of ["topic", "level", "kind"]) {
        chosen[group] = [...form.querySelectorAll(`[name=${group}]:checked`)].map((box) => box.value);
      }
      chosen.pool = pool.value;
      chosen.number = number.value;
      const { ratings: now } = mock.kept(); // another page may have rated since
      return questions.filter((question) => ["topic", "level", "kind"].every((g) => chosen[g].includes(question[g]))
        && POOLS[chosen.pool][1](question.name, now));
    };
    const tell = () => { told.textContent = `${plural(fitting().length, "question")} to draw from.`; };
    form.addEventListener("input", tell);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const fit = fitting();
      const wanted = Number(number.value);
      const { found: target, field } = typed(form);
      const bad = !Number.isInteger(wanted) || wanted < 1 || wanted > questions.length;
      number.setAttribute("aria-invalid", String(bad));
      if (bad) {
        told.textContent = `Type how many questions you want: a whole number from 1 to ${questions.length}.`;
        number.focus();
      } else if (field) {
        told.textContent = `Type a target time from 0.1 to ${LONGEST} minutes, or leave it empty.`;
        field.focus();
      } else if (fit.length) {
        mock.keep({ target });
        hold(mock.drawn(fit, wanted), { pool: chosen.pool, target });
      } else told.textContent = "No question fits: choose at least one topic, one level and one kind, or draw from all.";
    });
    mock.show(stage, ...(session ? [unfinished(session)] : []), form, ...progress(ratings));
    recount = tell;
    tell();
  }

  /** Offer to go on with an interview that a reload or another page cut off. */
  function unfinished({ names, index, done, pool, target }) {
    const list = names.map((name) => mock.byName.get(name));
    const { index: number } = mock.stepsOf(list)[index];
    const go = button("Go on with it", () => hold(list, { pool, target }, index, done), true);
    const drop = button("Discard it", () => {
      mock.keep({ session: null });
      back();
    });
    return h("div", { class: "mock-unfinished", role: "group", "aria-label": "An interview in progress" },
      h("p", {}, `You have an interview in progress, at question ${number + 1} of ${list.length}, with ${plural(done.length, "rating")}.`),
      h("p", {}, go, drop));
  }

  function progress(ratings) {
    const rows = Object.values(ratings);
    const where = mock.where();
    if (!rows.length && !Object.keys(mock.kept().history).length) return [h("p", { class: "mock-note" }, where)];
    const said = `You have rated ${rows.length} of ${plural(questions.length, "question")}; `
      + `${rows.filter(mock.weak).length} of them to repeat. ${where}`;
    const forget = mock.forgetting("Forget my ratings and past interviews", () => {
      mock.keep({ ratings: {}, history: {} });
      back();
    });
    return [h("p", { class: "mock-note" }, said), ...mock.interviewHistory(), forget];
  }

  setUp();
  // another tab may rate, and a browser that comes back to the page sets its boxes anew after the scripts ran
  for (const event of ["storage", "pageshow"]) addEventListener(event, () => recount());
})();
