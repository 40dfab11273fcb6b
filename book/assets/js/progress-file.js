/* Export, import and erase everything that this book keeps in the browser; import the file of solved drills.
 *
 * practiceFile.panel(changed, known) gives the elements; `changed` is called after an import and after an erasure, and
 * `known` tells whether a drill of a name exists. Drills lie in section `drills`, as {tried: {NAME: {at}}, solved: ...}: two
 * lists of dates, so that an import never takes back what was solved.
 */
(() => {
  "use strict";

  const { h, plural, drills } = window.practice;
  const store = window.practiceStore;
  const NAME = "transformers-tested-progress.json";
  const STATES = ["open", "tried", "solved"];
  const LONGEST = 200_000; // characters of a file of drills

  const plain = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

  /** The states of a file of drills; null where it is none, and a sentence thrown where it is a damaged one. */
  function drillStates(text) {
    let data;
    try {
      data = JSON.parse(text);
    } catch {
      return null; // the store says what is wrong with it
    }
    if (!plain(data) || "sections" in data || !("exercises" in data)) return null;
    const states = data.exercises;
    if (text.length > LONGEST || !plain(states) || !Object.values(states).every((state) => STATES.includes(state))) {
      throw new Error("This file is damaged: progress.json holds names of drills, each open, tried or solved. Nothing was "
        + "imported. Run the notebook's cell with keep_progress again.");
    }
    return new Map(Object.entries(states));
  }

  /** Keep what moves forward, with the date of today. */
  function takeDrills(states, known) {
    const before = drills();
    const section = store.read("drills");
    const all = { tried: { ...section.tried }, solved: { ...section.solved } };
    const at = new Date().toISOString();
    const count = { solved: 0, tried: 0, same: 0, strange: 0 };
    for (const [name, state] of states) {
      if (state === "open") continue;
      if (!known(name)) {
        count.strange += 1;
      } else if (STATES.indexOf(state) > STATES.indexOf(before.get(name) ?? "open")) {
        all[state][name] = { at };
        count[state] += 1;
      } else {
        count.same += 1;
      }
    }
    if (count.solved + count.tried) store.write("drills", all);
    return count;
  }

  function panel(changed, known) {
    const said = h("p", { class: "progress-said", role: "status" });
    const button = (text, click, main = false) =>
      h("button", { type: "button", class: main ? "progress-button progress-main" : "progress-button", click }, text);
    const file = h("input", { type: "file", id: "progress-import", accept: ".json,application/json", change: read });
    const erase = button("Erase it…", () => ask(true));
    const keep = button("Keep it", () => ask(false));
    const sure = h("div", { class: "progress-sure", role: "group", "aria-label": "Erase your progress?", hidden: true },
      h("p", {}, "This erases your ratings of questions, your mock interviews and coding rounds, your answers and exams in the quiz, your drills "
        + "and the ticks of the study plans, in this browser. Files that you exported stay. It cannot be undone."),
      button("Yes, erase everything", wipe, true), keep);

    function give() {
      const url = URL.createObjectURL(new Blob([store.exportText()], { type: "application/json" }));
      h("a", { href: url, download: NAME }).click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
      said.textContent = `Your progress was exported to ${NAME}.`;
    }
    async function read() {
      const [chosen] = file.files;
      if (!chosen) return;
      try {
        const text = await chosen.text();
        const states = drillStates(text);
        said.textContent = `From ${chosen.name}: ${states ? ofDrills(takeDrills(states, known)) : ofExport(store.importText(text))}`;
        changed();
      } catch (error) {
        said.textContent = error.message;
      }
      file.value = "";
    }
    const ofDrills = ({ solved, tried, same, strange }) =>
      `${plural(solved, "drill")} newly solved, ${tried} newly tried, ${same} known before`
      + `${strange ? `, and ${plural(strange, "name")} that this edition does not have` : ""}.`;
    const ofExport = ({ taken, kept }) => {
      const entries = (number) => (number === 1 ? "1 entry" : `${number} entries`);
      return `${entries(taken)} imported and ${entries(kept)} of your own kept, because the newer one stays.`;
    };
    function ask(open) {
      sure.hidden = !open;
      (open ? keep : erase).focus();
      said.textContent = "";
    }
    function wipe() {
      store.erase();
      changed();
      ask(false);
      said.textContent = "Your progress is erased.";
    }
    const where = store.available
      ? "Your progress stays in this browser. It is sent to nobody."
      : "This browser does not let a page store anything: what you do on a page is gone when you leave it.";
    return [
      h("p", {}, where),
      h("p", { class: "progress-choose" }, h("label", { for: file.id }, "Import a file: progress.json from your notebooks, or an export of this page"), file),
      h("p", { class: "progress-buttons" }, button("Export to a file", give), erase), sure, said,
    ];
  }

  window.practiceFile = Object.freeze({ panel });
})();
