import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { runInThisContext } from "node:vm";
import { load } from "./load.js";

runInThisContext(readFileSync(new URL("../../book/assets/js/vendor/minisearch.js", import.meta.url), "utf8"));
const { searchEngine } = load(["search-engine"]);

const LONG = "Nothing to see here, only words that fill the line. ".repeat(5);
/** The places as the build writes them: columns, and each word of the rests with the distances between its places. */
function packed(given) {
  const names = ["kind", "page", "anchor", "title", "terms", "text", "asks"];
  const rows = given.map((row) => [...row.slice(0, 6), row[7] ?? [], row[6]]);
  const columns = Object.fromEntries(names.map((name, place) => [name, rows.map((row) => row[place])]));
  const words = [...new Set(rows.flatMap((row) => row[7].split(" ").filter(Boolean)))].sort();
  const sign = (step) =>
    String.fromCharCode(...(step < 60 ? [step + 35] : [95 + Math.floor((step - 60) / 92), 35 + ((step - 60) % 92)]));
  const added = (word, i) => {
    let same = 0;
    while (i && words[i - 1][same] && words[i - 1][same] === word[same]) same += 1;
    return String.fromCharCode(65 + same) + word.slice(same);
  };
  const steps = (word) => {
    const ids = rows.flatMap((row, id) => (row[7].split(" ").includes(word) ? [id] : []));
    return ids.map((id, i) => sign(id - (ids[i - 1] ?? 0))).join("");
  };
  return { columns, words: words.map(added).join(""), where: words.map(steps).join(" ") };
}
const without = (kinds) => {
  const rows = data.columns.kind.map((_, id) => {
    const values = Object.values(data.columns).map((column) => column[id]);
    return [...values.slice(0, 6), "", values[6]];
  });
  return { ...data, ...packed(rows.filter(([kind]) => !kinds.includes(data.kinds[kind]))) };
};
const data = {
  kinds: ["page", "section", "term", "exercise", "source", "question", "reference"],
  pages: [
    ["book/masks.html", "Masks", "Attention"],
    ["book/glossary.html", "Glossary", ""],
    ["book/exercises.html", "Exercises", "Attention"],
    ["source/masks.html", "companion/masks.py", ""],
    ["book/references.html", "References", ""],
  ],
  terms: [
    "look-ahead mask",
    "process reward model",
    "Bradley-Terry, preference loss, comparisons",
    "RoPE, rotary embedding",
    "DPO, no reward model",
  ],
  ...packed([
    [0, 0, "", "Masks", [], "What a query may look at, before it divides by √d_k.", ""],
    [1, 0, "causal", "The causal mask", [0], `${LONG}A token sees what comes before it.`, "triangle"],
    [1, 0, "warm", "Why a warm-up", [], "LayerNorm and repeat_interleave in one section.", ""],
    [2, 1, "term-softmax", "softmax", [], "A function that makes weights of scores.", ""],
    [2, 1, "term-zero", "ZeRO", [], "Shards the optimizer.", ""],
    [2, 1, "term-zero-shot", "zero-shot", [], "Without examples.", ""],
    [3, 2, "exr-causal", "Build a mask", [0], "Causal, for a sequence.", ""],
    [2, 1, "term-process", "process reward", [1], "A reward model for steps.", ""],
    [2, 1, "term-reward", "reward model", [2], `${LONG}It scores.`, ""],
    [1, 0, "turn", "Turn pairs by their position", [3], "A rotary position is an angle.", ""],
    [
      ...[5, 2, "q-loss", "Derive the loss of preferences", [4], "From the policy alone.", ""],
      ["Does a triangle of wins cost more than a list?", "Which temperature does the loss have?"],
    ],
    [1, 0, "short", "In short", [], "A causal mask hides what comes later.", ""],
    [4, 3, "line-3", "causal_mask", [], "", ""],
    [4, 3, "line-9", "mask", [], "", ""],
    [4, 3, "line-20", "KeepTopMask", [], "", ""],
    [4, 3, "module", "companion.masks", [], "Which tokens a query sees.", ""],
    [1, 0, "many", "Long rows", [], "A row of 32,768 tokens.", ""],
    [1, 0, "all", "Right k times: pass^k", [], "All of k samples pass.", ""],
    [1, 0, "any", "Right once: pass@k", [], "One of k samples passes.", ""],
    [2, 1, "term-see", "merge, shard", [], "See zero.", ""],
    [1, 0, "merge", "Models that merge", [], "Two sets of weights give one.", ""],
    [2, 1, "term-router", "router of tokens, gatekeeper", [], `${LONG}It chooses.`, ""],
    [1, 0, "keeper", "Gatekeeper", [], "", ""],
    [1, 0, "guard", "A gatekeeper of a gatekeeper", [], "The gatekeeper is a gatekeeper.", ""],
    [1, 0, "spelt", "Licence of a tokeniser", [], "What regularising a neighbour's labelled behaviour analyses.", ""],
    [1, 0, "work", "How scores work", [], "Softmax: the softmax of a softmax.", ""],
    [6, 4, "id7", "Masks Are All a Decoder Needs", [0], "Newman, Press, de Jong, 2017", ""],
    [6, 4, "id8", "Attend to Less: Sparse Rows of a Mask", [], "Press, Newman, et al., 2021a", ""],
  ]),
};
const engine = searchEngine.make(data, globalThis.MiniSearch);
const anchors = (query) => engine.search(query).results.map(({ address }) => address.split("#")[1] ?? "");
const plain = (parts) => parts.map(({ text, hit }) => (hit ? `[${text}]` : text)).join("");

