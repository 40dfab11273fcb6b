"""The directive ``{drill-list}``: every drill of the book by topic, which the coding round draws from.

``mock-coding.js`` reads the list from the page.
"""

from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from companion.book.drills import DRILLS, read_drills
from companion.book.model import TIERS, Drill
from companion.book.site.html import element, link
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
                head = element("summary", "", nodes.inline("", f"{title} "), nodes.inline("", f"({len(own)})"))
                place += element("details", "coding-topic", head, items, data_topic=topic, data_title=title)
        return [place]

    def _item(self, drill: Drill) -> nodes.Element:
        about = nodes.Text(f": {TIERS[drill.tier]}, {drill.kind}, {drill.minutes} min")
        data = {"name": drill.name, "topic": drill.topic, "tier": drill.tier}
        data |= {"kind": drill.kind, "minutes": drill.minutes}
        data = {f"data_{name}": value for name, value in data.items()}
        return element(
            "div", "coding-drill", nodes.paragraph("", "", link(self, f"exr-{drill.name}", kind="ref"), about), **data
        )


def setup(app: Sphinx) -> dict[str, object]:
    """Register the directive."""
    app.setup_extension("companion.book.site.html")
    app.add_directive("drill-list", DrillList)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
