"""Links from a page to the source of the package, as pages of the site, so that they work without a network.

``{source}`the package's function <companion.attention.attention>``` leads to the line that defines it,
``{source}`a test <tests.library.test_masks>``` to a test, and the directive ``{package-modules}`` to all modules of the
library. Only modules that some page links to get a page, which leads back to the pages with such a link, and to those
of the tests that must catch the faults planted in its module.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path

import yaml
from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import ReferenceRole, SphinxDirective

from companion.book import toc
from companion.book.topics import TOPICS, topic_title

FOLDER = "source"  # of the site
TESTS = "tests/"
ABOVE_THE_LIBRARY = tuple(f"companion/{name}/" for name in ("book", "practice", "explorers", "pictures", "chapters"))
_CHAPTER = re.compile(r"\s*Chapters?: book/([\w-]+)[^.]*\.")
_LOG = logging.getLogger(__name__)


class source_link(nodes.reference):
    """A link to a line of a module."""


def find(name: str, root: Path = toc.CHECKOUT) -> tuple[str, int]:
    """Find where a module, class, function or method of the package is defined.

    Args:
        name: its full name, for example ``companion.attention.attention``.
        root: the folder in which the package lies.

    Returns:
        The path of the module below ``root``, and the line, from 1.

    Raises:
        ValueError: the package has nothing of that name.
    """
    words = name.split(".")
    for length in range(len(words), 0, -1):
        stem = root.joinpath(*words[:length])
        for path in (stem.with_suffix(".py"), stem / "__init__.py"):
            if path.exists():
                node, line = ast.parse(path.read_text("utf8")), 1
                for word in words[length:]:
                    inside = {child.name: child for child in node.body if hasattr(child, "name")}
                    if word not in inside:
                        raise ValueError(f"{{source}} names what a module defines: {path.name} has no {word!r}.")
                    node, line = inside[word], inside[word].lineno
                return path.relative_to(root).as_posix(), line
    raise ValueError(f"{{source}} names a module of the package, or what it defines: got {name!r}.")


def definitions(path: str, root: Path = toc.CHECKOUT) -> list[tuple[str, int]]:
    """List the public classes and functions of a module, each with its line."""
    body = ast.parse((root / path).read_text("utf8")).body
    every = [(node.name, node.lineno) for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    return [(name, line) for name, line in every if not name.startswith("_")]


def summary(path: str, root: Path = toc.CHECKOUT) -> tuple[str, str]:
    """Read the first paragraph of a module's docstring, and the first chapter that it names, or an empty text."""
    words = ast.get_docstring(ast.parse((root / path).read_text("utf8"))) or ""
    chapter = _CHAPTER.search(words)
    first = " ".join(_CHAPTER.sub("", words.split("\n\n")[0]).split())
    plain = re.sub(r"(?<![*\w])\*([^*`]+)\*(?![*\w])", r"\1", re.sub(r":\w+:`([^`]+)`", r"``\1``", first))
    return plain, chapter[1] if chapter else ""


def library(root: Path = toc.CHECKOUT) -> list[str]:
    """List the modules of the library that define something, as paths below ``root``."""
    paths = [path.relative_to(root).as_posix() for path in sorted((root / "companion").rglob("*.py"))]
    return [path for path in paths if not path.startswith(ABOVE_THE_LIBRARY) and definitions(path, root)]


def caught_in(root: Path = toc.CHECKOUT) -> dict[str, list[str]]:
    """List for each module the tests that must catch the faults planted in it, as paths below ``root``."""
    found: dict[str, set[str]] = {}
    for path in sorted((root / "tests" / "mutants").glob("*.yml")):
        for entry in yaml.safe_load(path.read_text("utf8")):
            tests = [name for name in entry.get("tests", "").split() if name.startswith("tests/")]
            found.setdefault(entry["file"], set()).update(tests)
    return {module: sorted(tests) for module, tests in found.items()}


def dotted(path: str) -> str:
    """Name a module as it is imported."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


class PackageModules(SphinxDirective):
    """The directive ``{package-modules}``: the library, a section a chapter, with what each module defines."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        found: dict[str, list[nodes.list_item]] = {name: [] for name in [*TOPICS, ""]}
        for path in library():
            self.env.note_dependency(str(toc.CHECKOUT / path))
            words, chapter = summary(path)
            found[chapter if chapter in TOPICS else ""].append(self._item(path, words))
        _used(self.env).setdefault(self.env.docname, set()).update(library())
        made = []
        for name, items in found.items():
            title = TOPICS.get(name, "Everywhere")
            section = nodes.section("", nodes.title(title, title), nodes.bullet_list("", *items), ids=[f"of-{name}"])
            made += [section] if items else []
        return made

    def _item(self, path: str, words: str) -> nodes.list_item:
        told = [
            nodes.literal(part, part) if odd % 2 else nodes.Text(part) for odd, part in enumerate(words.split("``"))
        ]
        first = nodes.paragraph("", "", self._link(path, dotted(path), 1), nodes.Text(": "), *told)
        second = nodes.paragraph("", "", classes=["module-names"])
        for name, line in definitions(path):
            second += [nodes.Text(", ")] if second.children else []
            second += self._link(path, name, line)
        return nodes.list_item("", first, second)

    def _link(self, path: str, name: str, line: int) -> source_link:
        return source_link("", "", nodes.literal(name, name), source_path=path, line=line)


