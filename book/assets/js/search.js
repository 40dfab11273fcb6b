/* The search: a field with results while one types, as a dialog on every page and as the page search.html. It is loaded
   when it is first opened; only then it loads the library, the engine and what they search. */
const bookSearch = (() => {
  "use strict";

  const ROOT = new URL(document.documentElement.dataset.content_root ?? "./", location.href);
  const SCRIPTS = ["js/vendor/minisearch.js", "js/search-engine.js", "search-data.js"];
  const KINDS = {
    page: "Page",
    section: "Section",
    term: "Term",
    question: "Question",
    exercise: "Exercise",
    claim: "Claim",
    formula: "Formula",
    source: "Source",
    reference: "Reference",
  };
  /** What one may choose, and the kinds that belong to it. */
  const GROUPS = {
    All: [],
    Sections: ["page", "section"],
    Questions: ["question"],
    Exercises: ["exercise"],
    Terms: ["term"],
    "Claims and formulas": ["claim", "formula"],
    Source: ["source"],
    References: ["reference"],
  };
  const STARTS = ["what is a token", "softmax", "why divide by sqrt", "RoPE", "KV cache", "exercise mask"];

  /** What was asked last in this tab: who comes back from a result asks on. Storage may be refused, and pages of source have
      no other script. */
  const asked = {
    get() {
      try {
        return sessionStorage.getItem("book-search") ?? "";
      } catch {
        return "";
      }
    },
    /** @param {string} words */
    set(words) {
      try {
        sessionStorage.setItem("book-search", words);
      } catch {}
    },
  };

  /** @param {string} tag @param {Record<string, any>} [attributes] @param {...(Node | string)} children */
  function make(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") made.addEventListener(name, value);
      else if (value !== false) made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children);
    return made;
  }

  const load = (path) =>
    new Promise((done, failed) => {
      const address = new URL(`_static/${path}`, ROOT).href;
      document.head.append(make("script", { src: address, load: done, error: () => failed(new Error(address)) }));
    });
  let engine;
  const ready = () => {
    engine ??= Promise.all(SCRIPTS.map(load)).then(() =>
      searchEngine.make(/** @type {any} */ (window).bookSearchData, /** @type {any} */ (window).MiniSearch),
    );
    return engine;
  };

  /** What may stand below the line: behind one letter, a sign or a group, as in `d_k`, but not in a name of code, unless
      the build says so by a sign that nobody sees. */
  const LOWERED = /(?:(?:^|[^\p{L}_])(?:\p{Ll}?\p{Lu}|\p{L})\p{M}*|[∑∏∫)′\u2063])$/u;
  /** The end of a group in brackets, or of a word, that begins at a place of a text; the place itself where none does. */
  function endOf(text, start, word) {
    if (text[start] !== "(") return start + (word.exec(text.slice(start))?.[0].length ?? 0);
    let depth = 0;
    for (let i = start; i < text.length; i += 1) {
      depth += text[i] === "(" ? 1 : text[i] === ")" ? -1 : 0;
      if (!depth) return i + 1;
    }
    return start;
  }
  /** The parts of a text with what is asked for marked, and its formulas as they are set: `x^(n + 1)`, `d_k`. */
  function marked(parts) {
    const text = parts.map((part) => part.text).join("");
    const ends = [];
    for (const part of parts) ends.push((ends.at(-1) ?? 0) + part.text.length);
    const plain = (from, to) =>
      parts.flatMap(({ hit }, i) => {
        const piece = text.slice(Math.max(from, ends[i - 1] ?? 0), Math.min(to, ends[i]));
        return piece ? [hit ? make("mark", {}, piece) : piece] : [];
      });
    const set = (from, to) => {
      const nodes = [];
      let start = from;
      for (let i = from; i < to; i += 1) {
        const high = text[i] === "^";
        if (!high && (text[i] !== "_" || !(text[i + 1] === "(" || LOWERED.test(text.slice(from, i))))) continue;
        const end = endOf(
          text,
          i + 1,
          high ? /^-?[\p{L}\p{N}.]*[\p{L}\p{N}]/u : /^[\p{Ll}\p{Lu}\p{Lo}\p{Nd}]+(?![\p{Ll}\p{Lu}\p{Lo}\p{Nd}_\p{M}])/u,
        );
        if (end === i + 1 || end > to) continue;
        const inner = text[i + 1] === "(" ? set(i + 2, end - 1) : set(i + 1, end);
        nodes.push(...plain(start, i), make(high ? "sup" : "sub", {}, ...inner));
        start = end;
        i = end - 1;
      }
      return [...nodes, ...plain(start, to)];
    };
    return set(0, text.length);
  }

  /** The field and its list, by the pattern of a combobox: the focus stays in the field, the arrows move a mark. */
  function build({ id, follow = (_event) => {} }) {
    const list = make("div", { class: "find-list", id: `${id}-list`, role: "listbox", "aria-label": "Results" });
    const said = make("p", { class: "find-said", role: "status" });
    const input = /** @type {HTMLInputElement} */ (
      make("input", {
        ...{ type: "text", class: "find-input", id: `${id}-input`, name: "q", role: "combobox" },
        ...{ "aria-label": "Search the book", "aria-autocomplete": "list", "aria-expanded": "false" },
        ...{ "aria-controls": list.id, autocomplete: "off", autocapitalize: "off", spellcheck: "false" },
        ...{ placeholder: "A term, a question, a few words", enterkeyhint: "go", input: type, keydown: press },
      })
    );
    const starts = make(
      "p",
      { class: "find-starts" },
      "For example: ",
      ...STARTS.map((words) => make("button", { type: "button", click: () => ask(words) }, words)),
    );
    let group = "All";
    const chips = Object.keys(GROUPS).map((name) =>
      make("button", { type: "button", "data-name": name, click: (event) => limit(name, event) }),
    );
    const kinds = make(
      "div",
      { class: "find-kinds", role: "group", "aria-label": "Kinds of places", hidden: true, keydown: leave },
      ...chips,
    );
    const more = make("button", { type: "button", class: "find-more", hidden: true, click: showAll });
    let options = [];
    let active = -1;
    let turn = 0;
    let isWhole = false;

    function choose(number) {
      options[active]?.setAttribute("aria-selected", "false");
      active = number;
      const option = options[active];
      if (!option) return input.removeAttribute("aria-activedescendant");
      option.setAttribute("aria-selected", "true");
      input.setAttribute("aria-activedescendant", option.id);
      return option.scrollIntoView({ block: "nearest" });
    }

    function press(event) {
      const last = options.length - 1;
      const moves = { ArrowDown: active < last ? active + 1 : 0, ArrowUp: active > 0 ? active - 1 : last };
      if (event.key in moves && options.length) {
        event.preventDefault();
        choose(moves[event.key]);
      } else if (event.key === "Enter" && !event.isComposing) {
        event.preventDefault();
        if (drawn === turn) options[Math.max(active, 0)]?.click();
        else waiting = true; // for the list that is on its way
      }
    }

    function ask(words) {
      input.value = words;
      input.focus();
      type();
    }

    let typed = "";
    function type() {
      isWhole = false;
      const { value } = input;
      if (!value.trim() || !(value.startsWith(typed) || typed.startsWith(value))) group = "All"; // other words
      typed = value;
      return show();
    }

    /** Show one group of kinds alone. */
    function limit(name, { detail }) {
      group = name;
      if (detail && !matchMedia("(pointer: coarse)").matches) input.focus(); // after a press of the mouse one types on
      return type();
    }

    /** From the kinds the arrows lead to the list. */
    function leave(event) {
      if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
      event.preventDefault();
      input.focus();
    }

    /** Show the places behind the best ones too, and go on with the first of them. */
    async function showAll() {
      const best = options.length;
      isWhole = true;
      if (!matchMedia("(pointer: coarse)").matches) input.focus(); // the button goes; a phone would show its keys
      await show();
      choose(best);
      options[best]?.scrollIntoView({ block: "start" }); // below the last of those that stood there
    }

    function option(found, number) {
      const link = make(
        "a",
        {
          ...{ class: "find-option", id: `${id}-${number}`, role: "option", tabindex: "-1", "aria-selected": "false" },
          ...{ href: new URL(found.address, ROOT).href, click: follow },
        },
        make("span", { class: "find-kind" }, KINDS[found.kind]),
        make("span", { class: "find-title" }, ...marked(found.heading)),
      );
      const names = found.names.length ? [found.where.length ? " · also: " : "also: ", ...marked(found.names)] : [];
      if (found.where.length + names.length)
        link.append(make("span", { class: "find-where" }, found.where.join(" › "), ...names));
      if (found.text.length) link.append(make("span", { class: "find-text" }, ...marked(found.text)));
      return link;
    }

    let drawn = 0;
    let waiting = false;
    async function show() {
      turn += 1;
      const mine = turn;
      const query = input.value.trim();
      starts.hidden = query !== "";
      if (!query) return draw(mine, []);
      try {
        const limits = { kinds: GROUPS[group], ...(isWhole && { most: Infinity }) };
        const found = (await ready()).search(query, limits);
        if (mine === turn) draw(mine, found.results, found);
      } catch (error) {
        said.textContent = "The search cannot be loaded. Load the page again, or use the table of contents.";
        throw error;
      }
      return undefined;
    }

    /** @param {number} mine @param {any[]} results @param {any} [found] */
    function draw(mine, results, { count = 0, counts = {}, instead = [], missing = [] } = {}) {
      drawn = mine;
      options = results.map(option);
      list.replaceChildren(...options);
      list.scrollTop = 0;
      list.hidden = !options.length;
      input.setAttribute("aria-expanded", String(options.length > 0));
      active = -1;
      choose(options.length ? 0 : -1);
      const ofKinds = (names) => names.reduce((sum, name) => sum + (counts[name] ?? 0), 0);
      const all = ofKinds(Object.keys(counts));
      for (const chip of chips) {
        const name = chip.dataset.name ?? "";
        const own = name === "All" ? all : ofKinds(GROUPS[name]);
        chip.textContent = `${name} ${own}`;
        chip.hidden = !own && name !== group;
        chip.setAttribute("aria-pressed", String(name === group));
      }
      kinds.hidden = !all;
      more.hidden = options.length >= count;
      more.textContent = `Show all ${count} places`;
      const quoted = (word) => `“${word}”`;
      const notes = [];
      if (all && !options.length) notes.push(`No place of this kind; ${all} of others`);
      else if (input.value.trim() && !options.length)
        notes.push("Nothing found. Try fewer or other words, or one of these.");
      else if (options.length < count) notes.push(`the best ${options.length} of ${count} places`);
      else if (options.length) notes.push(count === 1 ? "1 place" : `${count} places`);
      for (const [word, other] of instead) notes.push(`${quoted(other)} instead of ${quoted(word)}`);
      if (missing.length && options.length) notes.unshift(`nowhere: ${missing.map(quoted).join(", ")}`);
      said.textContent = notes.join(" · ");
      if (input.value.trim() && !all) starts.hidden = false;
      if (waiting) options[0]?.click();
      waiting = false;
    }

    list.hidden = true;
    /** Show the places of every kind for what the field holds. */
    function restart() {
      group = "All";
      return type();
    }

    return { input, ask, parts: [said, kinds, starts, list, more], restart };
  }

  let dialog;
  /** Open the dialog, or go to the field of the page of the search. */
  function open() {
    const page = /** @type {HTMLInputElement} */ (document.querySelector(".find-page .find-input"));
    if (page) {
      page.focus();
      return page.select();
    }
    if (!dialog) {
      const close = () => dialog.close();
      const { input, parts, restart } = build({
        id: "find",
        follow: (event) => {
          asked.set(input.value);
          return event.ctrlKey || event.metaKey || event.shiftKey || close();
        },
      });
      input.value = asked.get();
      dialog = /** @type {HTMLDialogElement} */ (
        make(
          "dialog",
          {
            ...{ class: "find-dialog", "aria-label": "Search the book" },
            click: (event) => event.target === dialog && close(),
          },
          make(
            "div",
            { class: "find-box" },
            make("div", { class: "find-head" }, input, make("button", { type: "button", click: close }, "Close")),
            ...parts,
            make(
              "p",
              { class: "find-keys" },
              "↑ ↓ choose, Enter opens, Esc closes. Add “exercise”, “question” or “formula” to see those first.",
            ),
          ),
        )
      );
      document.body.append(dialog);
      dialog.addEventListener("close", restart);
      ready().then(restart);
    }
    if (!dialog.open) dialog.showModal();
    const input = /** @type {HTMLInputElement} */ (dialog.querySelector(".find-input"));
    input.focus();
    return input.select();
  }

  const place = document.querySelector(".find-page");
  if (place) {
    const { input, ask, parts } = build({ id: "find" });
    place.append(make("div", { class: "find-head" }, input), ...parts);
    const query = new URLSearchParams(location.search).get("q") ?? "";
    input.addEventListener("input", () => {
      const words = input.value.trim();
      history.replaceState(null, "", words ? `?q=${encodeURIComponent(words)}` : location.pathname);
    });
    ask(query);
  }

  return Object.freeze({ open });
})();
