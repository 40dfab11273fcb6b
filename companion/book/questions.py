r"""Interview questions: one source in a chapter, read by the site and, without Sphinx, by anything else.

A question stands in a chapter's Markdown like this; the fence of the whole has more colons than those of its parts:

    ::::{interview-question} Why are the scores divided by $\sqrt{d_k}$?
    :name: q-why-scale
    :kind: derive
    :level: 1
    :topic: attention
    :evidence: claim-dot-product-variance, fig-scaling
    :::{short}
    Two sentences.
    :::
    :::{full}
    The derivation for the whiteboard.
    :::
    :::{follow-ups}
    1. **A question?** Its answer.
    :::
    :::{common-mistake}
    The wrong answer, and why it is wrong.
    :::
    ::::

``read_questions`` returns the questions of a text and needs nothing but Python. How they look on the site is the
matter of ``companion.book.site.questions_page``.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from companion.book import toc
from companion.book.entries import markdown, read_once
from companion.book.model import LEVELS, QUESTION_KINDS, Question
from companion.book.schemas import QUESTION, check, refuse_doubles
from companion.book.topics import TOPICS

PARTS = {
    "short": "Short answer",
    "full": "On the whiteboard",
    "follow-ups": "Follow-ups",
    "common-mistake": "Common wrong answer",
}
_OPEN = re.compile(r"^(?P<fence>:{3,})\{interview-question\}[ \t]*(?P<question>.*)$")
_PART = re.compile(r"^(?P<fence>:{3,})\{(?P<part>[\w-]+)\}[ \t]*$")
_OPTION = re.compile(r"^:(?P<field>[\w-]+):[ \t]*(?P<value>.*)$")
_CODE = re.compile(r"^\s*(?P<fence>`{3,}|~{3,})")
_ITEM = re.compile(r"^\d+\.[ \t]+", re.MULTILINE)
_FOLLOW_UP = re.compile(r"\*\*(?P<question>.+?)\*\*\s+(?P<answer>\S.*)", re.DOTALL)


def read_questions(source: Path | str, *, page: str | None = None) -> list[Question]:
    """Read the questions of a chapter's source, notebook or text.

    Args:
        source: a path to a page, ``index.md`` or ``index.ipynb``, or the Markdown text itself.
        page: the page's name; a path names its own.

    Returns:
        The questions in their order.

    Raises:
        ValueError: a question is not complete, or two have one name; the message names the file and the line.
    """
    return list(_of_file(source) if isinstance(source, Path) else _of_text(source, "text", page or ""))


@read_once
def _of_file(path: Path) -> tuple[Question, ...]:
    return _of_text(markdown(path), toc.page(path) + path.suffix, toc.page(path))


def _of_text(text: str, where: str, page: str) -> tuple[Question, ...]:
    found = tuple(_parse(lines, f"{where}, line {line}", page) for line, lines in _blocks(text, where))
    refuse_doubles((question.name for question in found), where)
    return found


def count(questions: Iterable[Question], words: str) -> int:
    """Count the questions that have all the words said: a topic, a kind, a level; ``total`` stands for any.

    Raises:
        ValueError: a word is none of those.
    """
    known = {"total", *TOPICS, *QUESTION_KINDS, *map(str, LEVELS)}
    wanted = set(words.split())
    if not wanted or wanted - known:
        raise ValueError(f"questions are counted by total, a topic, a kind or a level: got {words!r}.")
    return sum(wanted <= {"total", item.topic, item.kind, str(item.level)} for item in questions)


def _outside_code(lines: Iterable[str]) -> Iterable[tuple[int, str, bool]]:
    """Number the lines from 0 and say of each whether it stands outside every block of code."""
    fence = ""
    for number, line in enumerate(lines):
        match = _CODE.match(line)
        if fence:
            if match and match["fence"].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            yield number, line, False
        else:
            fence = match["fence"] if match else ""
            yield number, line, not match


def _blocks(text: str, where: str) -> Iterable[tuple[int, list[str]]]:
    """Yield each question with the number of its first line, from 1."""
    start, fence, lines = 0, "", text.splitlines()
    for number, line, outside in _outside_code(lines):
        match = _OPEN.match(line) if outside else None
        if match:
            if fence:
                raise ValueError(f"{where}, line {start + 1}: this question is not closed before the next one.")
            start, fence = number, match["fence"]
        elif fence and outside and line.strip() == fence:
            yield start + 1, lines[start : number + 1]
            fence = ""
    if fence:
        raise ValueError(f"{where}, line {start + 1}: this question is not closed by {fence}.")


def split_parts(lines: list[str], where: str) -> dict[str, tuple[int, list[str]]]:
    """Split the content of a question into its parts: name -> (number of its first line, its lines).

    Raises:
        ValueError: a part is missing, unknown, empty, doubled or not closed, or text stands between two.
    """
    parts: dict[str, tuple[int, list[str]]] = {}
    name, fence, start = "", "", 0
    for number, line, outside in _outside_code(lines):
        match = _PART.match(line) if outside else None
        if not fence and match:
            name, fence, start = match["part"], match["fence"], number + 1
            if name not in PARTS:
                raise ValueError(f"{where}: a part of a question is one of {', '.join(PARTS)}: got {name!r}.")
            if name in parts:
                raise ValueError(f"{where}: a question has one part {name}: got two.")
        elif fence and outside and line.strip() == fence:
            parts[name] = start, lines[start:number]
            fence = ""
        elif not fence and line.strip():
            raise ValueError(f"{where}: text stands in a part of the question: got {line.strip()!r} between them.")
    if fence:
        raise ValueError(f"{where}: the part {name} is not closed by {fence}.")
    for part in PARTS:
        if not any(line.strip() for line in parts.get(part, (0, []))[1]):
            raise ValueError(f"{where}: a question needs the part {part}: got none, or an empty one.")
    return parts


def split_follow_ups(text: str, where: str) -> tuple[tuple[str, str], ...]:
    """Split a numbered list of ``**Question?** Answer.`` into pairs.

    Raises:
        ValueError: an item has another form.
    """
    pieces = _ITEM.split(text.strip())
    if pieces[0].strip() or len(pieces) < 2:
        raise ValueError(
            f"{where}: follow-ups are a numbered list, `1. **Question?** Answer.`: got {text.strip()[:40]!r}."
        )
    pairs = []
    for piece in pieces[1:]:
        plain = re.sub(r"\n[ \t]+", "\n", piece.strip())
        match = _FOLLOW_UP.fullmatch(plain)
        if not match:
            raise ValueError(f"{where}: a follow-up reads `1. **Question?** Answer.`: got {plain[:40]!r}.")
        pairs.append((" ".join(match["question"].split()), match["answer"]))
    return tuple(pairs)


def check_fields(options: dict[str, str], where: str) -> dict[str, object]:
    """Turn the options of a question into values and check them.

    Raises:
        ValueError: a field is missing, unknown, or not what it must be.
    """
    values: dict[str, object] = {name: text.strip() for name, text in options.items() if text.strip()}
    for name in ("level", "rare"):
        if (number := str(values.get(name, ""))).isdecimal():
            values[name] = int(number)
    if "evidence" in values:
        values["evidence"] = [label.strip() for label in values["evidence"].split(",")]
    check(values, QUESTION, where)
    return values | {"evidence": tuple(values["evidence"])}


def split_options(lines: list[str], where: str) -> tuple[dict[str, str], int]:
    """Take the options off the head of a question's content; returns them and the number of lines they took."""
    options: dict[str, str] = {}
    for number, line in enumerate(lines):
        match = _OPTION.match(line)
        if not match:
            return options, number
        if match["field"] in options:
            raise ValueError(f"{where}: a question has one {match['field']}: got two.")
        options[match["field"]] = match["value"]
    return options, len(lines)


