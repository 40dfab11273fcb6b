// A figure that opens a trained model: the bytes of its weights, and the button that asks for them. Behind tensors.js.

const SCRIPT = document.currentScript instanceof HTMLScriptElement ? document.currentScript.src : "";
const opened = {}; // of each file the promise of its model, for all views

// A page has the weights in a script two folders away; a notebook has a kernel.
function bytes_from_page(name) {
  return new Promise((resolve, reject) => {
    const found = () => /** @type {any} */ (window).LightWeights[name];
    const src = new URL(`../weights/${name}.js`, SCRIPT).href;
    const onload = () => resolve(Uint8Array.from(atob(found()), (c) => c.charCodeAt(0)));
    document.head.append(h("script", { src, onload, onerror: () => reject(new Error(`${src} did not load`)) }));
  });
}
function bytes_from_kernel(model) {
  return new Promise((resolve) => {
    model.on("msg:custom", (_, [view]) => resolve(new Uint8Array(view.buffer, view.byteOffset, view.byteLength)));
    model.send("weights");
  });
}

const action = (trait, words, onclick) => h("button", { type: "button", "data-trait": trait, onclick }, words);

// What stands here until the model is open: a lead, the button, a first picture. `make` makes the model of what the
// file holds, `show` gives the box that takes this place, and what draws it. Gives the element, and what draws once the
// model is open.
function before_opening(view, { lead, picture, make, show }) {
  let shown = null;
  const [file, size] = view.get("file");
  const words = `Open the model, ${size}`;
  const bytes = () => (SCRIPT ? bytes_from_page(file) : bytes_from_kernel(view.model));
  const button = action("open", words, async () => {
    if (button.getAttribute("aria-disabled")) return;
    button.setAttribute("aria-disabled", "true");
    button.textContent = "Loading …";
    try {
      opened[file] ??= bytes().then((all) => make(read_safetensors(all)));
      const model = await opened[file];
      if (!still.isConnected) return; // closed meanwhile
      const focus = document.activeElement === button;
      const touched = matchMedia("(pointer: coarse)").matches; // a text field would bring the keyboard up
      shown = show(view, model);
      shown.draw();
      still.replaceWith(shown.box);
      if (focus) shown.box.querySelector(touched ? "select, button" : "select, textarea").focus();
    } catch (error) {
      delete opened[file];
      button.removeAttribute("aria-disabled");
      button.textContent = words;
      view.say(`The model did not open (${error}). Try again.`);
    }
  });
  const still = h("div", null, h("p", { class: "ex-lead" }, lead), button, h("div", { class: "ex-flow" }, picture));
  return { still, draw: () => shown?.draw() };
}
