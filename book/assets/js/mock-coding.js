/* The coding round: gives each drawn drill the minutes of the list on a clock, and asks what was said and how it went. */
(() => {
  "use strict";

  const { h } = dom;
  const { plural, clockTime } = util;
  const { button, mean, total, rounded } = session;
  const { drills, storage } = mock;
  const root = dom.one(".coding-stage");
  if (!root || !drills.length) return;
  const RATINGS = [
    "Nothing that runs",
    "It runs, with a wrong result",
    "Right, late or with a hint",
    "Right in time, and explained",
  ];
  const ALOUD = [
    "what goes in and what comes out, with shapes",
    "a small example, with its result by hand",
    "the plan, before the first line",
    "the shape after each line that changes it",
    "the case at the edge: one token, a row with nothing allowed, a length that does not divide",
    "what it costs, in time and memory",
  ];
  const STALE = 3 * 3600; // seconds after which a clock that was left running begins anew

  const link = (drill, words) =>
    h("a", { href: drill.link.getAttribute("href"), target: "_blank", rel: "noopener" }, words);

  const start = session.startView({
    root,
    noun: "drill",
    name: "coding-form",
    label: "The coding round you want",
    prefix: "drill-",
    groups: [
      {
        key: "tier",
        legend: "Tiers",
        options: Object.entries(vocabulary.tiers).map(([tier, word]) => [tier, `${tier}, ${word}`]),
      },
      { key: "topic", legend: "Topics", options: mock.topics(drills), all: "topics of drills" },
    ],
    pieces: drills,
    rated: () => storage.load().drills,
    isWeak: ({ rating }) => practice.isWeak(rating),
    number: 1,
    needs: "one tier and one topic",
    choice: "Choose tiers and topics",
    submit: "Draw the drills",
    begin: (drawn) => hold(drawn),
    unfinished() {
      const { round } = storage.load();
      if (!round) return null;
      const { names, index, done, used, at } = round;
      const list = names.map((name) => storage.drillByName.get(name));
      return {
        label: "A coding round in progress",
        words: `You have a coding round in progress, at drill ${index + 1} of ${list.length}. A clock that runs goes on while you are away.`,
        resume() {
          const since = used ? used + (Date.now() - Date.parse(at)) / 1000 : 0;
          hold(list, index, done, since > 0 && since < STALE ? since : 0);
        },
        discard: () => storage.save({ round: null }),
      };
    },
    history: () =>
      session.historyTable(
        "Past coding rounds",
        "Your last coding rounds, averages from 0 to 3",
        ["Round", "Average", "Time"],
        storage.load().coding,
        (report) => [plural(report.drills, "drill"), report.mean.toFixed(1), session.minutesUsed(report)],
      ),
    forget: "Forget my coding rounds",
    clear: () => storage.save({ drills: {}, coding: {} }),
  });

  /** One drill after the other; `used` are seconds that the clock of the first has run already. */
  function hold(list, from = 0, before = [], used = 0) {
    const done = before.map(([place, rating, seconds, said]) => ({ drill: list[place], place, rating, seconds, said }));
    const end = () => {
      storage.save({ round: null });
      report(done);
    };
    const save = (index, seconds) =>
      storage.save({
        round: {
          names: list.map(({ name }) => name),
          index,
          done: done.map((one) => [one.place, one.rating, one.seconds, one.said]),
          used: seconds,
          at: util.now(),
        },
      });
    const ask = (index, seconds = 0) => {
      if (index >= list.length) return end();
      save(index, seconds);
      return step(index, seconds);
    };

    function step(index, seconds) {
      const drill = list[index];
      const next = () => ask(index + 1);
      const last = index === list.length - 1;
      const place = h("div", { class: "coding-clock" });
      const boxes = ALOUD.map(() => h("input", { type: "checkbox", name: "coding-aloud" }));
      const aloud = h(
        "fieldset",
        { class: "checkboxes coding-aloud" },
        h("legend", {}, "Say aloud, and tick what you said"),
        ...ALOUD.map((words, line) => h("label", {}, boxes[line], ` ${words}`)),
      );
      const rating = session.ratingField("How did it go?", RATINGS, "Say how it went, or skip this drill.");
      const actions = h("p", { class: "mock-actions" });
      const leave = [button(last ? "Skip, and see the report" : "Skip this drill", next), button("End the round", end)];
      let watch = null;

      const begin = (already) => {
        watch = session.clock({ label: "Coding", limit: 60 * drill.minutes, before: already });
        save(index, Math.max(already, 1));
        place.replaceChildren(watch.bar);
        const stop = button("I am done", finish, true);
        actions.replaceChildren(stop, ...leave);
        stop.focus();
      };
      const finish = () => {
        watch.stop();
        save(index, 0);
        actions.before(rating.set);
        actions.replaceChildren(button(last ? "See the report" : "Next drill", go, true), ...leave);
        rating.focus();
      };
      const go = () => {
        const value = rating.value();
        if (value === null) return;
        const took = watch.seconds();
        done.push({
          drill,
          place: index,
          rating: value,
          seconds: took,
          said: boxes.filter((box) => box.checked).length,
        });
        storage.rateDrill(drill.name, value, rounded(took / 60, 2));
        next();
      };
      actions.append(
        button("Start the clock", () => begin(0), true),
        ...leave,
      );
      session.show(
        root,
        session.title(`Drill ${index + 1} of ${list.length}`),
        session.badges(mock.title(drill.topic), `tier ${drill.tier}`, drill.kind, `${drill.minutes} min`),
        h("p", { class: "mock-asking" }, drill.link.textContent),
        h("p", {}, link(drill, "Open the drill in a new tab"), ". Read what it asks, and come back before you write."),
        place,
        aloud,
        actions,
      );
      if (seconds) begin(seconds);
    }

    ask(from, used);
  }

  function report(done) {
    /** @type {HTMLElement[]} */
    const made = [session.title("Report of the coding round")];
    if (done.length) {
      const taken = total(done, "seconds");
      const target = done.reduce((sum, { drill }) => sum + drill.minutes, 0);
      const late = done.filter(({ drill, seconds }) => seconds > 60 * drill.minutes).length;
      const again = done.filter(({ rating }) => practice.isWeak(rating)).length;
      storage.enter("coding", {
        drills: done.length,
        mean: rounded(mean(done), 3),
        minutes: rounded(taken / 60, 2),
        target,
      });
      made.push(
        h(
          "p",
          { class: "mock-sum" },
          `You rated ${plural(done.length, "drill")}: ${mean(done).toFixed(1)} of 3 on average, ` +
            `in ${clockTime(taken)} of ${clockTime(60 * target)}; ${late} took longer than the list allows.`,
        ),
        session.table(
          "Drill by drill",
          ["Drill", "Taken", "Allowed", "Said", "Rating"],
          done.map(({ drill, seconds, said, rating }) => [
            link(drill, drill.link.textContent),
            clockTime(seconds),
            clockTime(60 * drill.minutes),
            `${said} of ${ALOUD.length}`,
            String(rating),
          ]),
        ),
        h(
          "p",
          {},
          again
            ? `${plural(again, "drill")} to repeat, rated 0 or 1: read the hints and the solution, and write it again on another day.`
            : "Nothing to repeat: you rated every drill 2 or 3.",
        ),
      );
    } else made.push(h("p", { class: "mock-sum" }, "You rated no drill, so there is nothing to report."));
    session.show(root, ...made, button("New round", start.back, true));
  }

  start.show();
})();
