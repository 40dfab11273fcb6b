// The forty questions, their answers covered: a reader says each aloud, uncovers it and rates it. The store keeps what is
// uncovered, for who comes back from a whole answer. Paper has them all, and a button leads there.
(() => {
  "use strict";

  const { h } = dom;
  const SECTION = "sheet";
  const answers = dom.all(".sheet-answer").map((answer) => {
    const link = /** @type {HTMLAnchorElement} */ (answer.parentElement.querySelector(".sheet-question a"));
    const name = link.hash.slice(1);
    const show = dom.button("sheet-show", "", () => {
      const shown = load().shown.filter((other) => other !== name);
      keep({ shown: answer.hidden ? [...shown, name] : shown });
      if (!answer.hidden) answer.focus();
    });
    const mark = h("span", { class: "question-mark" });
    const cover = h("div", { class: "sheet-covered" }, show, " ", mark);
    answer.before(cover);
    answer.tabIndex = -1; // who uncovers it by key goes on there
    return { name, link, answer, cover, show, mark };
  });

  function load() {
    const { open, shown } = store.read(SECTION);
    return { open: open === true, shown: Array.isArray(shown) ? shown : [] };
  }
  function keep(state) {
    store.write(SECTION, state);
    draw();
  }
  function draw() {
    const { open, shown } = load();
    const rated = practice.ratings();
    coverAll.textContent = open ? "Cover the answers" : "Uncover all answers";
    for (const { name, answer, cover, show, mark } of answers) {
      cover.hidden = open;
      answer.hidden = !open && !shown.includes(name);
      show.textContent = answer.hidden ? "Show the answer" : "Cover the answer";
      mark.textContent = rated.has(name) ? practice.inWords(rated.get(name)).split(":")[0] : "";
      if (!answer.hidden) questionRating.offer(name, answer);
    }
  }

  const coverAll = dom.button("sheet-cover", "", () => keep(load().open ? {} : { open: true }));
  const paper = dom.button("sheet-paper", "Print", () => print());
  dom.one(".sheet-tools").append(paper, " ", coverAll);
  draw();
  document.body.dataset.sheet = "ready"; // until then the style covers the answers
  practice.watch(draw);
})();
