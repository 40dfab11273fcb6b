/* Export, import and erase everything that this book keeps in the browser; import the file of solved drills.
 *
 * progressFile = {
 *   panel(changed, known)  the elements; `changed` is called after an import and after an erasure, and `known` tells
 *                          whether a drill of a name exists
 *   drillStates(text)      the states in a file of drills
 * }
 */
const progressFile = (() => {
  "use strict";

  const { h } = dom;
  const { isObject, plural } = util;
  const NAME = "transformers-tested-progress.json";
  const LONGEST = 200_000; // characters of a file of drills

  /** The states of a file of drills; null where it is none, and a sentence thrown where it is a damaged one. */
  function drillStates(text) {
    let data;
    try {
      data = JSON.parse(text);
    } catch {
      return null; // the store says what is wrong with it
    }
    if (!isObject(data) || "sections" in data || !("exercises" in data)) return null;
    const states = data.exercises;
    if (
      text.length > LONGEST ||
      !isObject(states) ||
      !Object.values(states).every((state) => practice.STATES.includes(state))
    ) {
      throw new Error(
        "This file is damaged: progress.json holds names of drills, each open, tried or solved. Nothing was " +
          "imported. Run the notebook's cell with keep_progress again.",
      );
    }
    return new Map(Object.entries(states));
  }

  function panel(changed, known) {
    const status = h("p", { class: "progress-said", role: "status" });
    const button = (text, click, main = false) =>
      dom.button(main ? "progress-button progress-main" : "progress-button", text, click);
    const file = h("input", { type: "file", id: "progress-import", accept: ".json,application/json", change: read });
    const erase = button("Erase it…", () => ask(true));
    const keep = button("Keep it", () => ask(false));
    const sure = h(
      "div",
      { class: "progress-sure", role: "group", "aria-label": "Erase your progress?", hidden: true },
      h(
        "p",
        {},
        "This erases your ratings of questions, your mock interviews and coding rounds, your answers and exams in the quiz, your drills " +
          "and the ticks of the study plans, in this browser. Files that you exported stay. It cannot be undone.",
      ),
      button("Yes, erase everything", wipe, true),
      keep,
    );

    function give() {
      const url = URL.createObjectURL(new Blob([store.exportText()], { type: "application/json" }));
      h("a", { href: url, download: NAME }).click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
      status.textContent = `Your progress was exported to ${NAME}.`;
    }
    async function read() {
      const [chosen] = file.files;
      if (!chosen) return;
      try {
        const text = await chosen.text();
        const states = drillStates(text);
        status.textContent = `From ${chosen.name}: ${states ? ofDrills(practice.advance(states, known)) : ofExport(store.importText(text))}`;
        changed();
      } catch (error) {
        status.textContent = /** @type {Error} */ (error).message;
      }
      file.value = "";
    }
    const ofDrills = ({ solved, tried, same, strange }) =>
      `${plural(solved, "drill")} newly solved, ${tried} newly tried, ${same} known before` +
      `${strange ? `, and ${plural(strange, "name")} that this edition does not have` : ""}.`;
    const ofExport = ({ taken, kept }) =>
      `${plural(taken, "entry", "entries")} imported and ${plural(kept, "entry", "entries")} of your own kept, because ` +
      "the newer one stays.";
    function ask(open) {
      sure.hidden = !open;
      (open ? keep : erase).focus();
      status.textContent = "";
    }
    function wipe() {
      store.erase();
      changed();
      ask(false);
      status.textContent = "Your progress is erased.";
    }
    const where = store.available
      ? "Your progress stays in this browser. It is sent to nobody."
      : "This browser does not let a page store anything: what you do on a page is gone when you leave it.";
    return [
      h("p", {}, where),
      h(
        "p",
        { class: "progress-choose" },
        h("label", { for: file.id }, "Import a file: progress.json from your notebooks, or an export of this page"),
        file,
      ),
      h("p", { class: "progress-buttons" }, button("Export to a file", give), erase),
      sure,
      status,
    ];
  }

  return Object.freeze({ panel, drillStates });
})();
