"""The flash cards: Anki's own format, read back as Anki reads it, and the table; the same bytes at every run."""

import collections
import csv
import io
import json
import re
import sqlite3
import zipfile
from dataclasses import asdict
from pathlib import Path

import pytest

from companion.book import cards, topics
from companion.book.card_html import card_html, card_line
from companion.book.model import Question

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "book"
FIELDS = {"question": ["Name", "About", "Question", "Short", "Whiteboard", "Mistake"]}
FIELDS["follow-up"] = ["Name", "About", "After", "Question", "Answer"]
RAW = re.compile(r"\{(ref|eq|cite|doc|numref|term|math)[:}]|:::|\$|^\([\w-]+\)=", re.MULTILINE)


@pytest.fixture(scope="module")
def made():
    return cards.cards(ROOT)


@pytest.fixture(scope="module")
def stored():
    """The questions of the book, as plain Markdown."""
    return [asdict(question) for question in cards.plain_book(ROOT)]


def read(deck, folder):
    """Open a package as Anki does: its notes with their model, deck and cards."""
    with zipfile.ZipFile(io.BytesIO(deck)) as archive:
        assert sorted(archive.namelist()) == ["collection.anki2", "media"]
        assert archive.read("media") == b"{}"
        archive.extract("collection.anki2", folder)
    with sqlite3.connect(folder / "collection.anki2") as base:
        models, decks = (json.loads(text) for text in base.execute("select models, decks from col").fetchone())
        notes = base.execute("select id, guid, mid, tags, flds, mod from notes").fetchall()
        homes = base.execute("select nid, did, ord, due from cards").fetchall()
    found = []
    for number, guid, model, tags, fields, changed in notes:
        own = [home for home in homes if home[0] == number]
        model = models[str(model)]
        names = [field["name"] for field in model["flds"]]
        found.append(
            {
                "guid": guid,
                "model": model["name"].split(": ")[1],
                "fields": dict(zip(names, fields.split("\x1f"), strict=True)),
                "tags": tags.split(),
                "decks": [decks[str(did)]["name"] for _, did, _, _ in own],
                "changed": changed,
                "templates": model["tmpls"],
            }
        )
    return found


@pytest.fixture(scope="module")
def notes(made, tmp_path_factory):
    return read(cards.deck(made), tmp_path_factory.mktemp("deck"))


def test_two_runs_give_the_same_bytes(made):
    assert cards.files(made, 5) == cards.files(cards.cards(ROOT), 5)
    assert cards.deck(made, 5) != cards.deck(made, 6)


def test_the_deck_holds_each_question_and_each_follow_up_as_a_note_with_one_card(notes, stored):
    names = collections.Counter(note["fields"]["Name"] for note in notes)
    expected = [question["name"] for question in stored]
    expected += [f"{q['name']}-{number}" for q in stored for number in range(1, len(q["follow_ups"]) + 1)]
    assert names == collections.Counter(expected)
    for note in notes:
        assert list(note["fields"]) == FIELDS[note["model"]]
        assert all(note["fields"].values()), note["fields"]["Name"]
        below = "::Follow-ups" if note["model"] == "follow-up" else ""
        assert note["decks"] == [f"Transformers, tested{below}"]
    assert len({note["guid"] for note in notes}) == len(notes)


def test_tags_are_kind_level_and_topic(notes, stored):
    words = {1: "basic", 2: "solid", 3: "hard"}
    tags = {
        q["name"]: {f"kind::{q['kind']}", f"level::{q['level']}-{words[q['level']]}", f"topic::{q['topic']}"}
        for q in stored
    }
    for note in notes:
        name = note["fields"]["Name"]
        assert set(note["tags"]) == tags[name if name in tags else name.rsplit("-", 1)[0]]


def test_the_front_does_not_give_the_answer_away_and_the_back_has_every_field(notes):
    for note in notes:
        (template,) = note["templates"]
        shown = set(re.findall(r"\{\{(\w+)\}\}", template["qfmt"]))
        assert shown == {"About", "Question"} | ({"After"} if note["model"] == "follow-up" else set())
        behind = set(re.findall(r"\{\{(\w+)\}\}", template["afmt"])) - {"FrontSide"}
        assert shown | behind == set(FIELDS[note["model"]]) - {"Name"}


def formulas(text):
    """The formulas of a Markdown text, code left out."""
    text = re.sub(r"(?ms)^```.*?^```", "", text)
    text = re.sub(r"`[^`\n]+`", "", text)
    return re.findall(r"(?s)(?<!\\)\$\$(.+?)\$\$|(?<![\\$])\$([^$]+?)\$", text)


def test_every_formula_of_a_question_arrives_balanced(notes, stored):
    by_name = {note["fields"]["Name"]: note["fields"] for note in notes}
    counted = 0
    for question in stored:
        fields = by_name[question["name"]]
        texts = {"Question": "question", "Short": "short", "Whiteboard": "full", "Mistake": "common_mistake"}
        pairs = [(fields[field], question[part]) for field, part in texts.items()]
        for number, (asked, answer) in enumerate(question["follow_ups"], 1):
            further = by_name[f"{question['name']}-{number}"]
            pairs += [(further["Question"], asked), (further["Answer"], answer)]
        for html, text in pairs:
            found = re.findall(r"(?s)\\\((.+?)\\\)|\\\[(.+?)\\\]", html)
            assert len(found) == len(formulas(text)), (question["name"], text)
            assert html.count(r"\(") == html.count(r"\)")
            for formula in map("".join, found):
                bare = formula.replace(r"\{", "").replace(r"\}", "")
                assert bare.count("{") == bare.count("}"), formula
                assert formula.count(r"\begin{") == formula.count(r"\end{"), formula
            counted += len(found)
    assert counted > 500


