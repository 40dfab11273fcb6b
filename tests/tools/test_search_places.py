"""What the build reads for the search: formulas in a line, beginnings of texts, other names."""

import json
import re
from xml.etree import ElementTree

import pytest
from docutils import nodes
from pybtex.database import Entry, Person

from companion.book.model import Term
from companion.book.site import mathjax, search, search_file, unicode_math

FORMULAS = {
    r"\binom{n - c}{k}": "((n − c) choose k)",
    r"\sqrt{d_k}": "√d_k",
    r"\frac{QK^\top}{\sqrt{d_k}}": "QKᵀ/√d_k",
    r"\sum_{j=1}^{n} a_j v_j": "∑_(j = 1)ⁿ a_j v_j",
    r"\operatorname{softmax}(x)_i \ne \log p": "softmax(x)_i ≠ log p",
    r"\hat{x} \in \mathbb{R}^{n \times d}": "x\u0302 ∈ R^(n × d)",
    r"x^2 + e^{-x/2}": "x² + e^(−x/2)",
    r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}": "(a b; c d)",
    r"d_{\text{model}}": "d_model",
    r"a = -b - c, \quad d = 1 \quad e = 2": "a = −b − c, d = 1, e = 2",
    r"f'(x)": "f′(x)",
    r"\frac{\alpha}{r} BAx": "α/r BAx",
    # what could be a name of code has a sign before its index that nobody sees, and no other index has it
    r"dx_0 W x_j^\top": "dx\u2063_0 Wx\u2063_jᵀ",
    r"\text{head}_1 + n_{kv}": "head\u2063_1 + n_kv",
    r"O(n \log_k n)": "O(n log\u2063_k n)",
    r"e^{s_j} v_j = E_{w_i}": "e^(s_j)v_j = E_(w_i)",
    r"e^x y": "e^x y",
    r"\begin{aligned} &M(Q) \\ &\qquad = C W^O, \\ &h_i = A . \end{aligned}": "M(Q) = CW^O; h_i = A.",
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


def test_a_text_does_not_end_within_a_power_or_an_index() -> None:
    for formula in ("∑_(j ∈ S_i)", "m_(t − 1)", "e^(−(x + 1)/2)"):
        for blanks in range(search.LONGEST - len(formula), search.LONGEST):
            start, _ = search.shortened("w" * (blanks - 1) + f" {formula} and more words follow it in this text")
            assert start.count("(") == start.count(")"), start
    assert search.shortened("(An opened bracket " + "of words " * 30)[0].startswith("(An opened bracket of words")


def test_the_file_of_the_search_holds_each_word_once_with_its_places() -> None:
    entries = [
        [0, 0, "", "A", [], "text", [], "mask"],
        [1, 0, "sec-b", "B", [2], "", ["Why?"], "key"],
        [1, 1, "sec-c", "C", [], "", [], "key mask masks"],
    ]
    data = json.loads(search_file.script({"kinds": []}, entries).removeprefix("window.bookSearchData = ")[:-2])
    assert [list(row) for row in zip(*data["columns"].values(), strict=True)] == [entry[:-1] for entry in entries]
    assert (data["words"], data["where"]) == ("AkeyAmaskEs", "$$ #% %")


def test_a_distance_has_one_sign_or_two() -> None:
    assert [search_file.sign(step) for step in (0, 59, 60, 151, 152)] == ["#", "^", "_#", "_~", "`#"]


def test_an_anchor_that_follows_from_the_title_is_not_written() -> None:
    titles = {
        ("section", "PyTorch’s √d_k: why?"): "pytorchs-d-k-why",
        ("term", "ZeRO stage, sharding"): "term-ZeRO-stage",
        ("formula", "Naïve"): "formula-naive",
    }
    for (kind, title), anchor in titles.items():
        assert search_file.anchor_of(kind, title) == anchor
        entries = [[search.KINDS.index(kind), 0, one, title, [], "", [], ""] for one in (anchor, "other")]
        data = json.loads(search_file.script({}, entries).removeprefix("window.bookSearchData = ")[:-2])
        assert data["columns"]["anchor"] == [1, "other"]


