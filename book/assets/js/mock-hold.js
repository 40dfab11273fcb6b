/* The interview itself: asks the drawn questions in turn, shows each answer step by step, and asks for a rating. */
(() => {
  "use strict";

  const mock = window.mockInterview;
  if (!mock || !mock.kept) return;
  const { h, button, plain } = mock;
  const PARTS = [["short", "Show the short answer"], ["full", "Show the whiteboard answer"],
    ["mistake", "Show the common wrong answer"]];
  const FOLLOW_UP = 0.5; // of the time of its question

  /** Seconds that the reader wants to take for a step, or 0. */
  const limit = ({ question, at }, target) => 60 * (target[question.level] ?? 0) * (at < 0 ? 1 : FOLLOW_UP);

  /** Ask the questions in turn, each followed by its follow-ups.
   *
   * `given` is {pool, target}; `from` is a step, and `before` what was done before it; `finished` gets the list, the ratings
   * and what was given.
   */
  mock.hold = (stage, list, given, finished, from = 0, before = []) => {
    const steps = mock.stepsOf(list);
    const target = plain(given.target) ? given.target : {};
    const done = before.map(([index, value, seconds]) =>
      ({ ...steps[index], index, rating: value, seconds, limit: limit(steps[index], target) }));
    const end = () => {
      mock.keep({ session: null });
      finished(list, done, given);
    };
    const ask = (index) => {
      if (index >= steps.length) return end();
      const kept = done.map((one) => [one.index, one.rating, one.seconds]);
      mock.keep({ session: { names: list.map(({ name }) => name), index, done: kept, pool: given.pool, target } });
      return step(index);
    };

    function step(index) {
      const { question, index: number, at } = steps[index];
      const follow = at >= 0 ? question.followUps[at] : null;
      const parts = follow ? [["answer", "Show the answer"]] : PARTS;
      const following = steps[index + 1];
      const words = !following ? "See the report" : following.at >= 0
        ? `Next: follow-up ${following.at + 1} of ${following.question.followUps.length}` : "Next question";
      const title = `Question ${number + 1} of ${list.length}` + (follow ? `, follow-up ${at + 1} of ${question.followUps.length}` : "");
      const asked = mock.copied(follow ? follow.asked : question.asked, "div", "mock-asking");
      const first = follow ? [h("div", { class: "mock-before" }, "After: ", mock.copied(question.asked, "span", ""))] : [];
      const answers = h("div", { class: "mock-answers" });
      const actions = h("p", { class: "mock-actions" });
      const message = h("p", { role: "alert", class: "mock-told" });
      const rate = mock.rating("How did you answer?", mock.RATINGS, message);
      const watch = mock.clock({
        label: "Thinking",
        limit: limit(steps[index], target),
        visible: mock.kept().timer,
        hiding: (timer) => mock.keep({ timer }),
      });
      let shown = 0;

      const reveal = () => {
        watch.stop();
        const [name] = parts[shown];
        const part = mock.copied(follow ? follow.answer : question.part(name), "div", "mock-answer");
        if (follow) part.prepend(h("p", { class: "mock-part" }, "Answer"));
        const head = part.querySelector(".mock-part");
        head.setAttribute("tabindex", -1);
        answers.append(part);
        mock.typeset(part);
        shown += 1;
        if (shown === 1) answers.after(rate);
        offer();
        head.focus({ preventScroll: true });
        part.scrollIntoView({ block: "nearest" }); // all of the answer, not its heading alone at the edge of a small screen
      };
      const next = () => ask(index + 1);
      const go = () => {
        const rating = mock.given(rate, message, "Say how you answered, or skip this one.");
        if (rating === null) return;
        done.push({ question, at, index, rating, seconds: watch.seconds(), limit: limit(steps[index], target) });
        mock.remember(question, at, rating);
        next();
      };
      const offer = () => {
        actions.replaceChildren();
        if (shown < parts.length) actions.append(button(parts[shown][1], reveal, shown === 0));
        if (shown) actions.append(button(words, go, true));
        actions.append(button(shown ? "Skip the rating" : "Skip", next), button("End the interview", end));
      };
      offer();
      const badges = mock.badges(mock.titles[question.topic], question.kind, mock.LEVELS[question.level]);
      mock.show(stage, mock.titled(title), badges, ...first, asked, watch.bar, answers, actions);
      mock.typeset(stage);
    }

    ask(from);
  };
})();
