/* A button at each formula on a line of its own that copies it as LaTeX, and a colour for formulas that are selected.
   Only pages with such formulas load this file. */
(() => {
  "use strict";

  const WORDS = "Copy LaTeX";
  for (const formula of document.querySelectorAll("div.math[data-tex], .formula-math > .math[data-tex]")) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "copy-tex" });
    button.textContent = WORDS;
    formula.append(button);
  }

  // What is selected is copied as TeX by book.js. A page opened from a folder has no other way to the clipboard.
  document.addEventListener("click", ({ target }) => {
    if (!(target instanceof HTMLElement) || !target.matches(".copy-tex")) return;
    getSelection().selectAllChildren(target.parentElement);
    target.textContent = document.execCommand("copy") ? "Copied" : "Press Ctrl+C";
    setTimeout(() => {
      target.textContent = WORDS;
    }, 2000);
  });

  // The glyphs of a formula are no text, and so show no selection.
  const formulas = document.querySelectorAll(".math[data-tex]");
  document.addEventListener("selectionchange", () => {
    const chosen = getSelection();
    for (const formula of formulas)
      formula.classList.toggle("math-chosen", !chosen.isCollapsed && chosen.containsNode(formula, true));
  });
})();
