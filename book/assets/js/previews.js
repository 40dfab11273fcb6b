/* Previews of links, on hover, focus and tap. A citation is in its title, the others in a script of the page. The last
   line opens what is shown; a keyboard has Enter on the link, so it is no stop of the tab key. */
(() => {
  "use strict";

  const ROOT = new URL(document.documentElement.dataset.content_root ?? "./", location.href);
  const WAIT = 300; // milliseconds before a mouse at rest opens one, and until one that is left closes
  const NAMES = { equation: "equation", term: "glossary", claim: "claim", q: "question", exr: "exercise" };
  const WANTED = new RegExp(`^#(${Object.keys(NAMES).join("|")})-`);
  const LISTS = ".question-index, .term-list, .study-plan, .claims-table, .progress-table, .headerlink, nav";
  const PAGE = location.pathname.slice(ROOT.pathname.length).replace(/(?:\.html|\/?)$/, "") || "index";

  const box = document.createElement("div");
  Object.assign(box, { id: "book-preview", className: "book-preview", popover: "manual" });
  box.setAttribute("role", "tooltip");
  /** @type {HTMLAnchorElement | null} */
  let open = null;
  let timer = 0;
  /** @type {Promise<Record<string, string>> | undefined} */
  let known;

  const previews = () => {
    known ??= new Promise((done) => {
      const script = document.createElement("script");
      script.src = new URL(`_static/previews/${PAGE}.js`, ROOT).href;
      script.onload = () => done(/** @type {any} */ (window).bookPreviews ?? {});
      script.onerror = () => done({});
      document.head.append(script);
    });
    return known;
  };

  /** The link of the text that has a preview, from anything within it. */
  function linkOf(target) {
    const link = target instanceof Element ? target.closest(".bd-article a.reference[class~='internal']") : null;
    if (!(link instanceof HTMLAnchorElement) || link.closest(LISTS)) return null;
    return isCitation(link) || WANTED.test(link.hash) ? link : null;
  }

  const isCitation = (link) => link.pathname.endsWith("references.html") && (link.title || link.dataset.title);

  async function content(link) {
    if (isCitation(link)) {
      link.dataset.title ??= link.title;
      link.removeAttribute("title");
      return document.createTextNode(link.dataset.title);
    }
    const html = (await previews())[link.getAttribute("href")];
    return html ? document.createRange().createContextualFragment(html) : null;
  }

  function opener(link) {
    const name = NAMES[WANTED.exec(link.hash)?.[1] ?? ""] ?? "references";
    const line = document.createElement("a");
    Object.assign(line, { href: link.href, tabIndex: -1, className: "book-preview-open" });
    line.textContent = `Open the ${name}`;
    return line;
  }

  /** Show the preview of a link at a point, and tell whether it has one. */
  async function show(link, point) {
    clearTimeout(timer);
    if (open === link) return true;
    const shown = await content(link);
    if (!shown) return false;
    if (!link.getClientRects().length) return true; // while it loaded, the link went or was hidden
    hide();
    box.replaceChildren(shown, opener(link));
    box.scrollTop = 0;
    if (!box.isConnected) document.body.append(box);
    box.showPopover();
    place(link, point);
    link.setAttribute("aria-describedby", box.id);
    open = link;
    return true;
  }

  /** Below the line that is pointed at where there is room, else above. */
  function place(link, { x, y } = { x: -1, y: -1 }) {
    const lines = [...link.getClientRects()];
    const isAt = ({ left, right, top, bottom }) => left <= x && x <= right && top <= y && y <= bottom;
    const at = lines.find(isAt) ?? lines[0];
    const { width, height } = box.getBoundingClientRect();
    const below = at.bottom + 6;
    const top = below + height < innerHeight - 8 ? below : Math.max(8, at.top - height - 6);
    box.style.left = `${Math.max(8, Math.min(at.left, innerWidth - width - 8))}px`;
    box.style.top = `${top}px`;
  }

  function hide() {
    clearTimeout(timer);
    open?.removeAttribute("aria-describedby");
    open = null;
    if (box.matches(":popover-open")) box.hidePopover();
  }

  const later = (act) => {
    clearTimeout(timer);
    timer = window.setTimeout(act, WAIT);
  };

  document.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    const link = linkOf(event.target);
    const { clientX: x, clientY: y } = event;
    if (link) later(() => show(link, { x, y }));
    else if (box.contains(/** @type {Node} */ (event.target))) clearTimeout(timer);
    else if (open && document.activeElement !== open) later(hide);
    else if (!open) clearTimeout(timer);
  });
  document.addEventListener("focusin", (event) => {
    const link = linkOf(event.target);
    if (link?.matches(":focus-visible")) show(link);
    else if (!link && !box.contains(/** @type {Node} */ (event.target))) hide();
  });
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
  document.addEventListener("scroll", () => open && document.activeElement !== open && hide(), { passive: true });
  // A first tap shows, the second follows. A question is followed at once.
  document.addEventListener("click", async (event) => {
    const link = linkOf(event.target);
    const touched = /** @type {PointerEvent} */ (event).pointerType === "touch";
    if (link && touched && link !== open && !/#(?:q-|exr-)/.test(link.hash)) {
      event.preventDefault();
      const { clientX: x, clientY: y } = event;
      if (!(await show(link, { x, y }))) location.assign(link.href);
    } else if (!box.contains(/** @type {Node} */ (event.target)) || event.target instanceof HTMLAnchorElement) hide();
  });
})();
