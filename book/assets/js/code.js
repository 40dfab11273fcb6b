/* One menu for the code of all pages, kept in the store: as the book has it, all folded, or all open. As the book has it, what
 * a page teaches is open, and what it needs besides is folded. A page with exercises has no menu, since its code is the task.
 */
(() => {
  "use strict";

  const SECTION = "code";
  /** By what is kept: the sign that shows, and the words of the menu. */
  const STATES = {
    "": ["</>", "Code as the book has it"],
    folded: ["<►>", "Code folded, on all pages"],
    open: ["<▼>", "Code open, on all pages"],
  };
  const bar = document.querySelector(".article-header-buttons");
  const cells = [...document.querySelectorAll(".bd-article .cell .cell_input")];
  if (!bar || !cells.length || document.querySelector(".exercise-way")) return;

  const made = new Set(); // folds that the book has not

  /** What stays closed: checks, and what a reader is to find out. */
  const KEPT_CLOSED = /check|solution|away/i;

  /** The fold of a cell's code; one that stood open gets a fold like the others. */
  function foldOf(input) {
    const around = input.closest("details.hide");
    if (around) return KEPT_CLOSED.test(around.querySelector(".collapsed")?.textContent ?? "") ? null : around;
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

  // The browser's own menu lies over the sign: a press opens it, by finger and key too.
  const box = document.createElement("span");
  box.className = "btn btn-sm pst-navbar-icon code-switch";
  const sign = document.createElement("span");
  sign.setAttribute("aria-hidden", "true");
  const choice = document.createElement("select");
  choice.title = "Code";
  choice.setAttribute("aria-label", choice.title);
  for (const [state, [, words]] of Object.entries(STATES)) choice.add(new Option(words, state));
  box.append(sign, choice);
  const kept = () => {
    const { state } = store.read(SECTION);
    return Object.hasOwn(STATES, state) ? state : "";
  };
  let shown = "";
  function show() {
    const state = kept();
    choice.value = state;
    [sign.textContent] = STATES[state];
    if (state !== shown)
      for (const fold of cells.map(foldOf)) {
        fold?.toggleAttribute("open", state === "open");
        fold?.classList.toggle("off-paper", state === "folded"); // book.js leaves it closed
      }
    if (!state) for (const fold of made) fold.replaceWith(fold.lastChild);
    if (!state) made.clear();
    shown = state;
  }

  choice.addEventListener("change", () => {
    store.write(SECTION, choice.value ? { state: choice.value } : {});
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
  // The bar of a phone has no room beside the title: there the menu is above the contents of the page.
  const narrow = matchMedia("(max-width: 600px)");
  const put = () => ((narrow.matches && document.querySelector(".sidebar-secondary-items")) || bar).prepend(box);
  narrow.addEventListener("change", put);
  put();
})();
