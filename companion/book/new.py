"""Write the files of something new, with a small working example in them: what `make new` does.

    python -m companion.book.new WHAT NAME

``WHAT`` is a chapter, a page, an explorer, an exercise or a question. ``NAME`` is that of a chapter, ``scaling``, and
for all else the chapter and a name of its own, ``attention/row-sums``.
"""

import argparse
import itertools
import re
import string
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from companion.book import pages, toc

TEMPLATES = Path(__file__).with_name("templates")
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_LABEL = re.compile(r"^\((sec-[\w-]+)\)=|^\s*name: (fig-[\w-]+)", re.MULTILINE)


class _Template(string.Template):
    """Names stand behind two signs, because ``$`` belongs to the formulas."""

    delimiter = "@@"


class Writer:
    """Writes new files below a root, appends to others, and remembers which."""

    def __init__(self, root: Path, chapter: str, slug: str) -> None:
        self.root, self.chapter, self.slug = root, chapter, slug
        self.touched: list[Path] = []
        self.python = toc.module_name(slug)
        self.folder = root / "companion" / "chapters" / toc.module_name(chapter)
        self.tests = root / "tests" / "chapters" / toc.module_name(chapter)
        self.names = {
            "chapter": chapter,
            "slug": slug,
            "module": self.python,
            "constant": self.python.upper(),
            "class": slug.title().replace("-", ""),
            "title": slug.replace("-", " ").capitalize(),
        }

    def text(self, template: str) -> str:
        """Fill in a template."""
        return _Template((TEMPLATES / f"{template}.txt").read_text("utf8")).substitute(self.names)

    def write(self, path: Path, text: str) -> None:
        """Write a file that is not there yet.

        Raises:
            ValueError: it is there.
        """
        if path.exists():
            raise ValueError(f"a new file has a new name: {path.relative_to(self.root)} is there already.")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf8")
        self.touched.append(path)

    def append(self, path: Path, text: str) -> None:
        """Append to a file."""
        path.write_text(path.read_text("utf8").rstrip("\n") + "\n" + text, "utf8")
        self.touched.append(path)

    def cells(self, path: Path, text: str, needs: str) -> None:
        """Append cells to a page, behind one that imports what they need if the page does not yet."""
        given = "" if needs in path.read_text("utf8") else f"\n```{{code-cell}} ipython3\n{needs}\n```\n"
        self.append(path, given + text)

    def page(self, name: str) -> Path:
        """Find the page of the chapter that holds such things: one of this name, else the first."""
        pages = self.root / "book" / self.chapter
        own = pages / f"{name}.md"
        return own if own.exists() else pages / "index.md"


def chapter(new: Writer) -> None:
    """A folder for what the chapter has beside its pages, and its first page."""
    new.names["title"] = title = new.chapter.replace("-", " ").capitalize()
    header = f'"""The chapter {new.chapter}: its exercises, explorers, quiz items and claims."""\n'
    new.write(new.folder / "__init__.py", f'{header}\nTITLE = "{title}"\n')
    new.slug = "index"
    page(new)


TITLES = {
    "deeper": "Going deeper: {}",
    "questions": "Questions on {}",
    "exercises": "Exercises on {}",
    "claims": "What is said about {}, tested",
}
"""Of the pages that every chapter has; the others are named by a person."""


def page(new: Writer) -> None:
    """A page of the kind that its name tells, listed in its place among those of its chapter."""
    kind = pages.kind(f"{new.chapter}/{new.slug}") or "core"
    if kind in TITLES:
        words = new.slug.removeprefix(kind).removeprefix("-") or new.chapter
        new.names["title"] = TITLES[kind].format(words.replace("-", " "))
    text = new.text("page_head.md") + new.text(f"page_{kind}.md")
    new.write(new.root / "book" / new.chapter / f"{new.slug}.md", text)
    path = new.root / "_toc.yml"
    lines = path.read_text("utf8").splitlines()
    path.write_text("\n".join(listed(lines, new.chapter, new.slug)) + "\n", "utf8")
    new.touched.append(path)


def listed(lines: Sequence[str], chapter: str, slug: str) -> list[str]:
    """List a page in the table of contents: a chapter behind the last one, its pages below its index, by their kinds.

    Pages of a chapter without an index stand side by side.
    """
    lines, name = list(lines), f"book/{chapter}/{slug}.ipynb"
    files = [(place, line.partition("- file: ")[2]) for place, line in enumerate(lines) if "- file: " in line]
    index = [place for place, file in files if file == f"book/{chapter}/index.ipynb"]
    own = [place for place, file in files if file.startswith(f"book/{chapter}/")]
    last = [place for place, file in files if file.endswith("/index.ipynb") and pages.kind(toc.page(file))][-1]
    if not index or not pages.kind(toc.page(name)):
        lines.insert(_end(lines, own[-1] if own else last), f"      - file: {name}")
        return lines
    if _end(lines, index[0]) == index[0] + 1:
        lines.insert(index[0] + 1, "        sections:")
    later = pages.KINDS[pages.KINDS.index(pages.kind(toc.page(name))) + 1 :]
    behind = [place for place, file in files if place in own[1:] and pages.kind(toc.page(file)) in later]
    lines.insert(behind[0] if behind else _end(lines, index[0]), f"          - file: {name}")
    return lines


