/* What the scripts of the book share and what needs no page: checks of values, what a tab remembers, words for numbers,
   chance. */
const util = (() => {
  "use strict";

  // ---- Values that another edition of the book, or a file, may have written

  /** @param {unknown} value */
  const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  const DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/; // such dates are ordered as texts are
  /** Whether a value is an entry with its date in `at`. */
  const isDated = (value) => isObject(value) && typeof value.at === "string" && DATE.test(value.at);
  const isAmount = (value) => Number.isFinite(value) && value >= 0;
  const isCount = (value) => Number.isInteger(value) && value > 0;
  /** Whether a value is the place of something in a list of so many. */
  const isPlace = (value, count) => Number.isInteger(value) && value >= 0 && value < count;
  /** Whether a value is a list of names, all of them keys of a Map. */
  const areNames = (value, known) => Array.isArray(value) && value.length > 0 && value.every((name) => known.has(name));
  /** The entries of an object that fit, as a Map, so that no name can reach an object's prototype. */
  const entries = (value, fits) =>
    new Map(Object.entries(isObject(value) ? value : {}).filter(([, entry]) => isObject(entry) && fits(entry)));
  const now = () => new Date().toISOString();

  /** An object that this tab alone remembers, on whatever page of the book it is; where storage is refused, {}. */
  const inTab = (key) =>
    Object.freeze({
      read() {
        try {
          const kept = JSON.parse(sessionStorage.getItem(key));
          return isObject(kept) ? kept : {};
        } catch {
          return {};
        }
      },
      write(object) {
        try {
          sessionStorage.setItem(key, JSON.stringify(object));
        } catch {} // then it is not remembered
      },
    });

  // ---- Words

  const plural = (number, one, many = `${one}s`) => `${number} ${number === 1 ? one : many}`;
  /** Minutes and seconds, as a clock shows them. */
  const clockTime = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
  /** How long something took, in seconds below two minutes. */
  const duration = (seconds) =>
    seconds < 120 ? plural(Math.floor(seconds), "second") : plural(Math.round(seconds / 60), "minute");

  // ---- Chance

  /** A 32-bit hash of a text (FNV-1a, then stirred so that close texts lie far apart). */
  function hash(text) {
    let h = 0x811c9dc5;
    for (const character of text) h = Math.imul(h ^ character.codePointAt(0), 0x01000193);
    h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
    h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
    return (h ^ (h >>> 16)) >>> 0;
  }

  /** Whole numbers below 2^32, the same for the same seed (mulberry32). */
  function generator(seed) {
    let state = hash(String(seed));
    return () => {
      state = (state + 0x6d2b79f5) | 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return (t ^ (t >>> 14)) >>> 0;
    };
  }

  /** A number from 0 to n - 1, each as likely: what is left over at the top of 2^32 is drawn again. */
  function below(draw, n) {
    const limit = 2 ** 32 - (2 ** 32 % n);
    let number = draw();
    while (number >= limit) number = draw();
    return number % n;
  }

  /** A seed that nobody knows before. */
  const freshSeed = () => crypto.getRandomValues(new Uint32Array(1))[0].toString(36);

  /**
   * A copy of a list in an order that the seed decides (Fisher and Yates).
   * @template T
   * @param {Iterable<T>} list
   * @param {string} [seed]
   * @returns {T[]}
   */
  function shuffled(list, seed = freshSeed()) {
    const mixed = [...list];
    const draw = generator(seed);
    for (let last = mixed.length - 1; last > 0; last -= 1) {
      const other = below(draw, last + 1);
      [mixed[last], mixed[other]] = [mixed[other], mixed[last]];
    }
    return mixed;
  }

  /**
   * Draw so many without replacement; what is drawn keeps the order of the list.
   * @template T
   * @param {T[]} list
   * @param {number} number
   * @param {string} [seed]
   * @returns {T[]}
   */
  const sample = (list, number, seed = freshSeed()) =>
    shuffled(list.keys(), seed)
      .slice(0, number)
      .sort((one, other) => one - other)
      .map((place) => list[place]);

  /**
   * Draw at random what fits into a room, each by its size: as much as goes in, or one of the smallest where nothing does.
   * Groups take turns, and where there is room for one of each none of them is left out. What is drawn keeps the order of
   * the list.
   * @template T
   * @param {T[]} list
   * @param {number} room
   * @param {(one: T) => number} size
   * @param {(one: T) => string} group
   * @param {string} [seed]
   * @returns {T[]}
   */
  function filling(list, room, size, group, seed = freshSeed()) {
    const turns = {};
    const inTurn = shuffled(list, seed).map((one) => {
      const name = group(one);
      turns[name] = (turns[name] ?? 0) + 1;
      return { one, turn: turns[name] };
    });
    const mixed = inTurn.sort((first, second) => first.turn - second.turn).map(({ one }) => one);
    const awaited = {}; // of each group of which none is drawn, the least that it takes
    for (const one of mixed) awaited[group(one)] = Math.min(awaited[group(one)] ?? Infinity, size(one));
    const sum = () => Object.values(awaited).reduce((all, least) => all + least, 0);
    const forAll = sum() <= room;
    let left = room;
    const drawn = new Set();
    for (const one of mixed) {
      const { [group(one)]: own = 0 } = awaited;
      if (size(one) > left - (forAll ? sum() - own : 0)) continue;
      delete awaited[group(one)];
      left -= size(one);
      drawn.add(one);
    }
    const least = Math.min(...mixed.map(size));
    if (!drawn.size && mixed.length) drawn.add(mixed.find((one) => size(one) === least));
    return list.filter((one) => drawn.has(one));
  }

  return Object.freeze({
    isObject,
    isDated,
    isAmount,
    isCount,
    isPlace,
    areNames,
    entries,
    now,
    inTab,
    plural,
    clockTime,
    duration,
    freshSeed,
    shuffled,
    sample,
    filling,
  });
})();
