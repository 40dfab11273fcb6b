"""The pages of the chapters: of which kind each is, how long, and how much of what.

The pages of a chapter that has an index keep ``companion.book.pages.rules``.
``python -m companion.book.pages`` prints a table of all pages.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from companion.book import toc
from companion.book.entries import read_once

KINDS = ("index", "core", "deeper", "questions", "exercises", "claims")
"""Of a page in the folder of a chapter, in the order in which a chapter lists them."""
READ = ("index", "core", "deeper")
"""The kinds that are read; the others are worked through."""
_MANY = ("deeper", "questions")
"""The kinds that tell several pages of a chapter apart by a word behind the kind: ``questions-serving``."""
WORDS_A_MINUTE = 200  # Brysbaert (2019) gives 238 for English non-fiction; formulas within a line take time as well
LINES_A_MINUTE = 30  # of code, our assumption
FIGURES_A_MINUTE = 2  # pictures, plots, explorers and displayed formulas, our assumption
_APART = "interview"  # a chapter of its own kind, for practice
_PICTURE = re.compile(r'class="fig-pair"')  # of companion.pictures
_PICTURE_TYPES = ("image/png", "image/svg+xml", "application/vnd.jupyter.widget-view+json")
_UNSEEN_CODE = {"remove-cell", "remove-input", "hide-cell", "hide-input"}

_FENCE = re.compile(r"^\s*(?P<fence>`{3,}|~{3,}|:{3,})(?:\{(?P<name>[\w:-]+)\})?(?P<title>.*)$")
_OPTION = re.compile(r"^\s*:[\w-]+:(\s.*)?$")
_LABEL = re.compile(r"^(\([\w-]+\)=\s*|%.*)$")  # or a comment
_NO_PROSE = {"code-cell", "code", "code-block", "literalinclude", "math", "bibliography", "interview-question"}
_NO_TITLE = {"figure", "image"}
_ROLE = re.compile(r"\{(?P<role>[a-z][\w:-]*)\}`(?:(?P<words>[^`<]*?)\s*<[^`>]*>|(?P<target>[^`]*))`")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_DISPLAY = re.compile(r"\$\$.*?\$\$(?:\s*\([\w-]+\))?", re.DOTALL)
_FORMULA = re.compile(r"\$[^$]+\$")
_CODE = re.compile(r"(`+)[^`].*?\1", re.DOTALL)
_MEASURES = re.compile(r"\b(?:show_measured|check_claim|results|time_ratio|benchmark)\(")
_WORD = re.compile(r"[^\W_]")


@dataclass(frozen=True)
class Page:
    """A page of a chapter, as it is stored."""

    name: str
    """As ``companion.book.toc.page`` gives it."""
    text: str
    """All Markdown of the page, with the captions of its figures."""
    code: tuple[str, ...]
    """The cells of code, without the one for Colab."""
    lines: int
    """Of code that is shown."""
    pictures: int
    ran: Mapping[str, float] = field(default_factory=dict)
    """What a run left in ``_build/pages``: seconds, megabytes, screens."""

    @property
    def kind(self) -> str:
        """One of ``KINDS``, or nothing."""
        return kind(self.name)

    @property
    def words(self) -> int:
        """The words that are read, with captions, tables and boxes; a formula within a line is one.

        On a page of questions those of the questions count too, with all answers.
        """
        text = self.text.replace("{interview-question}", "{question}") if self.kind == "questions" else self.text
        return len(prose(text).split())

    @property
    def measurements(self) -> int:
        """The cells that show measured numbers, those of a stored run among them."""
        return sum(bool(_MEASURES.search(code)) for code in self.code)

    @property
    def minutes(self) -> int:
        """An estimate of the time to read it once: text, code, figures and displayed formulas."""
        figures = self.pictures + len(_DISPLAY.findall(self.text))
        return max(1, round(self.words / WORDS_A_MINUTE + self.lines / LINES_A_MINUTE + figures / FIGURES_A_MINUTE))


def kind(page: str) -> str:
    """Tell the kind of a page from its name; empty for one that belongs to no chapter, or to that of practice.

    >>> kind("attention/masks"), kind("attention/deeper-backward-pass"), kind("generation/questions-serving")
    ('core', 'deeper', 'questions')
    >>> kind("glossary")
    ''
    """
    chapter, _, name = page.partition("/")
    if not name or chapter == _APART:
        return ""
    first, dash, _ = name.partition("-")
    if dash and first in _MANY:
        return first
    return name if name in KINDS and name not in ("core", "deeper") else "core"


def chapter_pages(chapter: str, root: Path | None = None) -> list[str]:
    """Name the pages of a chapter by kind, and within a kind in the order of the table of contents."""
    own = [page for page in map(toc.page, toc.files(root)) if toc.chapter(page) == chapter and kind(page)]
    return sorted(own, key=lambda page: KINDS.index(kind(page)))


def indexed(root: Path | None = None) -> list[str]:
    """Name the chapters that have an index, in the order of the book: their pages keep the rules."""
    return [toc.chapter(page) for page in map(toc.page, toc.files(root)) if kind(page) == "index"]


def page_file(name: str, root: Path = toc.CHECKOUT) -> Path:
    """Find a page as it is stored: its notebook, else the plain page."""
    path = root / "book" / f"{name}.ipynb"
    return path if path.exists() else path.with_suffix(".md")


def read_page(name: str, root: Path = toc.CHECKOUT) -> Page:
    """Read a page as it is stored: its notebook, or a plain page, of which only the text counts."""
    page = _read(page_file(name, root))
    ran = [json.loads(file.read_text("utf8")) for file in sorted((root / "_build" / "pages").glob(f"*/{name}.json"))]
    return Page(name=name, **page, ran={key: value for one in ran for key, value in one.items()})


@read_once
def _read(path: Path) -> dict:
    if path.suffix == ".md":
        return {"text": path.read_text("utf8"), "code": (), "lines": 0, "pictures": 0}
    cells = json.loads(path.read_text("utf8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"][1:]
    text = "\n\n".join(_caption(cell) if cell["cell_type"] == "code" else "".join(cell["source"]) for cell in cells)
    sources = ["".join(cell["source"]) for cell in code]
    shown = [source for source, cell in zip(sources, code, strict=True) if not _UNSEEN_CODE & _tags(cell)]
    data = [output.get("data", {}) for cell in code for output in cell["outputs"]]
    return {
        "text": text,
        "code": tuple(sources),
        "lines": sum(len([line for line in source.splitlines() if line.strip()]) for source in shown),
        "pictures": sum(map(_is_picture, data))
        + len(re.findall(r"^\s*[`:]{3,}\{(?:figure|image)\}", text, re.MULTILINE)),
    }


def _tags(cell: Mapping) -> set[str]:
    return set(cell["metadata"].get("tags", []))


def _caption(cell: Mapping) -> str:
    return cell["metadata"].get("mystnb", {}).get("figure", {}).get("caption", "")


def _is_picture(data: Mapping) -> bool:
    return any(kind in data for kind in _PICTURE_TYPES) or bool(_PICTURE.search("".join(data.get("text/html", ""))))


def prose(text: str) -> str:
    """Reduce Markdown to the words that are read, one word for a formula, a piece of code or a link without words.

    Blocks of code, displayed formulas, options and labels go, the titles of boxes and tables stay.

    >>> prose("Of **all** $n^2$ pairs, {doc}`some <x>` are in {doc}`y`: see `f(a, b)` – now.")
    'Of all formula pairs, some are in link: see code now.'
    """
    kept, fences = [], []
    for line in _DISPLAY.sub("", text).splitlines():
        match = _FENCE.match(line)
        if fences and fences[-1][1] and not (match and _closes(match, fences[-1][0])):
            continue  # inside a block of code
        if match and fences and _closes(match, fences[-1][0]):
            fences.pop()
        elif match:
            name = match["name"]
            fences.append((match["fence"], name in _NO_PROSE or (not name and match["fence"][0] != ":")))
            kept.append(match["title"] if name and name not in _NO_PROSE | _NO_TITLE else "")
        elif not _OPTION.match(line) and not _LABEL.match(line):
            kept.append(line)
    text = _ROLE.sub(_role, "\n".join(kept))
    text = _FORMULA.sub("formula", _CODE.sub("code", _LINK.sub(r"\1", text)))
    text = re.sub(r"[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}", "", text)
    return " ".join(word for word in text.split() if _WORD.search(word))


def _role(match: re.Match) -> str:
    return match["words"] or (match["target"] if match["role"] == "term" else "link")


def _closes(match: re.Match, fence: str) -> bool:
    own = match["fence"]
    return own[0] == fence[0] and len(own) >= len(fence) and not match["name"] and not match["title"].strip()
