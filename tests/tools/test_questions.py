"""Interview questions are complete, and what they point to exists."""

import re
from pathlib import Path

import nbformat
import pytest

from companion.book.claims import read_ledger
from companion.book.model import Question
from companion.book.questions import read_questions

BOOK = Path(__file__).parents[2] / "book"

GOOD = r"""
# A chapter

```
::::{interview-question} This one is in a block of code.
::::
```

::::{interview-question} Why are the scores divided by $\sqrt{d_k}$?
:name: q-why-scale
:kind: derive
:level: 1
:topic: attention
:evidence: claim-dot-product-variance, fig-scaling
:::{short}
Because of the variance.
:::
:::{full}
$$ \operatorname{Var} = d_k $$

```python
text = ''':::
:::{short}
'''
```
:::
:::{follow-ups}
1. **What if
   $d_k$ is 1?** Nothing.

   Nothing at all.
2. **And 2?** Little.
:::

:::{common-mistake}
To save time.
:::
::::
"""


def test_a_question_is_read():
    (found,) = read_questions(GOOD, page="attention")
    assert found == Question(
        name="q-why-scale",
        question=r"Why are the scores divided by $\sqrt{d_k}$?",
        kind="derive",
        level=1,
        topic="attention",
        evidence=("claim-dot-product-variance", "fig-scaling"),
        short="Because of the variance.",
        full="$$ \\operatorname{Var} = d_k $$\n\n```python\ntext = ''':::\n:::{short}\n'''\n```",
        follow_ups=(("What if $d_k$ is 1?", "Nothing.\n\nNothing at all."), ("And 2?", "Little.")),
        common_mistake="To save time.",
        page="attention",
    )


def test_a_file_gives_its_name_to_the_page(tmp_path):
    path = tmp_path / "book" / "attention" / "index.md"
    path.parent.mkdir(parents=True)
    path.write_text(GOOD, "utf8")
    assert [found.page for found in read_questions(path)] == ["attention/index"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            ":kind: derive\n",
            "",
            "a question has name, kind, level, topic, evidence, rare, picture: this one misses kind",
        ),
        (":topic: attention", ":topic:", "misses topic"),
        (":topic: attention", ":topic: attention\n:mood: good", "has an unknown mood"),
        (":topic: attention", ":topic: attention\n:topic: masks", "a question has one topic: got two"),
        ("kind: derive", "kind: riddle", "kind is one of concept, derive, compute, code, debug: got 'riddle'"),
        ("level: 1", "level: 4", "level is 1, 2 or 3: got 4"),
        ("level: 1", "level: one", "level is 1, 2 or 3: got 'one'"),
        ("level: 1", "level: 1\n:rare: 0", "rare is a number of follow-ups, the last ones: got 0"),
        ("level: 1", "level: 1\n:picture: map", "picture is the page and the name of a picture: got 'map'"),
        (
            "name: q-why-scale",
            "name: Why Scale",
            "name is q- and lower-case words joined by hyphens: got 'Why Scale'",
        ),
        ("variance, fig", "variance,, fig", "evidence, number 2 is a label, and commas stand between two: got ''"),
        (":::{short}\nBecause of the variance.\n:::\n", "", "a question needs the part short"),
        ("Because of the variance.", "", "a question needs the part short: got none, or an empty one"),
        (
            "{common-mistake}",
            "{wrong-answer}",
            "a part of a question is one of short, full, follow-ups, common-mistake",
        ),
        ("{common-mistake}", "{short}", "a question has one part short: got two"),
        (":::\n\n:::{common", ":::\nLost.\n:::{common", "text stands in a part of the question: got 'Lost.'"),
        ("To save time.\n:::\n", "To save time.\n", "the part common-mistake is not closed by :::"),
        ("1. **What", "**What", "follow-ups are a numbered list"),
        ("**And 2?** Little.", "And 2? Little.", "a follow-up reads `1. **Question?** Answer.`: got 'And 2? Little.'"),
        ("**And 2?** Little.", "**And 2?**", "a follow-up reads"),
        (" Why are the scores divided by $\\sqrt{d_k}$?", "", "the question stands on the first line"),
        ("To save time.\n:::\n::::\n", "To save time.\n:::\n", "line 9: this question is not closed by ::::"),
    ],
)
def test_a_question_that_is_not_complete_is_refused(old, new, message):
    assert old in GOOD
    with pytest.raises(ValueError, match=rf"^text, line 9: .*|^text, line 9.*{re.escape(message)}") as caught:
        read_questions(GOOD.replace(old, new))
    assert message in str(caught.value)


