"""The index of terms, the sheet of questions and the times of a plan, in a small book."""

import json
import re

import pytest

from tests.tools.small import SmallBook, notebook, plain

INDEX = """# Home

```{toctree}
one/index
```

{term-count}`terms` terms, {term-count}`words` words; {sheet-count}`all` questions, {sheet-count}`First` first,
{sheet-minutes}`First` for them.

```{term-list}
```

```{question-sheet}
```

```{list-table}
* - {ref}`The cache <q-cache>` and {ref}`gates <q-gate>`, then {ref}`write one <exr-one>`.
  - {linked-minutes}`of these`
* - {doc}`/book/one/index`
  - {linked-minutes}`of this`
```
"""


def ask(name, text):
    return f"""
::::{{interview-question}} {text}
:name: {name}
:kind: concept
:level: 1
:topic: attention
:evidence: sec-cache
:::{{short}}
Short of {name}.
:::
:::{{full}}
Full.
:::
:::{{follow-ups}}
1. **And?** So.
:::
:::{{common-mistake}}
Wrong.
:::
::::
"""


ONE = "(sec-cache)=\n# One cache\n" + ask("q-cache", "What is $K$?") + ask("q-gate", "Why a gate?")
ONE += "\n(exr-one)=\n## Write one\n" + "Three words more. " * 1000
MINUTES = 15  # to read its 3,000 words
TERMS = """
- {name: KV cache, aliases: [past_key_values, why no query cache], label: sec-cache, questions: [q-cache]}
- {name: Gate, aliases: [valve], questions: [q-gate, q-cache], exercises: [exr-one]}
- {name: 4-bit cache, aliases: [INT4], label: sec-cache, see: [KV cache]}
"""
FORTY = "- {title: First, questions: [q-gate]}\n- {title: Second, questions: [q-cache]}\n"
DRILL = {"name": "one", "title": "Write one", "topic": "attention", "tier": 1, "kind": "write", "minutes": 25}


def small(folder, index=INDEX, terms=TERMS, forty=FORTY):
    texts = {
        "book/index.md": index,
        "book/one/index.ipynb": notebook(ONE),
        "book/interview/drills.json": json.dumps([DRILL]),
        "companion/chapters/interview/terms.yml": terms,
        "companion/chapters/interview/forty.yml": forty,
    }
    return SmallBook(folder, ["questions_page", "terms_page", "question_sheet"], texts)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    book = small(tmp_path_factory.mktemp("book"))
    assert book.warnings() == []
    return book.html("index")


def test_counts_and_times_are_made_from_the_files_and_from_the_links(built):
    words = plain(built)
    assert "3 terms, 7 words; 2 questions, 1 first, 5 min for them." in words
    assert "The cache and gates , then write one . 35 min" in words
    assert re.search(r"One cache (\d+) min", words)[1] == str(MINUTES)


def test_a_page_that_a_plan_leads_to_has_the_way_back(tmp_path):
    plan = [
        "# Plan",
        "```{list-table}",
        ":header-rows: 1",
        ":class: study-plan plan-two-days",
        "",
        "* - Day",
        "  - What",
    ]
    plan += ["* - 1", "  - {doc}`/book/read`", "* - 2", "  - {ref}`A part <sec-part>`", "```"]
    texts = {
        "book/index.md": "# Home\n\n```{toctree}\ninterview/index\nread\nlabelled\nother\n```\n",
        "book/interview/index.md": "\n".join(plan),
        "book/read.md": "# Read\n",
        "book/labelled.md": "# Labelled\n\n(sec-part)=\n## Part\n",
        "book/other.md": "# Other\n",
    }
    book = SmallBook(tmp_path, ["question_sheet"], texts)
    assert book.warnings() == []
    assert {name for name in ("read", "labelled", "other") if "js/trail.js" in book.html(name)} == {"read", "labelled"}
    assert re.findall(r'<tr class="row-\w+" id="([\w-]+)"', book.html("interview/index")) == [
        *("plan-two-days-step-1", "plan-two-days-step-2")
    ]


def test_terms_stand_by_letter_and_each_links_to_all_its_places(built):
    assert re.findall(r'<a class="reference internal" href="#(terms-\w)">', built) == [
        *("terms-0", "terms-g", "terms-i", "terms-k")
    ]
    assert re.findall(r'id="(terms?-[\w-]+)"', built) == [
        *("terms-0", "term-4-bit-cache", "terms-g", "term-gate", "terms-i", "terms-k", "term-kv-cache")
    ]
    gate = built.partition('id="term-gate"')[2].partition("</li>")[0]
    assert plain(gate).startswith("> Gate valve Asked Why a gate? What is")
    assert re.findall(r'href="([^"]+)"', gate) == [
        "one/index.html#q-gate",
        "one/index.html#q-cache",
        "one/index.html#exr-one",
    ]


def test_an_abbreviation_leads_to_its_term_and_terms_of_one_subject_to_each_other(built):
    see = built.partition('<li class="term-see"')[2].partition("</li>")[0]
    assert plain(f"<li{see}").startswith("INT4 : see 4-bit cache")
    assert re.findall(r'href="([^"]+)"', see) == ["#term-4-bit-cache"]
    assert built.count("term-see") == 1, "what is written small, or with blanks, is found under its term alone"
    for name, other in (("4-bit-cache", "KV cache"), ("kv-cache", "4-bit cache")):
        entry = built.partition(f'id="term-{name}"')[2].partition("</li>")[0]
        assert plain(entry).endswith(f"See also {other}")


def test_the_sheet_numbers_its_questions_through_and_holds_the_short_answers_alone(built):
    sheet = built.partition("sheet-group")[2]
    assert re.findall(r"<ol[^>]*?(?: start=\"(\d+)\")?>", sheet) == ["1", "2"]
    assert plain(sheet).index("Short of q-gate") < plain(sheet).index("Short of q-cache")
    assert "Full" not in sheet


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"terms": TERMS.replace("[q-cache]", "[q-cash]")}, "terms.yml names questions of the book: got q-cash"),
        ({"terms": TERMS.replace("label: sec-cache", "label: sec-cash")}, "undefined label: 'sec-cash'"),
        ({"terms": TERMS.replace("exr-one", "exr-two")}, "undefined label: 'exr-two'"),
        ({"forty": FORTY.replace("q-gate", "q-gait")}, "forty.yml names questions of the book: got q-gait"),
        ({"forty": FORTY.replace("q-gate", "q-cache")}, "each entry has a name of its own: got q-cache twice"),
        ({"index": INDEX.replace("{sheet-minutes}`First`", "{sheet-minutes}`Third`")}, "has no group 'Third'"),
        ({"index": INDEX.replace("{term-count}`terms`", "{term-count}`all`")}, "term-count knows terms, words"),
        (
            {"index": re.sub(r"\* - .*", "* - Nothing", INDEX)},
            "the row links to a page, a question or an exercise: got none",
        ),
    ],
)
def test_what_leads_nowhere_is_warned_of(tmp_path, changes, message):
    assert any(message in warning for warning in small(tmp_path, **changes).warnings())
