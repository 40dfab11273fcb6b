// Four ratings under each interview question that is opened, the mark in its line, and the way to what is to be repeated;
// and under each answer of the forty questions, which `sheet.js` shows. Without a script there are none.
const questionRating = (() => {
  "use strict";

  const { h } = dom;
  const { ratings, rate, state, inWords, toRepeat, watch } = practice;
  const RATINGS = vocabulary.ratings;
  const boxes = /** @type {HTMLDetailsElement[]} */ (dom.all("details.interview-question[id]"));
  const mayBeAsked = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (mayBeAsked && practice.asked.read().href === location.href) mayBeAsked.dataset.asked = "yes";
  practice.asked.write({});

  const forms = new Map();
  const marks = new Map(
    boxes.map((box) => {
      const mark = h("span", { class: "question-mark" });
      box.querySelector("summary").append(mark);
      return [box.id, mark];
    }),
  );

  function show() {
    const kept = ratings();
    const weak = [...kept.values()].some((entry) => state(entry) === "weak");
    for (const [name, mark] of marks) mark.textContent = kept.has(name) ? inWords(kept.get(name)) : "";
    for (const [name, form] of forms) {
      const own = kept.get(name)?.row[0] ?? null;
      for (const input of form.inputs) input.checked = own !== null && Number(input.value) === own;
      form.back.hidden = own === null;
      form.list.hidden = own === null || !weak;
    }
  }

  function form(name) {
    const status = h("p", { class: "question-told", role: "status" });
    const save = (value) => {
      rate(name, value);
      show();
      const where = store.available ? "kept in this browser" : "kept until you leave the page";
      status.textContent = value === null ? "Your rating is taken back." : `Rated ${value} of 3, ${where}.`; // a line of a phone
    };
    const inputs = RATINGS.map((_, value) =>
      h("input", {
        type: "radio",
        name: `rating-${name}`,
        id: `rating-${name}-${value}`,
        value,
        change: () => save(value),
      }),
    );
    const labels = inputs.map((input, value) =>
      h("span", { class: "question-grade" }, input, h("label", { for: input.id }, `${value}: ${RATINGS[value]}`)),
    );
    const back = h(
      "button",
      {
        type: "button",
        hidden: true,
        click: () => {
          save(null);
          inputs[0].focus();
        },
      },
      "Take it back",
    );
    const list = h(
      "p",
      { class: "question-repeat", hidden: true },
      h("a", { href: toRepeat() }, "List the questions to repeat"),
    );
    const set = h(
      "fieldset",
      { class: "question-rate" },
      h("legend", {}, "How did you answer?"),
      ...labels,
      back,
      status,
      list,
    );
    return { inputs, back, list, set };
  }

  /** Put the ratings of a question at the end of a place, once. */
  function offer(name, place) {
    if (forms.has(name)) return;
    const made = form(name);
    forms.set(name, made);
    place.append(made.set);
    show();
  }

  // The history of the tab knows what is open: who comes back finds it so, and then a browser finds the place on the page.
  const { open } = history.state ?? {};
  for (const box of boxes) {
    box.open ||= Boolean(open?.includes(box.id));
    box.addEventListener("toggle", () => {
      if (box.open) offer(box.id, box);
      history.replaceState({ ...history.state, open: boxes.filter((one) => one.open).map((one) => one.id) }, "");
    });
    if (box.open) offer(box.id, box);
  }
  watch(show);
  show();

  return Object.freeze({ offer });
})();