def test_no_raw_markup_of_the_site_is_left(notes):
    for note in notes:
        for field, html in note["fields"].items():
            bare = re.sub(r"(?s)<pre>.*?</pre>|<code>.*?</code>", "", html)
            assert RAW.search(bare) is None, (note["fields"]["Name"], field, RAW.search(bare))
            assert "<script" not in html


def test_the_name_of_a_question_decides_its_guid_and_nothing_else(notes):
    (known,) = (note for note in notes if note["fields"]["Name"] == "q-what-is-attention")
    assert known["guid"] == cards.guid("q-what-is-attention")
    assert known["guid"] == cards.genanki.guid_for("transformers-tested", "q-what-is-attention")
    assert all(note["guid"] == cards.guid(note["fields"]["Name"]) for note in notes)


def test_a_later_edition_says_so_in_each_note(made, tmp_path):
    assert {note["changed"] for note in read(cards.deck(made, 1_800_000_000), tmp_path)} == {1_800_000_000}


def test_the_edition_is_that_of_the_last_commit_or_of_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    assert cards.edition(tmp_path) == cards.EPOCH
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1800000001")
    assert cards.edition(tmp_path) == 1_800_000_001


def test_the_table_holds_the_cards_of_the_deck(made, notes):
    rows = list(csv.DictReader(io.StringIO(cards.table(made), newline="")))
    assert [row["name"] for row in rows] == [card.name for card in made]
    fields = {note["fields"]["Name"]: note for note in notes}
    for row in rows:
        note = fields[row["name"]]
        assert row["tags"].split() == note["tags"]
        assert row["follow_up_of"] == ("" if note["model"] == "question" else row["name"].rsplit("-", 1)[0])
        assert note["fields"]["Question"] in row["front"]
        for part in ("Short", "Whiteboard", "Mistake", "Answer"):
            assert note["fields"].get(part, "") in row["back"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a $x_1 < y$ b", r"<p>a \(x_1 &lt; y\) b</p>"),
        ("$$\nx = 1\n$$", r"<div>\[x = 1\]</div>"),
        ("$$\nx \\\\ y\n$$", r"<div>\[\begin{split}x \\ y\end{split}\]</div>"),
        ("\\begin{align}\na &= b\n\\end{align}", "<div>\\[\\begin{align}\na &amp;= b\n\\end{align}\\]</div>"),
        ("```python\na < b  # {ref}`x`\n```", "<pre><code>a &lt; b  # {ref}`x`\n</code></pre>"),
        ("```{code-block} python\nx\n```", "<pre><code>x\n</code></pre>"),
        ("`x[0]` and *y*", "<p><code>x[0]</code> and <em>y</em></p>"),
        ("<b>x</b>", "<p>&lt;b&gt;x&lt;/b&gt;</p>"),
    ],
)
def test_markdown_becomes_what_anki_shows(text, expected):
    assert card_html(text, "here") == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (":::{note}\nx\n:::", r"here: a card shows no MyST: got ':::'\. Write it in another way"),
        ("see {ref}`x`", r"here: a card shows no MyST"),
        ("(a-label)=\n\ntext", r"here: a card shows no MyST"),
        ("```{list-table}\nx\n```", r"here: a card shows text, .*: got the directive \{list-table\}"),
    ],
)
def test_what_a_card_cannot_show_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        card_html(text, "here")


def test_a_line_has_no_paragraph_around_it():
    assert card_line("Why $x$?", "here") == r"Why \(x\)?"
    assert card_line("one\n\ntwo", "here") == "<p>one</p>\n<p>two</p>"


def test_the_command_writes_both_files(tmp_path, capsys, made):
    assert cards.main([str(tmp_path / "out")]) == 0
    found = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert found == cards.files(made, cards.edition(ROOT))
    assert "transformers-tested.apkg" in capsys.readouterr().out


def test_answers_of_a_few_words_are_refused_all_in_one_message(stored):
    first = stored[0]
    made = Question(**(first | {"follow_ups": (("Why?", "It is so, and always was."), ("And?", "No."))}))
    other = Question(**(first | {"name": "q-other", "short": "Four words are few.", "follow_ups": ()}))
    cards.refuse_short([other], fewest=4)
    message = (
        rf"an answer on a card has at least 5 words: got {first['page']}, {first['name']}, follow-up 2: 'No\.'; "
        rf"{first['page']}, q-other, short: 'Four words are few\.'\. Say why, or when not\."
    )
    with pytest.raises(ValueError, match=message):
        cards.refuse_short([made, other])


def test_the_topic_on_a_card_has_the_title_of_the_index(made):
    assert {card.fields[0].split(" · ")[0] for card in made} == {topics.TOPICS[card.topic] for card in made}


def test_a_change_of_what_makes_the_cards_is_a_later_edition():
    patterns = [re.compile(re.escape(name).replace(r"\*", ".*")) for name in cards.SOURCES]
    wanted = [*BOOK.rglob("*.ipynb"), BOOK / "references.bib"]
    wanted += [ROOT / "companion" / "book" / f"{name}.py" for name in ("cards", "card_html", "markdown_text")]
    names = [path.relative_to(ROOT).as_posix() for path in wanted]
    assert [name for name in names if not any(pattern.fullmatch(name) for pattern in patterns)] == []
    assert all(any(pattern.fullmatch(name) for name in names) for pattern in patterns)
