// Sets formulas with MathJax: `node mathjax.cjs FOLDER` reads a list of [TeX, display] from its input and writes the HTML of
// each, in that order, and the style sheet for what they use.

const { readFileSync } = require("node:fs");
const { _extensions } = require("node:module");
const { join } = require("node:path");

// The files of MathJax are CommonJS, whatever a package.json above them says of its own.
_extensions[".js"] = (module, file) => module._compile(readFileSync(file, "utf8"), file);

const folder = process.argv[2];
const options = {
  loader: { paths: { mathjax: folder }, load: ["input/tex", "output/chtml", "a11y/assistive-mml"] },
  // What is wrong ends the build; by default it is shown in red on the page.
  tex: {
    packages: { "[-]": ["noundefined"] },
    formatError: (_, error) => {
      throw error;
    },
  },
  chtml: { adaptiveCSS: true, fontURL: "fonts", matchFontHeight: false, scale: 1 },
};

/** Set one formula. A line break within \text{} is a space. */
function set(MathJax, [tex, display]) {
  try {
    return MathJax.startup.adaptor.outerHTML(MathJax.tex2chtml(tex.replaceAll("\n", " "), { display }));
  } catch (error) {
    throw new Error(`${error.message}: ${tex}`);
  }
}

require(join(folder, "node-main.js"))
  .init(options)
  .then((MathJax) => {
    const html = JSON.parse(readFileSync(0, "utf8")).map((formula) => set(MathJax, formula));
    const css = MathJax.startup.adaptor.textContent(MathJax.chtmlStylesheet());
    process.stdout.write(JSON.stringify({ html, css }));
  })
  .catch((error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
