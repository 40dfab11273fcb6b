"""Links from a page to the source of the package, as pages of the site, so that they work without a network.

``{source}`the package's function <companion.attention.attention>``` leads to the line that defines it. Only modules
that some page links to get a page of their own.
"""

import ast
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import ReferenceRole

from companion.book import toc

FOLDER = "source"  # of the site
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


def modules(env: BuildEnvironment) -> list[str]:
    """List the paths of the modules that have a page."""
    return sorted(set().union(*_used(env).values()))


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
        link.replace_self(nodes.reference("", link.astext(), refuri=uri + anchor, internal=True))


def _pages(app: Sphinx) -> Iterator[tuple[str, dict[str, str], str]]:
    """Make a page of each module that is linked to."""
    for path in modules(app.env):
        code = (toc.CHECKOUT / path).read_text("utf8")
        body = highlight(code, PythonLexer(), HtmlFormatter(linespans="line"))
        wide = f'<div class="source-code" style="overflow-x:auto" tabindex="0">{body}</div>'
        heading = re.sub("(?<=[/_])", "<wbr>", escape(path))  # a phone must break a long path
        yield page_of(path), {"title": path, "body": f"<h1>{heading}</h1>\n{wide}"}, "page.html"


def setup(app: Sphinx) -> dict[str, object]:
    """Register with Sphinx."""
    app.add_node(source_link)
    app.add_role("source", SourceRole())
    app.connect("env-purge-doc", _purge)
    app.connect("env-merge-info", _merge)
    app.connect("doctree-resolved", _link)
    app.connect("html-collect-pages", _pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
