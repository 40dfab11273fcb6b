/* What a reader did in the quiz, kept by store.js: for each item its tries, whether the last was right, and when. */
(() => {
  "use strict";

  const quiz = window.practiceQuiz;
  const { h } = quiz;
  const store = window.practiceStore;
  const SECTION = "quiz";

  const plain = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  /** The section as this page understands it: what a file or another edition brought and does not fit is left out. */
  function load() {
    const kept = store.read(SECTION);
    return { items: window.practice.items(), exam: plain(kept.exam) ? kept.exam : null, last: plain(kept.last) ? kept.last : null };
  }
  const save = ({ items, exam, last }) => store.write(SECTION, { items: Object.fromEntries(items), exam, last });

  quiz.past = (id) => load().items.get(id);

  /** Note a try of an item. */
  quiz.note = (id, right) => {
    const kept = load();
    const tries = (kept.items.get(id)?.tries ?? 0) + 1;
    kept.items.set(id, { tries, right, at: new Date().toISOString() });
    save(kept);
  };

  quiz.readExam = () => load().exam;
  quiz.writeExam = (exam) => save({ ...load(), exam });
  quiz.readLast = () => load().last;
  quiz.writeLast = (exam) => save({ ...load(), last: { ...exam, at: new Date(exam.ended).toISOString() } });

  /** Write on an item what the reader did with it before. */
  quiz.showPast = (item) => {
    const past = quiz.past(item.id);
    const head = item.element.querySelector(".quiz-head");
    const mark = head.querySelector(".quiz-past") ?? head.appendChild(h("span", { class: "quiz-past" }));
    const tries = past && (past.tries === 1 ? "1 try" : `${past.tries} tries`);
    mark.textContent = past ? `${past.right ? "✓ last time right" : "✗ last time not right"}, ${tries}` : "";
  };

  /** The panel with one sentence of counts, a link to the page that counts everything, and the last exam, or none:
   * `lastExam` gives its elements.
   */
  quiz.progressPanel = (items, lastExam) => {
    const last = h("section", { class: "quiz-last", "aria-label": "Your last exam" });
    const counts = h("p", { class: "quiz-counts" });
    const where = h("p", {}, store.available
      ? "Your progress stays in this browser and is sent to nobody. "
      : "This browser does not let the page store anything, so your answers last until you leave the page. ",
    h("a", { href: "progress.html" }, "What is still missing"), " counts it by topic, with your questions and drills, and exports, imports and erases it.");
    const panel = h("div", { class: "quiz-panel" }, counts, where, last);

    function fill() {
      const past = items.map((item) => quiz.past(item.id)).filter(Boolean);
      const right = past.filter((entry) => entry.right).length;
      counts.textContent = `You have tried ${past.length} of ${items.length} items; the last time, ${right} were right.`;
      last.replaceChildren(...lastExam());
      last.hidden = !last.firstChild;
    }
    return { panel, fill };
  };
})();
