/* The questions and the drills, and what the store keeps of both. What is shown later is a copy of what Sphinx wrote, so
 * links and formulas are right: drills into a list on the page, questions into a script, which `open` loads.
 */
const mock = (() => {
  "use strict";

  const { all, one } = dom;
  const title = (topic) => vocabulary.topics[topic] ?? topic;
  const place = one(".mock-texts");
  /** The texts, once they are loaded: 3 MB, which the page does not hold. @type {DocumentFragment | undefined} */
  let texts;
  const boxOf = (name) => one(`.mock-question[data-name="${name}"]`, texts);
  const further = (name, at, part) =>
    one(`.mock-follow-ups > li:nth-child(${at + 1}) > [data-part="${part}"]`, boxOf(name));
  /** @type {{name: string, topic: string, kind: string, level: string, further: string}[]} */
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
  /** @type {Promise<void> | null} */
  let loading = null;
  /** Load the texts of the questions, once. */
  const open = () => {
    loading ??= new Promise((done, fail) => {
      const script = document.createElement("script");
      script.src = place.dataset.file;
      script.onload = () => {
        const { texts: stored, formulas } = /** @type {any} */ (window).mockQuestions;
        const whole = stored.replace(/␟(\d+)␟/g, (_, at) => formulas[at]);
        texts = document.createRange().createContextualFragment(whole);
        done();
      };
      script.onerror = () => {
        loading = null;
        fail(new Error(`${script.src} did not load`));
      };
      document.head.append(script);
    });
    return loading;
  };
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
