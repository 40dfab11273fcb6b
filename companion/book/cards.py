"""Flash cards from the interview questions: an Anki deck and a table, the same bytes at every run.

A question is a note with one card; each of its follow-ups is a note of its own, in a deck below, which a reader can
leave out. The notes are known by the names of the questions: who imports a later edition keeps the schedule. Follow-ups
are known by their number, so a new one goes to the end of its list.

``python -m companion.book.cards`` writes both files; ``companion.book.site.cards_page`` puts them on the site.
"""

import argparse
import csv
import io
import itertools
import os
import sqlite3
import subprocess
import sys
import zipfile
from pathlib import Path

import genanki

from companion.book import toc
from companion.book.card_html import card_html, card_line
from companion.book.markdown_text import plain_book
from companion.book.model import LEVELS, Card, Question
from companion.book.topics import topic_title

NAME = "transformers-tested"
DECK = "Transformers, tested"
EPOCH = 1_767_225_600  # the start of 2026: the time of an edition whose commit is not known
FIRST_ID = 1_767_225_600_000  # of notes and cards; Anki knows a note by its guid, whatever its number
FEWEST_WORDS = 5  # of an answer
SOURCES = (  # what decides the texts, as git names paths: * stands for folders too
    "book/*.ipynb",
    "book/references.bib",
    "companion/book/cards.py",
    "companion/book/card_html.py",
    "companion/book/markdown_text.py",
)
COLUMNS = ("name", "follow_up_of", "kind", "level", "topic", "front", "back", "tags")
_STYLE = """.card { font: 18px/1.5 sans-serif; margin: 0 auto; max-width: 40em; padding: 0 12px; text-align: left; }
.about { font-size: 14px; opacity: .8; }
.asked { font-size: 20px; font-weight: 600; margin: 12px 0; }
h2 { font-size: 16px; margin: 18px 0 4px; }
pre { overflow-x: auto; padding: 8px; border: 1px solid; border-radius: 4px; font-size: 15px; }
table { border-collapse: collapse; } td, th { border: 1px solid; padding: 2px 8px; }
"""
_FRONT = '<div class="about">{{About}}</div>\n'
_QUESTION = genanki.Model(
    1_767_225_601,
    f"{DECK}: question",
    fields=[{"name": field} for field in ("Name", "About", "Question", "Short", "Whiteboard", "Mistake")],
    templates=[
        {
            "name": "Answer aloud",
            "qfmt": _FRONT + '<div class="asked">{{Question}}</div>',
            "afmt": '{{FrontSide}}\n<hr id="answer">\n<h2>Short answer</h2>\n{{Short}}\n<h2>On the whiteboard</h2>\n'
            "{{Whiteboard}}\n<h2>Common wrong answer</h2>\n{{Mistake}}",
        }
    ],
    css=_STYLE,
)
_FOLLOW_UP = genanki.Model(
    1_767_225_602,
    f"{DECK}: follow-up",
    fields=[{"name": field} for field in ("Name", "About", "After", "Question", "Answer")],
    templates=[
        {
            "name": "Answer aloud",
            "qfmt": _FRONT + '<div>After “{{After}}”</div>\n<div class="asked">{{Question}}</div>',
            "afmt": '{{FrontSide}}\n<hr id="answer">\n{{Answer}}',
        }
    ],
    css=_STYLE,
)


def guid(name: str) -> str:
    """Return what Anki knows the note of a card by; it depends on the name of the card and on nothing else."""
    return genanki.guid_for(NAME, name)


def cards(root: Path) -> list[Card]:
    """Make the cards of a book, each question before its follow-ups.

    Args:
        root: of the book.

    Returns:
        The cards in the order of the book.

    Raises:
        ValueError: a question holds what a card cannot show, or an answer has too few words.
    """
    found = plain_book(root)
    refuse_short(found)
    return [card for question in found for card in _cards(question)]


def refuse_short(questions: list[Question], fewest: int = FEWEST_WORDS) -> None:
    """Refuse answers of so few words that they teach nothing, such as "No."; all of them in one message.

    Raises:
        ValueError: an answer, to a question or to a follow-up, has fewer than ``fewest``.
    """
    short = []
    for question in questions:
        answers = {"short": question.short, "common-mistake": question.common_mistake}
        answers |= {f"follow-up {number}": answer for number, (_, answer) in enumerate(question.follow_ups, 1)}
        where = f"{question.page}, {question.name}"
        short += [f"{where}, {part}: {text!r}" for part, text in answers.items() if len(text.split()) < fewest]
    if short:
        raise ValueError(
            f"an answer on a card has at least {fewest} words: got {'; '.join(short)}. Say why, or when not."
        )


