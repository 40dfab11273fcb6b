/* One switch for the code of all pages, folded or open, kept in the store. Until somebody uses it a page decides: what it
 * teaches is open, and what it needs besides is folded. A page with exercises has no switch, since its code is the task.
 */
(() => {
  "use strict";

  const SECTION = "code";
  const WORDS = { folded: "Open all code", open: "Fold all code" };
  const bar = document.querySelector(".article-header-buttons");
  const cells = [...document.querySelectorAll(".bd-article .cell .cell_input")];
  if (!bar || !cells.length || document.querySelector(".exercise-way")) return;

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
    return fold;
  }

  const button = document.createElement("button");
  button.type = "button";
  button.className = "btn btn-sm pst-navbar-icon code-switch";
  button.append("</>");
  const kept = () => {
    const { state } = store.read(SECTION);
    return state === "folded" || state === "open" ? state : "";
  };
  const name = () => {
    button.title = WORDS[kept() || "open"];
    button.setAttribute("aria-label", button.title);
  };
  let shown = "";
  function show() {
    name();
    const state = kept();
    if (state && state !== shown) for (const input of cells) foldOf(input)?.toggleAttribute("open", state === "open");
    shown = state;
  }

  button.addEventListener("click", () => {
    store.write(SECTION, { state: kept() === "folded" ? "open" : "folded" });
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
  bar.prepend(button);
})();
