"""Interactive figures: the base of every explorer, and the explorers of all chapters by name.

``companion.explorers.AttentionWalk`` is a class in ``companion/chapters/attention/explorers/``: the chapters are
searched when a name is first asked for, so that none is listed a second time. ``companion.book.site.explorers`` shows
them on the built site without a kernel.
"""

import importlib

from companion.book import toc
from companion.explorers.base import Explorer

__all__ = ["Explorer", "explorers"]


def explorers() -> dict[str, type[Explorer]]:
    """Find the explorers of all chapters: name -> class."""
    found = {}
    for chapter, folder in toc.chapter_files("explorers").items():
        for path in sorted(folder.glob("[a-z]*.py")):
            name = f"companion.chapters.{toc.module_name(chapter)}.explorers.{path.stem}"
            values = vars(importlib.import_module(name)).values()
            own = [value for value in values if isinstance(value, type) and value.__module__ == name]
            found |= {cls.__name__: cls for cls in own if issubclass(cls, Explorer)}
    return found


def __getattr__(name: str) -> type[Explorer]:
    found = {} if name.startswith("_") else explorers()
    if name not in found:
        raise AttributeError(f"companion.explorers has no explorer {name!r}: there are {', '.join(sorted(found))}.")
    return found[name]


def __dir__() -> list[str]:
    return sorted([*__all__, *explorers()])