test("a title counts more than a text", () => {
  assert.equal(anchors("causal mask")[0], "causal");
  assert.ok(anchors("causal mask").includes("short"));
});

test("a sign between letters makes one word of them", () => {
  assert.equal(anchors("pass@k")[0], "any");
});

test("another name finds a place, and is shown", () => {
  const [first] = engine.search("look-ahead").results;
  assert.equal(first.title, "The causal mask");
  assert.equal(plain(first.names), "[look-ahead] mask");
  assert.deepEqual(engine.search("causal mask").results[0].where, ["Attention", "Masks"]);
});

test("the words of a term lead to its questions and exercises", () => {
  assert.ok(anchors("look-ahead").includes("exr-causal"));
  for (const query of ["dpo reward model", "why does DPO need no reward model?"])
    assert.ok(anchors(query).slice(0, 3).includes("q-loss"), query);
});

test("RoPE and rotary are one word", () => {
  assert.equal(anchors("rope")[0], "turn");
  assert.deepEqual(anchors("rotary"), anchors("rope"));
});

test("a place of this very name comes before one whose other names have its words", () => {
  for (const query of ["reward model", "What is a reward model?"])
    assert.deepEqual(anchors(query).slice(0, 2), ["term-reward", "term-process"], query);
});

test("forms of a word are one word", () => {
  for (const query of ["warmup", "warm-up", "warm up"]) assert.equal(anchors(query)[0], "warm", query);
  for (const query of ["layernorm", "layer norm", "repeat interleave"])
    assert.deepEqual(anchors(query), ["warm"], query);
  for (const query of ["sqrt dk", "root d_k", "dividing"]) assert.equal(anchors(query)[0], "", query);
  assert.equal(anchors("zero")[0], "term-zero", "the whole title is better than a part of one");
});

test("American and British spelling are one word", () => {
  for (const query of [
    "license",
    "licensed",
    "licenses",
    "tokenizer",
    "tokeniz",
    "regularize",
    "regularized",
    "regulariz",
  ])
    assert.equal(anchors(query)[0], "spelt", query);
  for (const query of ["neighbor", "behavior", "labeled", "analyzing"])
    assert.deepEqual(anchors(query), ["spelt"], query);
  assert.deepEqual(engine.search("license").instead, [], "it is no error");
  assert.equal(anchors("optimisers")[0], "term-zero");
});

test("one typing error is forgiven, of each sort, and said", () => {
  for (const typed of ["softmx", "sotfmax", "softmaxx", "siftmax"]) {
    const { results, instead } = engine.search(typed);
    assert.equal(results[0]?.title, "softmax", typed);
    assert.deepEqual(instead, [[typed, "softmax"]]);
  }
  assert.deepEqual(engine.search("sftmx").missing, ["sftmx"], "two are not");
  assert.deepEqual(engine.search("softm").instead, [], "the beginning of a word is no error");
});

test("distance counts exchanged neighbours once", () => {
  const pairs = [
    ["mask", "mask", 0],
    ["mask", "maks", 1],
    ["mask", "ask", 1],
    ["mask", "task", 1],
    ["mask", "tasks", 2],
    ["", "ab", 2],
  ];
  for (const [one, other, far] of pairs) assert.equal(searchEngine.distance(one, other), far, `${one} ${other}`);
});

