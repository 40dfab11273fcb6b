// PathExplorer: a shortest path from an input to the last position, by breadth-first search.

function render({ model, el }) {
  const view = open_view(model, el);
  const kinds = model.get("kinds");
  const lists = model.get("lists");
  const names = {
    "self-attention": "self-attention",
    recurrent: "recurrent",
    convolution: "convolution",
    dilated: "dilated convolution",
    window: "window attention",
  };
  let at = [kinds.indexOf(model.get("kind")), 0];

  const grouped = (x) => String(x).replace(/\B(?=(\d{3})+$)/g, ",");

  // The nodes that read (layer, p), the farthest first.
  function readers(kind, layer, p, n, size) {
    if (kind === "recurrent") return [[1, layer === 0 ? p : p + 1]];
    const step = kind === "dilated" ? size ** layer : 1;
    const far = kind === "self-attention" ? n - 1 - p : (size - 1) * step;
    const found = [];
    for (let by = far; by >= 0; by -= step) if (p + by < n) found.push([layer + 1, p + by]);
    return found;
  }

  function way(kind, n, size, start) {
    const before = new Map([[`0 ${start}`, null]]);
    let front = [[0, start]];
    while (front.length) {
      const next = [];
      for (const node of front) {
        for (const reached of readers(kind, ...node, n, size)) {
          const key = reached.join(" ");
          if (before.has(key)) continue;
          before.set(key, node);
          if (reached[1] === n - 1) {
            const nodes = [];
            for (let step = reached; step; step = before.get(step.join(" "))) nodes.unshift(step);
            return nodes;
          }
          next.push(reached);
        }
      }
      front = next;
    }
    return [];
  }

  // FLOPs of one layer, made of whole numbers.
  function flops(kind, n, size, d) {
    if (kind === "self-attention")
      return [8 * n * d * d + 4 * n * n * d, `8 × ${n} × ${d} × ${d} + 4 × ${n} × ${n} × ${d}`];
    if (kind === "recurrent") return [4 * n * d * d, `4 × ${n} × ${d} × ${d}`];
    if (kind !== "window") return [2 * size * n * d * d, `2 × ${size} × ${n} × ${d} × ${d}`];
    const seen = Math.min(size, n);
    const pairs = n * seen - (seen * (seen - 1)) / 2;
    return [8 * n * d * d + 4 * pairs * d, `8 × ${n} × ${d} × ${d} + 4 × ${pairs} × ${d}`];
  }

  function now() {
    const [n, size, d] = ["n", "size", "d"].map(view.get);
    const start = Math.min(view.get("start"), n - 1);
    const rows = kinds.map((kind) => {
      const nodes = way(kind, n, size, start);
      const [count, made] = flops(kind, n, size, d);
      return { kind, nodes, count, made, sequential: kind === "recurrent" ? n : 1 };
    });
    return { n, size, d, start, rows };
  }

  const table = matrix({
    name: "layers",
    corner: "layer",
    point: (i, j) => {
      at = [i, j];
      explain();
    },
  });
  const place = h("div", { class: "ex-way" });

  // A table on a phone has no room for twelve digits; the readout has them all.
  const brief = (x) => {
    const power = Math.min(4, Math.floor(Math.log10(Math.max(1, x)) / 3));
    return power ? `${(x / 1000 ** power).toPrecision(3)} ${["", "k", "M", "G", "T"][power]}` : String(x);
  };

  const steps = (row) => {
    const length = row.nodes.length - 1;
    const unit = row.kind === "recurrent" ? "step" : "layer";
    return `${length} ${unit}${length === 1 ? "" : "s"}`;
  };

  function explain() {
    const { rows, start, n } = now();
    const row = rows[at[0]];
    const shown = rows.find(({ kind }) => kind === view.get("kind"));
    table.light([], at);
    const digits =
      at[1] === 2
        ? `${row.made} = ${grouped(row.count)}`
        : at[1] === 1
          ? `${grouped(row.sequential)} in a row`
          : row.nodes.map(([, p]) => p).join(" → ");
    const about = ["path", "operations that wait for one another", "FLOPs of one layer"][at[1]];
    view.say(
      h("span", { class: "ex-words" }, `${names[shown.kind]}: from position ${start} to ${n - 1} in ${steps(shown)}. `),
      `${names[row.kind]}, ${about}: `,
      h("span", { class: "ex-digits" }, digits),
    );
  }

  function picture({ n, rows }) {
    const { nodes, kind } = rows.find((row) => row.kind === view.get("kind"));
    const top = Math.max(...nodes.map(([layer]) => layer));
    const shown = Math.min(top, 8); // more layers than that are drawn closer together
    const [wide, high] = [360, 30 + 26 * shown];
    const x = (p) => 10 + ((wide - 20) * p) / Math.max(1, n - 1);
    const y = (layer) => high - 12 - ((high - 24) * layer) / Math.max(1, top);
    const on = new Set(nodes.map((node) => node.join(" ")));
    const dots = range(top + 1).flatMap((layer) =>
      range(n).map((p) =>
        h("circle", {
          class: on.has(`${layer} ${p}`) ? "ex-mark ex-best" : "ex-mark",
          cx: x(p).toFixed(1),
          cy: y(layer).toFixed(1),
          r: on.has(`${layer} ${p}`) ? 4.5 : top > 16 ? 1.4 : 2.6,
        }),
      ),
    );
    const lines = nodes.slice(1).map(([layer, p], i) =>
      h("line", {
        class: "ex-line ex-active ex-line0",
        x1: x(nodes[i][1]).toFixed(1),
        y1: y(nodes[i][0]).toFixed(1),
        x2: x(p).toFixed(1),
        y2: y(layer).toFixed(1),
      }),
    );
    place.replaceChildren(
      h(
        "svg",
        {
          class: "ex-plot ex-ways",
          viewBox: `0 0 ${wide} ${high}`,
          role: "img",
          "aria-label": `${names[kind]}: layers from bottom to top, positions from left to right`,
        },
        dots,
        lines,
      ),
    );
  }

  function draw() {
    const state = now();
    const first = from.querySelector("input");
    first.max = state.n - 1;
    first.value = state.start;
    picture(state);
    const most = Math.max(...state.rows.map(({ count }) => count));
    table.fill({
      title: "the length of the path, and one layer's costs",
      label: "five kinds of layer",
      rows: state.rows.map(({ kind }) => names[kind]),
      cols: ["path", "sequential", "FLOPs"],
      data: state.rows.map((row) => [
        {
          text: String(row.nodes.length - 1),
          words: `${names[row.kind]}: ${steps(row)}`,
          tone: "plus",
          amount: (0.6 * (row.nodes.length - 1)) / state.n,
        },
        { text: grouped(row.sequential), tone: "plus", amount: (0.6 * row.sequential) / state.n },
        {
          text: brief(row.count),
          words: `${names[row.kind]}: ${grouped(row.count)} FLOPs`,
          tone: "plus",
          amount: (0.6 * row.count) / most,
        },
      ]),
    });
    table.enter(...at);
    explain();
  }

  const pick = (name, label) =>
    slider(view, {
      name,
      label,
      min: 0,
      max: lists[name].length - 1,
      at: (v) => lists[name].indexOf(v),
      value: (k) => lists[name][k],
      text: grouped,
    });
  const from = slider(view, {
    name: "start",
    label: "from position",
    min: 0,
    max: model.get("n") - 1,
    text: (v) => String(Math.min(v, view.get("n") - 1)),
  });
  view.watch("kind", () => {
    at = [kinds.indexOf(view.get("kind")), at[1]];
    draw();
  });
  view.watch("n size start d", draw);
  view.show(
    controls(
      menu(view, { name: "kind", label: "layer that is drawn", options: kinds.map((kind) => [kind, names[kind]]) }),
      pick("n", "positions"),
      pick("size", "width of kernel or window"),
      from,
      pick("d", "width of the vectors"),
    ),
    place,
    table.box,
  );
  draw();
  return view.done;
}

export default { render };
