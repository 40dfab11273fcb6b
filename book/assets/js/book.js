// What CSS and templates cannot do for this book. Runs deferred, on every page.
(() => {
  "use strict";

  // From a folder on disk a page may not fetch another one, so search shows its results without their summaries.
  if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS === "object") {
    DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  }

  // A box that scrolls sideways must be reachable by keyboard, and one that does not must not be a tab stop.
  // The theme looks at code and tables only, and not again when a fold opens. First read all, then write: each
  // reading after a writing would lay the page out again.
  const BOXES = ".bd-article :is(pre, .output, figure, .pst-scrollable-table-container, mjx-container[display='true'])";
  const reach = () => {
    const boxes = [...document.querySelectorAll(BOXES)];
    const scroll = boxes.map(
      (box) => box.scrollWidth > box.clientWidth && getComputedStyle(box).overflowX !== "visible",
    );
    // The theme cuts a formula in a line off where it is wider than the line; one that is cut may scroll.
    const formulas = [...document.querySelectorAll(".bd-article span.math:has(mjx-math)")];
    const width = (e) => e.getBoundingClientRect().width;
    const cut = formulas.map((formula) => width(formula.querySelector("mjx-math")) > width(formula) + 2);
    boxes.forEach((box, i) => {
      if (scroll[i]) box.setAttribute("tabindex", "0");
      else box.removeAttribute("tabindex");
    });
    formulas.forEach((formula, i) => {
      formula.classList.toggle("math-wide", cut[i]);
      if (cut[i]) formula.setAttribute("tabindex", "0");
      else formula.removeAttribute("tabindex");
    });
  };

  // A folded cell is announced by its own words ("Show a solution"), not by the same label on every page.
  for (const summary of document.querySelectorAll("details.hide > summary")) summary.removeAttribute("aria-label");

  // Buttons that carry only a drawing get their title as a name that stays when the tooltip takes the title away.
  for (const button of document.querySelectorAll(".bd-header-article :is(a, button)[title]")) {
    const title = button.getAttribute("title");
    if (!button.textContent.trim() && !button.hasAttribute("aria-label")) button.setAttribute("aria-label", title);
  }

  // A formula is copied as its TeX: what shows has no text.
  addEventListener("copy", (event) => {
    const chosen = getSelection();
    if (!chosen?.rangeCount || !event.clipboardData) return;
    // A selection that begins or ends within a formula takes all of it.
    const range = chosen.getRangeAt(0).cloneRange();
    const formula = (place) => (place instanceof Element ? place : place.parentElement)?.closest(".math[data-tex]");
    const [first, last] = [formula(range.startContainer), formula(range.endContainer)];
    if (first) range.setStartBefore(first);
    if (last) range.setEndAfter(last);
    const box = document.createElement("div");
    box.append(range.cloneContents());
    const formulas = /** @type {HTMLElement[]} */ ([...box.querySelectorAll(".math[data-tex]")]);
    if (!formulas.length) return;
    for (const one of formulas) {
      const mark = one.localName === "div" ? "$$" : "$";
      one.replaceChildren(`${mark}${one.dataset.tex}${mark}`);
    }
    // Blocks begin on lines of their own only where they are laid out.
    box.style.cssText = "position: fixed; inset: 0 auto auto 0; opacity: 0; pointer-events: none";
    document.body.append(box);
    event.clipboardData.setData("text/plain", box.innerText);
    box.remove();
    event.preventDefault();
  });

  // Paper has no folds, and is white.
  const page = document.documentElement;
  let opened = [];
  let theme = "";
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const fold of opened) fold.open = true;
    theme = page.dataset.theme;
    page.dataset.theme = "light";
  });
  addEventListener("afterprint", () => {
    for (const fold of opened) fold.open = false;
    page.dataset.theme = theme;
  });

  let waiting = 0;
  const soon = () => {
    clearTimeout(waiting);
    waiting = setTimeout(reach, 400);
  }; // the theme does it after 300
  addEventListener("resize", soon);
  addEventListener("load", reach);
  document.fonts.addEventListener("loadingdone", reach); // formulas are wider in their own letters
  document.addEventListener("toggle", soon, true);
  // What a figure or a question adds later changes the height of the article. This must not put off the others.
  let later = 0;
  const article = document.querySelector(".bd-article");
  const grown = () => {
    later =
      later ||
      setTimeout(() => {
        later = 0;
        reach();
      }, 400);
  };
  if (article) new ResizeObserver(grown).observe(article);
})();
