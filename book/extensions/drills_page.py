"""The directive ``{drill-list}``: every drill of the book by topic, which the coding round draws from.

Its argument is the file of the drills. ``mock-coding.js`` reads the list from the page.
"""

from pathlib import Path

from docutils import nodes
from drills import TIERS, Drill, read_drills
from mock_page import folded, folded_summary, piece
from questions import TOPICS
from sphinx import addnodes
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective


class DrillList(SphinxDirective):
    """The directive ``{drill-list}``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the topics, each with a list of links."""
        path = Path(self.env.relfn2path(self.arguments[0])[1])
        self.env.note_dependency(str(path))
        try:
            found = read_drills(path)
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
