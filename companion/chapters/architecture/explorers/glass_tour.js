// Tours: each stop puts the figure into a state, says what to look for, and outlines the part that it speaks of.

// `parts` are the elements that a stop may outline, `apply(state, at)` puts the figure into a state, `row` tells which
// row of the map is looked at.
function tour_part(view, { parts, apply, row }) {
  const { start, all } = view.get("tours"); // of a stop's state, what differs from the start
  const whole = (stop) => ({ ...stop, state: { ...start, ...stop.state } });
  const tours = all.map(({ title, stops }) => ({ title, stops: stops.map(whole) }));
  const text = h("p", { class: "ex-tourtext", "aria-live": "polite" });
  const stops = () => tours[view.get("tour") - 1]?.stops ?? [];
  const stop = () => stops()[Math.min(view.get("stop"), stops().length - 1)];
  const go = (to) => to >= 0 && to < stops().length && view.set("stop", to);
  const last = () => view.get("stop") === stops().length - 1;
  const another = () => last() && view.get("tour") < tours.length;
  const where = h("span", { class: "ex-tourplace" });
  const buttons = {
    back: action("tour-back", "back", () => go(view.get("stop") - 1)),
    next: action("tour-next", "next", () => {
      if (another()) view.set("tour", view.get("tour") + 1);
      else go(view.get("stop") + 1);
    }),
    again: action("tour-again", "show again", () => show()),
    end: action("tour-end", "end tour", () => {
      view.set("tour", 0);
      box.querySelector("select").focus();
    }),
  };
  const begin = action("tour-begin", "start the first tour", () => {
    view.set("tour", 1);
    buttons.next.focus();
  });
  const said = h("div", { class: "ex-tourbox" }, controls(where, ...Object.values(buttons)), text);
  const options = ["none", ...tours.map(({ title }) => title)].map((title, k) => [k, title]);
  const box = h(
    "div",
    { class: "ex-tour", hidden: !tours.length },
    controls(menu(view, { name: "tour", label: "tour", options }), begin),
    said,
  );
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

  function show() {
    if (!stop()) return draw();
    apply(stop().state, stop().at);
    parts[stop().light].scrollIntoView?.({ block: "nearest" });
  }
  // After every change: is what is shown still what the stop speaks of?
  function draw() {
    const here = stop();
    said.hidden = !here;
    begin.hidden = view.get("tour") > 0;
    for (const part of Object.values(parts)) part.classList.remove("ex-lit");
    if (!here) return;
    const at = stops().indexOf(here);
    const of_a_row = here.at !== null || here.light === "steps";
    const left =
      Object.entries(here.state).some(([name, value]) => !same(view.get(name), value)) ||
      (of_a_row && row() !== here.at);
    said.classList.toggle("ex-left", left);
    where.textContent = `${at + 1} of ${stops().length}`;
    text.textContent = left ? "You have left the tour." : here.text;
    if (!left) parts[here.light].classList.add("ex-lit");
    buttons.again.hidden = !left;
    buttons.back.hidden = buttons.next.hidden = left;
    buttons.back.setAttribute("aria-disabled", String(at === 0));
    buttons.next.textContent = another() ? "next tour" : "next";
    buttons.next.setAttribute("aria-disabled", String(last() && !another()));
  }
  return { box, draw, show };
}
