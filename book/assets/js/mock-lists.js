/* The questions and the drills as the lists on the page hold them, and what the store keeps of both. Everything that is shown
 * later is a copy of what Sphinx wrote into the lists, so links and formulas are right.
 */
const mock = (() => {
  "use strict";

  const { all, one } = dom;
  const title = (topic) => vocabulary.topics[topic] ?? topic;
  /** The topics of some lists, as options of a form. */
  const topics = (selector) =>
    all(selector).map(({ dataset }) => /** @type {[string, string]} */ ([dataset.topic, title(dataset.topic)]));
  const questions = all(".mock-question").map((box) => ({
    .../** @type {{name: string, topic: string, kind: string, level: string}} */ (
      /** @type {unknown} */ ({ ...box.dataset })
    ),
    asked: one(".mock-asked", box),
    part: (name) => one(`:scope > [data-part="${name}"]`, box),
    followUps: all(".mock-follow-ups > li", box).map((item) => ({
      asked: one('[data-part="follow-up"]', item),
      answer: one('[data-part="answer"]', item),
    })),
  }));
  const drills = all(".coding-drill").map((item) => ({
    .../** @type {{name: string, topic: string, kind: string, tier: string}} */ (
      /** @type {unknown} */ ({ ...item.dataset })
    ),
    minutes: Number(item.dataset.minutes),
    link: item.querySelector("a"),
  }));
  const questionTopics = topics(".mock-topic");
  const drillTopics = topics(".coding-topic");
  const storage = mockStorage.open(questions, drills);
  return Object.freeze({ questions, drills, questionTopics, drillTopics, title, storage });
})();
