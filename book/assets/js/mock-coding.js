/* The coding round: draws drills, gives each the minutes of the list on a clock, and asks what was said and how it went. */
(() => {
  "use strict";

  const mock = window.mockInterview;
  const stage = document.querySelector(".coding-stage");
  if (!mock || !mock.kept || !stage || !mock.drills.length) return;
  const { h, button, boxes, plural, drills } = mock;
  const TIERS = { 1: "1, warm-ups", 2: "2, the core", 3: "3, hard" };
  const RATINGS = ["Nothing that runs", "It runs, with a wrong result", "Right, late or with a hint", "Right in time, and explained"];
  const ALOUD = [
    "what goes in and what comes out, with shapes",
    "a small example, with its result by hand",
    "the plan, before the first line",
    "the shape after each line that changes it",
    "the case at the edge: one token, a row with nothing allowed, a length that does not divide",
    "what it costs, in time and memory",
  ];
  const STALE = 3 * 3600; // seconds after which a clock that was left running begins anew

  const POOLS = {
    all: ["All drills", () => true],
    new: ["Drills I have not rated yet", (name, kept) => !kept[name]],
    weak: ["Drills to repeat, rated 0 or 1", (name, kept) => !!kept[name] && kept[name].rating <= mock.WEAK],
  };
  const chosen = { topic: null, tier: null, pool: "all", number: 1 };
  let recount = () => {}; // of the form that shows
  const counted = (key, value) => drills.filter((drill) => drill[key] === value).length;

  const link = (drill, words) => h("a", { href: drill.link.getAttribute("href"), target: "_blank", rel: "noopener" }, words);

  function back() {
    setUp();
    stage.querySelector(".coding-form input").focus();
  }

  function setUp() {
    const { drills: rated, round } = mock.kept();
    const pool = h("select", { name: "drill-pool" });
    for (const [value, [text]] of Object.entries(POOLS)) {
      pool.append(h("option", { value, selected: chosen.pool === value }, text));
    }
    const number = h("input", { type: "number", name: "drill-number", min: 1, max: drills.length, value: chosen.number });
    const told = h("p", { role: "status", class: "mock-told" });
    const tiers = Object.entries(TIERS).map(([tier, words]) => [tier, `${words} (${counted("tier", tier)})`]);
    const form = h("form", { class: "coding-form", novalidate: true, "aria-label": "The coding round you want" },
      boxes("Tiers", "drill-tier", tiers, chosen.tier),
      boxes("Topics", "drill-topic", mock.drillTopics.map(([topic, title]) => [topic, `${title} (${counted("topic", topic)})`]), chosen.topic, "topics of drills"),
      h("p", {}, h("label", {}, "Draw from ", pool)),
      h("p", {}, h("label", {}, "Number of drills ", number)),
      told,
      h("p", {}, h("button", { type: "submit", class: "mock-button mock-main" }, "Draw the drills")));
    const fitting = () => {
      for (const group of ["topic", "tier"]) {
        chosen[group] = [...form.querySelectorAll(`[name=drill-${group}]:checked`)].map((box) => box.value);
      }
      chosen.pool = pool.value;
      chosen.number = number.value;
      return drills.filter((drill) => ["topic", "tier"].every((g) => chosen[g].includes(drill[g])) && POOLS[chosen.pool][1](drill.name, rated));
    };
    const tell = () => { told.textContent = `${plural(fitting().length, "drill")} to draw from.`; };
    form.addEventListener("input", tell);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const fit = fitting();
      const wanted = Number(number.value);
      const bad = !Number.isInteger(wanted) || wanted < 1 || wanted > drills.length;
      number.setAttribute("aria-invalid", String(bad));
      if (bad) {
        told.textContent = `Type how many drills you want: a whole number from 1 to ${drills.length}.`;
        number.focus();
      } else if (fit.length) hold(mock.drawn(fit, wanted));
      else told.textContent = "No drill fits: choose at least one tier and one topic, or draw from all.";
    });
    mock.show(stage, ...(round ? [unfinished(round)] : []), form, ...progress(rated));
    recount = tell;
    tell();
  }

  function unfinished({ names, index, done, used, at }) {
    const list = names.map((name) => mock.drillByName.get(name));
    const go = button("Go on with it", () => {
      const since = used ? used + (Date.now() - Date.parse(at)) / 1000 : 0;
      hold(list, index, done, since > 0 && since < STALE ? since : 0);
    }, true);
    const drop = button("Discard it", () => {
      mock.keep({ round: null });
      back();
    });
    return h("div", { class: "mock-unfinished", role: "group", "aria-label": "A coding round in progress" },
      h("p", {}, `You have a coding round in progress, at drill ${index + 1} of ${list.length}. A clock that runs goes on while you are away.`),
      h("p", {}, go, drop));
  }

  function progress(rated) {
    const rows = Object.values(rated);
    if (!rows.length && !Object.keys(mock.kept().coding).length) return [h("p", { class: "mock-note" }, mock.where())];
    const weak = rows.filter(({ rating }) => rating <= mock.WEAK).length;
    const forget = mock.forgetting("Forget my coding rounds", () => {
      mock.keep({ drills: {}, coding: {} });
      back();
    });
    const said = `You have rated ${rows.length} of ${plural(drills.length, "drill")}; ${weak} of them to repeat. ${mock.where()}`;
    return [h("p", { class: "mock-note" }, said), ...mock.codingHistory(), forget];
  }

  /** One drill after the other; `used` are seconds that the clock of the first has run already. */
  function hold(list, from = 0, before = [], used = 0) {
    const done = before.map(([place, rating, seconds, said]) => ({ drill: list[place], place, rating, seconds, said }));
    const end = () => {
      mock.keep({ round: null });
      report(done);
    };
    const note = (index, seconds) => mock.keep({ round: {
      names: list.map(({ name }) => name),
      index,
      done: done.map((one) => [one.place, one.rating, one.seconds, one.said]),
      used: seconds,
      at: new Date().toISOString(),
    } });
    const ask = (index, seconds = 0) => {
      if (index >= list.length) return end();
      note(index, seconds);
      return drill(index, seconds);
    };

    function drill(index, seconds) {
      const one = list[index];
      const next = () => ask(index + 1);
      const last = index === list.length - 1;
      const place = h("div", { class: "coding-clock" });
      const aloud = h("fieldset", { class: "mock-choices coding-aloud" }, h("legend", {}, "Say aloud, and tick what you said"),
        ...ALOUD.map((words) => h("label", {}, h("input", { type: "checkbox", name: "coding-aloud" }), ` ${words}`)));
      const message = h("p", { role: "alert", class: "mock-told" });
      const rate = mock.rating("How did it go?", RATINGS, message);
      const actions = h("p", { class: "mock-actions" });
      const leave = [button(last ? "Skip, and see the report" : "Skip this drill", next), button("End the round", end)];
      let watch = null;

      const begin = (already) => {
        watch = mock.clock({ label: "Coding", limit: 60 * one.minutes, before: already });
        note(index, Math.max(already, 1));
        place.replaceChildren(watch.bar);
        const stop = button("I am done", finish, true);
        actions.replaceChildren(stop, ...leave);
        stop.focus();
      };
      const finish = () => {
        watch.stop();
        note(index, 0);
        actions.before(rate);
        actions.replaceChildren(button(last ? "See the report" : "Next drill", go, true), ...leave);
        rate.querySelector("input").focus();
      };
      const go = () => {
        const rating = mock.given(rate, message, "Say how it went, or skip this drill.");
        if (rating === null) return;
        const took = watch.seconds();
        done.push({ drill: one, place: index, rating, seconds: took, said: aloud.querySelectorAll(":checked").length });
        const entry = { rating, minutes: Number((took / 60).toFixed(2)), at: new Date().toISOString() };
        mock.keep({ drills: { ...mock.kept().drills, [one.name]: entry } });
        next();
      };
      actions.append(button("Start the clock", () => begin(0), true), ...leave);
      mock.show(stage, mock.titled(`Drill ${index + 1} of ${list.length}`),
        mock.badges(mock.titles[one.topic], `tier ${one.tier}`, one.kind, `${one.minutes} min`),
        h("p", { class: "mock-asking" }, one.link.textContent),
        h("p", {}, link(one, "Open the drill in a new tab"), ". Read what it asks, and come back before you write."),
        place, aloud, actions);
      if (seconds) begin(seconds);
    }

    ask(from, used);
  }

  // ---- The report

  function report(done) {
    const made = [mock.titled("Report of the coding round")];
    if (done.length) {
      const target = done.reduce((sum, { drill }) => sum + drill.minutes, 0);
      const minutes = mock.seconds(done) / 60;
      const late = done.filter(({ drill, seconds }) => seconds > 60 * drill.minutes).length;
      mock.enter("coding", { drills: done.length, mean: Number(mock.mean(done).toFixed(3)), minutes: Number(minutes.toFixed(2)), target });
      made.push(h("p", { class: "mock-sum" }, `You rated ${plural(done.length, "drill")}: ${mock.mean(done).toFixed(1)} of 3 on average, `
        + `in ${mock.time(mock.seconds(done))} of ${mock.time(60 * target)}; ${late} took longer than the list allows.`));
      made.push(mock.table("Drill by drill", ["Drill", "Taken", "Allowed", "Said", "Rating"], done.map(({ drill, seconds, said, rating }) =>
        [link(drill, drill.link.textContent), mock.time(seconds), mock.time(60 * drill.minutes), `${said} of ${ALOUD.length}`, String(rating)])));
      const again = done.filter(({ rating }) => rating <= mock.WEAK).length;
      made.push(h("p", {}, again ? `${plural(again, "drill")} to repeat, rated 0 or 1: read the hints and the solution, and write it again on another day.`
        : "Nothing to repeat: you rated every drill 2 or 3."));
    } else made.push(h("p", { class: "mock-sum" }, "You rated no drill, so there is nothing to report."));
    mock.show(stage, ...made, button("New round", back, true));
  }

  setUp();
  // another tab may rate, and a browser that comes back to the page sets its boxes anew after the scripts ran
  for (const event of ["storage", "pageshow"]) addEventListener(event, () => recount());
})();
