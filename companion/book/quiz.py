r"""Quiz items: ``quiz.yml`` in the folder of a chapter, read by the site and, without Sphinx, by tests and other tools.

An item is a choice, a number, an order or a bug; CONTRIBUTING.md gives an example of each:

    - id: quiz-scale-variance
      topic: attention
      level: 1
      kind: choice
      question: What is the variance of $q \cdot k$?
      link: claim-dot-product-variance
      options:
        - {text: It is $d_k$., right: true, why: A sum of $d_k$ terms of variance 1.}
        - {text: It is 1., why: That is the variance after the division.}
        - {text: It is $d_k^2$., why: Variances of independent terms add, they do not multiply.}

``read_quiz`` returns the items or refuses them; a message names the file, the line, the item and the rule.
How they look on the site is the matter of ``companion.book.site.quiz_page``.
"""

import math
from pathlib import Path

from companion.book import toc
from companion.book.entries import entries, read_once
from companion.book.model import Item, Number, Option
from companion.book.schemas import ITEMS, check

_TEXTS = ("id", "topic", "level", "kind", "question", "link", "unit", "shows")


def read_quiz(root: Path | None = None) -> list[Item]:
    """Read the items of the quiz, ``companion/chapters/CHAPTER/quiz.yml``.

    Args:
        root: of the book.

    Returns:
        The items; chapters in the order of the book.

    Raises:
        ValueError: an item breaks a rule, two have one id, or there is no file.
    """
    paths = [*toc.chapter_files("quiz.yml", root).values()]
    if not paths:
        raise ValueError("the items of the quiz lie in companion/chapters/CHAPTER/quiz.yml: got no such file.")
    items = [item for path in paths for item in read_items(path)]
    seen: dict[str, Item] = {}
    for item in items:
        if item.id in seen:
            raise ValueError(f"{item.where}: the id is taken, in {_name(seen[item.id].source)}. Rename one.")
        seen[item.id] = item
    return items


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


@read_once
def read_items(path: Path) -> tuple[Item, ...]:
    """Read the items of one file.

    Raises:
        ValueError: the file is not YAML, or an item breaks a rule.
    """
    return tuple(_item(entry, path, line) for line, entry in entries(path.read_text("utf8"), _name(path)))


def _item(entry: object, path: Path, line: int) -> Item:
    """Check an item and return it; each refusal says where it stands."""
    where = f"{_name(path)}, line {line}"
    fields = entry if isinstance(entry, dict) else {}
    where += f", {fields['id']}" if "id" in fields else ""
    kind = fields.get("kind")
    check(entry, ITEMS[kind] if kind in ITEMS else {**ITEMS["choice"], "title": "an item"}, where)
    chapter = path.parent.name.replace("_", "-")
    if entry["topic"] != chapter:
        raise ValueError(f"{where}: a file holds the topic of the chapter that it lies in: got {entry['topic']!r}.")
    item = Item(
        **{name: _stripped(entry[name]) for name in _TEXTS if name in entry},
        source=path,
        line=line,
        options=tuple(_option(option) for option in entry.get("options", ())),
        several=entry.get("several", False),
        answer=_number(entry) if kind == "number" else None,
        wrong=tuple(map(_number, entry.get("wrong", ()))),
        within=entry.get("within", 0),
        steps=tuple(_option(step) for step in entry.get("steps", ())),
        code=entry["code"].strip() + "\n" if kind == "bug" else "",
        repair=entry["repair"]["text"].rstrip() if kind == "bug" else "",
    )
    problem = {"choice": _choice, "number": _numbers, "order": _order, "bug": _bug}[kind](item, entry)
    if problem:
        raise ValueError(f"{where}: {problem}.")
    return item


def _stripped(value: str | int) -> str | int:
    return value.strip() if isinstance(value, str) else value


def _option(entry: dict) -> Option:
    return Option(entry.get("text", "").strip(), entry.get("right", False), entry["why"].strip(), entry.get("line", 0))


def _number(entry: dict) -> Number:
    answer = entry["answer"]
    return Number(answer.strip() if isinstance(answer, str) else repr(answer), entry["key"], entry["why"].strip())


def _choice(item: Item, entry: dict) -> str:
    marked = sum(option.right for option in item.options)
    if item.several and not 1 < marked < len(item.options):
        return f"with several, two options or more are right and one is not: got {marked} right"
    if not item.several and marked != 1:
        return f"exactly one option is right, unless several is true: got {marked}"
    if len({(option.text, option.line) for option in item.options}) < len(item.options):
        return "options differ: two are the same"
    return ""


def _numbers(item: Item, entry: dict) -> str:
    """No known error may give what counts as right, nor two errors the same."""
    taken = [item.answer.key]
    for known in item.wrong:
        if any(math.isclose(known.key, other, rel_tol=max(2 * item.within, 1e-9)) for other in taken):
            return f"a wrong number is told from the key and from the other wrong ones: got {known.key}"
        taken.append(known.key)
    return ""


def _order(item: Item, entry: dict) -> str:
    return "steps differ: two are the same" if len({step.text for step in item.steps}) < len(item.steps) else ""


def _bug(item: Item, entry: dict) -> str:
    lines = item.code.splitlines()
    for option in item.options:
        if option.line > len(lines):
            return f"a line of the listing is from 1 to {len(lines)}: got {option.line}"
        if not lines[option.line - 1].strip():
            return f"a line that is offered is not empty: got line {option.line}"
    if problem := _choice(item, entry):
        return problem
    right = next(option.line for option in item.options if option.right)
    if entry["repair"]["line"] != right:
        return f"the repair mends the line at fault, {right}: got line {entry['repair']['line']}"
    return ""
