"""The model of the book: what a schema refuses, what two entries may not share, and what loads without torch."""

import subprocess
import sys
from pathlib import Path

import pytest

from companion.book.entries import cells, entries, read_once
from companion.book.model import LEVELS, TIERS, Card
from companion.book.schemas import CLAIM, DRILL, FORMULA, ITEMS, QUESTION, check, refuse_doubles

ROOT = Path(__file__).parents[2]
GOOD = {"id": "a-b", "claim": "C.", "verdict": "holds", "basis": "derived", "documents": 2, "evidence": "E."}


def test_an_entry_that_keeps_its_schema_is_let_through():
    assert check(GOOD, CLAIM, "here") is None


def test_every_rule_that_an_entry_breaks_is_named_with_its_place():
    bad = {"id": "A", "claim": " ", "verdict": "so", "basis": "derived", "documents": True, "remark": 1}
    with pytest.raises(ValueError, match=r"^claims of one, entry A: ") as caught:
        check(bad, CLAIM, "claims of one, entry A")
    for rule in (
        "a claim has id, claim, verdict, documents, evidence, basis, conditions, correct, turn, dropped, parts: "
        "this one misses evidence and has an unknown remark",
        "claim is a text: got ' '",
        "documents is a number from 1 to 5: got True",
        "id is lower-case words joined by hyphens: got 'A'",
        "verdict is one of holds, holds-with-conditions",
    ):
        assert rule in str(caught.value)


def test_a_part_of_an_entry_is_named_by_its_number():
    option = {"text": "T", "why": "W."}
    item = {"id": "quiz-x", "topic": "t", "level": 1, "kind": "choice", "question": "Q", "link": "l"}
    item["options"] = [option, option | {"why": ""}, option]
    with pytest.raises(ValueError, match=r"^here: options, number 2, why is a text: got ''\.$"):
        check(item, ITEMS["choice"], "here")


@pytest.mark.parametrize("schema", [CLAIM, QUESTION, DRILL, FORMULA, *ITEMS.values()], ids=lambda one: one["title"])
def test_what_is_no_mapping_is_refused(schema):
    with pytest.raises(ValueError, match=f"^here: {schema['title']} is a mapping of fields: got 'x'"):
        check("x", schema, "here")


def test_a_name_that_stands_twice_is_refused():
    refuse_doubles(["a", "b"], "here")
    with pytest.raises(ValueError, match="here: each entry has a name of its own: got b twice"):
        refuse_doubles(["a", "b", "b"], "here")


def test_a_card_is_tagged_by_kind_level_and_topic():
    card = Card("q-x", "", "code", 3, "training", (), "", "")
    assert card.tags == ("kind::code", "level::3-hard", "topic::training")
    assert list(LEVELS) == list(TIERS) == [1, 2, 3]


def test_entries_come_with_their_lines_and_a_doubled_key_is_refused():
    assert entries("# one\n- a: 1\n\n- b\n", "here") == [(2, {"a": 1}), (4, "b")]
    for text in ("", "a: 1", "[]"):
        with pytest.raises(ValueError, match=r"^here: the file is a list of entries"):
            entries(text, "here")
    with pytest.raises(ValueError, match=r"^here: line 1: the key a stands twice"):
        entries("- a: 1\n  a: 2\n", "here")


def test_a_file_is_read_once_and_again_when_it_changes(tmp_path):
    times = []

    @read_once
    def read(path):
        times.append(path)
        return path.read_text("utf8")

    path = tmp_path / "x"
    path.write_text("one", "utf8")
    assert [read(path), read(path)] == ["one", "one"]
    assert len(times) == 1
    path.write_text("three", "utf8")
    assert read(path) == "three"
    assert len(times) == 2


def test_a_markdown_file_is_one_cell(tmp_path):
    (tmp_path / "x.md").write_text("# X\n", "utf8")
    assert cells(tmp_path / "x.md") == ({"cell_type": "markdown", "source": "# X\n"},)


def test_the_tools_load_without_torch_and_numpy_and_all_but_the_site_without_sphinx():
    names = sorted(path.stem for path in (ROOT / "companion" / "book").glob("*.py") if path.stem != "__init__")
    assert {"model", "claims", "questions", "quiz", "cards", "notebooks"} <= set(names)
    listed = ", ".join(f"companion.book.{name}" for name in names)
    code = f"import sys, {listed}\nprint(*{{'torch', 'numpy', 'sphinx', 'docutils', 'matplotlib'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
