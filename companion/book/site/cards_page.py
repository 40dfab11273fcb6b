"""The flash cards on the site: ``{card-files}`` links to both files, ``{card-count}`` says how many cards they hold.

The files are made at every build and written to ``_static/cards``, so a page never offers an older deck.
"""

from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective, SphinxRole

from companion.book import cards

FOLDER = "cards"  # below _static
TITLES = {".apkg": "Deck for Anki", ".csv": "Table for other programs"}


def made(env: BuildEnvironment) -> tuple[list[cards.Card], dict[str, bytes]]:
    """Return the cards and their files, made once a build.

    Raises:
        ExtensionError: a question holds what a card cannot show.
    """
    if not hasattr(env, "flash_cards"):
        root = Path(env.srcdir)
        try:
            found = cards.cards(root)
        except ValueError as error:
            raise ExtensionError(f"flash cards: {error}") from None
        env.flash_cards = found, cards.files(found, cards.edition(root))
    return env.flash_cards


class CardCount(SphinxRole):
    """The role ``{card-count}`cards```: a number of the deck."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the number."""
        numbers = cards.counts(made(self.env)[0])
        if self.text not in numbers:
            raise ExtensionError(f"card-count knows {', '.join(numbers)}: got {self.text!r} in {self.env.docname}.")
        return [nodes.Text(f"{numbers[self.text]:,}")], []


class CardFiles(SphinxDirective):
    """The directive ``{card-files}``: a list of the files with their sizes."""

    def run(self) -> list[nodes.Node]:
        """Return the list."""
        items = nodes.bullet_list(classes=["card-files"])
        up = "../" * self.env.docname.count("/")
        for name, data in made(self.env)[1].items():
            link = f'<a href="{up}_static/{FOLDER}/{name}" download="{name}">{TITLES[Path(name).suffix]}</a>'
            words = nodes.Text(f": {name}, {len(data) / 1000:,.0f} kB")
            items += nodes.list_item("", nodes.paragraph("", "", nodes.raw("", link, format="html"), words))
        return [items]


def write(app: Sphinx, env: BuildEnvironment) -> None:
    """Write the files beside the pages."""
    if app.builder.format != "html":
        return
    folder = Path(app.outdir, "_static", FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in made(env)[1].items():
        (folder / name).write_bytes(data)
    del env.flash_cards  # a later build makes them anew


def setup(app: Sphinx) -> dict[str, object]:
    """Register the role, the directive and the step that writes the files."""
    app.add_role("card-count", CardCount())
    app.add_directive("card-files", CardFiles)
    app.connect("env-updated", write)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
