"""What the links of a page lead to, in the script of the page that a preview loads."""

import json

import pytest

from companion.book.site import previews
from tests.tools.small import SmallBook

PAGES = {
    "book/index.md": "# Home\n\n```{toctree}\none/page\none/two\nglossary\n```\n\nSee {eq}`eq-here`.\n",
    "book/one/page.md": (
        "# One\n\n```{math}\n:label: eq-here\na^2 = b\n```\n\n"
        "By {eq}`eq-here` and {eq}`eq-there`, a {term}`Softmax` or [normalised exponential](#sec-two), and\n"
        "[the rule](#claim-rule), and {cite:t}`who1999what`.\n\n"
        "<a href='https://a.example/x#term-softmax'>elsewhere</a>\n"
    ),
    "book/one/two.md": (
        "(sec-two)=\n# Two\n\n```{math}\n:label: eq-there\nc = d\n```\n\n(claim-rule)=\n## A rule & its price\n\n"
        "It costs $x < 1$ and $a_{i+1} e^{-s_j} x_0^2$, in `d_k` and `a_(b)`.\n\n## Sources\n\n```{bibliography}\n```\n"
    ),
    "book/glossary.md": (
        "# Glossary\n\n```{glossary}\nSoftmax\nsoft maximum\n  Makes scores *positive* with sum 1.\n```\n"
    ),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> SmallBook:
    book = SmallBook(tmp_path_factory.mktemp("book"), ["previews"], PAGES)
    assert book.warnings() == []
    return book


def written(site: SmallBook, name: str) -> dict[str, str]:
    text = (site.folder / "_build/html" / previews.FOLDER / f"{name}.js").read_text("utf8")
    start, data = text.split(" = ", 1)
    assert start == "window.bookPreviews"
    return json.loads(data.rstrip(";\n"))


def test_each_link_to_a_place_has_its_words_under_the_address_that_the_page_has(site: SmallBook) -> None:
    found = written(site, "book/one/page")
    html = site.html("one/page")
    assert sorted(found) == [
        "#equation-eq-here",
        "../glossary.html#term-Softmax",
        "two.html#claim-rule",
        "two.html#equation-eq-there",
    ]
    assert all(f'href="{address}"' in html for address in found)
    assert found["../glossary.html#term-Softmax"] == (
        "<strong>Softmax, soft maximum</strong> Makes scores positive with sum 1."
    )
    assert found["two.html#claim-rule"] == (
        "<strong>A rule &amp; its price</strong> It costs x &lt; 1 and "
        "a<sub>i + 1</sub> e<sup>−s<sub>j</sub></sup>x<sub>0</sub>², in d_k and a_(b)."
    )


def test_an_equation_is_shown_as_it_was_set(site: SmallBook) -> None:
    found = written(site, "book/one/page")
    for address, name in (("#equation-eq-here", "one/page"), ("two.html#equation-eq-there", "one/two")):
        assert found[address].startswith("<mjx-container")
        assert found[address] in site.html(name)
    assert found["two.html#equation-eq-there"] == written(site, "book/one/page")["two.html#equation-eq-there"]
    assert list(written(site, "book/index")) == ["one/page.html#equation-eq-here"]


@pytest.mark.parametrize(
    ("line", "html"),
    [
        ("∑_(j = 1)^n a_j", "∑<sub>j = 1</sub><sup>n</sup> a<sub>j</sub>"),
        ("e^(−(x_t + 1)/2)y", "e<sup>−(x<sub>t</sub> + 1)/2</sup>y"),
        ("dx\u2063_0 < 1", "dx<sub>0</sub> &lt; 1"),
        ("v_(a + b", "v<sub>a + b</sub>"),
    ],
)
def test_indices_and_powers_of_a_formula_are_set_and_names_are_left(line: str, html: str) -> None:
    assert previews.as_html(f"w_1 \ue000{line}\ue001 w_2") == f"w_1 {html} w_2"
    assert previews.as_html("to 10000^(2i/d), w_(1)") == "to 10000<sup>2i/d</sup>, w_(1)"
    assert previews.as_html(f"\ue000{line}") == html, "where a long text ends within a formula"


def test_a_page_that_leads_nowhere_has_an_empty_script(site: SmallBook) -> None:
    assert written(site, "book/glossary") == {}


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("#q-why", ("book/a/b", "q-why")),
        ("c.html#q-why", ("book/a/c", "q-why")),
        ("../glossary.html#term-x", ("book/glossary", "term-x")),
        ("https://a.example/b.html#q-why", ("", "")),
        ("c.html", ("", "")),
    ],
)
def test_an_address_names_a_page_and_a_place(address: str, place: tuple[str, str]) -> None:
    assert previews.target("book/a/b", address) == place
