// The way back: who comes to a page from a step of a study plan or from the forty questions finds there, at the foot of the
// window, which step or question it is, and the next question. The tab alone knows it. A page that a plan tells to read is
// the step in all its sections, of any other only the place that the link leads to.
(() => {
  "use strict";

  const { h } = dom;
  const tab = util.inTab("transformers-tested-trail");

  /** @returns {{plan?: {href: string, back: string, words: string}[], sheet?: {href: string, back: string}[]}} */
  const load = () => tab.read();
  /** Keep where the links of an element lead, when one of them is followed. */
  function lead(element, part) {
    for (const event of ["click", "auxclick"])
      element.addEventListener(event, ({ target }) => {
        if (target instanceof Element && target.closest("a[href]")) tab.write({ ...load(), ...part() });
      });
  }
  const links = (element) => [.../** @type {NodeListOf<HTMLAnchorElement>} */ (element.querySelectorAll("a[href]"))];

  for (const table of dom.all("table.study-plan")) {
    const section = table.closest("section");
    const title = section.querySelector("h2").firstChild.textContent.trim().replace(/^The /, "");
    const name = title[0].toUpperCase() + title.slice(1);
    const rows = dom.all("tbody tr", table);
    const stops = () =>
      rows.flatMap((row, place) => {
        const back = new URL(`#${row.id}`, location.href).href;
        return links(row).map(({ href }) => ({ href, back, words: `${name}: step ${place + 1} of ${rows.length}` }));
      });
    lead(table, () => ({ plan: stops(), sheet: undefined }));
  }

  const asked = dom.all(".sheet-question").map((question) => {
    const group = question.closest("section").id;
    return { href: links(question)[0]?.href, back: new URL(`#${group}`, location.href).href };
  });
  for (const question of dom.all(".sheet-question")) lead(question, () => ({ sheet: asked }));

  let strip = null;
  function show() {
    strip?.remove();
    strip = null;
    const { plan = [], sheet = [] } = load();
    const here = location.href;
    const place = sheet.findIndex(({ href }) => href === here);
    const question = sheet[place];
    const stop = (place) => plan.find(({ href }) => href === place);
    const step = question ? stop(question.back) : (stop(here) ?? stop(here.replace(/#.*/, "")));
    const next = question && sheet[place + 1];
    const parts = [
      step && h("a", { href: step.back }, step.words),
      question && h("a", { href: question.back }, `Question ${place + 1} of ${sheet.length}`),
      next && h("a", { href: next.href }, "Next question"),
    ].filter(Boolean);
    if (!parts.length) return;
    strip = h("nav", { class: "trail", "aria-label": "The way back" }, ...parts);
    document.body.append(strip);
  }
  addEventListener("hashchange", show);
  addEventListener("pageshow", show);
})();
