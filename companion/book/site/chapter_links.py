"""The role ``{chapter-links}`Chapters```: links to the first pages of a part of the book, as a list in a sentence."""

from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

from companion.book import toc


class ChapterLinks(SphinxRole):
    """The role, with the caption of the part."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the links; each shows the title of its page."""
        root = Path(self.env.srcdir)
        self.env.note_dependency(str(toc.toc_file(root)))
        pages = [name.rpartition(".")[0] for name in toc.files(root, self.text)]
        first = list({toc.chapter(page): page for page in reversed(pages)}.values())[::-1]
        if not first:
            message = self.inliner.reporter.error(f"a part of the book has a caption in _toc.yml: got {self.text!r}.")
            return [], [message]
        found: list[nodes.Node] = []
        for number, page in enumerate(first, 1):
            link = addnodes.pending_xref(
                "",
                nodes.inline("", page),
                refdomain="std",
                reftype="doc",
                reftarget=f"/{page}",
                refdoc=self.env.docname,
                refexplicit=False,
                refwarn=True,
            )
            before = "" if number == 1 else " and " if number == len(first) else ", "
            found += [nodes.Text(before), link] if before else [link]
        return found, []


def setup(app: Sphinx) -> dict[str, object]:
    """Register the role."""
    app.add_role("chapter-links", ChapterLinks())
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
