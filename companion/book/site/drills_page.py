"""The directive ``{drill-list}``: every drill of the book by topic, which the coding round draws from.

``mock-coding.js`` reads the list from the page.
"""

from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from companion.book.drills import DRILLS, TIERS, Drill, read_drills
from companion.book.site.mock_page import folded, folded_summary, piece
from companion.book.topics import TOPICS


class DrillList(SphinxDirective):
    """The directive ``{drill-list}``."""

    def run(self) -> list[nodes.Node]:
        """Return the topics, each with a list of links."""
        self.env.note_dependency(str(Path(self.env.srcdir, DRILLS)))
        try:
            found = read_drills(Path(self.env.srcdir))
        except ValueError as error:
            raise ExtensionError(f"drill list: {error}") from None
        place = nodes.container(classes=["coding-lists"])
        for topic, title in TOPICS.items():
            own = [drill for drill in found if drill.topic == topic]
            if own:
                items = nodes.bullet_list("", *(nodes.list_item("", self._item(drill)) for drill in own))
                head = folded_summary("", nodes.inline("", f"{title} "), nodes.inline("", f"({len(own)})"))
                place += folded("", head, items, classes=["coding-topic"], data={"topic": topic, "title": title})
        return [place]

    def _item(self, drill: Drill) -> piece:
        link = addnodes.pending_xref(
            "",
            nodes.inline("", drill.name),
            refdomain="std",
            reftype="ref",
            reftarget=f"exr-{drill.name}",
            refdoc=self.env.docname,
            refexplicit=False,
            refwarn=True,
        )
        about = f": {TIERS[drill.tier]}, {drill.kind}, {drill.minutes} min"
        data = {
            "name": drill.name,
            "topic": drill.topic,
            "tier": drill.tier,
            "kind": drill.kind,
            "minutes": drill.minutes,
        }
        return piece("", nodes.paragraph("", "", link, nodes.Text(about)), classes=["coding-drill"], data=data)


def setup(app: Sphinx) -> dict[str, object]:
    """Register the directive."""
    app.add_directive("drill-list", DrillList)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
