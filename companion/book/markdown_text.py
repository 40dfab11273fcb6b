"""Interview questions as plain Markdown: what only the site understands becomes words.

A question is written in MyST Markdown, with roles such as ``{cite:t}`vaswani2017attention` ``. A flash card
knows no roles, so here each of them becomes the words that the page would
show: a citation its authors and year, a reference the title that it points to. Mathematics and code stay as they are.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from pybtex.database import Entry, parse_file

from companion.book import toc
from companion.book.citations import authors, tell_apart
from companion.book.model import Question
from companion.book.questions import read_book

_ROLE = re.compile(r"\{(?P<role>[a-z][\w:-]*)\}(?P<ticks>`+)(?P<text>.+?)(?P=ticks)", re.DOTALL)
_CODE = re.compile(r"^(?P<fence>`{3,}|~{3,})[^\n]*\n.*?^(?P=fence)`*[ \t]*$", re.MULTILINE | re.DOTALL)
_TITLED = re.compile(r"(?P<words>.+?)\s*<(?P<target>[^<>]+)>", re.DOTALL)
_HEADING = re.compile(r"^\((?P<label>[\w:-]+)\)=\s*\n#+[ \t]+(?P<title>.+)$", re.MULTILINE)
_FIRST = re.compile(r"^#[ \t]+(?P<title>.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Words:
    """What a book's labels, pages and sources are called."""

    root: Path

    @cached_property
    def pages(self) -> dict[str, str]:
        """The title of each page, by its name."""
        found = {
            toc.page(path): _FIRST.search(path.read_text("utf8")) for path in sorted((self.root / "book").rglob("*.md"))
        }
        return {name: match["title"].strip() for name, match in found.items() if match}

    @cached_property
    def labels(self) -> dict[str, str]:
        """The heading behind each label."""
        texts = (path.read_text("utf8") for path in sorted((self.root / "book").rglob("*.md")))
        return {match["label"]: match["title"].strip() for text in texts for match in _HEADING.finditer(text)}

    @cached_property
    def sources(self) -> Mapping[str, Entry]:
        """The entries of the bibliography, by their keys."""
        entries = parse_file(str(self.root / "book" / "references.bib")).entries
        tell_apart(entries)
        return entries

    def plain(self, text: str, where: str) -> str:
        """Turn the roles of a text into words; blocks of code are left alone.

        Args:
            text: MyST Markdown.
            where: what to name in an error.

        Returns:
            Markdown without roles.

        Raises:
            ValueError: a role has no words here, or a source or a page does not exist.
        """
        pieces, end = [], 0
        for code in _CODE.finditer(text):
            pieces += [self._roles(text[end : code.start()], where), code[0]]
            end = code.end()
        return "".join([*pieces, self._roles(text[end:], where)])

    def _roles(self, text: str, where: str) -> str:
        return _ROLE.sub(lambda match: self._word(match, where), text)

    def _word(self, match: re.Match, where: str) -> str:
        role, content = match["role"], " ".join(match["text"].split())
        if role not in _WORDS:
            raise ValueError(
                f"{where}: a question outside the site knows the roles {', '.join(_WORDS)}: got {{{role}}}."
            )
        try:
            return _WORDS[role](self, content)
        except KeyError as missing:
            raise ValueError(f"{where}: {{{role}}} names {missing.args[0]!r}: the book has none.") from None

    def cited(self, keys: str, *, textual: bool) -> str:
        """Name sources by authors and year: ``Vaswani et al. (2017)``, or ``(Vaswani et al., 2017)``."""
        entries = [self.sources[key.strip()] for key in keys.split(",")]
        found = [(authors(entry.persons), entry.fields.get("year", "undated")) for entry in entries]
        if textual:
            return " and ".join(f"{authors} ({year})" for authors, year in found)
        return f"({'; '.join(f'{authors}, {year}' for authors, year in found)})"

    def reference(self, content: str, titles: dict[str, str]) -> str:
        """Name what a reference points to: by its own words, else by the title, else by the label."""
        match = _TITLED.fullmatch(content)
        if match:
            return match["words"]
        return titles.get(content.removeprefix("/book/"), _spoken(content))


def _spoken(label: str) -> str:
    return re.sub(r"^(eq|fig|tab|sec|claim|exr|q)-", "", label).replace("-", " ")


_WORDS: dict[str, Callable[[Words, str], str]] = {
    "cite": lambda words, content: words.cited(content, textual=False),
    "cite:p": lambda words, content: words.cited(content, textual=False),
    "cite:t": lambda words, content: words.cited(content, textual=True),
    "doc": lambda words, content: words.reference(content, words.pages),
    "eq": lambda words, content: f"the equation “{_spoken(content)}”",
    "math": lambda words, content: f"${content}$",
    "numref": lambda words, content: words.reference(content, {}),
    "ref": lambda words, content: words.reference(content, words.labels),
    "term": lambda words, content: words.reference(content, {}),
}


def plain_question(question: Question, words: Words) -> Question:
    """Return a question whose texts are plain Markdown.

    Args:
        question: one of ``read_book``.
        words: what the book calls its labels and sources.

    Returns:
        The same question without roles.

    Raises:
        ValueError: a role has no words; the message names the question.
    """
    where = f"{question.page}, {question.name}"
    texts = {
        part: words.plain(getattr(question, part), where) for part in ("question", "short", "full", "common_mistake")
    }
    pairs = tuple((words.plain(asked, where), words.plain(answer, where)) for asked, answer in question.follow_ups)
    return replace(question, follow_ups=pairs, **texts)


def plain_book(root: Path) -> list[Question]:
    """Read the questions of a whole book as plain Markdown, in the order of the table of contents.

    Raises:
        ValueError: as ``read_book`` and ``plain_question`` do.
    """
    words = Words(root)
    return [plain_question(question, words) for question in read_book(root)]
