"""What the build reads for the search: formulas in a line, beginnings of texts, other names."""

import re
from xml.etree import ElementTree

import pytest
import yaml

from companion.book import toc
from companion.book.site import mathjax, search, unicode_math

FORMULAS = {
    r"\sqrt{d_k}": "√d_k",
    r"\frac{QK^\top}{\sqrt{d_k}}": "QKᵀ/√d_k",
    r"\sum_{j=1}^{n} a_j v_j": "∑_(j = 1)ⁿ a_j v_j",
    r"\operatorname{softmax}(x)_i \ne \log p": "softmax(x)_i ≠ log p",
    r"\hat{x} \in \mathbb{R}^{n \times d}": "x\u0302 ∈ R^(n × d)",
    r"x^2 + e^{-x/2}": "x² + e^(− x/2)",
    r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}": "(a b; c d)",
    r"d_{\text{model}}": "d_model",
    r"f'(x)": "f′(x)",
    r"\frac{\alpha}{r} BAx": "α/r BAx",
}


@pytest.fixture(scope="module")
def written() -> dict[str, str]:
    """Each formula in a line, as it goes into the search."""
    html, _ = mathjax.typeset((tex, False) for tex in FORMULAS)
    found = {tex: re.search(r"<math.*</math>", html[tex, False], re.DOTALL)[0] for tex in FORMULAS}
    return {tex: unicode_math.compact(ElementTree.fromstring(math)) for tex, math in found.items()}


@pytest.mark.parametrize("tex", FORMULAS)
def test_a_formula_is_written_in_a_line(written: dict[str, str], tex: str) -> None:
    assert written[tex] == FORMULAS[tex]


def test_a_long_text_keeps_its_beginning_and_each_other_word_once() -> None:
    text = "A mask hides keys. " * 20 + "Then the softmax, the softmax of 2017 follows."
    start, rest = search.shortened(text, "softmaxes follow")
    assert len(start) <= search.LONGEST + 2
    assert start.endswith(" …")
    assert rest.split() == ["then", "the", "softmax", "follows"]
    assert search.shortened("A short text.") == ("A short text.", "")


def test_words_that_most_rests_have_are_left_out() -> None:
    entries = [["section", "a title", f"common word{number}"] for number in range(200)]
    left = search.without_common(entries)
    assert [entry[-1] for entry in left] == [f"word{number}" for number in range(200)]
    assert [entry[:-1] for entry in left] == [entry[:-1] for entry in entries]


def test_other_names_belong_to_titles_that_hold_the_words() -> None:
    aliases = [(search._pattern("rotary position"), ["RoPE"]), (search._pattern("KV cache"), ["past"])]
    assert search.other_names("Rotary positions", aliases) == "RoPE"
    assert search.other_names("The KV-cache", aliases) == "past"
    assert search.other_names("The kv cache", aliases) == ""  # what begins with a capital is meant so
    assert search.other_names("Rotary position (RoPE)", aliases) == ""
    assert search.other_names("Dispositions", [(search._pattern("position"), ["place"])]) == ""


def test_every_alias_stands_for_something_that_the_book_names() -> None:
    sources = [path for path in (toc.CHECKOUT / "book").rglob("*.md") if path.name != "README.md"]
    lines = [line for path in sources for line in path.read_text("utf8").splitlines()]
    titles = "\n".join(line for line in lines if line.startswith("#") or line[:1].isalpha())
    given = yaml.safe_load((toc.CHECKOUT / search.ALIASES).read_text("utf8"))
    assert [words for words in given if not search._pattern(words).search(titles)] == []