def test_two_questions_of_one_name_are_refused(tmp_path):
    path = tmp_path / "attention.md"
    path.write_text(GOOD + GOOD, "utf8")
    with pytest.raises(ValueError, match=r"attention\.md: each entry has a name of its own: got q-why-scale twice"):
        read_questions(path)


def test_a_question_that_is_not_closed_is_named_by_its_line():
    with pytest.raises(ValueError, match="line 2: this question is not closed before the next one"):
        read_questions("\n::::{interview-question} One?\n:name: q-one\n" + GOOD)


# --- the book --------------------------------------------------------------------------------------------------------


def labels(text):
    """Collect the labels that a page defines: targets, names of directives and of figures, equations."""
    patterns = (
        r"^\(([\w-]+)\)=",
        r"^\s*:(?:name|label):\s*([\w-]+)\s*$",
        r"^\$\$\s*\(([\w-]+)\)\s*$",
        r"^.*\$\$\s+\(([\w-]+)\)\s*$",
        r"\bname:\s*[\"']?((?:fig|tab)-[\w-]+)",
    )
    return {label for pattern in patterns for label in re.findall(pattern, text, re.MULTILINE)}


def evidence_problems(found, known):
    return [f"{item.name}: no label {label}" for item in found for label in item.evidence if label not in known]


def test_labels_are_found_in_every_form():
    text = (
        "(sec-x)=\n## X\n:::{note}\n:name: box-x\n:::\n$$ a $$ (eq-a)\n$$\nb\n$$ (eq-b)\n"
        "```{math}\n:label: eq-c\nc\n```\n"
        "```{code-cell} ipython3\n---\nmystnb:\n  figure: {name: fig-x, caption: X}\n---\n"
    )
    assert labels(text) == {"sec-x", "box-x", "eq-a", "eq-b", "eq-c", "fig-x"}


def test_evidence_that_does_not_exist_is_seen():
    found = read_questions(GOOD)
    assert evidence_problems(found, {"claim-dot-product-variance", "fig-scaling"}) == []
    assert evidence_problems(found, {"fig-scaling"}) == ["q-why-scale: no label claim-dot-product-variance"]


def test_each_subject_has_questions(subject):
    assert read_questions(BOOK / f"{subject}.md")


def test_no_two_questions_share_a_name(chapters):
    names = [item.name for chapter in chapters for item in read_questions(BOOK / f"{chapter}.md")]
    assert sorted(names) == sorted(set(names))


def test_source_and_notebook_hold_the_same_questions(chapter, maker):
    stored = nbformat.reads((BOOK / f"{chapter}.ipynb").read_text("utf8"), as_version=4)
    source = maker.fill_numbers(maker.read_source(BOOK / f"{chapter}.md"), stored, chapter)
    text = "\n\n".join(cell.source for cell in source.cells if cell.cell_type == "markdown")
    found = read_questions(text, page=chapter)
    assert found == read_questions(BOOK / f"{chapter}.ipynb")
    assert "{{" not in str(found)


def test_evidence_exists(chapters):
    known = {f"claim-{claim.id}" for claim in read_ledger().claims if not claim.dropped}
    for page in BOOK.rglob("*.md"):
        known |= labels(page.read_text("utf8"))
    found = [item for chapter in chapters for item in read_questions(BOOK / f"{chapter}.md")]
    assert evidence_problems(found, known) == []
