"""What stands under a definition of the glossary whose term the index of terms knows."""

import json
import re

import pytest

from companion.book.model import Term
from companion.book.site import glossary
from tests.tools.small import SmallBook, notebook, plain
from tests.tools.test_preparation import DRILL, ONE, TERMS

GLOSSARY = """# Glossary

```{glossary}
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
    book = SmallBook(tmp_path_factory.mktemp("book"), ["questions_page", "glossary"], texts)
    assert book.warnings() == []
    return book.html("glossary")


def test_a_definition_links_to_the_home_of_its_term_and_to_its_entry_in_the_index(built: str) -> None:
    cache, gate, wheel = re.findall(r"<dd>(.*?)</dd>", built, re.DOTALL)
    assert plain(cache).endswith("earlier tokens. Read One cache · 1 question")
    assert re.findall(r'href="([^"]+)"', cache) == ["one/index.html#sec-cache", "#term-kv-cache"]
    assert plain(gate).endswith("A factor. 2 questions and 1 exercise")
    assert plain(wheel) == "It turns."


def test_a_term_that_is_nowhere_asked_has_its_home_alone() -> None:
    assert glossary.more("glossary", Term("Cache", (), "sec-cache", (), ())).astext() == "Read sec-cache"
