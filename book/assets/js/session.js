/* What the mock interview and the coding round have in common: the form that draws, the offer to go on with one that was cut
 * off, a clock, ratings to choose from, and tables of what was done. Each shows itself in an element, its root.
 */
const session = (() => {
  "use strict";

  const { h } = dom;
  const { plural, clockTime } = util;
  const SHOWN = 10; // entries of a history

  const button = (text, click, main = false) => dom.button(main ? "mock-button mock-main" : "mock-button", text, click);
  const title = (text) => h("h3", { tabindex: -1, class: "mock-title" }, text);
  const badges = (...words) => h("p", { class: "mock-badges" }, ...words.map((word) => h("span", {}, word)));
  const table = (caption, heads, rows, attributes = {}) =>
    dom.table(caption, heads, rows, { class: "mock-table", ...attributes });
  const mean = (rows) => rows.reduce((sum, row) => sum + row.rating, 0) / rows.length;
  const total = (rows, key) => rows.reduce((sum, row) => sum + row[key], 0);
  const rounded = (value, digits) => Number(value.toFixed(digits));
  const where = () =>
    store.available
      ? "Ratings stay in this browser and go nowhere else."
      : "This browser keeps nothing for this page, so ratings last until you leave it.";

  /** Put new content into a root; the focus goes to its title, if it has one. */
  function show(root, ...content) {
    root.replaceChildren(...content);
    dom.one(".mock-title", root)?.focus();
  }

  // ---- The clock

  const exactly = (seconds) =>
    seconds < 60 ? plural(Math.round(seconds), "second") : plural(rounded(seconds / 60, 1), "minute");

  /**
   * A clock that runs until it is stopped, or until its place is gone. With a limit in seconds it says, once each, when half
   * of it and when all of it is used. `before` are seconds that were used already; `hiding` is called with whether the reader
   * shows it.
   */
  function clock({ label, limit = 0, before = 0, visible = true, hiding = null }) {
    const started = performance.now() - before * 1000;
    let stopped = 0;
    let announced = 0;
    const seconds = () => ((stopped || performance.now()) - started) / 1000;
    const time = h("span", { role: "timer", "aria-live": "off" }, clockTime(before));
    const used = /** @type {HTMLProgressElement} */ (
      h("progress", { max: limit, value: before, "aria-hidden": "true" })
    );
    const line = h("span", { hidden: !visible }, `${label}: `, time);
    if (limit) line.append(` of ${clockTime(limit)} `, used);
    const status = h("p", { role: "status", class: "mock-time", hidden: !limit });
    const bar = h("p", { class: "mock-timer" }, line);
    if (hiding) {
      const change = () => {
        line.hidden = !box.checked;
        hiding(box.checked);
      };
      const box = h("input", { type: "checkbox", checked: visible, change });
      bar.append(h("label", {}, box, " Show the timer"));
    }
    const announce = (part, words) => {
      if (announced >= part) return;
      announced = part;
      status.textContent = words;
    };
    const tick = () => {
      if (!time.isConnected) {
        clearInterval(running);
        return;
      }
      time.textContent = clockTime(seconds());
      used.value = Math.min(limit, seconds());
      if (limit && seconds() >= limit) {
        announce(2, `All of your time is used: ${exactly(limit)}. Finish with what you have.`);
      } else if (limit && seconds() >= limit / 2) {
        announce(1, `Half of your time is used: ${exactly(limit / 2)} of ${exactly(limit)}.`);
      }
    };
    const running = setInterval(tick, 500);
    const stop = () => {
      stopped ||= performance.now();
      clearInterval(running);
      time.textContent = clockTime(seconds());
    };
    return { bar: h("div", {}, bar, status), seconds, stop };
  }

  // ---- Ratings

  /** The four ratings to choose from; `value` gives the one that is chosen, or null after saying that there is none. */
  function ratingField(legend, words, missing) {
    const message = h("p", { role: "alert", class: "mock-told" });
    const inputs = words.map((_, value) => h("input", { type: "radio", name: "mock-rating", value }));
    const clear = () => {
      message.textContent = "";
    };
    const labels = words.map((word, value) => h("label", {}, inputs[value], ` ${value}: ${word}`));
    const set = h("fieldset", { class: "mock-rating", change: clear }, h("legend", {}, legend), ...labels, message);
    return {
      set,
      focus: () => inputs[0].focus(),
      value() {
        const chosen = inputs.findIndex((input) => input.checked);
        if (chosen >= 0) return chosen;
        message.textContent = missing;
        inputs[0].focus();
        return null;
      },
    };
  }

  // ---- What was done before

  const day = (at) => {
    const date = new Date(at);
    const parts = [date.getFullYear(), date.getMonth() + 1, date.getDate()];
    return parts.map((part) => String(part).padStart(2, "0")).join("-");
  };

  /** The last reports as a table, the newest first; `row` gives what was asked, and the cells beside it. */
  function historyTable(name, caption, heads, reports, row) {
    if (!reports.length) return [];
    const rows = reports
      .slice(-SHOWN)
      .reverse()
      .map((report) => {
        const [words, ...cells] = row(report);
        return [h("span", {}, day(report.at), h("small", {}, words)), ...cells];
      });
    return [h("section", { class: "mock-history", "aria-label": name }, table(caption, heads, rows))];
  }

  /** The time that was used, and the time that was allowed. */
  const minutesUsed = ({ minutes, target }) =>
    target ? `${clockTime(60 * minutes)} of ${clockTime(60 * target)}` : clockTime(60 * minutes);

  // ---- The start: what to draw from, and what a reload cut off

  /**
   * @typedef {object} Start what one of the two says of its start
   * @property {HTMLElement} root
   * @property {string} noun what is drawn: question or drill
   * @property {string} name class of its form
   * @property {string} label name of its form
   * @property {string} prefix of the names of its fields
   * @property {{key: string, legend: string, options: [string, string][], all?: string}[]} groups boxes to tick
   * @property {any[]} pieces what is drawn from; each has its name, and a value of each group
   * @property {() => Map<string, any>} rated by name
   * @property {(entry: any) => boolean} isWeak whether what was rated is to be repeated
   * @property {Record<string, [string, (entry: any, piece: any) => boolean]>} [pools] more to draw from, by name: words, test
   * @property {number} number so many at first
   * @property {{choices: number[], chosen: number, of: (piece: any) => number}} [minutes] to fill in place of a number
   * @property {string} [pool] the name of what is drawn from at first
   * @property {string} needs what must be chosen
   * @property {string} choice words of the fold with all that narrows the draw
   * @property {string} submit words of the button
   * @property {string} [order] in which order they come
   * @property {(drawn: any[]) => string} [length] how long what is drawn takes
   * @property {() => {element: HTMLElement, read: () => any}} [extra] a further field; read gives {value}, or {problem, field}
   * @property {(drawn: any[], pool: string, extra: any) => void} begin
   * @property {() => null | {label: string, words: string, resume: () => void, discard: () => void}} unfinished
   * @property {() => HTMLElement[]} history
   * @property {string} forget words of the button that forgets it all
   * @property {() => void} clear
   */

  /** Make the start; `show` shows it, and `back` moves the focus there as well. @param {Start} given */
  function startView(given) {
    const { root, noun, name, prefix, groups, pieces, rated } = given;
    const nouns = `${noun[0].toUpperCase()}${noun.slice(1)}s`;
    const pools = {
      all: [`All ${noun}s`, () => true],
      new: [`${nouns} I have not rated yet`, (entry) => !entry],
      weak: [`${nouns} to repeat, rated 0 or 1`, (entry) => Boolean(entry) && given.isWeak(entry)],
      ...given.pools,
    };
    const chosen = {
      groups: {},
      pool: given.pool ?? "all",
      minutes: String(given.minutes?.chosen ?? ""),
      number: String(given.number),
    };
    let recount = () => {}; // of the form that shows
    let unfold = () => {}; // what narrows the draw, if anything does

    function form() {
      const boxes = groups.map(({ key, legend, options, all }) => {
        const count = (value) => pieces.filter((piece) => piece[key] === value).length;
        const counted = options.map(
          ([value, words]) => /** @type {[string, string]} */ ([value, `${words} (${count(value)})`]),
        );
        return dom.checkboxes({ legend, name: prefix + key, options: counted, chosen: chosen.groups[key], all });
      });
      const options = Object.entries(pools).map(([value, [words]]) => [value, words]);
      const pool = dom.menu({ name: `${prefix}pool` }, options, chosen.pool);
      const most = pieces.length;
      const number = h("input", { type: "number", name: `${prefix}number`, min: 1, max: most, value: chosen.number });
      const numbered = h("label", {}, `Number of ${noun}s `, number);
      const length = h("span", { class: "mock-length", id: `${prefix}mock-length` });
      const described = given.length ? { "aria-describedby": length.id } : {};
      if (given.length) number.setAttribute("aria-describedby", length.id);
      const lengths = (given.minutes?.choices ?? []).map((value) => [String(value), `${value} minutes`]);
      const minutes = dom.menu(
        { name: `${prefix}minutes`, ...described },
        [...lengths, ["", "By number"]],
        chosen.minutes,
      );
      const status = h("p", { role: "status", class: "mock-told" });
      const extra = given.extra?.();

      const fitting = () => {
        groups.forEach(({ key }, place) => {
          chosen.groups[key] = boxes[place].values();
        });
        chosen.pool = pool.value;
        chosen.minutes = minutes.value;
        chosen.number = number.value;
        const entries = rated(); // another page may have rated since
        return pieces.filter(
          (piece) =>
            groups.every(({ key }) => chosen.groups[key].includes(piece[key])) &&
            pools[chosen.pool][1](entries.get(piece.name), piece),
        );
      };
      const isNumber = (wanted) => Number.isInteger(wanted) && wanted >= 1 && wanted <= most;
      const isBad = () => !minutes.value && !isNumber(Number(number.value));
      let drawn = []; // ahead, so that its length can be told
      recount = () => {
        const fit = fitting();
        numbered.hidden = Boolean(minutes.value);
        if (isBad()) drawn = [];
        else if (minutes.value)
          drawn = util.filling(fit, Number(minutes.value), given.minutes.of, (piece) => piece[groups[0].key]);
        else drawn = util.sample(fit, Number(number.value));
        length.textContent = drawn.length ? (given.length?.(drawn) ?? "") : "";
        status.textContent = `${plural(fit.length, noun)} to draw from.`;
      };
      const refuse = (field, words) => {
        status.textContent = words;
        if (choice.contains(field)) choice.open = true;
        field.focus();
      };
      const submit = (event) => {
        event.preventDefault();
        const further = extra?.read() ?? {};
        number.setAttribute("aria-invalid", String(isBad()));
        if (isBad()) refuse(number, `Type how many ${noun}s you want: a whole number from 1 to ${most}.`);
        else if (further.problem) refuse(further.field, further.problem);
        else if (drawn.length) given.begin(drawn, chosen.pool, further.value);
        else {
          status.textContent = `No ${noun} fits: choose at least ${given.needs}, or draw from all.`;
          choice.open = true;
        }
      };
      const parts = [...boxes.map(({ set }) => set), ...(extra ? [extra.element] : [])];
      const inputs = parts.flatMap((part) => [...part.querySelectorAll("input")]);
      const choice = /** @type {HTMLDetailsElement} */ (
        h("details", { class: "mock-choice" }, h("summary", {}, given.choice), ...parts)
      );
      unfold = () => {
        choice.open ||= inputs.some((input) => (input.type === "checkbox" ? !input.checked : input.value));
      };
      unfold();
      return h(
        "form",
        { class: name, novalidate: true, "aria-label": given.label, input: () => recount(), submit },
        h(
          "div",
          { class: "mock-draw" },
          given.minutes ? h("label", {}, "Length ", minutes) : null,
          numbered,
          given.length ? length : null,
          h("label", {}, "Draw from ", pool),
          h("button", { type: "submit", class: "mock-button mock-main" }, given.submit),
        ),
        status,
        given.order ? h("p", { class: "mock-order" }, given.order) : null,
        choice,
      );
    }

    /** Offer to go on with what a reload or another page cut off. */
    function offer() {
      const open = given.unfinished();
      if (!open) return [];
      const discard = () => {
        open.discard();
        back();
      };
      const buttons = h("p", {}, button("Go on with it", open.resume, true), button("Discard it", discard));
      const attributes = { class: "mock-unfinished", role: "group", "aria-label": open.label };
      return [h("div", attributes, h("p", {}, open.words), buttons)];
    }

    function past() {
      const entries = [...rated().values()];
      const history = given.history();
      if (!entries.length && !history.length) return [h("p", { class: "mock-note" }, where())];
      const weak = entries.filter(given.isWeak).length;
      const words = `You have rated ${entries.length} of ${plural(pieces.length, noun)}; ${weak} of them to repeat. ${where()}`;
      const forget = dom.confirming("mock-button", given.forget, "Press again to forget them all", () => {
        given.clear();
        back();
      });
      return [h("p", { class: "mock-note" }, words), ...history, forget];
    }

    function view() {
      show(root, ...offer(), form(), ...past());
      recount();
    }
    function back() {
      view();
      dom.one(`.${name} :is(select, input)`, root).focus();
    }

    // another tab may rate, and a browser that comes back to the page sets its boxes anew after the scripts ran
    practice.watch(() => {
      recount();
      unfold();
    });
    return { show: view, back };
  }

  return Object.freeze({
    button,
    title,
    badges,
    table,
    mean,
    total,
    rounded,
    show,
    clock,
    ratingField,
    historyTable,
    minutesUsed,
    startView,
  });
})();
