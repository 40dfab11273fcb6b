"""Formulas in plain text: a raised T that is a T in every font, and indices below the line."""

import re

import pytest

from companion.book.site.indices import pieces
from tests.tools.small import SmallBook

TEXTS = {
    "softmax(QKᵀ / √d_k) V": "softmax(QK<sup>T</sup> / √d<sub>k</sub>) V",
    "Q is n × d_k and V m × d_v.": "Q is n × d<sub>k</sub> and V m × d<sub>v</sub>.",
    "O(log_k n) and PE_pos+k": "O(log<sub>k</sub> n) and PE<sub>pos+k</sub>",
    "d_model^-0.5, n^2, W^Q that": "d<sub>model</sub><sup>-0.5</sup>, n<sup>2</sup>, W<sup>Q</sup> that",
    "10000^(2i/d), pass^k, a ^2": "10000<sup>(2i/d)</sup>, pass^k, a ^2",
    "max_len, F.layer_norm, d_k_v, x_1": "max_len, F.layer_norm, d_k_v, x_1",
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_formula_in_a_text_is_set(text: str) -> None:
    html = ""
    for piece in pieces(text):
        tag = {"superscript": "sup", "subscript": "sub"}.get(type(piece).__name__)
        inner = "".join(part.astext() for part in piece.children) if tag else piece.astext()
        words = inner.lstrip("\u2063_^") if tag else inner
        html += f"<{tag}>{words}</{tag}>" if tag else words
    assert html == TEXTS[text]
    assert "".join(piece.astext() for piece in pieces("QKᵀ")) == "QKᵀ", "as links and the search take it"


def test_titles_and_links_have_it_code_has_not_and_the_words_stay(tmp_path) -> None:
    texts = {
        "book/index.md": "# Home\n\nAs Kᵀ and `d_k`: {ref}`to-it`.\n\n```{toctree}\nroot\n```\n",
        "book/root.md": "(to-it)=\n# The root of d_k under Kᵀ\n\nWords.\n",
    }
    book = SmallBook(tmp_path, ["indices"], texts)
    assert book.warnings() == []
    html = book.html("index")
    assert html.count('under K<sup class="transposed">T</sup>') >= 2, "in the link and in the list of pages"
    assert 'As K<sup class="transposed">T</sup>' in html
    assert "ᵀ" not in html
    assert re.search(r"<code[^>]*>(<span[^>]*>)?d_k<", html)
    lowered = '<sub><span class="low">_</span>k</sub>'
    assert html.count(f"The root of d{lowered}") >= 2, "in the link and in the list of pages"
    assert "<title>The root of d_k" in book.html("root")
