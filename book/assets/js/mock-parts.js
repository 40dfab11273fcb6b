/* What the mock interview and the coding round are made of: elements, copies of the lists, formulas, a clock, ratings.
 * The files mock-*.js share window.mockInterview; mock.js comes last and starts both.
 */
(() => {
  "use strict";

  if (!window.practiceStore) return;
  const mock = {};
  window.mockInterview = mock;

  mock.RATINGS = ["No answer", "A part of it", "Right, with gaps", "Right and complete"];
  mock.WEAK = 1; // a rating up to this one is to be repeated
  mock.isRating = (value) => Number.isInteger(value) && value >= 0 && value < mock.RATINGS.length;
  mock.plain = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

  // ---- Elements

  /** Make an element: h("p", { class: "x" }, "text", child). */
  function h(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "click") element.addEventListener("click", value);
      else if (value === true) element.setAttribute(name, "");
      else if (value !== false) element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  }
  mock.h = h;
  mock.button = (text, click, main = false) =>
    h("button", { type: "button", class: main ? "mock-button mock-main" : "mock-button", click }, text);
  mock.titled = (text) => h("h3", { tabindex: -1, class: "mock-title" }, text);
  mock.badges = (...words) => h("p", { class: "mock-badges" }, ...words.map((word) => h("span", {}, word)));
  mock.plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

  /** A table; `rows` are lists of texts or elements, the first of each is its head. */
  mock.table = (caption, heads, rows, attributes = {}) =>
    h("table", { class: "mock-table", ...attributes }, h("caption", {}, caption),
      h("thead", {}, h("tr", {}, ...heads.map((word) => h("th", { scope: "col" }, word)))),
      h("tbody", {}, ...rows.map(([first, ...rest]) =>
        h("tr", {}, h("th", { scope: "row" }, first), ...rest.map((cell) => h("td", {}, cell))))));

  /** Put new content into a stage; the focus goes to its title, if it has one. */
  mock.show = (stage, ...content) => {
    stage.replaceChildren(...content);
    const title = stage.querySelector(".mock-title");
    if (title) title.focus();
  };

  /** A set of boxes with a legend; `all`, the word for them, adds buttons that tick all or none. */
  mock.boxes = (legend, name, options, chosen, all = "") => {
    const set = h("fieldset", { class: "mock-choices" }, h("legend", {}, legend));
    const tick = (word, spoken, checked) => {
      const made = mock.button(word, () => {
        for (const box of set.querySelectorAll("input")) box.checked = checked;
        set.dispatchEvent(new Event("input", { bubbles: true })); // the form counts what fits, and says it
      });
      made.setAttribute("aria-label", spoken);
      return made;
    };
    if (all) set.append(h("p", { class: "mock-all" }, tick("All", `All ${all}`, true), tick("None", `None of the ${all}`, false)));
    for (const [value, text] of options) {
      const checked = !chosen || chosen.includes(String(value));
      set.append(h("label", {}, h("input", { type: "checkbox", name, value, checked }), ` ${text}`));
    }
    return set;
  };

  /** A button that forgets only when it is pressed again. */
  mock.forgetting = (words, forget) => {
    const made = mock.button(words, () => {
      if (made.dataset.sure) return forget();
      made.dataset.sure = "yes";
      made.textContent = "Press again to forget them all";
      return undefined;
    });
    return made;
  };

  /** Draw without replacement, by Fisher and Yates; what is drawn keeps the order of the pool. */
  mock.drawn = (pool, number) => {
    const rest = [...pool.keys()];
    for (let last = rest.length - 1; last > 0; last -= 1) {
      const other = Math.floor(Math.random() * (last + 1));
      [rest[last], rest[other]] = [rest[other], rest[last]];
    }
    return rest.slice(0, number).sort((one, other) => one - other).map((place) => pool[place]);
  };

  // ---- Formulas and copies

  let typesetting = Promise.resolve();

  /** Have the formulas of an element set that have waited; the box of a wide one then becomes a stop of the keyboard. */
  mock.typeset = (root) => {
    const waiting = [...root.querySelectorAll(".math-waiting")];
    for (const formula of waiting) formula.classList.replace("math-waiting", "math");
    const ready = window.MathJax && window.MathJax.startup && window.MathJax.startup.promise;
    if (!waiting.length || !ready) return; // before its start MathJax finds them by itself
    typesetting = typesetting
      .then(() => ready)
      .then(() => window.MathJax.typesetPromise(waiting.filter((formula) => formula.isConnected)))
      .then(() => window.dispatchEvent(new Event("resize")))
      .catch((error) => console.error(error));
  };

  /** Copy what a list holds into a new element; an id stays with the original. */
  mock.copied = (element, tag, className) => {
    const made = h(tag, { class: className });
    const copy = element.cloneNode(true);
    for (const part of copy.querySelectorAll("[id]")) part.removeAttribute("id");
    made.append(...copy.childNodes);
    return made;
  };

  // ---- Time

  mock.time = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
  mock.spent = (seconds) => (seconds < 120 ? mock.plural(Math.floor(seconds), "second") : mock.plural(Math.round(seconds / 60), "minute"));
  const exactly = (seconds) => (seconds < 60 ? mock.plural(Math.round(seconds), "second") : mock.plural(Number((seconds / 60).toFixed(1)), "minute"));

  /** A clock that runs until it is stopped, or until its place is gone. With a limit in seconds it says, once each, when
   * half of it and when all of it is used. `before` are seconds that were used already; `hiding` is called with whether the
   * reader shows it.
   */
  mock.clock = ({ label, limit = 0, before = 0, visible = true, hiding = null }) => {
    const started = performance.now() - before * 1000;
    let stopped = 0;
    let told = 0;
    const seconds = () => ((stopped || performance.now()) - started) / 1000;
    const shown = h("span", { role: "timer", "aria-live": "off" }, mock.time(before));
    const line = h("span", { hidden: !visible }, `${label}: `, shown, limit ? ` of ${mock.time(limit)}` : "");
    const said = h("p", { role: "status", class: "mock-time", hidden: !limit });
    const bar = h("p", { class: "mock-timer" }, line);
    if (hiding) {
      const box = h("input", { type: "checkbox", checked: visible });
      box.addEventListener("change", () => { line.hidden = !box.checked; hiding(box.checked); });
      bar.append(h("label", {}, box, " Show the timer"));
    }
    const tell = (part, words) => {
      if (told >= part) return;
      told = part;
      said.textContent = words;
    };
    const tick = () => {
      if (!shown.isConnected) return clearInterval(running);
      shown.textContent = mock.time(seconds());
      if (limit && seconds() >= limit) tell(2, `All of your time is used: ${exactly(limit)}. Finish with what you have.`);
      else if (limit && seconds() >= limit / 2) tell(1, `Half of your time is used: ${exactly(limit / 2)} of ${exactly(limit)}.`);
      return undefined;
    };
    const running = setInterval(tick, 500);
    const stop = () => {
      stopped ||= performance.now();
      clearInterval(running);
      shown.textContent = mock.time(seconds());
    };
    return { bar: h("div", {}, bar, said), seconds, stop };
  };

  // ---- Ratings

  /** The four ratings to choose from; `message` says below them what is missing. */
  mock.rating = (legend, words, message) => {
    const set = h("fieldset", { class: "mock-rating" }, h("legend", {}, legend));
    words.forEach((word, value) => {
      set.append(h("label", {}, h("input", { type: "radio", name: "mock-rating", value }), ` ${value}: ${word}`));
    });
    set.addEventListener("change", () => { message.textContent = ""; });
    set.append(message);
    return set;
  };

  /** The rating that is chosen, or null after saying that there is none. */
  mock.given = (set, message, words) => {
    const chosen = set.querySelector("input:checked");
    if (chosen) return Number(chosen.value);
    message.textContent = words;
    set.querySelector("input").focus();
    return null;
  };

  mock.mean = (rows) => rows.reduce((sum, row) => sum + row.rating, 0) / rows.length;
  mock.seconds = (rows) => rows.reduce((sum, row) => sum + row.seconds, 0);
})();
