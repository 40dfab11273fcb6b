"""Interactive figures: the base of every explorer, and the explorers of all chapters by name.

``companion.explorers.AttentionWalk`` is a class in ``companion/chapters/attention/explorers/``: the chapters are
searched when a name is first asked for, so that none is listed a second time. ``companion.book.site.explorers`` shows
them on the built site without a kernel.
"""

import importlib
import pkgutil

from companion import chapters
from companion.explorers.base import Explorer

__all__ = ["Explorer", "explorers"]


def explorers() -> dict[str, type[Explorer]]:
    """Find the explorers of all chapters: name -> class."""
    found = {}
    for module in pkgutil.walk_packages(chapters.__path__, "companion.chapters."):
        if ".explorers." in module.name:
            names = vars(importlib.import_module(module.name))
            found |= {
                name: value
                for name, value in names.items()
                if isinstance(value, type) and issubclass(value, Explorer) and value.__module__ == module.name
            }
    return found


def __getattr__(name: str) -> type[Explorer]:
    found = {} if name.startswith("_") else explorers()
    if name not in found:
        raise AttributeError(f"companion.explorers has no explorer {name!r}: there are {', '.join(sorted(found))}.")
    return found[name]


def __dir__() -> list[str]:
    return sorted([*__all__, *explorers()])
