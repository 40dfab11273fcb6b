// Runs the interactive figures of one page without a kernel. Each .light-widget <div> holds its values as JSON; each
// LightWidgets.define() call, one file a figure class, brings the code. One broken figure never stops another.
(() => {
  "use strict";

  class Model {
    constructor(values) {
      this.values = values;
      this.listeners = [];
    }
    get(name) {
      return this.values[name];
    }
    set(name, value) {
      const changes = typeof name === "object" ? name : { [name]: value };
      const changed = Object.keys(changes).filter((key) => this.values[key] !== changes[key]);
      Object.assign(this.values, changes);
      for (const key of changed) this.emit(`change:${key}`, this, changes[key]);
      if (changed.length) this.emit("change", this);
    }
    emit(event, ...args) {
      for (const [name, action] of [...this.listeners]) if (name === event) action.apply(this, args);
    }
    on(events, action) {
      for (const event of events.split(/\s+/)) this.listeners.push([event, action]);
    }
    off(events, action) {
      const names = events ? events.split(/\s+/) : null;
      this.listeners = this.listeners.filter(
        ([name, other]) => (names && !names.includes(name)) || (action && action !== other),
      );
    }
    save_changes() {} // no kernel: nothing to save to
    send() {}
  }

  const models = new Map();
  const styles = new Set();
  const begun = new WeakSet();

  async function modelOf(div, code) {
    const { values, buffers } = JSON.parse(div.querySelector("script").textContent);
    for (const { path, data } of buffers) {
      const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
      const last = path[path.length - 1];
      path.slice(0, -1).reduce((object, key) => object[key], values)[last] = new DataView(bytes.buffer);
    }
    const model = new Model(values);
    if (code.initialize) await code.initialize({ model, signal: new AbortController().signal });
    return model;
  }

  function fail(div, error) {
    console.error(`Figure ${div.dataset.widget}:`, error);
    div.dataset.ready = "failed";
    for (const child of [...div.children]) if (!child.matches("script, noscript")) child.remove();
    const words =
      "This figure could not be drawn. The text around it does not depend on it; reloading the page may help.";
    const note = Object.assign(document.createElement("p"), { className: "light-widget-failed", textContent: words });
    note.setAttribute("role", "alert");
    div.append(note);
  }

  async function draw(div, code) {
    try {
      const id = div.dataset.model; // two views of one model move together
      if (!models.has(id)) models.set(id, modelOf(div, code));
      await code.render({ model: await models.get(id), el: div, signal: new AbortController().signal });
      div.dataset.ready = "yes";
    } catch (error) {
      fail(div, error);
    }
  }

  // A finger that scrolls the page over a slider moves it at once; when the scroll takes over, it goes back.
  let touched = { slider: null, value: "" };
  addEventListener("pointerdown", ({ target }) => {
    if (target instanceof HTMLInputElement && target.type === "range")
      touched = { slider: target, value: target.value };
  });
  addEventListener("pointercancel", ({ target }) => {
    const { slider, value } = touched;
    if (!slider || slider !== target || slider.value === value) return;
    slider.value = value;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
  });

  /** @type {any} */ (window).LightWidgets = {
    async define(key, css, factory) {
      if (css && !styles.has(css)) {
        styles.add(css);
        document.head.append(Object.assign(document.createElement("style"), { textContent: css }));
      }
      const places = [...document.querySelectorAll(`.light-widget[data-widget="${key}"]`)];
      for (const div of places) begun.add(div);
      try {
        let code = factory();
        if (typeof code === "function") code = await code();
        for (const div of places) await draw(div, code);
      } catch (error) {
        for (const div of places) fail(div, error);
      }
    },
  };

  // A script that did not load or did not parse never calls define().
  window.addEventListener("load", () => {
    for (const div of document.querySelectorAll(".light-widget")) {
      if (!begun.has(div)) fail(div, "its script did not run");
    }
  });
})();