def _end(lines: Sequence[str], place: int) -> int:
    """Find the line behind an entry and all that stands below it."""
    indent = len(lines[place]) - len(lines[place].lstrip())
    deep = (len(line) - len(line.lstrip()) > indent for line in lines[place + 1 :])
    return place + 1 + sum(1 for _ in itertools.takewhile(bool, deep))


def explorer(new: Writer) -> None:
    """A class, its script, its test, and a cell on the page."""
    folder = new.folder / "explorers"
    if not (folder / "__init__.py").exists():
        new.write(folder / "__init__.py", f'"""The explorers of the chapter {new.chapter}."""\n')
    new.write(folder / f"{new.python}.py", new.text("explorer.py"))
    new.write(folder / f"{new.python}.js", new.text("explorer.js"))
    new.write(new.tests / f"test_{new.python}_in_browser.py", new.text("explorer_test.py"))
    new.append(new.page("index"), new.text("explorer_cell.md"))


def exercise(new: Writer) -> None:
    """The exercise, right answers in other styles, and its place on the page."""
    folder = new.folder / "exercises"
    if not (folder / "__init__.py").exists():
        new.write(folder / "__init__.py", f'"""The exercises of the chapter {new.chapter}."""\n')
    new.write(folder / f"{new.python}.py", new.text("exercise.py"))
    new.write(new.tests / f"right_answers_{new.python}.py", new.text("exercise_answers.py"))
    new.cells(
        new.page("exercises"), new.text("exercise_cells.md"), "from companion.practice import check_exercise, hint"
    )


def question(new: Writer) -> None:
    """A question at the end of the page, with the first label of the page as its evidence.

    Raises:
        ValueError: the page has no label, or a question of this name.
    """
    path = new.page("questions")
    for there in sorted(path.parent.glob("*.md")):
        if f":name: q-{new.slug}\n" in there.read_text("utf8"):
            named = there.relative_to(new.root)
            raise ValueError(f"a new question has a new name: q-{new.slug} is in {named} already.")
    label = _LABEL.search(path.read_text("utf8"))
    if label is None:
        raise ValueError(f"a question links to its evidence: {path.relative_to(new.root)} has no label yet.")
    new.names["evidence"] = label[1] or label[2]
    new.append(path, new.text("question.md"))


ACTIONS: dict[str, Callable[[Writer], None]] = {
    "chapter": chapter,
    "page": page,
    "explorer": explorer,
    "exercise": exercise,
    "question": question,
}


PAGED = ("explorer", "exercise", "question")
"""What goes to the end of a page that is there already."""


def create(what: str, name: str, root: Path = toc.CHECKOUT) -> list[Path]:
    """Write what is new.

    Args:
        what: one of ``ACTIONS``.
        name: a chapter, or a chapter and a name, joined by a slash.
        root: of the book.

    Returns:
        The files that were written or changed, which a person then edits.

    Raises:
        ValueError: the name has another form, its chapter does not exist, or a file is there already.
    """
    if what not in ACTIONS:
        raise ValueError(f"WHAT is one of {', '.join(ACTIONS)}: got {what!r}.")
    parts = name.split("/")
    form = "chapter" if what == "chapter" else "chapter/name"
    if len(parts) != len(form.split("/")) or not all(map(_NAME.fullmatch, parts)):
        raise ValueError(f"NAME is {form}, in lower-case words joined by hyphens: got {name!r}.")
    if what != "chapter" and not (root / "book" / parts[0]).is_dir():
        raise ValueError(f"there is no chapter {parts[0]}: run make new WHAT=chapter NAME={parts[0]} first.")
    writer = Writer(root, parts[0], parts[-1])
    ACTIONS[what](writer)
    return writer.touched


def then(what: str, name: str, touched: list[Path], root: Path = toc.CHECKOUT) -> list[str]:
    """Say what is left to a person.

    Args:
        what: one of ``ACTIONS``.
        name: a chapter, or a chapter and a name, joined by a slash.
        touched: what `create` returned.
        root: of the book.

    Returns:
        Lines to print.
    """
    page = touched[-1].relative_to(root / "book").with_suffix("") if what in PAGED else name.split("/")[0]
    commands = [f"make notebooks NAME={page}"]
    if what == "exercise":
        commands.append("make notebooks NAME=interview/exercises")  # its outputs are the list of all exercises
    steps = [f"Then: {command}" for command in commands]
    if what in PAGED:
        steps.insert(0, f"Then: move what is new at the end of {touched[-1].relative_to(root)} to its place")
    return steps


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("what", help=", ".join(ACTIONS))
    parser.add_argument("name")
    options = parser.parse_args(arguments)
    try:
        touched = create(options.what, options.name)
    except ValueError as error:
        print(f"make: {error}", file=sys.stderr)
        return 1
    for path in touched:
        print(path.relative_to(toc.CHECKOUT))
    print("\n".join(then(options.what, options.name, touched)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
