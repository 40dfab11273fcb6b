// CostCalculator: parameters, FLOPs, memory and cache of a decoder-only model.

function render({ model, el }) {
  const view = open_view(model, el);
  const lists = model.get("lists");
  const bytesOf = { float32: 4, float16: 2, int8: 1 };
  // What a row counts; rows of one kind are shaded on one scale, and rows of none not at all.
  const KINDS = ["", "FLOPs", "FLOPs", "percent", "FLOPs", "bytes", "bytes", "bytes", "bytes", ""];
  let at = 0;

  const grouped = (x) => String(x).replace(/\B(?=(\d{3})+$)/g, ",");
  const scaled = (x, base, names) => {
    const power = Math.min(names.length - 1, Math.max(0, Math.floor(Math.log(x) / Math.log(base))));
    return `${Number((x / base ** power).toPrecision(3))} ${names[power]}`.trim();
  };
  const brief = (x) => scaled(Number(x), 1000, ["", "k", "M", "G", "T", "P", "E"]);
  const bytes = (x) => scaled(Number(x), 1000, ["B", "kB", "MB", "GB", "TB", "PB"]);

  // Whole numbers of any length: the largest counts here lie beyond what a float holds exactly.
  function costs() {
    const [d, layers, width, group, vocab, t, batch] = [
      "d_model",
      "n_layers",
      "head_width",
      "group",
      "vocab",
      "t",
      "batch",
    ].map((name) => BigInt(view.get(name)));
    const [size, gated] = [BigInt(bytesOf[view.get("dtype")]), view.get("gated")];
    const heads = d / width;
    const shared = heads / (group < heads ? group : heads);
    const kv = shared * width;
    const ff = gated ? BigInt(Math.round((8 * Number(d)) / 3)) : 4n * d;
    const mats = gated ? 3n : 2n;
    const layer = 2n * d * d + 2n * d * kv + mats * d * ff;
    const parameters = vocab * d + layers * (layer + 2n * d) + d;
    const linear = (n) => 2n * batch * n * (layers * layer + vocab * d);
    const pairs = 4n * batch * t * t * d * layers;
    const token = linear(1n) + 4n * batch * (t + 1n) * d * layers;
    const weights = parameters * size;
    const cache = 2n * layers * kv * batch * t * size;
    const words = [`${heads} query and ${shared} key-value heads, `, math("d_ff"), ` = ${grouped(ff)}`];
    const share = (100 * Number(pairs)) / Number(linear(t) + pairs);
    /** @type {[string, number | bigint, (x: any) => string, string, string][]} */
    const rows = [
      [
        "parameters",
        parameters,
        brief,
        `${vocab} × ${d} + ${layers} × (${layer} + 2 × ${d}) + ${d}`,
        "embeddings, layers, norms",
      ],
      [
        "FLOPs, one forward pass",
        linear(t) + pairs,
        brief,
        `2 × ${batch} × ${t} × (${layers} × ${layer} + ${vocab} × ${d}) + ${pairs}`,
        "",
      ],
      [
        "of these, attention pairs",
        pairs,
        brief,
        `4 × ${batch} × ${t} × ${t} × ${d} × ${layers}`,
        `${num(share, 1)}% of the pass`,
      ],
      [
        "share of attention pairs",
        share,
        (x) => `${num(x, 1)}%`,
        `100 × ${pairs} / ${linear(t) + pairs}`,
        "in per cent of the pass",
      ],
      [
        "FLOPs, one more token",
        token,
        brief,
        `2 × ${batch} × (${layers} × ${layer} + ${vocab} × ${d}) + 4 × ${batch} × ${t + 1n} × ${d} × ${layers}`,
        "",
      ],
      ["weights", weights, bytes, `${parameters} × ${size}`, ""],
      [
        "Adam training, 16 B/parameter",
        16n * parameters,
        bytes,
        `16 × ${parameters}`,
        "weights, gradients and Adam's two moments, in float32 or in mixed precision; without activations",
      ],
      [
        "attention weights of a layer",
        batch * heads * t * t * size,
        bytes,
        `${batch} × ${heads} × ${t} × ${t} × ${size}`,
        "sequences × heads × queries × keys × bytes, if they are written out",
      ],
      [
        "KV cache",
        cache,
        bytes,
        `2 × ${layers} × ${kv} × ${batch} × ${t} × ${size}`,
        `keys and values × layers × width of the key-value heads × sequences × tokens × bytes: ${
          cache > weights ? "more" : "not more"
        } than the weights`,
      ],
      [
        "FLOPs per byte, one more token",
        Number(token) / Number(weights + cache),
        (x) => num(x, 2),
        `${token} / ${weights + cache}`,
        "reads weights and cache once",
      ],
    ];
    return { rows, words };
  }

  const exactly = (value) => (typeof value === "bigint" ? grouped(value) : num(value, 4));

  const table = matrix({
    name: "costs",
    columns: false,
    point: (i) => {
      at = i;
      explain();
    },
  });
  const lead = h("p", { class: "ex-lead" });

  function explain() {
    const [name, value, , made, note] = costs().rows[at];
    table.light([], [at, 0]);
    view.say(
      h("span", { class: "ex-words" }, `${name}: `),
      h("span", { class: "ex-digits" }, `${made.replace(/\d+/g, grouped)} = ${exactly(value)}`),
      note ? ` (${note})` : "",
    );
  }

  function draw() {
    const { rows, words } = costs();
    lead.replaceChildren(...words);
    const kept = sharing.querySelector(".ex-value");
    kept.textContent = kvHeads();
    const shares = sharing.querySelector("input");
    shares.setAttribute("aria-valuetext", kept.textContent);
    // Stops that would share alike are left out: of 12 heads, groups of 8 and of 16 would both make one.
    shares.max = new Set(lists.group.map(kvHeads)).size - 1;
    shares.value = lists.group.indexOf(view.get("group"));
    const most = Object.fromEntries(
      ["FLOPs", "bytes"].map((unit) => [unit, Math.max(...KINDS.map((u, i) => (u === unit ? Number(rows[i][1]) : 0)))]),
    );
    most.percent = 100;
    table.fill({
      title: "1 multiply and 1 add are 2 FLOPs; 1 GB is 10⁹ bytes",
      label: "costs of the model",
      rows: rows.map(([name]) => name),
      data: rows.map(([name, value, write], i) => [
        {
          text: write(value),
          words: `${name}: ${exactly(value)}`,
          tone: KINDS[i] === "bytes" ? "minus" : "plus",
          amount: KINDS[i] ? (0.6 * Number(value)) / most[KINDS[i]] : 0,
        },
      ]),
    });
    table.enter(at, 0);
    explain();
  }

  const size = (name, label, text = grouped) =>
    slider(view, {
      name,
      label,
      min: 0,
      max: lists[name].length - 1,
      at: (v) => lists[name].indexOf(v),
      value: (k) => lists[name][k],
      text,
    });
  /** How many heads have keys and values of their own: it depends on three controls. */
  function kvHeads(group = view.get("group")) {
    const heads = view.get("d_model") / view.get("head_width");
    return `${Math.floor(heads / Math.min(group, heads))} of ${heads}`;
  }
  const sharing = size("group", "KV heads", kvHeads);
  const take = (sizes) => Object.entries(sizes).forEach(([name, value]) => view.set(name, value));
  const published = h(
    "p",
    { class: "ex-published" },
    "Sizes of ",
    view.get("published").map(([name, sizes]) => h("button", { type: "button", onclick: () => take(sizes) }, name)),
  );
  view.watch("d_model n_layers head_width group vocab t batch dtype gated", draw);
  // The table comes first, and on a phone it stays while the controls below it are moved.
  view.show(
    h(
      "div",
      { class: "ex-costs" },
      table.box,
      controls(
        published,
        size("d_model", math("width d_model").childNodes),
        size("n_layers", "layers"),
        size("head_width", "width of a head"),
        sharing,
        size("vocab", "vocabulary"),
        size("t", "tokens"),
        size("batch", "batch size"),
        choice(view, { name: "dtype", label: "each number", options: lists.dtype.map((x) => [x, x]) }),
        toggle(view, { name: "gated", label: "gated network (SwiGLU)" }),
      ),
    ),
    lead,
  );
  draw();
  return view.done;
}

export default { render };
