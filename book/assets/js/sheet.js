// The forty questions with their answers covered: a reader says each aloud and uncovers it. Paper has them all, and a
// button leads there.
(() => {
  "use strict";

  const answers = dom.all(".sheet-answer").map((answer) => {
    const show = dom.button("sheet-show", "Show the answer", () => {
      uncover({ answer, show });
      answer.focus();
    });
    answer.tabIndex = -1; // who uncovers it by key goes on there
    return { answer, show };
  });

  function uncover({ answer, show }) {
    answer.hidden = false;
    show.remove();
  }
  function cover({ answer, show }) {
    answer.hidden = true;
    answer.before(show);
  }

  const coverAll = dom.button("sheet-cover", "Cover the answers", () => {
    const covered = coverAll.getAttribute("aria-pressed") !== "true";
    coverAll.setAttribute("aria-pressed", String(covered));
    answers.forEach(covered ? cover : uncover);
  });
  coverAll.setAttribute("aria-pressed", "false");
  const paper = dom.button("sheet-paper", "Print", () => print());
  dom.one(".sheet-tools").append(paper, " ", coverAll);
})();
