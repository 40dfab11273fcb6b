// Runs scripts of the book outside a page: they are classic scripts, which see each other's constants.
import { readFileSync } from "node:fs";
import { compileFunction } from "node:vm";

const read = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const VOCABULARY = "_build/js/vocabulary.js"; // written by scripts/check_js.py, as the build of the site writes it
export const SHARED = ["util", "dom", "store", "practice"];

/** A Storage that holds its items in a Map. */
export function fakeStorage(items = new Map()) {
  return {
    items,
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, text) => items.set(key, text),
    removeItem: (key) => items.delete(key),
  };
}

/** Run scripts one after the other, and give the constants that they define. */
export function load(names, { localStorage = fakeStorage(), sessionStorage = fakeStorage() } = {}) {
  const paths = [VOCABULARY, ...names.map((name) => `book/assets/js/${name}.js`)];
  const source = paths.map(read).join("\n");
  const defined = [...source.matchAll(/^const (\w+) = /gm)].map(([, name]) => name);
  const run = compileFunction(`${source}\nreturn { ${defined.join(", ")} };`, ["localStorage", "sessionStorage"]);
  return run(localStorage, sessionStorage);
}

/** Run the helpers that stand in front of every explorer, and give some of them. */
export function loadExplorers(...names) {
  return compileFunction(`${read("companion/explorers/shared.js")}\nreturn { ${names.join(", ")} };`)();
}

/** Run scripts of one figure, and give all that they define. */
function loadFigure(...paths) {
  const source = paths.map(read).join("\n");
  const defined = [...source.matchAll(/^(?:const|function) (\w+)/gm)].map(([, name]) => name);
  return compileFunction(`${source}\nreturn { ${defined.join(", ")} };`)();
}

const loadModel = (path) => loadFigure("companion/explorers/tensors.js", path);
export const loadGlass = () => loadModel("companion/chapters/architecture/explorers/glass_model.js");
export const loadGpt = () => loadModel("companion/chapters/training/explorers/gpt_model.js");
export const loadTraining = () =>
  loadFigure(...["parts", "engine", "worker"].map((name) => `companion/chapters/attention/explorers/train_${name}.js`));
