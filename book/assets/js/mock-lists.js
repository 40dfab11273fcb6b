/* The questions and the drills, and what the store keeps of both. What is shown later is a copy of what Sphinx wrote, so
 * links and formulas are right: drills into a list on the page, each question into a script, which `open` loads.
 */
const mock = (() => {
  "use strict";

  const { all, one } = dom;
  const title = (topic) => vocabulary.topics[topic] ?? topic;
  const place = one(".mock-texts");
  /** The texts of a question, once they are loaded. @type {Map<string, DocumentFragment>} */
  const texts = new Map();
  const boxOf = (name) => one(".mock-question", texts.get(name));
  const further = (name, at, part) =>
    one(`.mock-follow-ups > li:nth-child(${at + 1}) > [data-part="${part}"]`, boxOf(name));
  /** @type {{name: string, topic: string, kind: string, level: string, further: string, sheet?: string}[]} */
  const drawn = JSON.parse(one("script", place).textContent);
  const questions = drawn.map((question) => ({
    ...question,
    get asked() {
      return one(".mock-asked", boxOf(question.name));
    },
    part: (name) => one(`:scope > [data-part="${name}"]`, boxOf(question.name)),
    followUps: Array.from({ length: Number(question.further) }, (_, at) => ({
      get asked() {
        return further(question.name, at, "follow-up");
      },
      get answer() {
        return further(question.name, at, "answer");
      },
    })),
  }));
  /** Load the texts of a question. @param {string} name @returns {Promise<void>} */
  const load = (name) =>
    new Promise((done, fail) => {
      const script = document.createElement("script");
      script.src = `${place.dataset.folder}/${name}.js?v=${place.dataset.version}`;
      script.onload = () => {
        texts.set(name, document.createRange().createContextualFragment(/** @type {any} */ (window).mockText));
        done();
      };
      script.onerror = () => fail(new Error(`${script.src} did not load`));
      document.head.append(script);
    });
  /** Load the texts of questions that are not there yet. @param {{name: string}[]} list */
  const open = (list) => Promise.all(list.map(({ name }) => texts.has(name) || load(name)));
  const drills = all(".coding-drill").map((item) => ({
    .../** @type {{name: string, topic: string, kind: string, tier: string}} */ (
      /** @type {unknown} */ ({ ...item.dataset })
    ),
    minutes: Number(item.dataset.minutes),
    link: item.querySelector("a"),
  }));
  /** The topics of some pieces, as options of a form. */
  const topics = (pieces) =>
    [...new Set(pieces.map(({ topic }) => topic))].map(
      (topic) => /** @type {[string, string]} */ ([topic, title(topic)]),
    );
  const storage = mockStorage.open(questions, drills);
  return Object.freeze({ questions, drills, topics, title, storage, open });
})();
