"""Live labs: cells whose controls call Python, which the built page replaces by a text and the way to a kernel.

A cell with the tag ``live-lab`` also has the tag ``remove-output``, and behind it stands the directive ``{live-lab}``:

    :::{live-lab}
    What a reader would see and do here.
    :::

The directive ends in links to Binder and Colab where the repository's address is known, and otherwise says how to run
the notebook at home. A tagged cell without the directive, or whose output stays on the page, is a warning, so that a
build with ``-W`` fails: it would be a figure that does not answer.
"""

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

TAG = "tag_live-lab"
HOME = "sec-how-to-run"  # the section that says how to get the book and run it
log = logging.getLogger(__name__)


def addresses(options: dict[str, object], page: str) -> dict[str, str]:
    """Return where a notebook runs: name -> address; nothing where the repository's address is not known.

    Args:
        options: the theme's, as ``launch.py`` sets them.
        page: the name of the notebook, without ending.
    """
    repository = str(options.get("repository_url") or "")
    if not repository:
        return {}
    name, branch = repository.removeprefix("https://github.com/"), options["repository_branch"]
    return {
        "Binder": f"https://mybinder.org/v2/gh/{name}/{branch}?urlpath=lab/tree/{page}.ipynb",
        "Google Colab": f"https://colab.research.google.com/github/{name}/blob/{branch}/{page}.ipynb",
    }


def way_to_a_kernel(options: dict[str, object], page: str) -> list[nodes.Node]:
    """Say where a page runs, as the end of a sentence without its point.

    Args:
        options: the theme's.
        page: the name of the notebook, without ending.
    """
    links = [nodes.reference("", name, refuri=url, internal=False) for name, url in addresses(options, page).items()]
    if not links:
        where = nodes.literal("", f"{page}.ipynb")
        way = addnodes.pending_xref(
            *("", nodes.inline("", "a copy of the book")),
            **dict.fromkeys(("refwarn", "refexplicit"), True),
            **{"refdomain": "std", "reftype": "ref", "reftarget": HOME, "refdoc": page},
        )
        return [nodes.Text("open "), where, nodes.Text(" in Jupyter, in "), way]
    return [nodes.Text("run this page on "), links[0], nodes.Text(" or "), *links[1:]]


class LiveLab(SphinxDirective):
    """The directive ``{live-lab}``."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return a box with the text and the ways to a kernel."""
        self.assert_has_content()
        box = nodes.admonition("", nodes.title("", "Live lab: it needs a running notebook"), classes=["live-lab"])
        self.state.nested_parse(self.content, self.content_offset, box)
        way = way_to_a_kernel(self.config.html_theme_options, self.env.docname)
        box += nodes.paragraph("", "", nodes.Text("To try it, "), *way, nodes.Text("."))
        return [box]


def check(app: Sphinx, doctree: nodes.document) -> None:
    """Warn of a live cell that stays on the page, or that nothing stands for."""
    cells = [box for box in doctree.findall(nodes.container) if TAG in box.get("classes", [])]
    boxes = [box for box in doctree.findall(nodes.admonition) if "live-lab" in box["classes"]]
    where = {"location": app.env.docname, "type": "live_lab"}
    if len(cells) != len(boxes):
        log.warning(
            "%d cells have the tag live-lab, %d directives {live-lab} stand for them", len(cells), len(boxes), **where
        )
    for cell in cells:
        if any("cell_output" in part.get("classes", []) for part in cell.findall(nodes.container)):
            log.warning("a live lab's output is dead on the page: give its cell the tag remove-output too", **where)


def setup(app: Sphinx) -> dict[str, object]:
    """Register the directive and the check."""
    app.add_directive("live-lab", LiveLab)
    app.connect("doctree-read", check, priority=100)  # before explorers are mounted
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
