// The ledger: which claims it shows, by verdict, basis and chapter. Without a script it shows all.
(() => {
  "use strict";

  const { h } = dom;
  const entries = dom.all(".ledger-entry");
  const chapters = dom.all("section[id^=ledger-chapter-]");
  const told = h("p", { class: "ledger-told", role: "status" });
  const chapterOf = (entry) => entry.closest("section").id;

  /** What follows a word in the classes of an entry: its verdict, or its bases. */
  const named = (entry, start) =>
    [...entry.classList].filter((name) => name.startsWith(start)).map((name) => name.slice(start.length));
  const choice = (label, start) => {
    const names = [...new Set(entries.flatMap((entry) => named(entry, start)))];
    return menu(
      label,
      names.map((name) => [name, name.replaceAll("-", " ")]),
      (entry, name) => named(entry, start).includes(name),
    );
  };
  function menu(label, options, fits) {
    const made = dom.menu({ id: `ledger-${label.toLowerCase()}`, autocomplete: "off", change: show }, [
      ["", "all"],
      ...options,
    ]);
    return { made, fits, row: h("span", {}, h("label", { for: made.id }, label), " ", made) };
  }

  const menus = [
    choice("Verdict", "verdict-"),
    choice("Basis", "basis-"),
    menu(
      "Chapter",
      chapters.map((chapter) => [chapter.id, chapter.querySelector("h2").firstChild.textContent]),
      (entry, name) => chapterOf(entry) === name,
    ),
  ];

  function show() {
    for (const entry of entries) entry.hidden = menus.some(({ made, fits }) => made.value && !fits(entry, made.value));
    for (const chapter of chapters) chapter.hidden = !chapter.querySelector(".ledger-entry:not([hidden])");
    told.textContent = util.plural(entries.filter((entry) => !entry.hidden).length, "claim");
  }
  dom.one(".ledger-filter").append(...menus.map(({ row }) => row), told);
  show();
})();
