// What CSS and templates cannot do for this book. Runs deferred, on every page.
(() => {
  "use strict";

  // The search is loaded when it is first asked for, by its button or by Ctrl+K.
  /** @type {Promise<void> | undefined} */
  let searching;
  async function search() {
    searching ??= /** @type {Promise<void>} */ (
      new Promise((/** @type {(value?: any) => void} */ done, failed) => {
        const root = new URL(`${document.documentElement.dataset.content_root ?? "./"}_static/`, location.href);
        const style = Object.assign(document.createElement("link"), { rel: "stylesheet" });
        const script = document.createElement("script");
        const styled = new Promise((shown) => style.addEventListener("load", shown, { once: true }));
        script.addEventListener("load", () => styled.then(() => done()));
        script.addEventListener("error", failed);
        style.href = new URL("css/search.css", root).href;
        script.src = new URL("js/search.js", root).href;
        document.head.append(style, ...(typeof bookSearch === "undefined" ? [script] : []));
        if (typeof bookSearch !== "undefined") done();
      })
    );
    await searching;
    bookSearch.open();
  }
  for (const button of document.querySelectorAll(".search-button__button")) button.addEventListener("click", search);
  addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
    event.preventDefault();
    search();
  });

  // A link to a place in a fold opens it, but not a question that is to be answered first (question-rating.js).
  function unfold() {
    const name = decodeURIComponent(location.hash.slice(1));
    const place = name && document.getElementById(name);
    if (!place) return;
    const folds = [];
    const first = place.dataset.asked ? place.parentElement : place;
    delete place.dataset.asked; // the next link to it shows the answer
    for (let fold = first.closest("details"); fold; fold = fold.parentElement.closest("details")) folds.push(fold);
    if (!folds.some((fold) => !fold.open)) return;
    for (const fold of folds) fold.open = true;
    place.scrollIntoView();
  }
  addEventListener("hashchange", unfold);
  unfold();

  // A box that scrolls sideways is a tab stop, any other is none. The theme looks at code and tables only. First read
  // all, then write: a reading after a writing would lay the page out again.
  const BOXES = ".bd-article :is(pre, .output, figure, .pst-scrollable-table-container, mjx-container[display='true'])";
  const goes_on = (box) => box.scrollWidth - box.clientWidth - box.scrollLeft > 2;
  const begun = (box) => box.scrollLeft > 2;
  const reach = () => {
    const boxes = [...document.querySelectorAll(BOXES)];
    const scroll = boxes.map(
      (box) =>
        box.scrollWidth > box.clientWidth && (box.matches(".fits") || getComputedStyle(box).overflowX !== "visible"), // css/tables.css lets one that fits be
    );
    const [more, past] = [boxes.map(goes_on), boxes.map(begun)];
    // The theme cuts a formula in a line off where it is wider than the line; one that is cut may scroll.
    const formulas = [...document.querySelectorAll(".bd-article span.math:has(mjx-math)")];
    const width = (e) => e.getBoundingClientRect().width;
    const cut = formulas.map((formula) => width(formula.querySelector("mjx-math")) > width(formula) + 2);
    const long = formulas.map(goes_on);
    boxes.forEach((box, i) => {
      if (scroll[i]) box.setAttribute("tabindex", "0");
      else box.removeAttribute("tabindex");
      box.classList.toggle("fits", !scroll[i]);
      box.classList.toggle("more", scroll[i] && more[i]);
      box.classList.toggle("past", past[i]);
    });
    formulas.forEach((formula, i) => {
      formula.classList.toggle("math-wide", cut[i]);
      formula.classList.toggle("more", cut[i] && long[i]);
      if (cut[i]) formula.setAttribute("tabindex", "0");
      else formula.removeAttribute("tabindex");
    });
  };

  // The theme may leave the list of pages where it hides the page that one is on.
  addEventListener("load", () => {
    const list = document.querySelector("div.bd-sidebar-primary");
    if (!list) return;
    const here = [...list.querySelectorAll("a.current")].pop();
    if (!here) list.scrollTop = 0; // the front page is in no list
    if (!here) return;
    const above = (link) => link.getBoundingClientRect().top - list.getBoundingClientRect().top;
    const last = list.clientHeight - 40;
    if (above(here) < 0 || above(here) > last) list.scrollTop += above(here) - list.clientHeight / 3;
    // The chapter is in view, too, below the search that stays, where both have room.
    const under = 64 - above(here.closest(".toctree-l1")?.querySelector("a") ?? here);
    if (under > 0 && above(here) + under < last) list.scrollTop -= under;
  });

  // A phone's drawers open at the entry that one is at, and close when one is chosen, since they cover the page.
  for (const drawer of /** @type {NodeListOf<HTMLDialogElement>} */ (
    document.querySelectorAll("dialog[id$='-sidebar-modal']")
  )) {
    drawer.addEventListener("click", ({ target }) => {
      if (target instanceof Element && target.closest("a[href]")) drawer.close();
    });
    const show = () =>
      drawer.open && [...drawer.querySelectorAll("a.current, a.active")].pop()?.scrollIntoView({ block: "center" });
    new MutationObserver(() => requestAnimationFrame(show)).observe(drawer, { attributeFilter: ["open"] });
  }

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

  // The theme's button goes round light, dark and the system's choice: a click that shows nothing new goes on.
  const page = document.documentElement;
  let before = page.dataset.theme;
  // It also lets the focus go, for its tooltip; a key, which a pointer's click tells from itself by a count, keeps it.
  addEventListener("click", ({ target, detail, isTrusted }) => {
    const button = target instanceof Element && target.closest(".theme-switch-button");
    if (!(button instanceof HTMLElement)) return;
    const { mode, theme } = page.dataset;
    const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    // Not button.click(), which does nothing while a key presses the button.
    if (theme === before || mode === system) button.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    before = page.dataset.theme;
    if (isTrusted && detail === 0) button.focus();
  });

  // Paper ends with what it cites: on the screen a citation has its source as its title, which previews.js may hold.
  const references = document.createElement("section");
  references.className = "paper-references";
  /** What a citation reads: "Dao et al., 2022", also where the authors stand in the sentence and the year is the link. */
  function label(link) {
    const words = link.textContent;
    if (words.includes(", ")) return words;
    const before = document.createRange();
    before.setStart(link.closest(".bibtex-citation"), 0);
    before.setEndBefore(link);
    const authors = before.toString().replace(/\s*\[$/, "");
    return `${authors.replace(/^.*\](?:,? and|[,;])? /, "")}, ${words}`;
  }
  function cite() {
    const cited = new Map();
    for (const link of document.querySelectorAll(".bd-article .bibtex-citation a")) {
      const source = link instanceof HTMLAnchorElement && (link.title || link.dataset.title);
      if (source && link.checkVisibility()) cited.set(source, label(link));
    }
    const element = (tag, ...content) => {
      const made = document.createElement(tag);
      made.append(...content);
      return made;
    };
    const sorted = [...cited].sort(([, one], [, other]) => one.localeCompare(other, "en"));
    const entries = sorted.map(([source, words]) => element("li", element("strong", words), ` ${source}`));
    references.replaceChildren(element("h2", "References"), element("ul", ...entries));
    if (entries.length) document.querySelector(".bd-article")?.append(references);
  }

  // Paper has no folds but those of code that the reader has folded, and is white.
  let opened = [];
  let theme = "";
  addEventListener("beforeprint", () => {
    // An exercise is handed out with those hints and solutions that were opened by hand.
    const isAnswer = (fold) => !fold.matches(".hide") && fold.closest("section:has(> .exercise-about)");
    opened = [...document.querySelectorAll("details:not([open], .off-paper)")].filter((fold) => !isAnswer(fold));
    for (const fold of opened) fold.open = true;
    cite();
    theme = page.dataset.theme;
    page.dataset.theme = "light";
  });
  addEventListener("afterprint", () => {
    for (const fold of opened) fold.open = false;
    references.remove();
    page.dataset.theme = theme;
  });

  let waiting = 0;
  const soon = () => {
    clearTimeout(waiting);
    waiting = setTimeout(reach, 400);
  }; // the theme does it after 300
  addEventListener("resize", soon);
  // A box that goes on to the right fades out there (phone.css), until its end is reached. Scrolling does not bubble.
  document.addEventListener(
    "scroll",
    ({ target }) => {
      if (!(target instanceof Element && target.matches(`${BOXES}, .math-wide`) && target.hasAttribute("tabindex")))
        return;
      target.classList.toggle("more", goes_on(target));
      target.classList.toggle("past", begun(target));
    },
    { capture: true, passive: true },
  );
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