test("what is asked for may be a kind of place", () => {
  assert.ok(anchors("implement a causal mask").indexOf("exr-causal") < 3);
  assert.equal(anchors("exercise causal mask")[0], "exr-causal", "who names the kind gets it first");
  assert.equal(anchors("causal mask")[0], "causal");
});

test("a name of code that stands nowhere is said to be missing, though its parts are found", () => {
  const { results, missing } = engine.search("query_token");
  assert.deepEqual(missing, ["query_token"]);
  assert.ok(results.length > 0);
  assert.deepEqual(engine.search("repeat_interleave").missing, []);
  assert.deepEqual(engine.search("causal_mask").missing, []);
});

test("the source comes last, unless it is asked for or its very name is typed", () => {
  assert.deepEqual(anchors("mask").slice(-6, -2).sort(), ["line-20", "line-3", "line-9", "module"]);
  assert.ok(anchors("causal mask").indexOf("line-3") > 3);
  assert.ok(anchors("causal_mask").indexOf("line-3") < 2);
  assert.ok(anchors("causal mask source").indexOf("line-3") < 2);
  assert.deepEqual(anchors("keeptopmask"), ["line-20"]);
  assert.deepEqual(engine.search("keeptopmask").missing, []);
  assert.deepEqual(engine.search("causal mask source").results[1].where, ["companion/masks.py"]);
});

test("a module is found by what it is, and a dotted name asks for the source", () => {
  assert.ok(anchors("tokens a query sees source").indexOf("module") < 2);
  assert.ok(anchors("masks.causal_mask").indexOf("line-3") < 2);
});

test("a number is found without its commas, and never corrected", () => {
  assert.deepEqual(anchors("32768"), ["many"]);
  assert.deepEqual(anchors("32,768"), ["many"]);
  assert.deepEqual(engine.search("32769 tokens").instead, []);
});

test("what source and references hold changes no rank of the book", () => {
  const apart = ["source", "reference"];
  const alone = searchEngine.make(without(apart), globalThis.MiniSearch);
  for (const query of ["mask", "causal mask", "reward model", "softmx"]) {
    const found = engine.search(query).results.filter(({ kind }) => !apart.includes(kind));
    const scores = (results) => results.map(({ title, score }) => [title, score]);
    assert.deepEqual(scores(found), scores(alone.search(query).results), query);
  }
});

test("a reference is found by authors, year and title, and comes last for who asks for none", () => {
  for (const query of [
    "Newman 2017",
    "newman 2017",
    "de Jong",
    "masks decoder paper",
    "look-ahead mask paper",
    "newman et al",
  ])
    assert.equal(anchors(query)[0], "id7", query);
  assert.deepEqual(anchors("Press").slice(0, 2), ["id8", "id7"], "the first author first");
  assert.equal(anchors("press").length, 2, "a word that the book has not is a name");
  assert.deepEqual(anchors("sparse Newman"), ["id8"]);
  assert.ok(anchors("masks are all a decoder needs").indexOf("id7") < 2);
  assert.ok(anchors("causal mask Newman").length > 0);
  assert.deepEqual(anchors("mask").slice(-2).sort(), ["id7", "id8"]);
  assert.deepEqual(engine.search("newman").missing, []);
  assert.deepEqual(engine.search("Press 2021").results[0].where, ["References"]);
});

test("an entry that only leads to another comes after what tells something", () => {
  assert.deepEqual(anchors("merge"), ["merge", "term-see"]);
});

test("little words alone are looked for, and with others left out", () => {
  assert.deepEqual(anchors("what is softmax"), anchors("softmax"));
  assert.deepEqual(engine.search("").results, []);
  assert.deepEqual(engine.search("   ?").results, []);
});

test("places may be limited to kinds, and are all there for who asks for all", () => {
  const { count, counts, results } = engine.search("mask");
  assert.equal(results.length, count);
  assert.equal(
    Object.values(counts).reduce((sum, number) => sum + number, 0),
    count,
  );
  const terms = engine.search("mask", { kinds: ["term", "exercise"] });
  assert.deepEqual(
    terms.results.map(({ title }) => title),
    results.filter(({ kind }) => ["term", "exercise"].includes(kind)).map(({ title }) => title),
  );
  assert.equal(terms.count, terms.results.length);
  assert.deepEqual(terms.counts, counts, "which tell of all kinds");
  assert.deepEqual(engine.search("mask", { most: 2 }).results.length, 2);
  assert.equal(engine.search("mask", { most: 2 }).count, count);
});

