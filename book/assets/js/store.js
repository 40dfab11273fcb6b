/* What a reader has practised and read, kept in this browser and nowhere else: all pages share it.
 *
 * store = {
 *   available                 false where the browser refuses storage: then it lasts until the page is left
 *   read(section)             a copy of what was written, or {}
 *   write(section, object)    replaces the section
 *   exportText()              everything, as the text of a file
 *   importText(text)          takes from a file what is newer than what is kept, and gives {taken, kept}, two counts of
 *                             entries; all of the file is read, or none and an Error to show
 *   erase()                   forgets everything
 * }
 *
 * One key of localStorage holds {"version": 1, "sections": {NAME: object}}. An entry is an object with its date in `at`; it
 * stands in a section or one level below. What has no date is imported only where nothing is kept.
 */
const store = (() => {
  "use strict";

  const { isObject, isDated } = util;
  const KEY = "transformers-tested";
  const VERSION = 1;
  const LONGEST = 2_000_000; // characters; a reader who answered everything stays far below
  const NAME = /^[a-z][a-z0-9-]{0,39}$/;

  let memory = ""; // what is kept where storage is refused
  let available = works();

  /** Whether the browser stores anything here: asking may throw, and so may writing, or what is written is not there. */
  function works() {
    try {
      localStorage.setItem(`${KEY}-probe`, "1");
      const stored = localStorage.getItem(`${KEY}-probe`) === "1";
      localStorage.removeItem(`${KEY}-probe`);
      return stored;
    } catch {
      return false;
    }
  }

  /** The sections of a text as a Map, so that no name can reach an object's prototype; throws a sentence for a reader. */
  function parse(text) {
    if (typeof text !== "string" || text.length > LONGEST) {
      throw new Error("This file is too large to be your progress. Choose the file that you exported from this book.");
    }
    let data;
    try {
      data = JSON.parse(text);
    } catch {
      throw new Error("This file is not JSON, or it is cut off. Choose the file that you exported from this book.");
    }
    if (!isObject(data) || !isObject(data.sections) || !Number.isInteger(data.version)) {
      throw new Error("This file does not hold progress in this book. Choose the file that you exported from it.");
    }
    if (data.version !== VERSION) {
      throw new Error(
        `This file has version ${data.version}, and this page reads version ${VERSION}. ` +
          "Export it again from the same edition of the book.",
      );
    }
    const sections = new Map();
    for (const [name, value] of Object.entries(data.sections)) {
      if (!NAME.test(name) || !isObject(value)) {
        throw new Error("A part of this file is damaged, so nothing was imported. Export it again.");
      }
      sections.set(name, value);
    }
    return sections;
  }

  const alike = (one, other) => Object.keys(one).every((key) => typeof one[key] === typeof other[key]);

  /** What is kept with what a file brings: of two entries the newer, and what is kept where both are of one time. */
  function merged(kept, brought, count, depth = 2) {
    const result = new Map(Object.entries(kept));
    for (const [key, value] of Object.entries(brought)) {
      const own = result.get(key);
      if (isDated(value)) {
        const newer = !isDated(own) || (value.at > own.at && alike(own, value));
        count[newer ? "taken" : "kept"] += 1;
        if (newer) result.set(key, value);
      } else if (isObject(value) && depth > 1 && !isDated(own) && (isObject(own) || !result.has(key))) {
        result.set(key, merged(own ?? {}, value, count, depth - 1));
      } else if (!result.has(key)) {
        result.set(key, value);
      }
    }
    return Object.fromEntries(result); // which defines a property of any name, and reaches no prototype
  }

  const text = (sections) => JSON.stringify({ version: VERSION, sections: Object.fromEntries(sections) }, null, 1);

  /** What is kept now. Another tab may have written since, so it is read each time; damaged text counts as none. */
  function load() {
    let kept = memory;
    if (available) {
      try {
        kept = localStorage.getItem(KEY) ?? "";
      } catch {
        available = false;
      }
    }
    if (!kept) return new Map();
    try {
      return parse(kept);
    } catch {
      return new Map();
    }
  }

  function save(sections) {
    memory = text(sections);
    if (!available) return;
    try {
      localStorage.setItem(KEY, memory);
    } catch {
      available = false; // full, or refused since: go on in memory
    }
  }

  function named(section) {
    if (typeof section !== "string" || !NAME.test(section)) {
      throw new Error(`A section has a lower-case name: got ${JSON.stringify(section)}.`);
    }
    return section;
  }

  return Object.freeze({
    get available() {
      return available;
    },
    read(section) {
      return load().get(named(section)) ?? {}; // parsed anew each time, so nobody shares the object
    },
    write(section, object) {
      named(section);
      if (!isObject(object)) throw new Error(`The section ${section} holds an object: got ${JSON.stringify(object)}.`);
      save(load().set(section, object));
    },
    exportText() {
      return `${text(load())}\n`;
    },
    importText(imported) {
      const sections = parse(imported); // throws before anything is changed
      const count = { taken: 0, kept: 0 };
      const all = load();
      for (const [name, section] of sections) all.set(name, merged(all.get(name) ?? {}, section, count));
      save(all);
      return count;
    },
    erase() {
      memory = "";
      try {
        localStorage.removeItem(KEY);
      } catch {
        available = false;
      }
    },
  });
})();
