"""The tree of pages in the sidebar: Sphinx makes it once, and each page gets it with its own place marked.

Sphinx would make it anew from the documents' nodes for every page, which was a third of the time of a build.
"""

import posixpath
import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.osutil import relative_uri

_HREF = re.compile(r'(?<=href=")[^"]*')


class Tree:
    """The tree of titles as pieces of HTML, with no page marked and its links from the root of the site.

    Args:
        html: the tree as Sphinx makes it for one page.
        address: the address of this page, from the root of the site.
    """

    def __init__(self, html: str, address: str) -> None:
        self.pieces = re.split("(<[^>]+>)", re.sub(r' current\b|\bcurrent (?=reference)| class="current"', "", html))
        self.links: dict[int, tuple[str, list[int]]] = {}  # a link's place: where it leads, and the places around it
        around: list[int] = []
        for place, piece in enumerate(self.pieces):
            if re.match("<(ul|li)", piece):
                around.append(place)
            elif re.match("</(ul|li)", piece):
                around.pop()
            elif piece.startswith("<a ") and "external" not in piece:
                to = _HREF.search(piece)[0]
                to = address if to == "#" else posixpath.normpath(posixpath.join(posixpath.dirname(address), to))
                self.links[place] = (to, list(around))

    def marked(self, address: str) -> str:
        """Return the tree for the page at this address, with the way to its place marked."""
        pieces = list(self.pieces)
        for place, (to, around) in self.links.items():
            link = "#" if to == address else relative_uri(address, to)
            pieces[place] = _HREF.sub(lambda _, link=link: link, pieces[place])
            if link == "#":
                pieces[place] = pieces[place].replace('class="', 'class="current ')
                for above in around:
                    pieces[above] = re.sub('">$', ' current">', pieces[above]).replace("<ul>", '<ul class="current">')
        return "".join(pieces)


def setup(app: Sphinx) -> dict[str, object]:
    """Register with Sphinx, before the theme asks for the tree."""
    trees: dict[str, Tree] = {}

    def give(app: Sphinx, pagename: str, template: str, context: dict, doctree: nodes.document | None) -> None:
        make, address = context["toctree"], app.builder.get_target_uri(pagename)

        def tree(**options: object) -> str:
            key = repr(options)
            if key not in trees:
                trees[key] = Tree(make(**options), address)
            return trees[key].marked(address)

        context["toctree"] = tree

    app.connect("html-page-context", give, priority=400)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
