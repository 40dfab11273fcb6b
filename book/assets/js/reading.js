/* How far each page has been read: a bar on this page, ticks in lists, the place in its contents, and the front page's way back.
 *
 * The store holds, by the name of a page, {at, share, title, anchor, section, words, next, nextTitle}: the largest share,
 * the last heading, the beginning of the paragraph that one was at, and the page behind. A page only looked at is not kept.
 */
(() => {
  "use strict";

  const READ = 0.9; // the share from which on a page counts as read
  const SCREEN = 5; // seconds that a screen takes at least: a jump to the foot of a page reads little of it
  const LOOK = 10; // seconds on a page, below which it was only looked up
  const STAY = 20; // seconds on a page, without which a tenth must be read
  const SECTION = "reading";
  const PAGE = /^book\/[a-z0-9-]+\/[a-z0-9-]+$/;
  const root = new URL(document.documentElement.dataset.content_root ?? "./", location.href);
  /** The name of a page by its address, or "" for another site's. */
  const nameOf = (address) => {
    const { href } = new URL(address, location.href);
    return href.startsWith(root.href) ? href.slice(root.href.length).replace(/\.html(#.*)?$/, "") : "";
  };
  /** Whether a page is read through. Questions, exercises, a quiz or a list are looked up. */
  const isToRead = (page) => !/^book\/interview\/|\/(questions(-.+)?|exercises|claims)$/.test(page);
  const addressOf = (name, anchor) => `${root.href}${name}.html${anchor ? `#${anchor}` : ""}`;
  const SCROLLS = "fragmentDirective" in document; // to words, and marks them; elsewhere the heading must do
  const MOST_WORDS = 8;

  const isText = (value) => typeof value === "string" && value.length < 200;
  // A file that was imported may hold anything.
  const fits = (entry) =>
    util.isDated(entry) &&
    Number.isFinite(entry.share) &&
    ["title", "anchor", "section", "next", "nextTitle"].every((key) => isText(entry[key])) &&
    isText(entry.words ?? "") &&
    (entry.next === "" || PAGE.test(entry.next));
  const kept = () => new Map([...util.entries(store.read(SECTION), fits)].filter(([name]) => PAGE.test(name)));

  const article = /** @type {HTMLElement} */ (document.querySelector(".bd-article"));
  const name = nameOf(location.href);
  if (article && PAGE.test(name)) follow();
  mark();
  contents();
  lead();

  // ---- On a page

  function follow() {
    const bar = Object.assign(document.createElement("div"), { className: "reading-bar" });
    bar.setAttribute("aria-hidden", "true");
    document.body.append(bar);
    const words = (node) => (node?.textContent ?? "").replace(/#$/, "").replace(/\s+/g, " ").trim();
    const title = words(article.querySelector("h1"));
    const forward = /** @type {HTMLAnchorElement} */ (document.querySelector(".prev-next-footer a.right-next"));
    const next = forward ? nameOf(forward.href) : "";
    const behind = PAGE.test(next)
      ? { next, nextTitle: words(forward.querySelector(".prev-next-title")) }
      : { next: "", nextTitle: "" };
    const before = kept().get(name)?.share ?? 0;
    let most = before;
    let stayed = 0; // seconds in view

    function draw() {
      const { top, height } = article.getBoundingClientRect();
      const share = Math.min(1, Math.max(0, (innerHeight - top) / height));
      most = Math.max(most, Math.min(share, before + ((stayed / SCREEN) * innerHeight) / height));
      bar.style.transform = `scaleX(${share})`;
    }
    /** How a paragraph begins, if not with a formula or a link: words that the browser finds again. An explorer's come too
        late for a browser that looks for them once. */
    const beginning = ({ firstChild }) =>
      firstChild?.nodeType === Node.TEXT_NODE ? words(firstChild).split(" ").slice(0, MOST_WORDS) : [];
    function note() {
      draw();
      if (stayed < LOOK || (stayed < STAY && most < before + 0.1)) return;
      const parts = [...article.querySelectorAll("section > h2")];
      const here = parts.filter((heading) => heading.getBoundingClientRect().top < innerHeight / 2).pop();
      const [anchor, section] = here ? [here.parentElement.id, words(here)] : ["", ""];
      const reached = [...(here?.parentElement ?? article).querySelectorAll("p")].filter(
        (text) =>
          text.checkVisibility() &&
          !text.closest(".light-widget, .map-notes") &&
          text.getBoundingClientRect().top < innerHeight / 2,
      );
      const line = reached.map(beginning).findLast((start) => start.length > 3) ?? [];
      const at = { anchor, section, words: line.join(" ") };
      const entry = { at: util.now(), share: Math.round(most * 1000) / 1000, title, ...at, ...behind };
      store.write(SECTION, { ...store.read(SECTION), [name]: entry });
    }
    let waiting = 0;
    addEventListener(
      "scroll",
      () => {
        clearTimeout(waiting);
        waiting = setTimeout(note, 300);
        requestAnimationFrame(draw);
      },
      { passive: true },
    );
    setInterval(() => document.hidden || (++stayed === STAY && note()), 1000);
    addEventListener("pagehide", note);
    addEventListener("resize", draw);
    draw();
  }

  // ---- In lists of pages

  function mark() {
    const pages = kept();
    const links = document.querySelectorAll(".bd-sidebar-primary a.reference, .chapter-pages a.reference");
    for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (links)) {
      const page = nameOf(link.href); // a tick on an overview or the quiz would say that all of it is done
      link.classList.toggle("page-read", isToRead(page) && !page.endsWith("/index") && pages.get(page)?.share >= READ);
    }
  }

  // ---- In the contents of a page

  /** The theme marks a heading that comes into view; after a jump into the middle of a section, or on the way up, that is
      another section's. Here that of the line is marked at which a reader looks. */
  function contents() {
    const links = /** @type {HTMLAnchorElement[]} */ ([...document.querySelectorAll(".page-toc a[href^='#']")]);
    /** Where the section of a link stands; the quiz hides those whose items come one at a time. */
    const place = (link) => {
      const section = document.getElementById(decodeURIComponent(link.hash.slice(1)));
      return section?.checkVisibility() ? section.getBoundingClientRect() : undefined;
    };
    function correct() {
      const line = innerHeight * 0.3; // as the theme has it
      const active = links.find((link) => link.matches(".active"));
      const marked = active && place(active);
      const end = innerHeight + scrollY > document.documentElement.scrollHeight - 2; // what is chosen there stays low
      if (marked && marked.top < (end ? innerHeight : line) && marked.bottom > line) return;
      const here = links.findLast((link) => place(link)?.top < line);
      for (const link of links) {
        link.classList.toggle("active", link === here);
        if (link === here) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
        link.closest("li").classList.toggle("active", Boolean(here && link.closest("li").contains(here)));
      }
    }
    let waiting = 0;
    const soon = () => {
      clearTimeout(waiting);
      waiting = setTimeout(correct, 100);
    };
    if (links.length) addEventListener("scroll", soon, { passive: true });
  }

  // ---- On the front page

  /** What one did last: where a page was left, the interview that is held, or the plan with the newest tick. */
  function lead() {
    const place = document.querySelector(".continue-reading");
    const [last] = [page(), interview(), plan()].filter(Boolean).sort((one, other) => (one.at < other.at ? 1 : -1));
    if (!place || !last) return;
    const link = Object.assign(document.createElement("a"), { href: last.href, textContent: last.words });
    place.replaceChildren(last.lead, link, last.told);
  }

  function page() {
    const [last] = [...kept()]
      .filter(([page]) => isToRead(page))
      .sort(([, one], [, other]) => (one.at < other.at ? 1 : -1));
    if (!last) return null;
    const [page, entry] = last;
    const done = entry.share >= READ && entry.next;
    const anchor = /^[\w.-]+$/.test(entry.anchor) ? entry.anchor : "";
    const line = entry.words && SCROLLS ? `:~:text=${encodeURIComponent(entry.words).replaceAll("-", "%2D")}` : "";
    return {
      at: entry.at,
      lead: "Go on reading: ",
      href: done ? addressOf(entry.next, "") : addressOf(page, `${anchor}${line}`),
      words: done
        ? entry.nextTitle
        : [entry.title, page.endsWith("/index") ? "" : entry.section].filter(Boolean).join(": "),
      told: done ? `, the page after ${entry.title}` : "",
    };
  }

  function interview() {
    const { session } = store.read("mock");
    const href = addressOf("book/interview/mock-interview", "");
    return util.isDated(session)
      ? { at: session.at, lead: "Go on with ", href, words: "your mock interview", told: "" }
      : null;
  }

  function plan() {
    const ticks = Object.entries(store.read("plans")).flatMap(([name, steps]) =>
      [...util.entries(steps, util.isDated).values()].map(({ at, done }) => ({ name, at, done: done === true })),
    );
    const [last] = ticks.sort((one, other) => (one.at < other.at ? 1 : -1));
    if (!last || !/^plan-[a-z-]+$/.test(last.name)) return null;
    const done = ticks.filter((tick) => tick.name === last.name && tick.done).length;
    return {
      at: last.at,
      lead: "Go on with ",
      href: addressOf("book/interview/index", `sec-${last.name}`),
      words: `the plan: ${last.name.slice(5).replaceAll("-", " ")}`,
      told: `, ${util.plural(done, "step")} done`,
    };
  }

  addEventListener("pageshow", (event) => {
    if (!event.persisted) return; // back from another page: what was read there
    mark();
    lead();
  });
})();
