/* The quiz without a page: numbers, marks, exams. Everything here is a function of what it is given. */
const quizLogic = (() => {
  "use strict";

  const { isObject, isPlace, areNames, plural, shuffled } = util;
  const isWholes = (value) => Array.isArray(value) && value.every(Number.isInteger);

  const BYTES = {
    b: 1,
    byte: 1,
    bytes: 1,
    kb: 1e3,
    mb: 1e6,
    gb: 1e9,
    tb: 1e12,
    kib: 2 ** 10,
    mib: 2 ** 20,
    gib: 2 ** 30,
    tib: 2 ** 40,
  };
  const PLAIN = String.raw`(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?`;
  const FACTOR = new RegExp(String.raw`^([+-]?${PLAIN})(?:\^\(?([+-]?${PLAIN})\)?)?`);

  const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻";

  /** Write a number as a program would: one kind of minus, a point, no separators of thousands. */
  function tidy(text) {
    return text
      .toLowerCase()
      .replace(/[\u2212\u2013]/g, "-")
      .replace(/^\s*([+-])\s+/, "$1")
      .replace(/\*\*/g, "^")
      .replace(/\bexp(?=\s*\()/g, "e^")
      .replace(/(?<![\d.a-z])e\^\s*/g, `${Math.E}^`)
      .replace(/[\u00d7\u00b7\u22c5*]/g, "*")
      .replace(
        /[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+/g,
        (run) => `^${[...run].map((raised) => "0123456789-"[RAISED.indexOf(raised)]).join("")}`,
      )
      .replace(/(?<![\d.])([1-9]\d{0,2})(?:[,_'\u2019\s]\d{3})+(?!\d)/g, (run) => run.replace(/[,_'\u2019\s]/g, ""))
      .replace(/(\d),(\d)/g, "$1.$2") // a comma that separates no thousands is the decimal sign
      .trim();
  }

  /**
   * Read what a reader typed: 1e9, 2^20, e^0.5, 3 * 10^-5, 1/64, 1,048,576 or 1 048 576, and the unit after it.
   * @param {string} typed
   * @param {string} [unit]
   * @returns {{value?: number, problem?: string}} a problem is a sentence
   */
  function parseNumber(typed, unit = "") {
    let rest = tidy(typed);
    if (!rest) return { problem: "Type a number first." };
    let value = 1;
    let sign = "*";
    for (;;) {
      const found = FACTOR.exec(rest);
      if (!found)
        return { problem: "This is not a number that the page can read. Write 1048576, 2^20, 1e6, e^0.5 or 3*10^-5." };
      const factor = found[2] === undefined ? Number(found[1]) : power(found[1], Number(found[2]));
      value = sign === "*" ? value * factor : value / factor;
      rest = rest.slice(found[0].length).trim();
      const next = /^([*/])\s*/.exec(rest);
      if (!next) break;
      sign = next[1];
      rest = rest.slice(next[0].length);
    }
    if (!Number.isFinite(value)) return { problem: "This number is not finite." };
    const asked = unit.toLowerCase();
    if (!rest || rest === asked || `${rest}s` === asked || rest === `${asked}s`) return { value };
    if (rest === "%") return { value: value / 100 };
    if (asked === "bytes" && Object.hasOwn(BYTES, rest)) return { value: value * BYTES[rest] };
    return {
      problem: asked
        ? `The answer is in ${unit}, and this ends in “${rest}”.`
        : `This ends in “${rest}”, and the answer has no unit.`,
    };
  }

  /** -2^2 is -4 here, as in mathematics. */
  function power(base, exponent) {
    return base.startsWith("-") ? -(Number(base.slice(1)) ** exponent) : Number(base) ** exponent;
  }

  /** Whether a number counts as the key; within 0 asks for the number itself, up to the rounding of floats. */
  function isNear(value, key, within) {
    return Math.abs(value - key) <= Math.max(within, 1e-9) * Math.abs(key) + 1e-300;
  }

  /** How many significant digits the key needs where a number is that key rounded to fewer; 0 where it is not.
   * A first digit alone may be any guess, so it counts only where it is within 5 % of the key.
   */
  function digitsMissing(value, key, within) {
    const rounded = (digits) => Number(key.toPrecision(digits));
    let needed = 1;
    while (needed < 15 && !isNear(rounded(needed), key, within)) needed += 1;
    for (let digits = 1; digits < needed; digits += 1) {
      if (isNear(value, rounded(digits), 0) && (digits > 1 || isNear(value, key, 0.05))) return needed;
    }
    return 0;
  }

  // ---- Marks: {right, said}, or {problem} where an answer cannot be read

  /** @typedef {{right?: boolean, said?: string, problem?: string}} Mark */

  /**
   * @param {any} value the places of the options that were chosen
   * @param {number[]} keys the places of those that hold
   * @param {boolean} several whether more than one may hold
   * @returns {Mark}
   */
  function judgeChoice(value, keys, several) {
    if (!isWholes(value)) return { problem: several ? "Choose at least one option first." : "Choose an option first." };
    const hits = value.filter((place) => keys.includes(place)).length;
    const right = hits === keys.length && value.length === keys.length;
    if (right || !several) return { right, said: right ? "Right." : "Not right." };
    const extra = value.length - hits;
    const more = extra ? `, and ${plural(extra, "that does not", "that do not")}` : "";
    return { right, said: `Not right: you have ${hits} of the ${keys.length} that hold${more}.` };
  }

  /** The known error that gives a number, as its place in `known`; -1 where there is none. */
  function knownError(value, known, within, unit) {
    const typed = parseNumber(typeof value === "string" ? value : "", unit);
    return typed.problem ? -1 : known.findIndex((key) => isNear(typed.value, key, within));
  }

  /**
   * @param {unknown} value what was typed
   * @param {{key: number, within: number, unit: string, known: number[]}} asked `known` are the numbers of known errors
   * @returns {Mark}
   */
  function judgeNumber(value, { key, within, unit, known }) {
    const typed = parseNumber(typeof value === "string" ? value : "", unit);
    if (typed.problem) return typed;
    if (isNear(typed.value, key, within)) return { right: true, said: "Right." };
    if (knownError(value, known, within, unit) >= 0) {
      return { right: false, said: "Not right. This number comes from a known error:" };
    }
    const digits = digitsMissing(typed.value, key, within);
    if (digits) return { problem: `Too coarse: give ${plural(digits, "significant digit")}.` };
    return { right: false, said: "Not right. None of the errors that are explained here gives this number." };
  }

  /**
   * @param {any} value the steps in the order of the reader, by their right places from 1 on
   * @param {number} count of the steps
   * @returns {Mark}
   */
  function judgeOrder(value, count) {
    if (!isWholes(value)) return { problem: "Move the steps into their order first." };
    const placed = value.filter((step, place) => step === place + 1).length;
    if (placed === count) return { right: true, said: "Right: every step stands in its place." };
    return { right: false, said: `Not right: ${placed} of ${plural(count, "step stands", "steps stand")} in place.` };
  }

  /** Whether a value holds each place from 1 to count once. */
  const isOrder = (value, count) =>
    isWholes(value) &&
    value.length === count &&
    new Set(value).size === count &&
    value.every((place) => isPlace(place - 1, count));

  /** Steps in an order that the seed decides and that is not right already, which would ask nothing. */
  function mixedSteps(steps, seed) {
    for (let again = 0; ; again += 1) {
      const mixed = shuffled(steps, `${seed}/${again}`);
      if (mixed.some((step, place) => step.place !== place + 1)) return mixed;
    }
  }

  // ---- Exams

  /** An exam that was kept, if the page knows its items; null where it does not fit. */
  function validExam(exam, known) {
    const fits =
      isObject(exam) &&
      typeof exam.seed === "string" &&
      areNames(exam.ids, known) &&
      new Set(exam.ids).size === exam.ids.length &&
      Number.isFinite(exam.minutes) &&
      Number.isFinite(exam.started) &&
      isPlace(exam.current, exam.ids.length) &&
      isObject(exam.answers);
    return fits ? exam : null;
  }

  const hasAnswer = (exam, id) => (exam.answers[id] ?? null) !== null;
  const endOf = (exam) => exam.started + exam.minutes * 60_000;
  const secondsLeft = (exam, now) => Math.ceil((endOf(exam) - now) / 1000);

  /**
   * How an exam went by topic, in the order of the topics.
   * @template {{topic: string}} T
   * @param {T[]} items of the exam
   * @param {(item: T) => boolean} isRight
   * @param {[string, string][]} topics
   */
  function examResult(items, isRight, topics) {
    const wrong = new Set(items.filter((item) => !isRight(item)));
    const rows = topics
      .map(([topic, title]) => ({ title, own: items.filter((item) => item.topic === topic) }))
      .filter(({ own }) => own.length)
      .map(({ title, own }) => {
        const missed = own.filter((item) => wrong.has(item));
        return { title, right: own.length - missed.length, of: own.length, missed };
      });
    return { right: items.length - wrong.size, of: items.length, rows };
  }

  return Object.freeze({
    parseNumber,
    isNear,
    digitsMissing,
    judgeChoice,
    judgeNumber,
    knownError,
    judgeOrder,
    isOrder,
    mixedSteps,
    validExam,
    hasAnswer,
    endOf,
    secondsLeft,
    examResult,
  });
})();
