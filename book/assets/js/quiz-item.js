/* One item of the quiz: its static list becomes controls, and it judges what the reader answered.
 *
 * quizItem(element) = {
 *   id, topic, level, kind, name, element, link
 *   reset(seed)        no answer, no feedback, options in the order of the seed; showPast
 *   value()            the answer, as JSON; null while there is none
 *   put(value)         the answer of an earlier time; what does not fit is left out
 *   judge(value)       {right, said}, or {problem} where it cannot be read
 *   showPast()         writes on the item what the reader did with it before the answer that is judged now
 *   mode(name)         "practice", "exam" (no feedback) or "review" (feedback, nothing to change)
 *   changed, checked   called when the answer changes, and with {right} when the reader checks it
 * }
 */
const quizItem = (() => {
  "use strict";

  const { h } = dom;
  const isWholes = (value) => Array.isArray(value) && value.every(Number.isInteger);

  /** Give the children of the paragraphs in a box: a label holds no paragraphs. */
  const unwrapped = (box) => [...box.children].flatMap((child) => [...child.childNodes]);

  /** What to say of each option, beside a sign that says whether it holds: what the reader made of it. */
  const DECISIONS = {
    several: {
      taken: ["Wrongly ticked: this does not hold.", "Rightly ticked."],
      left: ["Does not hold.", "Missed: this holds."],
    },
    one: { taken: ["Wrongly chosen.", "Rightly chosen."], left: ["Not this one.", "This is the right answer."] },
  };

  /** Options to choose, one or several; those of a bug are lines and stay in their order. */
  function chooser(item) {
    const { id, element, several } = item;
    const bug = item.kind === "bug";
    const rows = item.offered.map((option, index) => {
      const name = `${id}-option-${index}`;
      const input = h("input", { type: several ? "checkbox" : "radio", id: name, name: `${id}-options`, value: index });
      const reason = item.reasons[index];
      const why = h("div", { class: "quiz-why", hidden: true }, ...reason.childNodes);
      const mark = why.querySelector(".quiz-mark");
      const label = h("label", { for: name }, ...unwrapped(option));
      mark.id = `${name}-mark`;
      return {
        index,
        input,
        label,
        why,
        mark,
        itself: mark.textContent,
        right: reason.dataset.right === "true",
        box: h("div", { class: "quiz-choice" }, input, label, why),
      };
    });
    const legend = bug ? "Choose the line at fault" : several ? "Choose all that hold" : "Choose one";
    const box = h("fieldset", { class: "quiz-choices", "aria-describedby": `${id}-question`, change: item.touched });
    box.append(h("legend", {}, legend), ...rows.map((row) => row.box));
    element.querySelector(".quiz-options").remove();
    const keys = rows.filter((row) => row.right).map((row) => row.index);
    const answer = h("div", { class: "quiz-right" }); // beside the verdict: the option itself may be off the screen
    return {
      box,
      answer,
      reset(seed) {
        for (const row of rows) row.input.checked = false;
        if (!bug) box.append(...util.shuffled(rows, `${seed}/${id}`).map((row) => row.box));
      },
      value() {
        const chosen = rows.filter((row) => row.input.checked).map((row) => row.index);
        return chosen.length ? chosen : null;
      },
      put(value) {
        for (const row of rows) row.input.checked = isWholes(value) && value.includes(row.index);
      },
      judge: (value) => quizLogic.judgeChoice(value, keys, several),
      reveal(value) {
        for (const row of rows) {
          const taken = value?.includes(row.index);
          const decision = DECISIONS[several ? "several" : "one"][taken ? "taken" : "left"][Number(row.right)];
          row.mark.textContent = value ? decision : row.itself;
          row.why.hidden = false;
          if (row.right) row.box.classList.add("quiz-holds");
          else if (taken) row.box.classList.add("quiz-fails");
          if (row.right && value && !taken && !several)
            answer.replaceChildren("Right answer: ", ...dom.copied(row.label, "span", "").childNodes);
          row.input.setAttribute("aria-describedby", row.mark.id);
        }
      },
      conceal() {
        answer.replaceChildren();
        for (const row of rows) {
          row.why.hidden = true;
          row.box.classList.remove("quiz-holds", "quiz-fails");
          row.input.removeAttribute("aria-describedby");
        }
      },
      lock(locked) {
        for (const row of rows) row.input.disabled = locked;
      },
    };
  }

  /** A number to type. */
  function numeric(item) {
    const answer = item.solution.querySelector(".quiz-number");
    const { unit = "" } = answer.dataset;
    const key = Number(answer.dataset.key);
    const within = Number(answer.dataset.within);
    const known = item.reasons.map((reason) => Number(reason.dataset.key));
    const name = `${item.id}-number`;
    const input = h("input", {
      type: "text",
      id: name,
      autocomplete: "off",
      autocapitalize: "off",
      spellcheck: "false",
      "aria-describedby": `${item.id}-question ${name}-help`,
      input: item.touched,
    });
    const help = within
      ? `Within ${Number((within * 100).toPrecision(3))} % counts as right. You may write 2^20, 1/64 or 3*10^-5.`
      : "You may write 1,048,576, 2^20, 1e6 or 1/64.";
    const label = h("label", { for: name }, unit ? `Your number, in ${unit}` : "Your number");
    const error = h("div", { class: "quiz-why quiz-error", hidden: true });
    const box = h(
      "div",
      { class: "quiz-typed" },
      label,
      input,
      h("p", { class: "quiz-help", id: `${name}-help` }, help),
    );
    return {
      box,
      below: error,
      reset() {
        input.value = "";
      },
      value: () => input.value.trim() || null,
      put(value) {
        input.value = typeof value === "string" ? value : "";
      },
      judge: (value) => quizLogic.judgeNumber(value, { key, within, unit, known }),
      reveal(value, whole) {
        const found = item.reasons[quizLogic.knownError(value, known, within, unit)];
        error.replaceChildren(...(found ? [...found.childNodes].map((node) => node.cloneNode(true)) : []));
        error.hidden = !found;
        item.solution.hidden = !whole;
      },
      conceal() {
        error.hidden = true;
        item.solution.hidden = true;
      },
      lock(locked) {
        input.disabled = locked;
      },
    };
  }

  /** Steps to put in order, by two buttons each or by a grip for the pointer. */
  function orderer(item) {
    const { id } = item;
    let touched = false;
    const list = h("ol", { class: "quiz-order", "aria-describedby": `${id}-question` });
    const rows = item.offered.map((option, index) => {
      const name = `${id}-step-${index}`;
      const text = option.textContent.trim();
      const button = (sign, way, delta) =>
        h(
          "button",
          {
            type: "button",
            id: `${name}-${delta}`,
            class: "quiz-move",
            "aria-label": way,
            "aria-labelledby": `${name}-${delta} ${name}`,
            click: () => move(row, delta),
          },
          sign,
        );
      const row = {
        place: Number(option.dataset.place),
        text,
        up: button("↑", "Move up", -1),
        down: button("↓", "Move down", 1),
      };
      row.mark = h("span", { class: "quiz-place" });
      row.grip = h(
        "span",
        { class: "quiz-grip", "aria-hidden": "true", pointerdown: (event) => drag(event, row) },
        "⠿",
      );
      const said = h("span", {}, h("span", { id: name }, ...unwrapped(option)), row.mark);
      row.box = h("li", { class: "quiz-step" }, h("div", {}, row.grip, said, h("span", {}, row.up, row.down)));
      return row;
    });
    item.element.querySelector(".quiz-options").remove();
    let now = rows;
    let locked = false;

    function show() {
      list.append(...now.map((row) => row.box));
      now.forEach((row, index) => {
        row.up.setAttribute("aria-disabled", String(locked || index === 0));
        row.down.setAttribute("aria-disabled", String(locked || index === now.length - 1));
      });
    }
    function place(row, to) {
      now = now.filter((other) => other !== row);
      now.splice(to, 0, row);
      touched = true;
      show();
      item.touched();
    }
    function move(row, delta) {
      const to = now.indexOf(row) + delta;
      if (locked || to < 0 || to >= now.length) {
        item.say(locked ? "" : `${row.text} is already ${delta < 0 ? "first" : "last"}.`);
        return;
      }
      place(row, to);
      (delta < 0 ? row.up : row.down).focus(); // moving an element takes the focus from it
      item.say(`${row.text} is now ${to + 1} of ${now.length}.`);
    }
    function drag(event, row) {
      if (locked || event.button) return;
      event.preventDefault();
      row.box.classList.add("quiz-held");
      const follow = (moved) => {
        const to = now
          .filter((other) => other !== row)
          .filter((other) => {
            const { top, height } = other.box.getBoundingClientRect();
            return moved.clientY > top + height / 2;
          }).length;
        if (to !== now.indexOf(row)) place(row, to);
      };
      const drop = () => {
        row.box.classList.remove("quiz-held");
        removeEventListener("pointermove", follow);
        removeEventListener("pointerup", drop);
        removeEventListener("pointercancel", drop);
        item.say(`${row.text} is now ${now.indexOf(row) + 1} of ${now.length}.`);
      };
      addEventListener("pointermove", follow);
      addEventListener("pointerup", drop);
      addEventListener("pointercancel", drop);
    }
    return {
      box: list,
      reset(seed) {
        touched = false;
        now = quizLogic.mixedSteps(rows, `${seed}/${id}`);
        show();
      },
      value: () => (touched ? now.map((row) => row.place) : null),
      put(value) {
        if (!quizLogic.isOrder(value, rows.length)) return;
        now = value.map((place) => rows.find((row) => row.place === place));
        touched = true;
        show();
      },
      judge: (value) => quizLogic.judgeOrder(value, rows.length),
      reveal(_, whole) {
        now.forEach((row, index) => {
          const here = row.place === index + 1;
          row.box.classList.add(here ? "quiz-holds" : "quiz-fails");
          row.mark.textContent = here ? "✓ in place" : "✗ not here";
        });
        item.solution.hidden = !whole;
      },
      conceal() {
        for (const row of rows) {
          row.box.classList.remove("quiz-holds", "quiz-fails");
          row.mark.textContent = "";
        }
        item.solution.hidden = true;
      },
      lock(value) {
        locked = value;
        for (const row of rows) row.grip.hidden = locked;
        show();
      },
    };
  }

  const CONTROLS = { choice: chooser, bug: chooser, number: numeric, order: orderer };

  /** Turn the static element of an item into controls. */
  return function quizItem(element) {
    const { topic, level, kind } = element.dataset;
    const fold = element.querySelector(".quiz-answer");
    const read = fold.querySelector(".quiz-read");
    const solution = h("div", { class: "quiz-solution", hidden: true });
    const verdict = h("div", { class: "quiz-verdict", role: "status" });
    const heard = h("div", { class: "quiz-heard", role: "status" });
    const mark = h("span", { class: "quiz-past" });
    dom.one(".quiz-head", element).append(mark);
    let mode = "practice";
    let seed = "";
    let answered = false;
    let judgedNow = false;

    const item = {
      id: element.id,
      topic,
      level: Number(level),
      kind,
      element,
      several: "several" in element.dataset,
      name: element.querySelector(".quiz-name").textContent,
      offered: [...element.querySelectorAll(".quiz-options > .quiz-option")],
      reasons: [...fold.querySelectorAll(".quiz-reasons > .quiz-reason")],
      solution,
      link: read.querySelector("a"),
      changed: () => {},
      checked: /** @type {(mark: {right?: boolean}) => void} */ (() => {}),
      say(text) {
        heard.textContent = text;
      },
      touched() {
        if (answered && mode === "practice") {
          conceal();
          item.showPast();
        }
        item.changed();
      },
    };
    const controls = (() => {
      const rest = [...fold.children].filter((child) => child.localName !== "summary" && child !== read);
      solution.append(...rest);
      return CONTROLS[kind](item);
    })();

    const check = h("button", { type: "submit", class: "quiz-button quiz-main" }, "Check");
    const show = dom.button("quiz-button", "Show the answer", () => reveal(controls.value(), true));
    const again = dom.button("quiz-button", "Try again", () => {
      item.reset(util.freshSeed());
      item.head();
    });
    again.hidden = true;
    const buttons = h("div", { class: "quiz-buttons" }, check, show, again);
    const reasoned = kind === "choice" || kind === "bug"; // its reasons stand beside the options, the verdict above them
    const form = h(
      "form",
      { class: "quiz-form", novalidate: true, submit },
      ...(reasoned ? [verdict, controls.answer, controls.box] : [controls.box, verdict]),
      controls.below ?? null,
      buttons,
      heard,
      solution,
      read,
    );
    fold.replaceWith(form);
    if (reasoned) solution.remove();

    /** What is judged is not judged again, and its button is no longer the next step, until the answer changes. */
    const settle = (judged) => {
      judgedNow = judged;
      check.setAttribute("aria-disabled", String(judged));
    };

    function conceal() {
      answered = false;
      settle(false);
      verdict.textContent = "";
      verdict.className = "quiz-verdict";
      read.hidden = true;
      again.hidden = true;
      show.hidden = false;
      item.say("");
      controls.conceal();
    }
    function reveal(value, whole, judged) {
      answered = true;
      if (judged) {
        verdict.textContent = `${judged.right ? "✓" : "✗"} ${judged.said}`;
        verdict.classList.toggle("quiz-good", judged.right);
        verdict.classList.toggle("quiz-bad", !judged.right);
      } else if (mode === "practice") {
        verdict.textContent = "The answer is shown below.";
      }
      controls.reveal(value, whole);
      form.dispatchEvent(new Event("toggle")); // something opened: book.js looks for boxes that scroll now
      read.hidden = false;
      again.hidden = mode !== "practice";
      show.hidden = whole || reasoned;
    }
    function submit(event) {
      event.preventDefault();
      if (mode !== "practice" || check.getAttribute("aria-disabled") === "true") return;
      const value = controls.value();
      const judged = controls.judge(value);
      conceal();
      if (judged.problem) {
        verdict.textContent = judged.problem;
        return;
      }
      reveal(value, judged.right, judged);
      settle(true);
      verdict.scrollIntoView({ block: "nearest" });
      item.checked(judged);
    }

    Object.assign(item, {
      value: controls.value,
      put: controls.put,
      judge: controls.judge,
      reset(fresh) {
        seed = fresh;
        conceal();
        controls.reset(seed);
        item.showPast();
      },
      /** Write on the item what the reader did with it before; an answer that is judged now is no earlier one. */
      showPast() {
        const past = practice.items().get(item.id);
        if (judgedNow && past) return;
        mark.textContent = past ? practice.itemInWords(past, "✗") : "";
      },
      head() {
        const head = dom.one(".quiz-head", element);
        head.tabIndex = -1;
        head.focus();
      },
      mode(name) {
        mode = name;
        mark.hidden = mode === "review"; // what is reviewed is the last time
        conceal();
        buttons.hidden = mode !== "practice";
        controls.lock(mode === "review");
        if (mode === "review") {
          const value = controls.value();
          const judged = value === null ? { right: false, said: "No answer." } : controls.judge(value);
          reveal(value, true, judged.problem ? { right: false, said: judged.problem } : judged);
        }
      },
    });
    item.reset(util.freshSeed());
    return item;
  };
})();
