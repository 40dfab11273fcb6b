"""The glossary leads on: a definition ends in links to the home of its term, and to its entry in the index of terms.

Which term of ``terms.yml`` a word of the glossary is, the search decides (``search.terms_of``).
"""

from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from companion.book.model import Term
from companion.book.site import search
from companion.book.site.terms_page import label_of
from companion.book.terms import TERMS, terms


def counted(number: int, name: str) -> str:
    """Write a number with its noun."""
    return f"{number} {name}{'s' * (number != 1)}"


def places(term: Term) -> str:
    """Say what the index of terms leads to."""
    found = {"question": len(term.questions), "exercise": len(term.exercises)}
    return " and ".join(counted(number, name) for name, number in found.items() if number)


def to(docname: str, label: str, words: str = "") -> addnodes.pending_xref:
    """Make a link to a label, by its title or by words."""
    told = {"refdomain": "std", "reftype": "ref", "reftarget": label, "refdoc": docname}
    inner = nodes.inline("", words or label)
    return addnodes.pending_xref("", inner, refexplicit=bool(words), refwarn=True, **told)


def more(docname: str, term: Term) -> nodes.paragraph:
    """Make the line under a definition."""
    line = nodes.paragraph("", "", classes=["term-more"])
    if term.label:
        line += [nodes.Text("Read "), to(docname, term.label)]
    if asked := places(term):
        line += [nodes.Text(" · " if term.label else ""), to(docname, label_of(term), asked)]
    return line


def lead_on(app: Sphinx, doctree: nodes.document) -> None:
    """Add the line to each definition that has a term."""
    if not Path(app.srcdir, TERMS).exists():
        return
    known = terms(Path(app.srcdir))
    for item in [one for one in doctree.findall(nodes.definition_list_item) if search.in_glossary(one)]:
        title = ", ".join(one.astext() for one in item.children if isinstance(one, nodes.term))
        for number in search.terms_of("term", item, title, known)[:1]:
            item[-1].append(more(app.env.docname, known[number]))


def setup(app: Sphinx) -> dict[str, object]:
    """Register the step."""
    app.setup_extension("companion.book.site.search")
    app.setup_extension("companion.book.site.terms_page")
    app.connect("doctree-read", lead_on)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
