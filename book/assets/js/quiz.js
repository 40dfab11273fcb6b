/* The page of the quiz: practice (one item at a time, or the list), the exam, and what the reader did so far. */
(() => {
  "use strict";

  const quiz = window.practiceQuiz;
  const { h } = quiz;
  const place = document.querySelector(".quiz-desk");
  const sections = [...document.querySelectorAll(".quiz-topic")];
  const items = [...document.querySelectorAll(".quiz-item")].map((element) => quiz.item(element));
  const title = (section) => [...section.querySelector("h2").childNodes].filter((node) => !node.classList?.contains("headerlink")).map((node) => node.textContent).join("").trim();
  const topics = sections.map((section) => [section.id.replace("quiz-topic-", ""), title(section)]);
  const paper = h("div", { class: "quiz-paper" });

  // ---- Practice

  const select = (name, label, options) => {
    const made = h("select", { id: `quiz-${name}`, change: practise }, ...options.map(([value, text]) => h("option", { value }, text)));
    return [made, h("p", {}, h("label", { for: made.id }, label), made)];
  };
  const [topic, topicBox] = select("topic", "Topic", [["", "All topics"], ...topics]);
  const [level, levelBox] = select("level", "Level", [["", "All levels"], ["1", "basic"], ["2", "solid"], ["3", "hard"]]);
  const [which, whichBox] = select("which", "Items", [["", "all of them"], ["open", "not right yet"]]);
  const [view, viewBox] = select("view", "Show", [["list", "as a list"], ["one", "one at a time"]]);
  const count = h("p", { class: "quiz-said", role: "status" });
  const practice = h("div", { class: "quiz-panel quiz-filters" }, topicBox, levelBox, whichBox, viewBox, count);

  const step = (text, delta) => h("button", { type: "button", class: "quiz-button", click: () => turn(at + delta, true) }, text);
  const back = step("Previous", -1);
  const next = step("Next", 1);
  const where = h("span", { class: "quiz-where" });
  const pager = h("div", { class: "quiz-buttons" }, back, next, where);
  let shown = [];
  let at = 0;

  /** Put the items back into their sections, all visible. */
  function home() {
    for (const section of sections) section.append(...items.filter((item) => section.id === `quiz-topic-${item.topic}`).map((item) => item.element));
    for (const item of items) item.element.hidden = false;
    paper.replaceChildren();
  }
  function practise() {
    home();
    const fits = (item) => (!topic.value || item.topic === topic.value) && (!level.value || item.level === Number(level.value))
      && (!which.value || !quiz.past(item.id)?.right);
    shown = items.filter(fits);
    count.textContent = shown.length === 1 ? "1 item" : `${shown.length} items`;
    const one = view.value === "one";
    for (const item of items) item.element.hidden = !shown.includes(item);
    for (const section of sections) section.hidden = one || ![...section.querySelectorAll(".quiz-item")].some((element) => !element.hidden);
    if (one && shown.length) {
      shown = quiz.shuffled(shown, quiz.freshSeed());
      paper.replaceChildren(...shown.map((item) => item.element), pager);
      turn(0, false);
    }
  }
  function turn(to, focus) {
    if (to < 0 || to >= shown.length) return;
    at = to;
    shown.forEach((item, index) => { item.element.hidden = index !== at; });
    back.setAttribute("aria-disabled", String(at === 0));
    next.setAttribute("aria-disabled", String(at === shown.length - 1));
    where.textContent = `${at + 1} of ${shown.length}`;
    if (focus) shown[at].head();
  }

  // ---- The three modes

  const exam = quiz.examPanel({
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
        item.reset(quiz.freshSeed());
        item.mode("practice");
        quiz.showPast(item);
      }
      home();
      modes.hidden = false;
      choose("exam");
      tabs.exam.focus(); // the button that was pressed is gone
    },
  });
  const progress = quiz.progressPanel(items, exam.last);
  const panels = { practise: practice, exam: exam.panel, progress: progress.panel };
  const names = { practise: "Practise", exam: "Sit an exam", progress: "Your progress" };
  const tabs = Object.fromEntries(Object.entries(names).map(([name, text]) => [name,
    h("button", { type: "button", class: "quiz-button quiz-mode", click: () => choose(name) }, text)]));
  const modes = h("div", { class: "quiz-modes", role: "group", "aria-label": "What to do" }, ...Object.values(tabs));

  function choose(name) {
    for (const [other, panel] of Object.entries(panels)) {
      panel.hidden = other !== name;
      tabs[other].setAttribute("aria-pressed", String(other === name));
    }
    if (name === "practise") {
      practise();
      return;
    }
    home();
    for (const section of sections) section.hidden = true;
    if (name === "progress") progress.fill();
  }

  for (const item of items) {
    quiz.showPast(item);
    item.checked = ({ right }) => {
      quiz.note(item.id, right);
      quiz.showPast(item);
    };
  }
  place.append(modes, ...Object.values(panels), paper);
  choose("practise");
  if (exam.resume()) {
    for (const [name, panel] of Object.entries(panels)) panel.hidden = name !== "exam";
  }
  window.practice.watch(() => items.forEach(quiz.showPast)); // erased or imported on another page
  addEventListener("hashchange", follow);
  addEventListener("pageshow", ({ persisted }) => { // a browser that comes back to the page may have set the menus anew
    if (!persisted && !practice.hidden && [topic, level, which, view].some((menu) => menu.selectedIndex > 0)) practise();
  });
  follow();

  /** An address that names an item or a topic shows it, whatever was chosen; not during an exam. */
  function follow() {
    const named = [...sections, ...items.map((item) => item.element)].find(({ id }) => `#${id}` === location.hash);
    if (!named || modes.hidden) return;
    topic.value = level.value = which.value = "";
    view.value = "list";
    choose("practise");
    named.scrollIntoView();
  }
  place.dataset.ready = "";
})();
