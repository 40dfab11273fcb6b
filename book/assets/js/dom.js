/* Elements: the one module of the book's pages that makes them. */
const dom = (() => {
  "use strict";

  /**
   * Make an element: h("p", { class: "x" }, "text", child). An attribute that is a function listens to the event of its
   * name, `true` is an attribute without a value, and false, null and undefined leave it out; so does null as a child.
   * @template {keyof HTMLElementTagNameMap} T
   * @param {T} tag
   * @param {Record<string, any>} [attributes]
   * @param {...(Node | string | null)} children
   * @returns {HTMLElementTagNameMap[T]}
   */
  function h(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") made.addEventListener(name, value);
      else if (value === true) made.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
    }
    made.append(...children.filter((child) => child !== null));
    return made;
  }

  /** @param {string} selector @param {ParentNode} [root] @returns {HTMLElement} */
  const one = (selector, root = document) => root.querySelector(selector);
  /** @param {string} selector @param {ParentNode} [root] @returns {HTMLElement[]} */
  const all = (selector, root = document) => [
    .../** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll(selector)),
  ];

  const button = (classes, text, click) => h("button", { type: "button", class: classes, click }, text);

  /** A menu; `options` are pairs of a value and its words. */
  const menu = (attributes, options, chosen = "") =>
    h(
      "select",
      attributes,
      ...options.map(([value, words]) => h("option", { value, selected: value === chosen }, words)),
    );

  /** A table; `rows` are lists of texts or elements, the first of each is its head. */
  const table = (caption, heads, rows, attributes = {}) =>
    h(
      "table",
      attributes,
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, ...heads.map((word) => h("th", { scope: "col" }, word)))),
      h(
        "tbody",
        {},
        ...rows.map(([first, ...rest]) =>
          h("tr", {}, h("th", { scope: "row" }, first), ...rest.map((cell) => h("td", {}, cell))),
        ),
      ),
    );

  /**
   * A set of boxes to tick: `options` are pairs of a value and its words, `chosen` lists the values that are ticked, null
   * all. `all`, the word for them, adds two buttons that tick all or none; they cause the event "input" as a box does.
   * @param {{legend: string, name: string, options: [string, string][], chosen?: string[] | null, all?: string,
   *   buttonClass?: string}} given
   */
  function checkboxes({ legend, name, options, chosen = null, all: word = "", buttonClass = "mock-button" }) {
    const set = h("fieldset", { class: "checkboxes" }, h("legend", {}, legend));
    const boxes = options.map(([value]) =>
      h("input", { type: "checkbox", name, value, checked: !chosen || chosen.includes(String(value)) }),
    );
    const tick = (text, spoken, checked) => {
      const made = button(buttonClass, text, () => {
        for (const box of boxes) box.checked = checked;
        set.dispatchEvent(new Event("input", { bubbles: true }));
      });
      made.setAttribute("aria-label", spoken);
      return made;
    };
    if (word) set.append(h("p", {}, tick("All", `All ${word}`, true), tick("None", `None of the ${word}`, false)));
    set.append(...options.map(([, words], place) => h("label", {}, boxes[place], ` ${words}`)));
    return { set, values: () => boxes.filter((box) => box.checked).map((box) => box.value) };
  }

  /** A button that does what it says only when it is pressed again. */
  function confirming(classes, text, sure, action) {
    let asked = false;
    const made = button(classes, text, () => {
      if (asked) return action();
      asked = true;
      made.textContent = sure;
      return undefined;
    });
    return made;
  }

  /** Copy what an element holds into a new one; an id stays with the original. */
  function copied(element, tag, classes) {
    const copy = element.cloneNode(true);
    for (const part of copy.querySelectorAll("[id]")) part.removeAttribute("id");
    return h(tag, { class: classes }, ...copy.childNodes);
  }

  return Object.freeze({ h, one, all, button, menu, table, checkboxes, confirming, copied });
})();
