"""The order of the book and the folders of its chapters: where everything else looks them up.

The order stands in ``_toc.yml`` alone; the wheel carries a copy of that file. A page is named by its path below
``book/`` without ending, ``multi-head/index``, and its chapter by the folder, ``multi-head``. What the chapter has
beside its pages lies in ``companion/chapters/multi_head``.

A function with a ``root`` reads the book in that folder; ``None`` means this one, checkout or installed package.
"""

from collections.abc import Iterator
from pathlib import Path

import yaml

from companion.book.entries import read_once

_PACKAGE = Path(__file__).resolve().parents[1]
CHECKOUT = _PACKAGE.parent
"""The root of the repository, where the package lies in one."""


def toc_file(root: Path | None = None) -> Path:
    """Return ``_toc.yml`` of a checkout, or the copy in an installed package."""
    checkout = (root or CHECKOUT) / "_toc.yml"
    return checkout if root or checkout.exists() else Path(__file__).with_name("_toc.yml")


def files(root: Path | None = None, part: str | None = None) -> list[str]:
    """List the files that the table of contents names, in its order.

    Args:
        root: of the book.
        part: caption of one part; ``None`` means all.
    """
    content = _content(toc_file(root))
    parts = [group for group in content.get("parts", []) if part in (None, group.get("caption"))]
    return [name for group in parts for name in _names(group)]


@read_once
def _content(path: Path) -> dict:
    return yaml.safe_load(path.read_text("utf8"))


def _names(entry: dict) -> Iterator[str]:
    for below in entry.get("chapters", []) + entry.get("sections", []):
        yield below["file"]
        yield from _names(below)


def notebooks(root: Path, part: str | None = None) -> list[Path]:
    """List the notebooks of a book in its order.

    Args:
        root: the folder with ``_toc.yml``.
        part: caption of one part; ``None`` means all.
    """
    return [root / name for name in files(root, part) if name.endswith(".ipynb")]


def page(path: Path | str) -> str:
    """Name a page of the book from its file, without the folder of the book: ``attention/index``."""
    path = Path(path).with_suffix("")
    parts = path.parts[-1:] if path.is_absolute() else path.parts
    if "book" in path.parts:
        parts = path.parts[len(path.parts) - path.parts[::-1].index("book") :]
    return "/".join(parts)


def chapter(path: Path | str) -> str:
    """Name the chapter of a page from its file or its name: its folder, or itself where it has none."""
    return page(path).split("/")[0]


def module_name(chapter: str) -> str:
    """Name a chapter as its folders of Python are called: ``multi_head``."""
    return chapter.replace("-", "_")


def chapters(root: Path | None = None) -> tuple[str, ...]:
    """Name the chapters in the order of the book; those that have no page yet come last.

    A chapter is a folder in ``companion/chapters``.
    """
    folders = (path for path in _chapters(root).glob("[a-z]*") if path.is_dir())
    listed = list(dict.fromkeys(chapter(name) for name in files(root)))
    there = sorted(path.name.replace("_", "-") for path in folders)
    return tuple(sorted(there, key=lambda name: listed.index(name) if name in listed else len(listed)))


def chapter_files(name: str, root: Path | None = None) -> dict[str, Path]:
    """Find a file of this name in the folders of all chapters: chapter -> path, in the order of the book."""
    paths = {chapter: _chapters(root) / module_name(chapter) / name for chapter in chapters(root)}
    return {chapter: path for chapter, path in paths.items() if path.exists()}


def _chapters(root: Path | None) -> Path:
    return root / "companion" / "chapters" if root else _PACKAGE / "chapters"
