"""The sources: told apart by a letter after the year, as in "Liu et al. [2020a]", each with links to where it is cited.

An address that only repeats the arXiv number is left out.
"""

from docutils import nodes
from pybtex.backends.plaintext import Backend
from pybtex.plugin import register_plugin
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

from companion.book.citations import tell_apart


def on_start(app: Sphinx) -> None:
    """Tell the sources apart before any page cites them, and leave out what would stand twice."""
    entries = app.env.get_domain("cite").bibdata.data.entries
    tell_apart(entries)
    for entry in entries.values():
        if "eprint" in entry.fields and entry.fields.get("url") == f"https://arxiv.org/abs/{entry.fields['eprint']}":
            del entry.fields["url"]


REPEATS = "book/interview/mock-interview"  # all questions of the book, in scripts of their own


class CitedIn(SphinxPostTransform):
    """Put under each source the pages that cite it, each linked to its first citation there."""

    default_priority = 15  # the bibliography is made at 5, and sorted at 20
    formats = ("html",)

    def run(self, **_: object) -> None:
        """Add a line to each source of the page."""
        sources = {source["ids"][0]: source for source in self.document.findall(nodes.citation)}
        if not sources:
            return
        domain = self.env.get_domain("cite")
        pages: dict[str, dict[str, str]] = {}  # by the key of a source: pages, and the id of the first place of each
        for ref in [one for one in domain.citation_refs if one.docname != REPEATS]:
            for cited in ref.targets:
                pages.setdefault(cited.key, {}).setdefault(ref.docname, ref.citation_ref_id)
        for citation in domain.citations:
            if citation.citation_id in sources and citation.key in pages:
                sources[citation.citation_id] += self._line(pages[citation.key])

    def _line(self, places: dict[str, str]) -> nodes.paragraph:
        line = nodes.paragraph("", "Cited in ", classes=["cited-in"])
        for number, (docname, place) in enumerate(sorted(places.items())):
            title = nodes.Text(self.env.titles[docname].astext())
            to = make_refnode(self.app.builder, self.env.docname, docname, place, title)
            line += [nodes.Text(", " * (number > 0)), to]
        return line


def setup(app: Sphinx) -> dict[str, object]:
    """Register with Sphinx."""
    # Known by name, it isn't looked for in all installed packages at each citation: a seventh of the time of a build.
    register_plugin("pybtex.backends", "plaintext", Backend, force=True)
    app.connect("builder-inited", on_start)
    app.add_post_transform(CitedIn)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