class SourceRole(ReferenceRole):
    """The role ``{source}``."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Leave a link that is made once all pages are read."""
        try:
            path, line = find(self.target)
        except ValueError as error:
            _LOG.warning("%s", error, location=self.get_location())
            return [nodes.literal(self.rawtext, self.title)], []
        link = source_link(self.rawtext, self.title, source_path=path, line=line)
        _used(self.env).setdefault(self.env.docname, set()).add(path)
        return [link], []


def _used(env: BuildEnvironment) -> dict[str, set[str]]:
    if not hasattr(env, "book_sources"):
        env.book_sources = {}
    return env.book_sources


def _purge(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    _used(env).pop(docname, None)


def _merge(app: Sphinx, env: BuildEnvironment, docnames: set[str], other: BuildEnvironment) -> None:
    _used(env).update({name: paths for name, paths in _used(other).items() if name in docnames})


def _linked(env: BuildEnvironment) -> list[str]:
    """List the paths of all files that a page links to."""
    return sorted(set().union(*_used(env).values()))


def modules(env: BuildEnvironment) -> list[str]:
    """List the paths of the modules that have a page, without those of tests."""
    return [path for path in _linked(env) if not path.startswith(TESTS)]


def page_of(path: str) -> str:
    """Name the page of a module."""
    return f"{FOLDER}/{path.removesuffix('.py')}"


def _link(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for link in list(doctree.findall(source_link)):
        if app.builder.format != "html":
            link.replace_self(nodes.inline("", link.astext()))
            continue
        uri = app.builder.get_relative_uri(docname, page_of(link["source_path"]))
        anchor = "" if link["line"] == 1 else f"#line-{link['line']}"
        link.replace_self(nodes.reference("", "", *link.children, refuri=uri + anchor, internal=True))


def _page(path: str, above: list[str]) -> tuple[str, dict[str, str], str]:
    """Make the page of a file: the lines above its code, then the code."""
    body = highlight((toc.CHECKOUT / path).read_text("utf8"), PythonLexer(), HtmlFormatter(linespans="line"))
    wide = f'<div class="source-code" style="overflow-x:auto" tabindex="0">{body}</div>'
    heading = re.sub("(?<=[/_])", "<wbr>", escape(path))  # a phone must break a long path
    lines = "".join(f"<p>{line}</p>\n" for line in above if line)
    return page_of(path), {"title": path, "body": f"<h1>{heading}</h1>\n{lines}{wide}"}, "page.html"


def _pages(app: Sphinx) -> Iterator[tuple[str, dict[str, str], str]]:
    """Make a page of each module that is linked to, and of each file of tests that must catch its faults."""
    shown, caught = modules(app.env), caught_in()
    tested: dict[str, list[str]] = {path: [] for path in _linked(app.env) if path.startswith(TESTS)}
    for path in shown:
        for test in caught.get(path, ()):
            tested.setdefault(test, []).append(path)

    def link(path: str, page: str, words: str) -> str:
        return f'<a href="{app.builder.get_relative_uri(page_of(path), page)}">{words}</a>'

    def files(path: str, others: Iterable[str]) -> str:
        return ", ".join(link(path, page_of(other), f"<code>{other}</code>") for other in others)

    for path in shown:
        _, chapter = summary(path)
        named = {"book/package": "The package, module by module", f"book/{chapter}/index": topic_title(chapter)}
        links = [link(path, page, escape(words)) for page, words in named.items() if page in app.env.found_docs]
        users = sorted(name for name, paths in _used(app.env).items() if path in paths and name not in named)
        titles = [link(path, name, escape(app.env.titles[name].astext())) for name in users]
        told = files(path, caught.get(path, ()))
        on = f"Used on {', '.join(titles)}" if titles else ""
        yield _page(path, [" · ".join(links), on, told and f"Tested in {told}"])
    for path, of in sorted(tested.items()):
        yield _page(path, [f"Tests of {files(path, of)}" if of else ""])


def setup(app: Sphinx) -> dict[str, object]:
    """Register with Sphinx."""
    app.add_node(source_link)
    app.add_role("source", SourceRole())
    app.add_directive("package-modules", PackageModules)
    app.connect("env-purge-doc", _purge)
    app.connect("env-merge-info", _merge)
    app.connect("doctree-resolved", _link)
    app.connect("html-collect-pages", _pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
