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
  const buttons = {
    back: action("tour-back", "back in the tour", () => go(view.get("stop") - 1)),
    next: action("tour-next", "next in the tour", () => go(view.get("stop") + 1)),
    again: action("tour-again", "show this again", () => show()),
    end: action("tour-end", "end the tour", () => view.set("tour", 0)),
  };
  const begin = action("tour-begin", "start the first tour", () => view.set("tour", 1));
  const said = h("div", { class: "ex-tourbox" }, text, controls(...Object.values(buttons)));
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
    text.textContent = left ? "You have left the tour." : `${at + 1} of ${stops().length}. ${here.text}`;
    if (!left) parts[here.light].classList.add("ex-lit");
    buttons.again.hidden = !left;
    buttons.back.setAttribute("aria-disabled", String(at === 0));
    buttons.next.setAttribute("aria-disabled", String(at === stops().length - 1));
  }
  return { box, draw, show };
}
