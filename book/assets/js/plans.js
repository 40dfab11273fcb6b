// The study plans: a box to tick beside each step, kept in the store, and what is left. Without it they are plain tables.
(() => {
  "use strict";

  const { h } = dom;
  const SECTION = "plans";
  /** A step is known by the first place that it leads to: one that moves or is reworded keeps its tick. */
  const keyOf = ({ hash, pathname }) => hash.slice(1) || pathname.replace(/^.*?([^/]+\/[^/]+)\.html$/, "$1");

  const plans = dom.all("table.study-plan").map((table, place) => {
    const name = [...table.classList].find((word) => word.startsWith("plan-")) ?? `plan-${place}`;
    const unit = table.querySelector("thead th").textContent.trim();
    const status = h("p", { class: "plan-told", role: "status" });
    const steps = dom.all("tbody tr", table).map((row, index) => {
      const [first, what, ...times] = row.children;
      const minutes = times
        .flatMap((cell) => [...cell.textContent.matchAll(/([\d,]+) min/g)])
        .reduce((sum, [, number]) => sum + Number(number.replaceAll(",", "")), 0);
      const words = what.textContent.trim().replace(/\s+/g, " ");
      const box = h("input", {
        type: "checkbox",
        id: `${name}-${index}`,
        change: () => tick(name, key, box.checked),
        "aria-label": `Done: ${unit} ${first.textContent.trim()}, ${words}`,
      });
      const key = keyOf(what.querySelector("a"));
      (first.querySelector("p") ?? first).prepend(box, " ");
      return { key, minutes, box, row };
    });
    (table.closest(".pst-scrollable-table-container") ?? table).before(status);
    return { name, steps, status };
  });

  const load = (name) => util.entries(store.read(SECTION)[name], () => true);

  function tick(name, key, done) {
    const own = load(name).set(key, { done, at: util.now() });
    store.write(SECTION, { ...store.read(SECTION), [name]: Object.fromEntries(own) });
    show();
  }

  function show() {
    for (const { name, steps, status } of plans) {
      const own = load(name);
      for (const { key, box, row } of steps) {
        box.checked = own.get(key)?.done === true;
        row.classList.toggle("plan-done", box.checked);
      }
      const open = steps.filter(({ box }) => !box.checked);
      const minutes = open.reduce((sum, step) => sum + step.minutes, 0);
      status.textContent =
        `${steps.length - open.length} of ${util.plural(steps.length, "step")} done, ` +
        (open.length
          ? `about ${minutes.toLocaleString("en")} min left by the estimates of the table.`
          : "nothing left.");
    }
  }

  practice.watch(show);
  show();
})();
