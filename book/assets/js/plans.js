// The study plans: a box to tick beside each step, kept in the store, and what is left. Without it they are plain tables.
(() => {
  "use strict";

  const { h, plural, watch } = window.practice;
  const store = window.practiceStore;
  const SECTION = "plans";
  const slug = (text) => text.toLowerCase().replace(/[^a-z]+/g, "-").replace(/^-|-$/g, "").slice(0, 60);

  const plans = [...document.querySelectorAll("table.study-plan")].map((table, place) => {
    const name = [...table.classList].find((word) => word.startsWith("plan-")) ?? `plan-${place}`;
    const unit = table.querySelector("thead th").textContent.trim();
    const told = h("p", { class: "plan-told", role: "status" });
    const steps = [...table.querySelectorAll("tbody tr")].map((row, index) => {
      const [first, what, ...times] = row.cells;
      const minutes = times.flatMap((cell) => [...cell.textContent.matchAll(/([\d,]+) min/g)])
        .reduce((sum, [, number]) => sum + Number(number.replaceAll(",", "")), 0);
      const words = what.textContent.trim().replace(/\s+/g, " ");
      const box = h("input", { type: "checkbox", id: `${name}-${index}`, change: () => tick(name, key, box.checked),
        "aria-label": `Done: ${unit} ${first.textContent.trim()}, ${words}` });
      const key = slug(words); // by its words, not its numbers: a step that moves keeps its tick
      (first.querySelector("p") ?? first).prepend(box, " ");
      return { key, minutes, box, row };
    });
    (table.closest(".pst-scrollable-table-container") ?? table).before(told);
    return { name, steps, told };
  });

  const kept = (name) => {
    const own = store.read(SECTION)[name];
    return own !== null && typeof own === "object" ? own : {};
  };

  function tick(name, key, done) {
    store.write(SECTION, { ...store.read(SECTION), [name]: { ...kept(name), [key]: { done, at: new Date().toISOString() } } });
    show();
  }

  function show() {
    for (const { name, steps, told } of plans) {
      const own = kept(name);
      for (const { key, box, row } of steps) {
        box.checked = Object.hasOwn(own, key) && own[key]?.done === true;
        row.classList.toggle("plan-done", box.checked);
      }
      const open = steps.filter(({ box }) => !box.checked);
      const minutes = open.reduce((sum, step) => sum + step.minutes, 0);
      told.textContent = `${steps.length - open.length} of ${plural(steps.length, "step")} done, `
        + (open.length ? `about ${minutes.toLocaleString("en")} min left by the estimates of the table.` : "nothing left.");
    }
  }

  watch(show);
  show();
})();
