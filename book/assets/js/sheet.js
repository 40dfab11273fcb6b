// The forty questions with their answers covered: a reader says each aloud and uncovers it. The store keeps what is covered,
// for who comes back from a whole answer. Paper has them all, and a button leads there.
(() => {
  "use strict";

  const SECTION = "sheet";
  const answers = dom.all(".sheet-answer").map((answer) => {
    const name = /** @type {HTMLAnchorElement} */ (answer.parentElement.querySelector(".sheet-question a")).hash.slice(
      1,
    );
    const show = dom.button("sheet-show", "Show the answer", () => {
      keep({ covered: true, shown: [...load().shown, name] });
      answer.focus();
    });
    answer.tabIndex = -1; // who uncovers it by key goes on there
    return { name, answer, show };
  });

  function load() {
    const { covered, shown } = store.read(SECTION);
    return { covered: covered === true, shown: Array.isArray(shown) ? shown : [] };
  }
  function keep(state) {
    store.write(SECTION, state);
    draw();
  }
  function draw() {
    const { covered, shown } = load();
    coverAll.textContent = covered ? "Uncover all answers" : "Cover the answers";
    for (const { name, answer, show } of answers) {
      answer.hidden = covered && !shown.includes(name);
      if (answer.hidden) answer.before(show);
      else show.remove();
    }
  }

  const coverAll = dom.button("sheet-cover", "", () => keep(load().covered ? {} : { covered: true }));
  const paper = dom.button("sheet-paper", "Print", () => print());
  dom.one(".sheet-tools").append(paper, " ", coverAll);
  draw();
  addEventListener("pageshow", draw);
})();
