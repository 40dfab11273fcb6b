"""Leave out of the libraries' style sheets what no page of the book can use.

The theme brings all of Bootstrap: 400 kB, of which the book uses a quarter. A rule stays if every class that its
selector asks for stands in a built page or may be set by a script: any word of a script counts as a name, and one that
ends in a hyphen as the beginning of names. Rules without classes stay, as do fonts, animations and variables. The
book's own style sheets are left as they are. The script of tabs and the style sheets of cells, cards and dropdowns go
from the pages without them, and the libraries' source maps go altogether.
"""

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain, pairwise
from pathlib import Path

import tinycss2
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

SHEETS = (
    "basic.css",
    "pygments.css",
    "styles/pydata-sphinx-theme.css",
    "styles/sphinx-book-theme.css",
    "sphinx-design.min.css",
    "mystnb.*.css",
    "copybutton.css",
)
UNUSED = ("scripts/fontawesome.js", "searchtools.js", "language_data.js", "sphinx_highlight.js", "doctools.js")
"""Which no page loads: ``templates/layout.html`` takes them out. ``book.css`` draws icons, ``search.js`` searches."""
_ONLY_WHERE = {
    r"\s*<script[^>]*/design-tabs\.js[^>]*></script>": r"sd-tab-set",
    r"\s*<link[^>]*/mystnb\.[^>]*>": r'class="([^"]* )?(cell|hide)[ "]',
    r"\s*<link[^>]*/sphinx-design\.[^>]*>": r'class="([^"]* )?sd-',
}
"""The tag that loads a file, and what a page has that needs it."""
_CLASSES, _WORD = re.compile(r'\sclass="([^"]*)"'), re.compile(r"[A-Za-z_][\w-]*")
_SCRIPTS = re.compile(r"<script[^>]*>(.*?)</script>", re.DOTALL)
_NESTED = {"media", "supports", "layer", "container"}


def used_names(pages: Collection[str], scripts: Iterable[str]) -> tuple[set[str], tuple[str, ...]]:
    """Collect the classes that an element may have.

    Args:
        pages: the HTML of each page.
        scripts: the text of each script.

    Returns:
        Names, and beginnings of names that scripts put together.
    """
    names = {name for page in pages for found in _CLASSES.findall(page) for name in found.split()}
    inline = (script for page in pages for script in _SCRIPTS.findall(page))
    words = {word for script in chain(scripts, inline) for word in _WORD.findall(script)}
    return names | words, tuple(sorted(word for word in words if word.endswith("-") and len(word) > 3))


def lean(css: str, may_be: Callable[[str], bool]) -> str:
    """Return a style sheet without the rules of which no selector can match.

    Args:
        css: the style sheet.
        may_be: whether an element may have a class.

    Returns:
        The style sheet; the rest of it is as it was, without comments.

    Raises:
        ExtensionError: it cannot be read.
    """
    return "".join(_kept(tinycss2.parse_stylesheet(css, skip_comments=True, skip_whitespace=True), may_be))


def _kept(rules: list, may_be: Callable[[str], bool]) -> Iterator[str]:
    for rule in rules:
        if rule.type == "error":
            raise ExtensionError(f"a style sheet cannot be read at line {rule.source_line}: {rule.message}")
        if rule.type == "at-rule" and rule.lower_at_keyword in _NESTED and rule.content is not None:
            inner = tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True)
            if body := "".join(_kept(inner, may_be)):
                yield f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{body}}}"
        elif rule.type == "qualified-rule":
            selectors = [one for one in _selectors(rule.prelude) if all(map(may_be, _classes(one)))]
            if selectors:
                yield f"{','.join(map(tinycss2.serialize, selectors))}{{{tinycss2.serialize(rule.content)}}}"
        else:
            yield rule.serialize()


def _selectors(prelude: list) -> Iterator[list]:
    """Part a list of selectors at its commas."""
    one: list = []
    for token in prelude:
        if token.type == "literal" and token.value == ",":
            yield one
            one = []
        else:
            one.append(token)
    yield one


def _classes(selector: list) -> Iterator[str]:
    """Name the classes that a selector asks for; what stands in brackets, as in ``:not(.x)``, may be otherwise."""
    for dot, name in pairwise(selector):
        if dot.type == "literal" and dot.value == "." and name.type == "ident":
            yield name.value


def needed(page: str) -> str:
    """Return a page's HTML without the tags that load what it has no use for."""
    for tag, use in _ONLY_WHERE.items():
        if not re.search(use, page):
            page = re.sub(tag, "", page)
    return page


def trim(app: Sphinx, error: Exception | None) -> None:
    """Trim the libraries' style sheets of the built site, and give each a new version in the addresses of the pages."""
    if error or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    pages = {path: path.read_text("utf8") for path in sorted(Path(app.outdir).rglob("*.html"))}
    for name in UNUSED:
        (static / name).unlink(missing_ok=True)
    for source_map in static.rglob("*.map"):  # for those who debug the libraries
        source_map.unlink()
    names, beginnings = used_names(pages.values(), (path.read_text("utf8") for path in static.rglob("*.js")))
    versions = []
    for sheet in (path for pattern in SHEETS for path in sorted(static.glob(pattern))):
        css = lean(sheet.read_text("utf8"), lambda name: name in names or name.startswith(beginnings))
        sheet.write_text(css, "utf8")
        version = hashlib.sha256(css.encode()).hexdigest()[:8]
        place = re.escape(sheet.relative_to(static).as_posix())
        versions.append((re.compile(rf'(_static/{place})(?:\?[^"]*)?"'), rf'\1?v={version}"'))
    for path, page in pages.items():
        new = needed(page)
        for old, address in versions:
            new = old.sub(address, new)
        if new != page:
            path.write_text(new, "utf8")


def setup(app: Sphinx) -> dict[str, object]:
    """Trim when all else is written."""
    app.connect("build-finished", trim, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
