window.tools = {
  // What a reader sees of a figure, without the control that was moved and without what is only heard.
  seen(root, control) {
    const own = control && control.closest(".ex-field, fieldset, .ex-toggle, .ex-key");
    if (own) own.setAttribute("data-own", "");
    const copy = root.cloneNode(true);
    if (own) own.removeAttribute("data-own");
    copy.querySelectorAll("[data-own], .ex-heard, script, noscript").forEach((node) => node.remove());
    copy.querySelectorAll("*").forEach((node) => [...node.attributes].forEach(({ name }) => {
      if (/^(data-|id$|for$|name$|tabindex$|aria-)/.test(name)) node.removeAttribute(name);
    }));
    return copy.innerHTML;
  },
  put(root, trait, value) {
    const controls = [...root.querySelectorAll(`[data-trait="${trait}"]`)];
    if (!controls.length) throw new Error(`no control for ${trait}`);
    const [first] = controls;
    const control = first.type === "radio" ? controls.find((c) => c.value === value) : first;
    if (first.type === "radio" || first.type === "checkbox") control.checked = first.type === "radio" || value;
    else if (first.tagName === "SELECT") control.selectedIndex = value;
    else if (first.tagName === "BUTTON") return control.click();
    else control.value = value;
    control.dispatchEvent(new Event(["range", "textarea"].includes(first.type) ? "input" : "change", { bubbles: true }));
  },
  cells(root, name) {
    const rows = [...root.querySelectorAll(`[data-matrix="${name}"] .ex-row`)];
    return rows.map((row) => [...row.querySelectorAll(".ex-cell")].map((cell) => cell.textContent))
      .filter((row) => row.length);
  },
  // Let a figure think that the focus came to a cell, without the layout that this costs: a key test moves it truly.
  look(cell) {
    cell.dispatchEvent(new FocusEvent("focusin", { bubbles: true }));
  },
  // All that the comparisons below read.
  snapshot(root) {
    const all = (selector) => [...root.querySelectorAll(selector)];
    const texts = (selector) => all(selector).map((node) => node.textContent);
    const numbers = (selector, name) => all(selector).map((node) => Number(node.getAttribute(name)));
    const tables = all("[data-matrix]").map((table) => table.dataset.matrix);
    const caption = (name) => root.querySelector(`[data-matrix="${name}"]`).closest(".ex-panel").firstChild.textContent;
    return {
      data: { ...root.querySelector(".explorer").dataset },
      cells: Object.fromEntries(tables.map((name) => [name, this.cells(root, name)])),
      captions: Object.fromEntries(tables.map((name) => [name, caption(name)])),
      words: texts(".ex-readout")[0],
      lead: texts(".ex-lead")[0],
      code: texts(".ex-code")[0],
      refused: all(".ex-refusal").some((node) => node.offsetParent !== null),
      measures: all("[data-measure]").map((row) => [row.dataset.measure, row.dataset.values,
        [...row.children].slice(1).map((cell) => cell.textContent)]),
      ticks: texts(".ex-plot > text"),
      marks: numbers(".ex-mark", "cx"),
      bars: numbers(".ex-rect", "height"),
      even: numbers(".ex-uniform", "y1")[0],
      unit: numbers(".ex-unit", "width")[0],
      weights: texts("[data-weight]"),
      average: texts(".ex-average")[0],
    };
  },
  // A snapshot after each list of moves; `table` also gives each of its cells with the arithmetic behind it.
  tour(root, stops) {
    return stops.map(([moves, table]) => {
      moves.forEach(([name, value]) => this.put(root, name, value));
      const worked = table ? [...root.querySelectorAll(`[data-matrix="${table}"] .ex-cell`)].map((cell) => {
        this.look(cell);
        return [cell.textContent, root.querySelector(".ex-digits").textContent];
      }) : [];
      return { ...this.snapshot(root), worked };
    });
  },
  // Move every control to an end, those that appear on the way too.
  stir(root) {
    for (const turn of [1, 2]) {
      const controls = [...root.querySelectorAll("input, select, button")];
      for (const control of controls.filter((c) => c.offsetParent !== null)) {
        if (["radio", "checkbox"].includes(control.type)) control.checked = true;
        else if (control.tagName === "SELECT") control.selectedIndex = control.options.length - 1;
        else if (control.type === "range") control.value = control.max;
        if (control.tagName === "BUTTON") control.click();
        else control.dispatchEvent(new Event(control.type === "range" ? "input" : "change", { bubbles: true }));
      }
    }
  },
  // Milliseconds from an input to the finished layout, for each control: the least of five, since a busy computer
  // only adds to some of them.
  times(root) {
    const shown = [...root.querySelectorAll("input, select, button")].filter((c) => c.offsetParent !== null);
    return shown.map((control) => {
      const once = (turn) => {
        if (control.type === "radio") {
          const other = [...document.getElementsByName(control.name)].find((c) => c !== control);
          other.checked = true;
          other.dispatchEvent(new Event("change", { bubbles: true }));
          control.checked = true;
        }
        else if (control.type === "checkbox") control.checked = !control.checked;
        else if (control.tagName === "SELECT") control.selectedIndex = turn % control.options.length;
        else if (control.type === "range") control.value = turn % 2 ? control.min : control.max;
        const start = performance.now();
        if (control.tagName === "BUTTON") control.click();
        else control.dispatchEvent(new Event(control.type === "range" ? "input" : "change", { bubbles: true }));
        root.getBoundingClientRect();
        return performance.now() - start;
      };
      return [control.dataset.trait, Math.min(...[0, 1, 2, 3, 4].map(once))];
    });
  },
};
