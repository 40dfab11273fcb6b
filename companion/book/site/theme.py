"""Trim the theme to what a page needs and mend what a screen reader stumbles over.

``templates/layout.html`` calls :func:`without_scripts` on the theme's head, so that no copy of the theme's template
has to be kept in step with it. A theme that names a script otherwise is a warning, which ``-W`` makes an error: better
than half a megabyte that nobody notices.
"""

import re
from pathlib import Path

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

log = logging.getLogger(__name__)
TEMPLATES = Path(__file__).with_name("templates")


def without_scripts(head: str, *names: str) -> str:
    """Return a piece of the theme's head without the script elements of these file names, one each."""
    for name in names:
        head, found = re.subn(rf"\s*<script[^>]*/?\b{re.escape(name)}[^>]*></script>", "", head)
        if found != 1:
            log.warning("expected one script %s in the theme's head, found %d", name, found, type="lean_theme")
    return head


def add_templates(app: Sphinx, config: Config) -> None:
    """Look for templates in this extension's folder first."""
    config.templates_path.insert(0, str(TEMPLATES))


def add_to_context(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, object], doctree: nodes.document | None
) -> None:
    """Give the templates the function that they call."""
    context["without_scripts"] = without_scripts


def visit_citation(self: HTML5Translator, node: nodes.citation) -> None:
    """Open a source of the bibliography as an item of a list: docutils' role for it is deprecated in ARIA."""
    if not isinstance(node.previous_sibling(), nodes.citation):
        self.body.append('<div role="list" class="citation-list">\n')
    self.body.append(self.starttag(node, "div", classes=["citation"], role="listitem"))


def depart_citation(self: HTML5Translator, node: nodes.citation) -> None:
    """Close the item, and after the last one the list."""
    self.body.append("</div>\n")
    if not isinstance(node.next_node(descend=False, siblings=True), nodes.citation):
        self.body.append("</div>\n")


def name_toggles(app: Sphinx, pagename: str, templatename: str, context: dict, doctree: object) -> None:
    """Name what opens a chapter in the sidebar, which the theme shows as an arrow alone."""
    make = context.get("generate_toctree_html")
    if make:
        context["generate_toctree_html"] = lambda *given, **options: str(make(*given, **options)).replace(
            "<summary>", '<summary aria-label="Pages of the chapter">'
        )


def closing(words: str) -> str:
    """Return what the bar of an open fold says, by what it says when closed.

    >>> closing("Show a solution"), closing("Show one step (it gives three answers away)"), closing("Checks")
    ('Hide the solution', 'Hide one step', 'Checks')
    """
    words = re.sub(r"^(Show .*?) \(.*\)$", r"\1", words)
    return re.sub(r"^Show (an? )?", lambda found: "Hide the " if found[1] else "Hide ", words)


class NamesOfFolds(SphinxPostTransform):
    """Let an open fold say what it hides: where a cell has words of its own, MyST-NB keeps those for all code."""

    default_priority = 200  # the folds are made at 199
    formats = ("html",)

    def run(self, **_: object) -> None:
        """Name each by the words that show it."""
        for fold in self.document.findall(HideCodeCellNode):
            fold["prompt_hide"] = closing(fold["prompt_show"])


def setup(app: Sphinx) -> dict[str, object]:
    """Register the templates and the list of sources."""
    app.add_node(nodes.citation, html=(visit_citation, depart_citation), override=True)
    app.add_post_transform(NamesOfFolds)
    app.connect("config-inited", add_templates)
    app.connect("html-page-context", add_to_context)
    app.connect("html-page-context", name_toggles, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
