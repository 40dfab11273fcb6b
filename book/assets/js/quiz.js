/* The page of the quiz: practice (one item at a time, or the list), the exam, and what the reader did so far. */
(() => {
  "use strict";

  const { h } = dom;
  const root = dom.one(".quiz-desk");
  const sections = dom.all(".quiz-topic");
  const items = dom.all(".quiz-item").map(quizItem);
  const topics = sections.map(({ id }) => {
    const topic = id.replace("quiz-topic-", "");
    return /** @type {[string, string]} */ ([topic, vocabulary.topics[topic] ?? topic]);
  });
  const paper = h("div", { class: "quiz-paper" });

  // ---- Practice

  const menus = h("div", { class: "quiz-menus" });
  const isPhone = matchMedia("(max-width: 520px)").matches; // there the menus are folded: the first item comes sooner
  const fold = h("details", { class: "quiz-fold-menus", open: !isPhone }, h("summary", {}, "Choose items"), menus);
  const filters = h("div", { class: "quiz-panel quiz-filters" }, fold);
  const select = (name, label, options) => {
    const made = dom.menu({ id: `quiz-${name}`, change: () => practise() }, options);
    menus.append(h("p", {}, h("label", { for: made.id }, label), made));
    return made;
  };
  const topic = select("topic", "Topic", [["", "All topics"], ...topics]);
  const level = select("level", "Level", [["", "All levels"], ...Object.entries(vocabulary.levels)]);
  const which = select("which", "Items", [
    ["", "all of them"],
    ["open", "not right yet"],
  ]);
  const VIEW = "quiz-view"; // the section of the store with the way to show them that was chosen last
  const view = select("view", "Show", [
    ["one", "one at a time"],
    ["shuffled", "shuffled"],
    ["list", "as a list"],
  ]);
  view.addEventListener("change", () => store.write(VIEW, { state: view.value }));
  const { state } = store.read(VIEW);
  if ([...view.options].some(({ value }) => value === state)) view.value = state;
  const count = h("p", { class: "quiz-said", role: "status" });
  filters.append(count);

  const step = (text, delta) => dom.button("quiz-button", text, () => turn(at + delta, true));
  const back = step("Previous item", -1);
  const next = step("Next item", 1);
  const where = h("span", { class: "quiz-where" });
  const pager = h(
    "div",
    { class: "quiz-buttons", role: "group", "aria-label": "Items of the quiz" },
    back,
    next,
    where,
  );
  let shown = [];
  let at = 0;

  // The tab knows which item was shown last, and of which choice.
  const tab = util.inTab("quiz-place");
  const menusOfPlace = { topic, level, which };
  const place = tab.read();
  for (const [name, menu] of Object.entries(menusOfPlace))
    if ([...menu.options].some(({ value }) => value === place[name])) menu.value = place[name];
  function keepPlace() {
    for (const [name, menu] of Object.entries(menusOfPlace)) place[name] = menu.value;
    place.id = shown[at].id;
    tab.write(place);
  }

  /** Put the items back into their sections, all visible. */
  function home() {
    for (const section of sections)
      section.append(...items.filter((item) => section.id === `quiz-topic-${item.topic}`).map((item) => item.element));
    for (const item of items) item.element.hidden = false;
    paper.replaceChildren();
  }
  /** Draw the items that the menus ask for, from the item of an id on if it is among them; shuffled ones begin with it. */
  function practise(id = "") {
    const fits = (item) =>
      (!topic.value || item.topic === topic.value) &&
      (!level.value || item.level === Number(level.value)) &&
      (!which.value || !practice.items().get(item.id)?.right);
    shown = items.filter(fits);
    const isLast = (item) => Number(item.id === id);
    if (view.value === "shuffled") shown = util.shuffled(shown).sort((one, other) => isLast(other) - isLast(one));
    at = Math.max(
      0,
      shown.findIndex((item) => item.id === id),
    );
    lay();
  }
  /** Show the items that were drawn. */
  function lay() {
    home();
    count.textContent = util.plural(shown.length, "item");
    const one = view.value !== "list";
    for (const item of items) item.element.hidden = !shown.includes(item);
    for (const section of sections) section.hidden = one || !dom.one(".quiz-item:not([hidden])", section);
    if (one && shown.length) {
      paper.replaceChildren(...shown.map((item) => item.element), pager);
      turn(at, false);
    }
  }
  function turn(to, focus) {
    if (to < 0 || to >= shown.length) return;
    at = to;
    keepPlace();
    shown.forEach((item, index) => {
      item.element.hidden = index !== at;
    });
    back.setAttribute("aria-disabled", String(at === 0));
    next.setAttribute("aria-disabled", String(at === shown.length - 1));
    where.textContent = `${at + 1} of ${shown.length}`;
    if (focus && isPhone) fold.open = false; // the menus would take half of the screen from each item
    if (focus) shown[at].head();
  }

  // ---- The three modes

  const exam = quizExam({
    items,
    topics,
    paper,
    busy() {
      home();
      for (const section of sections) section.hidden = true;
      modes.hidden = true;
    },
    free() {
      for (const item of items) {
        item.reset(util.freshSeed());
        item.mode("practice");
      }
      home();
      modes.hidden = false;
      choose("exam");
      tabs.exam.focus(); // the button that was pressed is gone
    },
  });
  const counts = h("p", { class: "quiz-counts" });
  const wrong = h("ul", { class: "quiz-wrong" });
  const repeat = h(
    "section",
    { class: "quiz-repeat", "aria-label": "Items to repeat" },
    h("h2", {}, "Items to repeat"),
    wrong,
  );
  const last = h("section", { class: "quiz-last", "aria-label": "Your last exam" });
  const keeps = store.available
    ? "Your progress stays in this browser and is sent to nobody. "
    : "This browser does not let the page store anything, so your answers last until you leave the page. ";
  const progress = h(
    "div",
    { class: "quiz-panel" },
    counts,
    repeat,
    h(
      "p",
      {},
      keeps,
      h("a", { href: "progress.html" }, "Your progress in the book"),
      " counts it by topic, with your questions and drills, and exports, imports and erases it.",
    ),
    last,
  );
  const panels = { practise: filters, exam: exam.panel, progress };

  function fillProgress() {
    const done = practice.items();
    const past = items.filter(({ id }) => done.has(id));
    const again = past.filter(({ id }) => !done.get(id).right);
    const own = past.filter((item) => item.topic === topic.value);
    const ofTopic = items.filter((item) => item.topic === topic.value).length;
    counts.textContent =
      `You have tried ${past.length} of ${items.length} items. ` +
      `At the last try of each: ${past.length - again.length} right, ${again.length} not right.` +
      (topic.value
        ? ` In “${topic.selectedOptions[0].text}”: ${own.length} of ${ofTopic} tried, ` +
          `${own.filter(({ id }) => done.get(id).right).length} right.`
        : "");
    repeat.hidden = !again.length;
    wrong.replaceChildren(
      ...again.map(({ element, id }) =>
        h("li", {}, linked(element, id), dom.copied(dom.one(".quiz-link", element), "p", "quiz-link")),
      ),
    );
    last.replaceChildren(...exam.last());
    last.hidden = !last.firstChild;
  }
  /** A link to an item, with the words and the formulas of its question. */
  function linked(element, id) {
    const link = /** @type {HTMLAnchorElement} */ (dom.copied(dom.one(".quiz-question > p", element), "a", ""));
    link.href = `#${id}`;
    return link;
  }
  const names = { practise: "Practise", exam: "Sit an exam", progress: "Your progress" };
  const tabs = Object.fromEntries(
    Object.entries(names).map(([name, text]) => [name, dom.button("quiz-button quiz-mode", text, () => choose(name))]),
  );
  const modes = h("div", { class: "quiz-modes", role: "group", "aria-label": "What to do" }, ...Object.values(tabs));

  function choose(name) {
    for (const [other, panel] of Object.entries(panels)) {
      panel.hidden = other !== name;
      tabs[other].setAttribute("aria-pressed", String(other === name));
    }
    if (name === "practise") {
      lay();
      return;
    }
    home();
    for (const section of sections) section.hidden = true;
    if (name === "progress") fillProgress();
  }

  for (const item of items) {
    item.checked = ({ right }) => practice.note(item.id, right);
  }
  root.append(modes, ...Object.values(panels), paper);
  practise(place.id);
  choose("practise");
  if (exam.resume()) {
    for (const [name, panel] of Object.entries(panels)) panel.hidden = name !== "exam";
  }
  practice.watch(() => {
    for (const item of items) item.showPast();
  }); // erased or imported on another page
  addEventListener("hashchange", follow);
  addEventListener("pageshow", ({ persisted }) => {
    // a browser that comes back to the page may have set the menus anew
    if (!persisted && !filters.hidden && [topic, level, which, view].some((menu) => menu.selectedIndex > 0))
      practise(place.id);
  });
  follow();

  /** An address that names an item or a topic shows it, whatever was chosen; not during an exam. */
  function follow() {
    const named = [...sections, ...items.map((item) => item.element)].find(({ id }) => `#${id}` === location.hash);
    if (!named || modes.hidden) return;
    const section = sections.indexOf(named);
    topic.value = section < 0 || view.value === "list" ? "" : topics[section][0];
    level.value = which.value = "";
    practise(named.id);
    choose("practise");
    (named.hidden ? paper : named).scrollIntoView();
  }
  root.dataset.ready = "";
})();