def _cards(question: Question) -> list[Card]:
    where = f"{question.page}, {question.name}"
    about = card_line(f"{topic_title(question.topic)} · {question.kind} · {LEVELS[question.level]}", where)
    common = {"kind": question.kind, "level": question.level, "topic": question.topic}
    asked = card_line(question.question, where)
    short, full, mistake = (card_html(text, where) for text in (question.short, question.full, question.common_mistake))
    parts = {"Short answer": short, "On the whiteboard": full, "Common wrong answer": mistake}
    back = "\n".join(f"<h2>{heading}</h2>\n{html}" for heading, html in parts.items())
    made = [Card(question.name, "", **common, fields=(about, asked, short, full, mistake), front=asked, back=back)]
    for number, (further, answer) in enumerate(question.follow_ups, 1):
        line, html = card_line(further, where), card_html(answer, where)
        front = f"<p>After “{asked}”</p>\n<p>{line}</p>"
        name = f"{question.name}-{number}"
        fields = (about, asked, line, html)
        made.append(Card(name, question.name, **common, fields=fields, front=front, back=html))
    return made


def table(made: list[Card]) -> str:
    """Write the cards as comma-separated values, with a line of names at the top; front and back are HTML."""
    out = io.StringIO(newline="")
    rows = csv.writer(out, lineterminator="\r\n")
    rows.writerow(COLUMNS)
    for card in made:
        rows.writerow([" ".join(card.tags) if name == "tags" else getattr(card, name) for name in COLUMNS])
    return out.getvalue()


def deck(made: list[Card], edition: int = EPOCH) -> bytes:
    """Write the cards as an Anki package.

    Args:
        made: the cards.
        edition: when they were last changed, in seconds since 1970. Anki updates a note only from a later edition.

    Returns:
        The bytes of the ``.apkg`` file: a zip file with an SQLite database in it.
    """
    decks = [genanki.Deck(1_767_225_603, DECK), genanki.Deck(1_767_225_604, f"{DECK}::Follow-ups")]
    for due, card in enumerate(made):
        model, home = (_FOLLOW_UP, decks[1]) if card.follow_up_of else (_QUESTION, decks[0])
        fields = [card.name, *card.fields]
        home.add_note(genanki.Note(model, fields, guid=guid(card.name), tags=card.tags, due=due))
    connection = sqlite3.connect(":memory:")
    genanki.Package(decks).write_to_db(connection.cursor(), edition, itertools.count(FIRST_ID))
    connection.commit()
    database = connection.serialize()
    connection.close()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in (("collection.anki2", database), ("media", b"{}")):
            entry = zipfile.ZipInfo(name)  # dated 1980, as every entry without a date is
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, data)
    return out.getvalue()


def edition(root: Path) -> int:
    """Say when the cards were last changed, by the commit that did it; a fixed time where git cannot tell.

    Args:
        root: the folder of the repository. ``SOURCE_DATE_EPOCH`` in the environment comes first.
    """
    given = os.environ.get("SOURCE_DATE_EPOCH", "").strip()
    if given.isdecimal():
        return int(given)
    command = ["git", "-C", str(root), "log", "-1", "--format=%ct", "--", *SOURCES]
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        said = ""
    return int(said) if (root / ".git").exists() and said.isdecimal() else EPOCH


def files(made: list[Card], edition: int) -> dict[str, bytes]:
    """Make both files of some cards: name -> bytes.

    Args:
        made: the cards.
        edition: as ``deck`` takes it.
    """
    return {f"{NAME}.apkg": deck(made, edition), f"{NAME}.csv": table(made).encode("utf8")}


def counts(made: list[Card]) -> dict[str, int]:
    """Count what a deck holds."""
    further = sum(bool(card.follow_up_of) for card in made)
    return {"cards": len(made), "questions": len(made) - further, "follow-ups": further}


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        description="Write the flash cards, an Anki deck and a table, into _build/cards: what `make cards` does."
    )
    parser.add_argument(
        "folder", nargs="?", type=Path, default=toc.CHECKOUT / "_build" / "cards", help="where to write"
    )
    parser.add_argument("--root", type=Path, default=toc.CHECKOUT, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    try:
        made = files(cards(options.root), edition(options.root))
    except ValueError as error:
        print(f"make: {error}", file=sys.stderr)
        return 1
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, data in made.items():
        (options.folder / name).write_bytes(data)
        print(f"{options.folder / name}  {len(data) / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