def _parse(lines: list[str], where: str, page: str) -> Question:
    question = _OPEN.match(lines[0])["question"].strip()
    if not question:
        raise ValueError(f"{where}: the question stands on the first line, after {{interview-question}}: got none.")
    options, taken = split_options(lines[1:-1], where)
    values = check_fields(options, where)
    texts = {part: "\n".join(text).strip() for part, (_, text) in split_parts(lines[taken + 1 : -1], where).items()}
    return Question(
        question=question,
        short=texts["short"],
        full=texts["full"],
        follow_ups=split_follow_ups(texts["follow-ups"], where),
        common_mistake=texts["common-mistake"],
        page=page,
        **values,
    )


def read_book(root: Path = toc.CHECKOUT) -> list[Question]:
    """Read the questions of every notebook in the table of contents, in its order.

    The stored notebooks are read and not their sources, because numbers that a cell computes stand in these only.

    Args:
        root: of the book: the folder of ``_toc.yml``.

    Returns:
        The questions of the whole book.

    Raises:
        ValueError: the table of contents or a notebook that it names is missing, or two questions have one name.
    """
    order = root / "_toc.yml"
    if not order.exists():
        raise ValueError(f"the order of the questions is that of {order.name} beside book/: got no such file.")
    found: list[Question] = []
    for path in toc.notebooks(root):
        if not path.exists():
            name = path.relative_to(root).as_posix()
            raise ValueError(f"{order.name} names {name}: got no such file. Run `make notebooks`.")
        found += read_questions(path)
    homes: dict[str, str] = {}
    for question in found:
        if question.name in homes:
            raise ValueError(
                f"a question has a name of its own: got {question.name} in {homes[question.name]} and in "
                f"{question.page}. Rename one."
            )
        homes[question.name] = question.page
    return found
