// The filter of the index of questions, the reader's ratings in it, and a question at random. Without it the index is a
// plain list; nothing here needs a server. What is chosen stands in the address, `?topic=scaling&level=hard`, so that a
// link shows the same, and opens at the list; `#to-repeat` shows what was rated 0 or 1, `#to-repeat-TOPIC` that of a topic.
(() => {
  "use strict";

  const { h } = dom;
  const { ratings, state, inWords, watch } = practice;
  const index = dom.one(".question-index");
  if (!index) return;

  const groups = dom.all(".question-group", index).map((box) => ({
    box,
    topic: box.id.replace("index-", ""),
    heading: box.querySelector(".question-heading").firstChild,
    title: box
      .querySelector(".question-heading")
      .firstChild.textContent.replace(/ \(\d+\)\s*$/, "")
      .trim(),
    entries: dom.all(".question-entry", box).map((entry) => {
      const mark = h("span", { class: "question-mark" });
      entry.querySelector("p").append(" ", mark);
      return {
        entry,
        mark,
        link: entry.querySelector("a"),
        name: entry.querySelector("a").hash.slice(1),
        kind: entry.querySelector(".question-kind").textContent,
        level: entry.querySelector(".question-level").textContent,
      };
    }),
  }));
  // Who chose a question here says the answer first: it opens with its answer folded (question-rating.js).
  for (const event of ["click", "auxclick"])
    index.addEventListener(event, ({ target }) => {
      const link = target instanceof Element && target.closest(".question-entry a");
      if (link instanceof HTMLAnchorElement) practice.asked.write({ href: link.href });
    });
  const REPEAT = new RegExp(`^#${practice.TO_REPEAT}(-(.+))?$`);
  const all = groups.flatMap((group) => group.entries);
  const same = (words) => words.map((word) => [word, word]);
  /** The words of a list that stand in the index, in the order of the list. */
  const used = (words, field) => same(words.filter((word) => all.some((one) => one[field] === word)));
  const choices = {
    topic: ["Topic", groups.map((group) => [group.topic, group.title])],
    kind: ["Kind", used(vocabulary.kinds, "kind")],
    level: ["Level", used(Object.values(vocabulary.levels), "level")],
    rating: [
      "Your rating",
      [
        ["new", "not rated yet"],
        ["weak", "to repeat (0 or 1)"],
        ["good", "good (2 or 3)"],
      ],
    ],
  };

  const menus = Object.fromEntries(
    Object.entries(choices).map(([name, [label, options]]) => {
      const menu = dom.menu({ id: `question-filter-${name}`, change: choose }, [["", "all"], ...options]);
      return [name, { menu, label: h("label", { for: menu.id }, label) }];
    }),
  );
  const status = h("p", { class: "question-said", role: "status", tabindex: "-1" });
  const reset = h("button", { type: "button", class: "question-reset", click: clear }, "Show all");
  const random = h("button", { type: "button", class: "question-random", click: pick }, "A question at random");
  let shown = [];

  function show() {
    const { topic, kind, level, rating } = Object.fromEntries(
      Object.entries(menus).map(([name, { menu }]) => [name, menu.value]),
    );
    const kept = ratings();
    shown = [];
    for (const group of groups) {
      const before = shown.length;
      for (const one of group.entries) {
        const entry = kept.get(one.name);
        one.mark.textContent = entry ? inWords(entry) : "";
        const fits =
          (!topic || group.topic === topic) &&
          (!kind || one.kind === kind) &&
          (!level || one.level === level) &&
          (!rating || state(entry) === rating);
        one.entry.hidden = !fits;
        if (fits) shown.push(one);
      }
      group.box.hidden = shown.length === before;
      group.heading.textContent = `${group.title} (${shown.length - before})`;
    }
    const rated = all.filter((one) => kept.has(one.name)).length;
    const own = rated ? `. You have rated ${rated} of all.` : "";
    status.textContent = shown.length
      ? `${shown.length} of ${util.plural(all.length, "question")}${own}`
      : "No question is of that kind. Choose fewer limits.";
    reset.disabled = !topic && !kind && !level && !rating;
  }

  /** Show what the menus say, and say it in the address. */
  function choose() {
    show();
    const address = new URL(location.href);
    for (const [name, { menu }] of Object.entries(menus)) {
      if (menu.value) address.searchParams.set(name, menu.value);
      else address.searchParams.delete(name);
    }
    address.hash = ""; // where one came by; a link to this choice opens at the list
    history.replaceState(history.state, "", address);
  }

  function clear() {
    set({});
    choose();
    menus.topic.menu.focus(); // a disabled button would lose the focus
  }

  function pick() {
    if (shown.length) shown[Math.floor(Math.random() * shown.length)].link.click();
    else status.textContent = "No question fits, so there is none to draw. Choose fewer limits.";
  }

  const form = h("form", {
    class: "question-filter",
    id: practice.TO_REPEAT,
    "aria-label": "Choose questions",
    submit: (event) => event.preventDefault(),
  });
  for (const { menu, label } of Object.values(menus)) form.append(h("span", { class: "question-choice" }, label, menu));
  form.append(reset, random, status);
  index.before(form);

  /** Choose these values; one that a menu has not is none. */
  function set(values) {
    for (const [name, { menu }] of Object.entries(menus)) {
      const known = [...menu.options].some(({ value }) => value === values[name]);
      menu.value = known ? values[name] : "";
    }
  }

  /** Show what the address says. */
  function follow() {
    const repeat = location.hash.match(REPEAT);
    set(repeat ? { topic: repeat[2], rating: "weak" } : Object.fromEntries(new URLSearchParams(location.search)));
    show();
    if (repeat) form.scrollIntoView();
  }

  /** Show the list of who came by a link to it, and go on from there with the keyboard. */
  function arrive() {
    const [opened] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
    if (location.hash || reset.disabled || opened?.type !== "navigate") return; // a browser goes back by itself
    const isTall = form.offsetHeight > innerHeight / 3;
    const go = () => (isTall ? status : form).scrollIntoView({ behavior: "instant" });
    go();
    status.focus({ preventScroll: true });
    const there = scrollY;
    addEventListener("load", () => scrollY === there && go(), { once: true }); // what came late may have moved it
  }

  watch(show);
  addEventListener("popstate", follow);
  follow();
  arrive();
})();
