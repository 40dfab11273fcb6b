/* Finds places of the book by MiniSearch: what counts as a word, how places are ranked, which words are marked. */
const searchEngine = (() => {
  "use strict";

  const WORD = /\p{N}{1,3}(?:,\p{N}{3})+|[\p{L}\p{N}_]+(?:[-‑–@][\p{L}\p{N}_]+)*|√/gu; // thousands have commas in the book
  const STOP = new Set(
    (
      "a an and are as at be been but by can could did do does for from had has have how i if in into is it its me my of " +
      "on or our should so than that the their them then there these they this to us use used using versus vs was we " +
      "were what when where which while who will with would you your"
    ).split(" "),
  );
  /** Words that say what kind of place is looked for, or little else: they count little as words. */
  const WISHES = {
    exercise: ["exercise", "implement", "write", "code", "drill"],
    term: ["definition", "define", "meaning", "glossary"],
    question: ["question", "interview", "explain", "minute"],
    formula: ["formula", "equation"],
    claim: ["claim", "myth"],
  };
  /** Words by which the source of the package, or a paper, is asked for, and that say nothing of it. */
  const SOURCE = new Set(["source", "code"].flatMap((word) => [word, stem(word)]));
  const PAPER = new Set(["paper", "references", "citation", "arxiv", "et", "al"].flatMap((word) => [word, stem(word)]));
  const WEAK = new Set(
    "why not difference between explain work need many much more no all about anything everything something else find show".split(
      " ",
    ),
  );
  /** Ways to write the same word. */
  const SAME = new Map([
    ["√", "root"],
    ["rope", "rotary"],
    ["expensive", "cost"],
    ["sqrt", "root"],
  ]);
  /** What American spelling writes in another way than the book does. */
  const SPELT = [
    [/(?<=[a-z]{3}[iy])z(?=[aei]|$)/, "s"],
    [/^(behavi|col|fav|neighb)or/, "$1our"],
    [/^licens/, "licenc"],
    [/^(labe|mode)l(?=ed|ing)/, "$1ll"],
  ];
  /** Those that ask for nothing else. */
  const KINDS_ASKED = ["exercise", "question", "formula"];
  /** Pages that list what others explain. */
  const LISTING = /^book\/(package|systems|interview\/forty-questions)\.html/;
  const FIELDS = { title: 7, names: 7, topics: 2, page: 1.2, text: 1, asks: 1, rest: 0.6 };
  /** What a follow-up that fits counts beside the title of a place. */
  const FOLLOW_UP = 0.8;
  /** A term that one looks up comes before what is said of it; a page before its sections only by its title. */
  const KIND = {
    page: 1.25,
    section: 1.15,
    term: 1.2,
    question: 0.85,
    exercise: 0.9,
    claim: 0.7,
    formula: 0.65,
    source: 1,
    reference: 1,
  };
  const MOST = 30;

  /** Leave off the endings by which forms of a word differ. */
  function stem(word) {
    let short = word;
    if (/^[a-z]{4,}s$/.test(short) && !/(ss|us|is|as)$/.test(short)) short = short.slice(0, -1);
    for (const ending of ["ing", "ed"]) {
      if (short.length - ending.length >= 4 && short.endsWith(ending)) {
        short = short.slice(0, -ending.length);
        break;
      }
    }
    return short.length >= 5 && short.endsWith("e") ? short.slice(0, -1) : short;
  }

  /** A word as the book spells it: `licence` for `license`, and -ise for -ize. */
  function spelt(word) {
    return SPELT.reduce((found, [here, there]) => found.replace(here, there), word);
  }

  /** The forms under which a word is kept: `warm-up` also as its parts, `d_k` as `dk`, `LayerNorm` as two words. */
  function formsOf(word) {
    const plain = word.normalize("NFKD").replace(/\p{M}/gu, "");
    const pieces = plain.match(/[-‑–@_]|\p{Ll}\p{Lu}\p{Ll}/u)
      ? plain.split(/[-‑–@_]|(?<=\p{Ll})(?=\p{Lu}\p{Ll})/u)
      : [];
    const whole = plain.replace(/[-‑–@_,]/gu, "").toLowerCase();
    const parts = pieces.map((part) => part.toLowerCase()).filter((part) => part && !STOP.has(part));
    return [...new Set([whole, ...parts].map((form) => stem(SAME.get(form) ?? spelt(form))))];
  }
  /** Every word that was met, with its forms and how often it stands in the book. */
  const kept = new Map();
  function forms(word) {
    let found = kept.get(word);
    if (!found) {
      found = { forms: formsOf(word), count: 0, written: 0 };
      kept.set(word, found);
    }
    return found.forms;
  }
  function counted(word, field) {
    const made = forms(word);
    const found = kept.get(word);
    found.count += 1;
    if (field !== "rest") found.written += 1; // the rests have no capitals
    return made;
  }

  const tokens = (text) => text.match(WORD) ?? [];
  const isLittle = (word) => STOP.has(word.toLowerCase());
  const index = (word) => (isLittle(word) ? null : forms(word));

  /** Parts of a text, each marked or not. */
  function marked(text, isHit) {
    const parts = [];
    const add = (piece, hit) => {
      if (!piece) return;
      if (parts.length && parts.at(-1).hit === hit) parts.at(-1).text += piece;
      else parts.push({ text: piece, hit });
    };
    let end = 0;
    for (const found of text.matchAll(WORD)) {
      add(text.slice(end, found.index), false);
      add(found[0], isHit(found[0]));
      end = found.index + found[0].length;
    }
    add(text.slice(end), false);
    return parts;
  }

  /** The anchor that follows from a title, as in `search_file.py`. */
  function anchorOf(kind, title) {
    const named = kind === "term" ? title.split(", ")[0] : title.toLowerCase();
    const plain = named.normalize("NFKD").replace(/[^\0-\x7f]/g, "");
    const start = kind === "term" || kind === "formula" ? `${kind}-` : "";
    return start + plain.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "");
  }
  /** The words of the rests, each with the numbers of its places. */
  function* unpacked({ words, where }) {
    const signs = where.split(" ");
    let word = "";
    let number = 0;
    for (const [, shared, added] of words.matchAll(/([A-Z])([^A-Z]*)/g)) {
      word = word.slice(0, shared.charCodeAt(0) - 65) + added;
      const codes = [...signs[number]].map((sign) => sign.charCodeAt(0) - 35);
      const ids = [];
      for (let at = 0; at < codes.length; at += 1) {
        let step = codes[at];
        if (step >= 60) step += 91 * (step - 60) + codes[++at]; // two signs
        ids.push((ids.at(-1) ?? 0) + step);
      }
      yield { word, ids };
      number += 1;
    }
  }

  /**
   * Make the search.
   * @param {{kinds: string[], pages: string[][], terms: string[], columns: Record<string, any[]>, words: string, where: string}} data
   *   what the build wrote
   * @param {any} MiniSearch the library
   */
  function make(data, MiniSearch) {
    /** The words of terms, without those that a title has. */
    const wordsOf = (numbers, title) =>
      [...numbers]
        .flatMap((number) => data.terms[number].split(", "))
        .filter((word) => !title.toLowerCase().includes(word.toLowerCase()))
        .join(", ");
    const isLedTo = (kind) => ["question", "exercise", "reference"].includes(data.kinds[kind]);
    const { columns } = data;
    const rests = columns.kind.map(() => []);
    for (const { word, ids } of unpacked(data)) for (const id of ids) rests[id].push(word);
    const places = columns.kind.map((kind, id) => {
      const [page, given, title, terms, text] = ["page", "anchor", "title", "terms", "text"].map(
        (name) => columns[name][id],
      );
      const anchor = given === 1 ? anchorOf(data.kinds[kind], title) : given;
      return {
        ...{
          id,
          of: id,
          title,
          text,
          asks: columns.asks[id].join(" "),
          rest: rests[id].join(" "),
          kind: data.kinds[kind],
          chapter: data.pages[page][2],
        },
        names: isLedTo(kind) ? "" : wordsOf(terms, title),
        topics: isLedTo(kind) ? wordsOf(terms, title) : "",
        address: data.pages[page][0] + (anchor && `#${anchor}`),
        page: data.pages[page][1],
      };
    });
    const collect = (some, read) => {
      const made = new MiniSearch({
        fields: Object.keys(FIELDS),
        tokenize: tokens,
        processTerm: (word, field) => (isLittle(word) ? null : read(word, field)),
        extractField: (place, field) =>
          field !== "page" ? place[field] : place.kind === "page" ? place.chapter : `${place.page} ${place.chapter}`,
      });
      made.addAll(some);
      return made;
    };
    // The source and the bibliography have an index of their own: what they hold changes no rank of a place of the book.
    const sources = places.filter(({ kind }) => kind === "source");
    const papers = places.filter(({ kind }) => kind === "reference");
    const mini = collect(
      places.filter(({ kind }) => kind !== "source" && kind !== "reference"),
      counted,
    );
    // So have the follow-ups: each is found by its own words and those of its question, which it leads to.
    const asks = places.flatMap((place) =>
      columns.asks[place.id].map((title) => ({ ...place, title, topics: `${place.title}, ${place.topics}`, asks: "" })),
    );
    for (const [number, ask] of asks.entries()) Object.assign(ask, { id: places.length + number, text: "", rest: "" });
    const every = [...places, ...asks];
    const further = collect(asks, forms);
    const code = collect(sources, forms);
    const cited = collect(papers, forms);
    const defined = new Set(sources.map(({ title }) => forms(title)[0]));
    const inPapers = new Set(papers.flatMap(({ title, text }) => tokens(`${title} ${text}`).flatMap(forms)));
    const parts = (word) => (isLittle(word) ? 0 : Math.max(1, forms(word).length - 1));
    const lengths = every.map(({ title }) => tokens(title).reduce((sum, word) => sum + parts(word), 0) || 1);
    // "In short" is a title of many sections, and says nothing of any.
    const titles = new Map();
    for (const { title } of places) titles.set(title, (titles.get(title) ?? 0) + 1);
    const plain = ({ title, text, kind, address }) => {
      if (titles.get(title) > 8 || (kind === "section" && LISTING.test(address))) return 0.4;
      if (titles.get(title) > 2 && kind === "section") return 0.6;
      if (kind === "term") return !text || text.startsWith("See ") ? 0.35 : 1; // of the index alone; that only leads on
      return text ? 1 : 0.6;
    };

    const settings = (words) => ({
      tokenize: () => words,
      processTerm: (word) => word,
      boost: FIELDS,
      bm25: { k: 1.2, b: 0.6, d: 0.3 },
      weights: { fuzzy: 0, prefix: 0.35 },
      prefix: (word) => word.length > 2 || words.length === 1 || (word.length === 2 && word === words.at(-1)),
    });
    /** Whether a title has all these words. */
    function isOf(words, title) {
      const own = new Set(tokens(title).flatMap(forms));
      return words.every((word) => own.has(word));
    }
    const known = new Map();
    /** Whether a word, or its beginning, stands anywhere. */
    function isKnown(word) {
      if (!known.has(word)) known.set(word, mini.search("x", { ...settings([word]), prefix: true }).length > 0);
      return known.get(word);
    }
    /** The word of the book that a misspelt one differs from by one error; of several, the most frequent one. */
    function corrected(word) {
      let best = "";
      let most = 0;
      for (const [other, { count }] of kept) {
        if (count <= most || Math.abs(other.length - word.length) > 1) continue;
        if (distance(word, other.toLowerCase()) === 1) [best, most] = [other, count];
      }
      return best;
    }

    /** Leave out places that have only words which most places have, where enough of the others are left. */
    function informed(ranked, weight) {
      const counts = new Map();
      for (const { words } of ranked) for (const word of new Set(words)) counts.set(word, (counts.get(word) ?? 0) + 1);
      const tells = (words) =>
        [...new Set(words)].reduce(
          (sum, word) => sum + weight(word) * Math.log(1 + places.length / counts.get(word)),
          0,
        );
      const most = tells(counts.keys());
      const left = ranked.filter(({ words }) => tells(words) >= most / 2);
      return left.length < MOST ? ranked : left;
    }

    /** What a query asks for: its words, each with its kept form; the little ones count where there are no others. */
    function asked(query) {
      const all = tokens(query);
      const words = all.filter((word) => !isLittle(word));
      const wanted = (words.length ? words : all).flatMap((word) => {
        const [whole, ...parts] = forms(word);
        const pieces = parts.map((part) => [part, part]);
        return pieces.length && !isKnown(whole) ? pieces : [[word, whole], ...pieces];
      });
      return new Map(wanted);
    }

    /**
     * Find references that have all words: those that are asked for, by "paper" or by names and years alone; one that is
     * meant, by a name beside other words or by its whole title.
     */
    function references(query, words, rank) {
      const typed = tokens(query).filter((word) => !isLittle(word));
      const about = typed.filter((word) => !PAPER.has(word.toLowerCase()));
      const known = about.map((word) => forms(word)[0]).filter((form) => inPapers.has(form));
      const sought = [...new Set([...words.filter((word) => !PAPER.has(word)), ...known])];
      // A name has a capital, or is no word of the book without one: "Press", "vaswani".
      const names = about
        .filter((word) => /^\p{Lu}/u.test(word) || !kept.get(word.toLowerCase())?.written)
        .map((word) => forms(word)[0]);
      const named = ({ match }) => names.filter((form) => match[form]?.includes("text"));
      // What is cited most comes first in the file. First authors, and the name of a method before a colon, count for more.
      const whole = (text) =>
        tokens(text)
          .map((word) => forms(word)[0])
          .join();
      const isCalled = ({ title, topics }) =>
        [title.split(": ")[0], ...topics.split(", ")].some((name) => whole(name) === whole(about.join(" ")));
      const weigh = ({ id, score }) =>
        score *
        (1 + 2 / (1 + (id - papers[0].id) / 30)) *
        (names.includes(forms(tokens(places[id].text)[0])[0]) ? 3 : 1) *
        (isCalled(places[id]) ? 3 : 1);
      const all = rank(cited, sought, about)
        .filter(({ covered }) => covered > 0.99)
        .sort((one, other) => weigh(other) - weigh(one) || one.id - other.id);
      const years = about.filter((word) => /^(?:19|20)\d\d[a-z]?$/.test(word));
      const isQuery = (text) => whole(text) === whole(query);
      const isTitle = ({ id }) => about.length > 2 && [places[id].title, ...places[id].title.split(": ")].some(isQuery);
      const asksPaper = about.length < typed.length;
      const asked = all
        .filter((one) => asksPaper || (named(one).length && named(one).length + years.length === about.length))
        .slice(0, 3);
      const meant = asked.length ? [] : all.filter((one) => named(one).length || isTitle(one)).slice(0, 1);
      return { sought, all, asked, meant, asksPaper };
    }

    /**
     * Find the places that fit a query best.
     * @param {string} query
     * @param {{kinds?: string[], most?: number}} [limits] the kinds of places, none for all of them, and how many of them
     * @returns {{results: any[], count: number, counts: Record<string, number>, instead: [string, string][], missing: string[]}}
     *   places with marked parts; how many there are of these kinds, and of each kind; words that were read as others;
     *   words that stand nowhere
     */
    function search(query, { kinds = [], most = MOST } = {}) {
      const instead = [];
      const missing = [];
      const words = [];
      for (const [word, form] of asked(query)) {
        if ((defined.has(form) || inPapers.has(form)) && !isKnown(form)) continue;
        const other = isKnown(form) || word.length < 4 || /\d/.test(word) ? "" : corrected(word.toLowerCase());
        if (isKnown(form)) words.push(form);
        else if (other) {
          words.push(forms(other)[0]);
          instead.push([word, other]);
        } else missing.push(word);
      }
      for (const word of tokens(query))
        if (word.includes("_") && !isKnown(forms(word)[0]) && !defined.has(forms(word)[0])) missing.push(word); // of code
      const wishes = Object.keys(WISHES).filter((kind) => WISHES[kind].some((word) => words.includes(stem(word))));
      const wishing = new Set(wishes.flatMap((kind) => WISHES[kind].map(stem)));
      const strong = words.some((word) => !wishing.has(word) && !WEAK.has(word));
      const pieces = new Set(tokens(query).flatMap((word) => forms(word).slice(1)));
      const weight = (word) =>
        pieces.has(word) ? 0.4 : !strong ? 1 : wishing.has(word) ? 0.1 : WEAK.has(word) ? 0.25 : 1;
      const rank = (from, sought, typed) => {
        if (!sought.length) return [];
        const total = sought.reduce((sum, word) => sum + weight(word), 0);
        const letters = (word) => forms(word).slice(forms(word).length > 1 ? 1 : 0); // "warm-up" is "warm up", "warmup"
        const exactly = (given) => given.flatMap(letters).join("");
        const says = (word) => !isLittle(word) && !(strong && WEAK.has(word.toLowerCase()));
        const nearly = (given) => given.filter(says).flatMap(letters).join(""); // without the little words
        const [typedExactly, typedNearly] = [exactly(typed), nearly(typed)];
        const found = from.search("x", { ...settings(sought), boostTerm: weight });
        const inflected = typed.filter((word) => /[a-z]{4}(?:ing|ed)$/i.test(word));
        const ranks = found.map(({ id, score, queryTerms, match, terms }) => {
          const place = every[id];
          const covered = [...new Set(queryTerms)].reduce((sum, word) => sum + weight(word), 0) / total;
          const inTitle = sought.filter((word) => match[word]?.some((field) => field === "title" || field === "names"));
          const named = `${place.title}, ${place.names}`.toLowerCase();
          const called = `${place.title}, ${place.names}`.split(", ").map(tokens); // a term may have several names
          const whole = called.some((name) => exactly(name) === typedExactly)
            ? 3
            : typedNearly && called.some((name) => nearly(name) === typedNearly)
              ? 2.8
              : 1 + Math.min(1, inTitle.length / lengths[id]) ** 2; // of title and query
          // "batching" is not "batch", though it finds that too.
          const other = inflected.filter(
            (word) => inTitle.includes(forms(word)[0]) && !named.includes(word.toLowerCase()),
          );
          const weighed =
            score *
            covered ** 2 *
            whole *
            0.8 ** other.length *
            KIND[place.kind] *
            (place.of === id ? plain(place) : FOLLOW_UP);
          return { id, terms, match, covered, words: queryTerms, isNamed: whole > 2, score: weighed, ask: "" };
        });
        return ranks.sort((one, other) => other.score - one.score || one.id - other.id);
      };
      // A question is as good as the best of its follow-ups, if that is better than the question itself.
      const best = new Map();
      for (const one of rank(further, words, tokens(query)))
        if (!best.has(every[one.id].of)) best.set(every[one.id].of, one);
      const ranked = informed(rank(mini, words, tokens(query)), weight)
        .map((one) => {
          const found = best.get(one.id);
          if (!found || found.score <= one.score) return one;
          return { ...one, score: found.score, terms: [...one.terms, ...found.terms], ask: every[found.id].title };
        })
        .sort((one, other) => other.score - one.score || one.id - other.id);
      // A place of the source must have all words. It comes last, unless source is asked for or its very name is typed.
      const typed = tokens(query).filter((word) => !isLittle(word) && !SOURCE.has(word.toLowerCase()));
      const names = typed.map((word) => forms(word)[0]).filter((form) => defined.has(form));
      const inSource = [...new Set([...words.filter((word) => !SOURCE.has(word)), ...names])];
      const ofSource = rank(code, inSource, typed).filter(({ covered }) => covered > 0.99);
      const asksSource = /\bsource\b|[a-z]\.[a-z]/i.test(query);
      const isTyped = ({ title }) => {
        const [whole, ...parts] = forms(title); // two parts as they are written, three in any way
        const fits = (word) => (word === title && parts.length > 1) || parts.length > 2 || !isKnown(whole);
        return typed.some((word) => forms(word)[0] === whole && fits(word));
      };
      const near = ofSource.filter(({ id }) => asksSource || isTyped(places[id])).slice(0, 3);
      const paper = references(query, words, rank);
      near.push(...paper.meant);
      // Who types "exercise" gets exercises, behind the page that is called so; who only wishes for one, one or two.
      const asksFor = KINDS_ASKED.filter((kind) => strong && words.includes(stem(kind)));
      const isAsked = ({ id, covered }) => covered > 0.6 && asksFor.includes(places[id].kind);
      const first = ranked
        .filter(({ id, isNamed }, place) => !asksFor.length || isNamed || (!place && isOf(words, places[id].title)))
        .slice(0, 1);
      if (asksFor.length) first.push(...ranked.filter(isAsked));
      const wished = strong
        ? ranked.filter(({ id, covered }) => covered > 0.6 && wishes.includes(places[id].kind)).slice(0, 2)
        : [];
      // So does who types three words or more of a question, if what comes first lacks one of them.
      if (words.length > 2 && ranked[0] && !isOf(words, places[ranked[0].id].title))
        wished.push(
          ...ranked
            .filter(
              ({ id, ask }) =>
                places[id].kind === "question" && [places[id].title, ask].some((one) => isOf(words, one)),
            )
            .slice(0, 1),
        );
      // Papers that are asked for come before all but a place that is called so.
      const called = first.filter(
        ({ id, isNamed }) =>
          paper.asked.length && (isOf(paper.sought, places[id].title) || (isNamed && !paper.asksPaper)),
      );
      const ordered = [
        ...new Set([...called, ...paper.asked, ...first, ...near, ...wished, ...ranked, ...ofSource, ...paper.all]),
      ];
      /** @type {Record<string, number>} */
      const counts = {};
      for (const { id } of ordered) counts[places[id].kind] = (counts[places[id].kind] ?? 0) + 1;
      const wanted = kinds.length ? ordered.filter(({ id }) => kinds.includes(places[id].kind)) : ordered;
      const results = wanted.slice(0, most).map(({ id, score, terms: matched, ask }) => {
        const place = places[id];
        const terms = new Set(matched);
        const isHit = (word) => (index(word) ?? []).some((form) => terms.has(form));
        const { kind, title, address, chapter, page } = place;
        const where = [...new Set([chapter, page])].filter((name) => name && name !== title);
        const text = marked(ask ? `Follow-up: ${ask}` : place.text.replace(/ …$/, "\u00a0…"), isHit);
        const own = new Set(tokens(title).flatMap(forms));
        const tells = (word) => (index(word) ?? []).some((form) => terms.has(form) && !own.has(form));
        const others = place.names.split(", ").filter((name) => tokens(name).some(tells));
        const also = others.length ? marked(others.join(", "), isHit) : [];
        return { kind, title, address, where, score, heading: marked(title, isHit), names: also, text };
      });
      return { results, count: wanted.length, counts, instead, missing };
    }
    return Object.freeze({ search, places });
  }

  /** How many letters must be changed, added, left out or exchanged with the next one. */
  function distance(one, other) {
    const rows = [...Array(one.length + 1).keys()].map((row) => [row]);
    for (let column = 0; column <= other.length; column += 1) rows[0][column] = column;
    for (let i = 1; i <= one.length; i += 1) {
      for (let j = 1; j <= other.length; j += 1) {
        const changed = one[i - 1] === other[j - 1] ? 0 : 1;
        rows[i][j] = Math.min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + changed);
        if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1])
          rows[i][j] = Math.min(rows[i][j], rows[i - 2][j - 2] + 1);
      }
    }
    return rows[one.length][other.length];
  }

  return Object.freeze({ make, distance });
})();