test("a name is met whatever its hyphens, one of several names of a term, and among words that say little", () => {
  assert.equal(anchors("look ahead mask")[0], "causal");
  assert.ok(anchors("gatekeeper").indexOf("term-router") < anchors("gatekeeper").indexOf("guard"), "a second name");
  const scores = engine.search("how does the softmax work?").results.map(({ score }) => score);
  assert.equal(anchors("how does the softmax work?")[0], "term-softmax");
  assert.ok(scores[0] > 1.7 * scores[1], "by far");
  assert.equal(anchors("everything about RoPE")[0], "turn");
  assert.equal(anchors("all on softmax")[0], "term-softmax");
});

test("a follow-up leads to its question, and is shown in place of the answer", () => {
  const [first] = engine.search("list or triangle of wins").results;
  assert.equal(first.address.split("#")[1], "q-loss");
  assert.equal(plain(first.text), "Follow-up: Does a [triangle] of [wins] cost more than a [list]?");
  assert.equal(plain(first.heading), "Derive the loss of preferences");
  assert.equal(anchors("preference temperature")[0], "q-loss", "beside the words of the question");
  assert.equal(plain(engine.search("derive the loss").results[0].text), "From the policy alone.");
  assert.equal(engine.search("expensive wins").results[0].address.split("#")[1], "q-loss", "what costs is expensive");
  const addresses = engine.search("loss").results.map(({ address }) => address);
  assert.equal(new Set(addresses).size, addresses.length, "a question is there once");
});

test("a form of a word comes before others", () => {
  const rows = ["Batch size", "Batching requests"].map((title, i) => [1, 0, `p${i}`, title, [], "Of rows.", ""]);
  const small = searchEngine.make({ ...data, ...packed(rows) }, globalThis.MiniSearch);
  const first = (query) => small.search(query).results[0].title;
  assert.deepEqual([first("batching rows"), first("batch rows")], ["Batching requests", "Batch size"]);
});

test("a formula is only put first if it has most of what is asked for", () => {
  const rows = [
    [0, 0, "f1", "Memory of weights", [], "A formula of bytes.", ""],
    [1, 0, "s1", "Memory of activations", [], "What is kept.", ""],
  ];
  const kinds = ["formula", "section"];
  const small = searchEngine.make({ ...data, ...packed(rows), kinds }, globalThis.MiniSearch);
  const first = (query) => small.search(query).results[0].title;
  assert.equal(first("activation memory formula"), "Memory of activations");
  assert.equal(first("memory formula"), "Memory of weights");
});

test("words, distances and anchors are read as they were packed", () => {
  const rows = Array.from({ length: 90 }, (_, i) => [1, 0, i === 7 ? 1 : `p${i}`, `Zoë’s part ${i}`, [], "Of it.", ""]);
  rows[3][6] = "zebra zebu";
  rows[88][6] = "zebu";
  const small = searchEngine.make({ ...data, ...packed(rows) }, globalThis.MiniSearch);
  const found = (query) => small.search(query).results.map(({ address }) => address.split("#")[1]);
  assert.deepEqual([found("zebra"), found("zebu").sort()], [["p3"], ["p3", "p88"]]);
  assert.equal(small.places[7].address, "book/masks.html#zoes-part-7");
});

test("places that have only a word of most places are left out, where there are others", () => {
  const rows = Array.from({ length: 400 }, (_, i) => [
    ...[1, 0, `p${i}`, `Part ${i}`, [], i % 10 ? "A model." : "Choose a model.", ""],
  ]);
  const small = searchEngine.make({ ...data, ...packed(rows) }, globalThis.MiniSearch);
  assert.equal(small.search("choose a model").count, 40);
  assert.equal(small.search("model").count, 400);
});

test("words are marked in the text", () => {
  const [first] = engine.search("token before").results;
  assert.match(plain(first.text), /A \[token\] sees what comes \[before\] it\.$/);
  assert.equal(plain(engine.search("sqrt").results[0].text), "What a query may look at, before it divides by [√]d_k.");
});
