// A derivation that moves: back, next, numbered steps, and all steps as stills, which is also what is printed.

const MOTION = 900; // milliseconds from one step to the next
const NUMBERS = /-?\d+(?:\.\d+)?/g;
const FIXED = new Set(["tag", "text", "class", "role", "aria-label", "data-i", "data-j", "data-values"]);

// A number, or a text with as many numbers as the one before it, on the way from one step to the next.
function between(from, to, t) {
  const old = String(from).match(NUMBERS) || [];
  const words = String(to);
  if (t >= 1 || old.length !== (words.match(NUMBERS) || []).length) return words;
  let n = 0;
  return words.replace(NUMBERS, (x) => {
    const start = Number(old[n++]);
    return String(start + t * (Number(x) - start));
  });
}
const on_the_way = (from, to, t) =>
  Object.fromEntries(
    Object.entries(to).map(([name, x]) => [name, FIXED.has(name) || !from ? x : between(from[name] ?? x, x, t)]),
  );
const ease = (t) => t * t * (3 - 2 * t);

// A mark of words.
const text_mark = (x, y, words, anchor = "middle", name = "", opacity = 1) => ({
  ...{ tag: "text", x, y, "text-anchor": anchor, text: words },
  ...{ class: name, opacity },
});

// An svg of marks, each {tag, text, ...attributes}; `show` moves the marks to those of another step.
function moving_picture(size, props, marks) {
  const nodes = marks.map((mark) => h(mark.tag, "data-i" in mark ? { tabindex: "-1" } : null));
  const picture = h("svg", { viewBox: `0 0 ${size.join(" ")}`, class: "ex-plot ex-scene", ...props }, nodes);
  let seen = [];
  let frame = 0;
  const put = (list) => {
    seen = list;
    list.forEach(({ tag, text, ...attributes }, i) => {
      for (const [name, x] of Object.entries(attributes)) nodes[i].setAttribute(name, x);
      if (text !== undefined && nodes[i].textContent !== text) nodes[i].textContent = text;
    });
  };
  return {
    picture,
    stop: () => cancelAnimationFrame(frame),
    show(next, at_once) {
      cancelAnimationFrame(frame);
      const [from, start] = [seen, performance.now()];
      const draw = (now) => {
        const t = at_once ? 1 : Math.min(1, Math.max(0, (now - start) / MOTION));
        put(next.map((mark, i) => on_the_way(from[i], mark, ease(t))));
        picture.toggleAttribute("data-moving", t < 1);
        if (t < 1) frame = requestAnimationFrame(draw);
      };
      draw(start);
    },
  };
}

// `scene(k)` gives the marks of step k, counted from 0. A mark with data-i and data-j can be pointed at, and is said by
// its aria-label. Gives what ends the view.
function show_steps(view, { size, label, scene }) {
  const sentences = view.get("sentences");
  const last = sentences.length;
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const paper = matchMedia("print");
  const said = (k) => [h("strong", null, `Step ${k + 1} of ${last}. `), ...math(sentences[k]).childNodes];
  const { picture, show, stop } = moving_picture(size, { role: "group", "aria-label": label }, scene(0));
  const rover = rove(picture, (i, j) => {
    view.say(picture.querySelector(`[data-i="${i}"][data-j="${j}"]`).getAttribute("aria-label"));
  });
  const sentence = () => view.readout.replaceChildren(...said(view.get("step") - 1));
  for (const event of ["pointerleave", "focusout"]) picture.addEventListener(event, sentence);

  const go = (by) => {
    const step = view.get("step") + by;
    if (step >= 1 && step <= last) view.set("step", step);
  };
  const button = (by, trait, words) =>
    h("button", { type: "button", "data-trait": trait, onclick: () => go(by) }, words);
  const [back, next] = [button(-1, "back", "‹ Back"), button(1, "next", "Next ›")];
  const words = h("div", { class: "ex-words" });
  const moving = h(
    "div",
    { class: "ex-moving" },
    picture,
    h(
      "div",
      null,
      controls(
        choice(view, { name: "step", label: "step", options: range(last).map((k) => [k + 1, String(k + 1)]) }),
        h("div", { class: "ex-turn" }, back, next),
      ),
      words,
    ),
  );
  const stills = h("ol", { class: "ex-stills" });
  const fill = () => {
    if (stills.childElementCount) return;
    for (const k of range(last)) {
      const marks = scene(k).map(({ role, "aria-label": said, "data-i": i, "data-j": j, ...mark }) => mark);
      const still = moving_picture(size, { "aria-hidden": "true" }, marks);
      still.show(marks, true);
      stills.append(h("li", null, still.picture, h("p", null, ...said(k))));
    }
  };
  const sizers = range(last).map((k) => h("p", { class: "ex-sizer", "aria-hidden": "true" }, ...said(k)));

  function draw(at_once = calm.matches) {
    const step = view.get("step");
    show(scene(step - 1), at_once);
    back.setAttribute("aria-disabled", step === 1);
    next.setAttribute("aria-disabled", step === last);
    view.say(...said(step - 1));
  }
  function arrange() {
    const all = view.get("all_steps");
    if (all) fill();
    moving.hidden = all;
    stills.hidden = !all;
  }
  view.watch("step", () => draw());
  view.watch("all_steps", arrange);
  view.show(moving, toggle(view, { name: "all_steps", label: "show all steps, without motion" }), stills);
  words.append(view.readout, ...sizers);
  addEventListener("beforeprint", fill);
  paper.addEventListener("change", fill);
  draw(true);
  rover.enter(0, 0);
  arrange();
  return () => {
    stop();
    removeEventListener("beforeprint", fill);
    paper.removeEventListener("change", fill);
    view.done();
  };
}
