"""Set the small formulas that stand in plain text, as in the words of a claim: ``Kᵀ``, ``d_k`` and ``n^2``.

A raised T of Unicode is an S in some fonts; as a capital in ``<sup>`` it is a T in all. The sign of an index or a
power stays in the text, which names the page in the browser's tab and can be copied, and the style sheet hides it.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx

_SIGN = re.compile(
    r"(ᵀ)|(?<![\w./])((?:[A-Za-z]|PE|log)(?=_))_([a-z]{1,5}(?:\+[a-z])?)(?![\w(.]\w)"
    r"|(?<=[\w)])\^(-?\d+(?:\.\d+)?|[A-Z]\b|\([^()]*\))"
)


class superscript(nodes.superscript):
    """A raised T. As plain text, which a link to its title takes, it is that of Unicode."""

    def astext(self) -> str:
        """Return the sign."""
        return "ᵀ"


_AS_IT_IS = (nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw, nodes.subscript)


def pieces(text: str) -> list[nodes.Node]:
    """Part a text into plain text, raised T, lowered indices and raised powers.

    >>> [type(piece).__name__ for piece in pieces("QKᵀ/√d_k")]
    ['Text', 'superscript', 'Text', 'subscript']
    """
    made, end = [], 0
    for found in _SIGN.finditer(text):
        made.append(nodes.Text(text[end : found.start()] + (found[2] or "")))
        if found[1]:
            made.append(superscript("", "T", classes=["transposed"]))
        elif found[4]:
            made.append(nodes.superscript("", "", nodes.inline("", "^", classes=["low"]), nodes.Text(found[4])))
        else:
            sign = "_" if len(found[2]) == 1 else "\u2063_"  # the search takes a name before a plain one for code
            made.append(nodes.subscript("", "", nodes.inline("", sign, classes=["low"]), nodes.Text(found[3])))
        end = found.end()
    return [piece for piece in (*made, nodes.Text(text[end:])) if piece.astext()]


def set_formulas(app: Sphinx, doctree: nodes.document, docname: str = "") -> None:
    """Set those of a page: of its own text before titles are collected, and of links that name other places."""
    _set(doctree)


def _set(node: nodes.Element) -> None:
    for place in reversed(range(len(node.children))):
        child = node.children[place]
        if isinstance(child, nodes.Text):
            if _SIGN.search(child):
                node[place : place + 1] = pieces(child)
        elif not isinstance(child, _AS_IT_IS):
            _set(child)


def setup(app: Sphinx) -> dict[str, object]:
    """Register the steps."""
    app.connect("doctree-read", set_formulas, priority=100)
    app.connect("doctree-resolved", set_formulas, priority=800)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
