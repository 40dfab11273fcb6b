"""Letters to jump to: a bar over the glossary, the references and the index of terms, and a heading for each letter.

The bar has the letters that occur. A source stands under the last name of its first author; pybtex would put every
organisation behind Z, since it compares the braces of its name.
"""

import unicodedata
from collections.abc import Iterable

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from companion.book.citations import authors

NUMBERS = "0"  # where a name stands that begins with a digit


def letter(name: str) -> str:
    """Return the capital under which a name stands, without its accent; a letter of another script as it is."""
    first = unicodedata.normalize("NFKD", name)[0]
    return NUMBERS if first.isdigit() else first.upper() if first.isascii() else first


def order(name: str) -> tuple[str, str]:
    """Return what names are sorted by: the letter, then the name without accents and capitals."""
    plain = "".join(one for one in unicodedata.normalize("NFKD", name) if not unicodedata.combining(one))
    return letter(name), plain.casefold()


def bar(letters: Iterable[str]) -> nodes.paragraph:
    """Make the line of links to the headings of these letters."""
    line = nodes.paragraph(classes=["term-letters"])
    for first in letters:
        line += [nodes.reference("", _shown(first), internal=True, refid=_label(first)), nodes.Text(" ")]
    return line


def heading(first: str) -> nodes.rubric:
    """Make the heading of a letter."""
    head = nodes.rubric(_shown(first), _shown(first), ids=[_label(first)], classes=["term-letter"])
    head["heading-level"] = head["level"] = 2
    return head


def _shown(first: str) -> str:
    return "0-9" if first == NUMBERS else first


def _label(first: str) -> str:
    return f"terms-{first.lower()}"


class Letters(SphinxPostTransform):
    """Put the bar and the headings on the glossary and on a bibliography."""

    default_priority = 20  # the bibliography is made at 5
    formats = ("html",)

    def run(self, **_: object) -> None:
        """Take each list apart by the letters of its entries."""
        for glossary in [*self.document.findall(addnodes.glossary)]:
            (list_,) = glossary.children
            named = [(item[0].astext(), item) for item in list_.children]
            glossary.replace_self(self._lettered(named))
        for sources in [*self.document.findall(nodes.container)]:
            if sources.children and all(isinstance(one, nodes.citation) for one in sources.children):
                names = self._authors()
                named = [(names[one["ids"][0]], one) for one in sources.children]
                sources.replace_self(self._lettered(named))

    def _lettered(self, named: list[tuple[str, nodes.Node]]) -> nodes.container:
        parts: dict[str, list[nodes.Node]] = {}
        for name, entry in sorted(named, key=lambda one: order(one[0])):
            parts.setdefault(letter(name), []).append(entry)
        box = nodes.container("", bar(parts), classes=["lettered"])
        for first, items in parts.items():
            terms = isinstance(items[0], nodes.definition_list_item)
            box += [heading(first), *([nodes.definition_list("", *items, classes=["glossary"])] if terms else items)]
        return box

    def _authors(self) -> dict[str, str]:
        """Return the first author of each source, by the id of its entry."""
        domain = self.env.get_domain("cite")
        persons = {key: entry.persons for key, entry in domain.bibdata.data.entries.items()}
        return {
            one.citation_id: authors({role: people[:1] for role, people in persons[one.key].items()})
            for one in domain.citations
        }


def setup(app: Sphinx) -> dict[str, object]:
    """Register the step."""
    app.add_post_transform(Letters)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
