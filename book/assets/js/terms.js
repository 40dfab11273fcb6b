// A box over the index of terms: it leaves the terms that have all the words typed, in a name of theirs. Without it the
// letters lead through the list.
(() => {
  "use strict";

  const { h } = dom;
  const place = dom.one(".term-filter");
  const letters = new Map(dom.all(".term-letters a").map((link) => [link.getAttribute("href").slice(1), link]));
  const groups = dom.all(".term-list ul.terms").map((list) => ({
    list,
    head: /** @type {HTMLElement} */ (list.previousElementSibling),
    entries: dom.all(":scope > li", list).map((entry) => ({
      entry,
      isSee: entry.classList.contains("term-see"), // leads to the entry that has the name too
      names: [".term-name", ".term-other"].map((name) => entry.querySelector(name)?.textContent ?? "").join(", "),
    })),
  }));
  const total = groups.reduce((sum, { entries }) => sum + entries.filter(({ isSee }) => !isSee).length, 0);

  function show() {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const { list, head, entries } of groups) {
      let here = 0;
      for (const { entry, isSee, names } of entries) {
        entry.hidden = isSee ? words.length > 0 : !words.every((word) => names.toLowerCase().includes(word));
        if (!entry.hidden) here += 1;
      }
      found += here;
      for (const part of [list, head, letters.get(head.id)]) if (part) part.hidden = !here;
    }
    status.textContent = words.length ? `${found} of ${util.plural(total, "term")}` : "";
  }

  const box = h("input", { type: "search", id: "term-words", autocomplete: "off", spellcheck: "false", input: show });
  const status = h("span", { role: "status" });
  place.append(h("label", { for: box.id }, "Find a term"), " ", box, " ", status);
  addEventListener("pageshow", show); // a browser that comes back to the page gives the box its old words
})();