def test_the_bold_questions_of_follow_ups_are_kept() -> None:
    def item(*inner: nodes.Node) -> nodes.list_item:
        return nodes.list_item("", nodes.paragraph("", "", nodes.Text(""), *inner))

    bold = nodes.strong("", "And then?")
    items = [item(bold, nodes.Text(" An answer.")), item(nodes.Text("It is "), nodes.strong("", "not"))]
    box = nodes.container("", nodes.enumerated_list("", *items), classes=["question-follow-ups"])
    other = nodes.container("", nodes.bullet_list("", item(bold.deepcopy())), classes=["question-full"])
    assert search.asked(nodes.container("", other, box), search.Words({})) == ["And then?"]


def test_a_reference_has_its_authors_year_and_the_terms_of_its_title() -> None:
    term = Term("direct preference optimisation", ("DPO", "preference"), None, (), ())
    pattern = search_file.pattern(term)
    assert pattern.search("Direct Preference Optimization: Your Model")
    assert not pattern.search("A Preference for DPO"), "one word says too little"
    many = [Person(f"Ada Name{number}") for number in range(search_file.MOST_NAMES + 1)]
    for people, told in ((many[:2], "Name0, Name1, 2017"), (many, "Name0, Name1, Name2, ")):
        text = search_file.told(Entry("misc", {"year": "2017"}, {"author": people}))
        assert text.startswith(told)
    assert text.endswith("Name7, et al., 2017")
    assert (
        search_file.told(Entry("misc", {"year": "2020a"}, {"author": [*many[:1], Person("others")]}))
        == "Name0, et al., 2020a"
    )


def test_words_that_most_rests_have_are_left_out() -> None:
    entries = [["section", "a title", f"common word{number}"] for number in range(200)]
    left = search.without_common(entries)
    assert [entry[-1] for entry in left] == [f"word{number}" for number in range(200)]
    assert [entry[:-1] for entry in left] == [entry[:-1] for entry in entries]


ROPE = Term("Rotary positions", ("RoPE", "rotary"), "sec-rope", ("q-rope",), ("exr-pairs",))
CACHE = Term("KV cache", ("key-value cache",), None, ("q-cache",), ())


def test_the_terms_of_a_place_live_there_or_lead_to_it() -> None:
    def found(kind: str, title: str, *ids: str) -> list[int]:
        return search.terms_of(kind, nodes.section(ids=ids), title, (ROPE, CACHE))

    assert found("section", "Turn by the position", "here", "sec-rope") == [0]
    assert found("section", "The KV cache", "here", "sec-other") == []
    assert [found("term", title) for title in ("kv cache", "KV caches", "cache")] == [[1], [1], []]
    assert found("term", "rotary position, rope") == [0]
    assert found("question", "Why turn?", "q-rope") == [0]
    assert found("exercise", "Turn pairs", "exr-pairs") == [0]
    assert found("claim", "A turn is cheap", "claim-turn") == []


def test_a_section_with_an_interactive_figure_has_its_term() -> None:
    term = Term(search.INTERACTIVE, ("explorer",), "sec-run", (), ())
    figure = nodes.container("", nodes.raw("", '<div class="light-widget"></div>', format="html"))
    inner = nodes.section("", figure, ids=["inner"])
    outer = nodes.section("", nodes.paragraph("", "Words."), inner, ids=["outer"])
    assert [search.terms_of("section", one, "A title", (ROPE, term)) for one in (inner, outer)] == [[1], []]


def test_an_entry_of_the_index_of_terms_is_a_place() -> None:
    entry = nodes.list_item("", nodes.paragraph("", "KV cache"), nodes.paragraph("", "past"), ids=["term-kv-cache"])
    nodes.bullet_list("", entry, classes=["terms"])
    assert search.kind_of(entry) == "term"
    assert search.anchor("term", entry) == "term-kv-cache"
    assert search.read("term", entry, search.Words({})) == ("KV cache", "")
    see = nodes.list_item("", nodes.paragraph("", "past: see KV cache"), classes=["term-see"])
    page = nodes.document(None, None)
    page += nodes.bullet_list("", entry, see, classes=["terms"])
    assert search.places(page) == [("term", entry)], "another name only leads to its term, which has it"
    assert search.Words({}).of(page) == "KV cache past"


def test_a_term_of_the_glossary_stands_in_the_search_once() -> None:
    defined = [2, 0, "term-mask", "mask, causal masks", [], "What hides keys.", ""]
    index, other = [2, 1, "term-causal-mask", "Causal mask", [], "", ""], [2, 1, "term-alibi", "ALiBi", [], "", ""]
    section = [1, 0, "mask", "Mask", [], "", ""]
    assert search.without_twins([defined, index, other, section]) == [defined, other, section]
