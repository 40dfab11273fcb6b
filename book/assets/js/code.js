/* One switch for the code of all pages, kept in the store: as the book has it, all folded, all open, and round again. As the
 * book has it, what a page teaches is open, and what it needs besides is folded. A page with exercises has no switch, since
 * its code is the task.
 */
(() => {
  "use strict";

  const SECTION = "code";
  /** By what is kept: what the button shows, what its next press does, and what the press that led here is said to have done. */
  const STATES = {
    "": { sign: "</>", next: "folded", words: "Fold all code", done: "Code as the book has it" },
    folded: { sign: "<►>", next: "open", words: "Open all code", done: "All code is folded" },
    open: { sign: "<▼>", next: "", words: "Show the code as the book has it", done: "All code is open" },
  };
  const bar = document.querySelector(".article-header-buttons");
  const cells = [...document.querySelectorAll(".bd-article .cell .cell_input")];
  if (!bar || !cells.length || document.querySelector(".exercise-way")) return;

  const made = new Set(); // folds that the book has not

  /** The fold of a cell's code; one that stood open gets a fold like the others. Solutions and checks are no such fold. */
  function foldOf(input) {
    const around = input.closest("details.hide");
    if (around) return around.querySelector(".collapsed")?.textContent === "Show the code" ? around : null;
    const fold = document.createElement("details");
    fold.className = "admonition hide above-input";
    const summary = document.createElement("summary");
    for (const [name, words] of [
      ["collapsed", "Show the code"],
      ["expanded", "Hide the code"],
    ])
      summary.append(
        Object.assign(document.createElement("p"), { className: `${name} admonition-title`, textContent: words }),
      );
    fold.append(summary);
    input.before(fold);
    fold.append(input);
    made.add(fold);
    return fold;
  }

  const button = document.createElement("button");
  button.type = "button";
  button.className = "btn btn-sm pst-navbar-icon code-switch";
  const told = document.createElement("span");
  told.className = "code-told";
  told.setAttribute("role", "status");
  const kept = () => {
    const { state } = store.read(SECTION);
    return Object.hasOwn(STATES, state) ? state : "";
  };
  let shown = "";
  function show() {
    const state = kept();
    button.textContent = STATES[state].sign;
    button.title = STATES[state].words;
    button.setAttribute("aria-label", button.title);
    if (state !== shown) for (const input of cells) foldOf(input)?.toggleAttribute("open", state === "open");
    if (!state) for (const fold of made) fold.replaceWith(fold.lastChild);
    if (!state) made.clear();
    shown = state;
  }

  let waiting = 0;
  button.addEventListener("click", () => {
    const { next } = STATES[kept()];
    store.write(SECTION, next ? { state: next } : {});
    told.textContent = STATES[next].done;
    clearTimeout(waiting);
    waiting = setTimeout(() => told.replaceChildren(), 2000);
    // What is looked at stays in its place. The browser's own way loses it, because code moves into folds.
    const seen = [...document.querySelectorAll(".bd-article section > *")].find(
      (node) => node.getBoundingClientRect().bottom > 64 && !node.querySelector("section, .cell_input"),
    );
    const place = () => seen?.getBoundingClientRect().top ?? 0;
    const before = place();
    const { style } = document.documentElement;
    style.overflowAnchor = "none";
    show();
    requestAnimationFrame(() => {
      scrollBy({ top: place() - before, behavior: "instant" });
      style.overflowAnchor = "";
    });
  });
  addEventListener("storage", show); // the switch in another tab, which may also keep what is none of this
  show();
  bar.prepend(button, told);
})();
