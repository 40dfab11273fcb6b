// The map of the Transformer: shows the note on a part that a reader points at, reaches by keyboard, or taps. Without
// this script its parts are links, and one note is shown.
(() => {
  "use strict";

  /** @param {Element} svg */
  const partsOf = (svg) => /** @type {SVGAElement[]} */ ([...svg.querySelectorAll("a[href]")]);

  /** @param {SVGAElement} link */
  const partName = (link) =>
    link.querySelector("[data-part]")?.getAttribute("data-part") || link.getAttribute("aria-label");

  /**
   * The nearest part in the direction of an arrow key, by the middles of the parts.
   * @param {SVGAElement} from
   * @param {string} key
   * @param {SVGAElement[]} parts
   */
  const neighbour = (from, key, parts) => {
    const height = from.ownerSVGElement?.getBoundingClientRect().height || 0;
    const middle = (/** @type {Element} */ part) => {
      const box = part.getBoundingClientRect();
      // One that holds others, encoder or decoder, lies at its name.
      return [box.x + box.width / 2, box.height > height / 4 ? box.y : box.y + box.height / 2];
    };
    const [x, y] = middle(from);
    const sideways = key === "ArrowLeft" || key === "ArrowRight";
    const sign = key === "ArrowLeft" || key === "ArrowUp" ? -1 : 1;
    let [best, least] = [from, Infinity];
    for (const part of parts) {
      const [across, down] = middle(part).map((place, axis) => place - [x, y][axis]);
      const [along, aside] = sideways ? [across * sign, Math.abs(down)] : [down * sign, Math.abs(across)];
      const distance = along + 2 * aside;
      if (part !== from && along > 2 && distance < least) [best, least] = [part, distance];
    }
    return best;
  };

  /**
   * One stop of the tab key, or one for each part, and arrows from part to part.
   * @param {Element} svg
   * @param {boolean} single whether the whole map is one stop
   * @param {(link: SVGAElement | null) => void} show
   * @param {() => void} leave
   */
  const listen = (svg, single, show, leave) => {
    const parts = partsOf(svg);
    const seen = new Set();
    for (const [index, part] of parts.entries()) {
      // A part that is drawn several times is one stop.
      if (single ? index : seen.has(partName(part))) part.setAttribute("tabindex", "-1");
      seen.add(partName(part));
      part.addEventListener("focus", () => show(part));
      part.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && show(part));
    }
    let touched = "";
    svg.addEventListener("pointerdown", (event) => {
      touched = /** @type {PointerEvent} */ (event).pointerType;
    });
    let chosen = /** @type {string | null} */ (null);
    svg.addEventListener("click", (event) => {
      const part = /** @type {Element} */ (event.target).closest("a[href]");
      if (!(part instanceof SVGAElement) || touched !== "touch") return;
      if (chosen !== partName(part)) event.preventDefault(); // the first tap shows, the second leads on
      chosen = partName(part);
      show(part);
    });
    svg.addEventListener("keydown", (event) => {
      const { key } = /** @type {KeyboardEvent} */ (event);
      const part = document.activeElement;
      if (!(part instanceof SVGAElement)) return;
      if (key.startsWith("Arrow")) {
        event.preventDefault();
        neighbour(part, key, parts).focus();
      } else if (key === "Escape") {
        leave();
      }
    });
  };

  const PASSING = 500; // milliseconds in which a mouse may cross the map on its way to what stands below it
  const notes = document.querySelector(".map-notes");
  const maps = [...document.querySelectorAll('svg.fig[aria-labelledby^="transformer-map"]')];
  if (notes instanceof HTMLElement) {
    const all = [...notes.children];
    const first = all.find((note) => note.classList.contains("map-on-show"));
    let low = false; // whether the finger is in the lower half of the screen, where it would be under the note
    document.addEventListener("pointerdown", ({ clientY }) => (low = clientY > innerHeight / 2), { capture: true });
    /** @param {Element | undefined} shown */
    const put = (shown) => {
      // On a phone the shown note leaves the grid for the edge of the screen: its place stays as high as it was.
      if (!notes.style.minHeight) notes.style.minHeight = `${notes.getBoundingClientRect().height}px`;
      notes.classList.toggle("map-active", shown !== first);
      notes.classList.toggle("map-above", low);
      for (const note of all) note.classList.toggle("map-on-show", note === shown);
    };
    for (const svg of maps) {
      const show = (/** @type {SVGAElement | null} */ link) => {
        const name = link && partName(link);
        for (const group of svg.querySelectorAll("[data-part]")) {
          group.classList.toggle("f-shown", group.getAttribute("data-part") === name);
        }
        put(all.find((note) => note instanceof HTMLElement && note.dataset.part === name) || first);
      };
      listen(svg, false, show, () => {
        notes.focus({ preventScroll: true }); // from here Tab leads on
        show(null);
      });
      let entered = -Infinity;
      svg.addEventListener("pointerenter", (event) => {
        const { pointerType } = /** @type {PointerEvent} */ (event);
        if (pointerType === "mouse") entered = performance.now(); // a tap may put the note under a mouse that rests
      });
      notes.addEventListener("pointerenter", ({ pointerType }) => {
        if (pointerType === "mouse" && performance.now() - entered < PASSING) show(null);
      });
      document.addEventListener("keydown", ({ key }) => key === "Escape" && show(null));
      // Elsewhere on the page the note would be in the way.
      new IntersectionObserver(([seen]) => seen.isIntersecting || notes.classList.remove("map-active")).observe(svg);
      document.addEventListener("pointerdown", (event) => {
        const on = event.target instanceof Element && event.target.closest(".map-notes, svg.fig a[href]");
        if (!on) show(null);
      });
    }
  }

  const small = document.querySelector(".small-map");
  const svg = small?.querySelector("svg");
  const name = small?.querySelector(".small-map-name");
  if (svg && name instanceof HTMLElement) {
    const show = (/** @type {SVGAElement | null} */ link) => {
      name.textContent = link ? link.getAttribute("aria-label") : name.dataset.here || "";
    };
    listen(svg, true, show, () => {
      /** @type {HTMLElement | null} */ (document.activeElement)?.blur();
      show(null);
    });
    svg.addEventListener("pointerleave", () => show(null));
    svg.addEventListener("focusout", () => show(null));
  }
})();
