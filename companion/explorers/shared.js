// Helpers in front of every explorer's own file. No imports, so that the same text runs in Jupyter and on the page.

const SVG_NAMES = new Set(["svg", "g", "rect", "line", "circle", "path", "text", "polyline"]);

// h("p", {class: "x", title: "y"}, "text", node) makes an element. Data goes in as text or attributes, never as HTML.
function h(tag, props, ...children) {
  const node = SVG_NAMES.has(tag)
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) node.style.setProperty(name, value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

let lastId = 0;
function newId() {
  lastId += 1;
  return `ex-${Date.now().toString(36)}-${Math.floor(Math.random() * 1e9).toString(36)}-${lastId}`;
}

// "d_k" becomes d with a subscript k.
function math(text) {
  const parts = text.split(/_(\w+)/);
  return h(
    "span",
    { class: "ex-math" },
    parts.map((part, i) => (i % 2 ? h("sub", null, part) : part)),
  );
}

const MINUS = "\u2212";
const minus = (text) => text.replace("-", MINUS);

// A number with a fixed count of decimals, a real minus sign, and no minus zero.
function num(x, digits = 2) {
  const text = x.toFixed(digits);
  return minus(Number(text) === 0 ? (0).toFixed(digits) : text);
}

// A number as a person writes it: no trailing zeros, two decimals at most, brackets round a negative factor.
function short(x, factor = false, digits = 2) {
  const text = minus(String(Number(x.toFixed(digits)) || 0));
  return factor && text.startsWith(MINUS) ? `(${text})` : text;
}

// The fewest decimals, from `least` on, with which an equation is right as it is shown: `right(d)` computes it again
// from numbers rounded to d decimals. Figures hold six.
const fewest = (least, right) =>
  range(7 - least)
    .map((d) => least + d)
    .find(right) ?? 6;
const rounded = (x, digits) => Number(x.toFixed(digits));

const sum = (list) => list.reduce((a, b) => a + b, 0);
const range = (n) => Array.from({ length: n }, (_, i) => i);
const copy = (x) => JSON.parse(JSON.stringify(x));

// The softmax over the allowed entries; all zero where none is allowed.
function softmax(scores, allowed) {
  const may = allowed || scores.map(() => true);
  const top = Math.max(...scores.filter((_, i) => may[i]));
  const powers = scores.map((s, i) => (may[i] ? Math.exp(s - top) : 0));
  const total = sum(powers);
  return powers.map((p) => (total > 0 ? p / total : 0));
}

// One view of a model: its root, its listeners, its readout in words. `done` undoes all of it.
function open_view(model, el) {
  const seen = h("p", { class: "ex-readout" });
  const heard = h("p", { class: "ex-heard", "aria-live": "polite" });
  const root = h("div", { class: "explorer" }, h("p", { class: "ex-title" }, model.get("label")));
  const undo = [];
  let timer = null;
  let spoken = false;
  const view = {
    model,
    root,
    readout: seen,
    get: (name) => model.get(name),
    set(name, value) {
      model.set(name, value);
      model.save_changes();
    },
    watch(names, action) {
      const events = names
        .split(" ")
        .map((name) => `change:${name}`)
        .join(" ");
      model.on(events, action);
      undo.push(() => model.off(events, action));
    },
    // Shown at once; read aloud only when the reader rests, and not when the page opens.
    say(...parts) {
      seen.replaceChildren(...parts);
      clearTimeout(timer);
      if (spoken)
        timer = setTimeout(() => {
          heard.textContent = seen.textContent;
        }, 700);
      spoken = true;
    },
    show(...nodes) {
      root.append(...nodes, seen, heard);
      el.append(root);
    },
    done() {
      clearTimeout(timer);
      undo.forEach((action) => action());
      root.remove();
    },
  };
  return view;
}

// Native controls, each with its label, bound to one trait of the model.

const controls = (...parts) => h("div", { class: "ex-controls" }, ...parts);

function slider(
  view,
  { name, label, min, max, step = 1, at = (v) => v, value = (x) => x, text = (v) => String(v), wide = false },
) {
  const id = newId();
  const shown = h("span", { class: "ex-value" });
  const input = h("input", {
    type: "range",
    id,
    min,
    max,
    step,
    "data-trait": name,
    oninput: () => view.set(name, value(Number(input.value))),
  });
  const draw = () => {
    input.value = at(view.get(name));
    shown.textContent = text(view.get(name));
    input.setAttribute("aria-valuetext", shown.textContent);
  };
  view.watch(name, draw);
  draw();
  const words = typeof label === "string" ? [label] : label;
  return h("div", { class: wide ? "ex-field ex-wide" : "ex-field" }, h("label", { for: id }, ...words), shown, input);
}

function choice(view, { name, label, options, className = "ex-choice" }) {
  const group = newId();
  const inputs = options.map(([value]) =>
    h("input", { type: "radio", name: group, value, "data-trait": name, onchange: () => view.set(name, value) }),
  );
  const draw = () =>
    options.forEach(([value], i) => {
      inputs[i].checked = value === view.get(name);
    });
  view.watch(name, draw);
  draw();
  return h(
    "fieldset",
    { class: className },
    h("legend", null, label),
    h(
      "div",
      { class: "ex-options" },
      options.map(([, words], i) =>
        h("label", null, inputs[i], h("span", { class: "ex-option" }, ...(Array.isArray(words) ? words : [words]))),
      ),
    ),
  );
}

function menu(view, { name, label, options }) {
  const id = newId();
  const select = h(
    "select",
    { id, "data-trait": name, onchange: () => view.set(name, options[select.selectedIndex][0]) },
    options.map(([, words]) => h("option", null, words)),
  );
  const draw = () => {
    select.selectedIndex = options.findIndex(([value]) => value === view.get(name));
  };
  view.watch(name, draw);
  draw();
  return h("div", { class: "ex-field ex-menu" }, h("label", { for: id }, label), select);
}

function toggle(view, { name, label }) {
  const input = h("input", { type: "checkbox", "data-trait": name, onchange: () => view.set(name, input.checked) });
  const draw = () => {
    input.checked = view.get(name);
  };
  view.watch(name, draw);
  draw();
  return h("label", { class: "ex-toggle" }, input, h("span", null, ...(Array.isArray(label) ? label : [label])));
}

// Marks with data-i and data-j inside `root`: one of them is in the tab order, the arrow keys move between them, and
// `point(i, j, how)` is called when one is focused or touched by the pointer.
function rove(root, point) {
  const spot = (i, j) => root.querySelector(`[data-i="${i}"][data-j="${j}"]`);
  const place = (target) => {
    /** @type {HTMLElement | SVGElement | null} */
    const mark = target instanceof Element ? target.closest("[data-i]") : null;
    return mark && root.contains(mark) ? [Number(mark.dataset.i), Number(mark.dataset.j)] : null;
  };
  const enter = (i, j) => {
    for (const mark of root.querySelectorAll('[data-i][tabindex="0"]')) mark.setAttribute("tabindex", "-1");
    const mark = spot(i, j) || root.querySelector("[data-i]");
    if (mark) mark.setAttribute("tabindex", "0");
  };
  const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  root.addEventListener("keydown", (event) => {
    const here = place(event.target);
    if (!here || event.altKey || event.ctrlKey || event.metaKey) return;
    const [i, j] = here;
    let next = null;
    if (steps[event.key]) next = spot(i + steps[event.key][0], j + steps[event.key][1]);
    else if (event.key === "Home" || event.key === "End") {
      const row = [...root.querySelectorAll(`[data-i="${i}"]`)];
      next = row[event.key === "Home" ? 0 : row.length - 1];
    } else return;
    event.preventDefault();
    if (next) next.focus();
  });
  root.addEventListener("focusin", (event) => {
    const here = place(event.target);
    if (!here) return;
    enter(...here);
    point(...here, "focus");
  });
  root.addEventListener("pointerover", (event) => {
    const here = place(event.target);
    if (here) point(...here, "pointer");
  });
  return { enter, spot };
}

// A power of ten with its exponent raised.
const ten_to = (e) => `10${[...String(e)].map((c) => (c === "-" ? "\u207b" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c])).join("")}`;
// At most seven lines of a grid from 10^low to 10^high, as curve_plot takes them.
function decades(low, high) {
  const step = Math.ceil((high - low) / 6);
  return range(Math.floor((high - low) / step) + 1).map((k) => [(k * step) / (high - low), ten_to(low + k * step)]);
}

// Curves over one axis, with a legend; `point(s, j)` is called when mark j of curve s is touched. Places are shares of
// the axes, 0 to 1: a curve is a list of [x, y, words], `ticks` of [x, words], `levels`, the grid, of [y, words].
function curve_plot({ names, size: [width, height, left, base], right = 10, radius = 2.5, point }) {
  const axis = h("g");
  const lines = names.map((_, s) => h("polyline", { class: `ex-line ex-line${s} ex-active` }));
  const marks = h("g");
  const plot = h("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", class: "ex-plot" }, axis, lines, marks);
  const rover = rove(plot, point);
  const px = (x) => (left + 8 + x * (width - left - 8 - right)).toFixed(1);
  const py = (y) => (10 + (1 - y) * (base - 10)).toFixed(1);
  const text = (x, y, words, anchor = "middle") => h("text", { x, y, "text-anchor": anchor }, words);
  return {
    plot,
    legend: h(
      "p",
      { class: "ex-legend" },
      names.map((words, s) =>
        h("span", null, h("span", { class: `ex-swatch ex-line${s}`, "aria-hidden": "true" }), words),
      ),
    ),
    fill({ label, title, ticks, levels, curves, at }) {
      plot.setAttribute("aria-label", label);
      axis.replaceChildren(
        ...levels.flatMap(([y, words]) => [
          h("line", { class: "ex-grid", x1: left, x2: width, y1: py(y), y2: py(y) }),
          text(left - 4, Number(py(y)) + 4, words, "end"),
        ]),
        ...ticks.map(([x, words]) => text(px(x), base + 16, words)),
        text(px(0.5), base + 31, title),
      );
      lines.forEach((line, s) => line.setAttribute("points", curves[s].map(([x, y]) => `${px(x)},${py(y)}`).join(" ")));
      marks.replaceChildren(
        ...curves.flatMap((curve, s) =>
          curve.map(([x, y, words], j) =>
            h("circle", {
              class: `ex-point ex-line${s}`,
              r: radius,
              cx: px(x),
              cy: py(y),
              role: "img",
              tabindex: "-1",
              "data-i": s,
              "data-j": j,
              "aria-label": words,
            }),
          ),
        ),
      );
      rover.enter(...at);
    },
  };
}

