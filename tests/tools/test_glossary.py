"""What stands under a definition of the glossary whose term the index of terms knows."""

import json
import re

import pytest

from companion.book.model import Term
from companion.book.site import glossary, letters
from tests.tools.small import SmallBook, notebook, plain
from tests.tools.test_preparation import DRILL, ONE, TERMS

GLOSSARY = """# Glossary

```{glossary}
:sorted:

1F1B
  An order.

\N{GREEK SMALL LETTER EPSILON}
  A small number.

KV caches
  The keys and values of earlier tokens.

gate
  A factor.

wheel
  It turns.
```

```{term-list}
```
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> str:
    texts = {
        "book/index.md": "# Home\n\n```{toctree}\none/index\nglossary\n```\n",
        "book/one/index.ipynb": notebook(ONE),
        "book/glossary.md": GLOSSARY,
        "book/interview/drills.json": json.dumps([DRILL]),
        "companion/chapters/interview/terms.yml": TERMS,
    }
    book = SmallBook(tmp_path_factory.mktemp("book"), ["questions_page", "glossary", "letters"], texts)
    assert book.warnings() == []
    return book.html("glossary")


def test_a_definition_links_to_the_home_of_its_term_and_to_its_entry_in_the_index(built: str) -> None:
    _, gate, cache, wheel, _ = re.findall(r"<dd>(.*?)</dd>", built, re.DOTALL)
    assert plain(cache).endswith("earlier tokens. Read One cache · 1 question")
    assert re.findall(r'href="([^"]+)"', cache) == ["one/index.html#sec-cache", "#term-kv-cache"]
    assert plain(gate).endswith("A factor. 2 questions and 1 exercise")
    assert plain(wheel) == "It turns."


def test_a_term_that_is_nowhere_asked_has_its_home_alone() -> None:
    assert glossary.more("glossary", Term("Cache", (), "sec-cache", (), ())).astext() == "Read sec-cache"


def test_letters_that_occur_lead_to_their_headings_each_before_its_first_term(built: str) -> None:
    start = built.index('class="lettered')
    own = built[start : built.index('class="term-list', start)]
    assert dict(re.findall(r'<a class="reference internal" href="#(terms-[^"]+)">([^<]+)</a>', own)) == {
        **{"terms-0": "0-9", "terms-g": "G", "terms-k": "K", "terms-w": "W"},
        "terms-\N{GREEK SMALL LETTER EPSILON}": "\N{GREEK SMALL LETTER EPSILON}",
    }
    assert re.findall(r'id="(terms-[^"]+|term-[^"]+)"', own) == [
        *("terms-0", "term-1F1B", "terms-g", "term-gate", "terms-k", "term-KV-caches"),
        *("terms-w", "term-wheel", "terms-\N{GREEK SMALL LETTER EPSILON}", "term-0"),
    ]


@pytest.mark.parametrize(
    ("name", "first"), [("gate", "G"), ("Éclair", "E"), ("1F1B", "0"), ("μP", "μ"), ("Łukasz", "Ł")]
)
def test_a_name_stands_under_its_first_letter_without_the_accent(name: str, first: str) -> None:
    assert letters.letter(name) == first


SOURCES = """
@article{one2000, author = {Zimmer, A. and Abel, B.}, title = {B}, journal = {J}, year = {2000}}
@article{two2000, author = {van den Berg, C.}, title = {C}, journal = {J}, year = {2000}}
@misc{three2000, author = {{OpenAI}}, title = {D}, year = {2000}}
@article{four2000, author = {Abel, B.}, title = {E}, journal = {J}, year = {2000}}
"""


def test_a_source_stands_under_the_last_name_of_its_first_author(tmp_path: object) -> None:
    texts = {"book/index.md": "# Home\n\n```{bibliography}\n:all:\n```\n", "book/references.bib": SOURCES}
    book = SmallBook(tmp_path, ["letters"], texts)
    assert book.warnings() == []
    text = book.html("index").replace("\xa0", " ")
    found = re.findall(r'id="(terms-[a-z])"|<p>([A-Z].*?)\. [B-E]\. ', text)
    assert [one or other for one, other in found] == [
        *("terms-a", "B. Abel", "terms-o", "OpenAI"),
        *("terms-v", "C. van den Berg", "terms-z", "A. Zimmer and B. Abel"),
    ]