// A matrix of cells with row and column headers. `corner` says, to those who listen, what a row is. `fill` draws it,
// and keeps the cells (and the focus) while the shape stays. A cell is {text, words, tone, amount, hidden}: tone "plus"
// or "minus", amount 0 to 1.
function matrix({ name, corner = null, point = null, columns = true, rowHeads = false }) {
  const table = h("div", { class: "ex-matrix", role: "grid" });
  const caption = h("p", { class: "ex-caption" });
  const box = h("div", { class: "ex-panel" }, caption, h("div", { class: "ex-scroll" }, table));
  const rover = rove(table, (i, j, how) => point?.(i, j, how));
  let shape = "";
  let cells = [];
  function build(rows, cols, data) {
    const header =
      columns && cols
        ? [
            h(
              "div",
              { class: "ex-row", role: "row" },
              h("span", { class: "ex-head ex-corner", role: "columnheader" }, h("span", { class: "ex-heard" }, corner)),
              cols.map((word) => h("span", { class: "ex-head ex-col", role: "columnheader" }, h("span", null, word))),
            ),
          ]
        : [];
    cells = data.map((row, i) =>
      row.map((_, j) => h("span", { class: "ex-cell", role: "gridcell", tabindex: "-1", "data-i": i, "data-j": j })),
    );
    table.replaceChildren(
      ...header,
      ...rows.map((word, i) =>
        h(
          "div",
          { class: "ex-row", role: "row" },
          h(
            "span",
            rowHeads
              ? { class: "ex-head", role: "rowheader", tabindex: "-1", "data-i": i, "data-j": -1 }
              : { class: "ex-head", role: "rowheader" },
            word,
          ),
          cells[i],
        ),
      ),
    );
    table.style.setProperty("--cols", data[0].length);
  }
  return {
    box,
    table,
    fill({ title, label = "", rows, cols = null, data }) {
      const key = JSON.stringify([rows, cols, data[0].length]);
      if (key !== shape) build(rows, cols, data);
      const fresh = key !== shape;
      shape = key;
      caption.replaceChildren(...(Array.isArray(title) ? title : [title]));
      table.setAttribute("aria-label", label || caption.textContent);
      table.dataset.matrix = name;
      data.forEach((row, i) =>
        row.forEach((cell, j) => {
          const node = cells[i][j];
          node.textContent = cell.text;
          node.className = `ex-cell${cell.hidden ? " ex-hidden" : ""}${cell.tone ? ` ex-${cell.tone}` : ""}`;
          node.style.setProperty("--a", Math.min(1, Math.abs(cell.amount || 0)).toFixed(3));
          if (cell.words) node.setAttribute("aria-label", cell.words);
          else node.removeAttribute("aria-label");
        }),
      );
      if (fresh) rover.enter(0, 0);
    },
    enter: rover.enter,
    // Outline the cells that a number was made from, and the number itself.
    light(sources, target) {
      for (const mark of table.querySelectorAll(".ex-from, .ex-on")) mark.classList.remove("ex-from", "ex-on");
      for (const [i, j] of sources || []) cells[i]?.[j]?.classList.add("ex-from");
      if (target) rover.spot(...target)?.classList.add("ex-on");
    },
  };
}

// What the hatched cells of a matrix are, below it.
const hatch_key = (words) =>
  h(
    "p",
    { class: "ex-note ex-hatchkey" },
    h("span", { class: "ex-hatch ex-hidden", "aria-hidden": "true" }),
    `hatched: ${words}`,
  );

// Tone and strength of a signed number, full at `most`.
const signed = (x, most) => ({ tone: x < 0 ? "minus" : "plus", amount: most > 0 ? Math.abs(x) / most : 0 });
const largest = (table) => Math.max(...table.flat().map(Math.abs), 1e-9);
