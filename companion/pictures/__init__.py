"""Drawn pictures: the engine, and the pictures of all chapters by name.

``companion.pictures.four_masks`` is a function in ``companion/chapters/attention/pictures/``; a chapter with few has a
file ``pictures.py`` instead. The chapters are searched when a name is asked for, so that none is listed a second time.
"""

import importlib
from collections.abc import Callable

from companion.book import toc
from companion.pictures.canvas import Canvas
from companion.pictures.drawing import Picture, picture, stylesheet
from companion.pictures.sheet import BOLD, DISPLAY, LABEL, LINE, NARROW, SMALL, SUB, TITLE, WIDE, Box, Number, number

__all__ = [
    "BOLD",
    "DISPLAY",
    "LABEL",
    "LINE",
    "NARROW",
    "SMALL",
    "SUB",
    "TITLE",
    "WIDE",
    "Box",
    "Canvas",
    "Number",
    "Picture",
    "number",
    "picture",
    "pictures",
    "stylesheet",
]


def pictures() -> dict[str, Callable[..., Picture]]:
    """Find the pictures of all chapters, in the order of the book: name -> function.

    Raises:
        ValueError: two pictures have one name.
    """
    found = {}
    homes = toc.chapter_files("pictures.py") | toc.chapter_files("pictures")
    for chapter in filter(homes.get, toc.chapters()):
        home = f"companion.chapters.{toc.module_name(chapter)}.pictures"
        stems = [f".{path.stem}" for path in sorted(homes[chapter].glob("[a-z]*.py"))] or [""]
        for name in (home + stem for stem in stems):
            values = vars(importlib.import_module(name)).values()
            own = {value.__name__: value for value in values if getattr(value, "is_picture", False)}
            own = {key: value for key, value in own.items() if value.__module__ == name}
            if twice := sorted(found.keys() & own.keys()):
                raise ValueError(f"a picture has its name alone: {name} repeats {', '.join(twice)}. Rename one.")
            found |= own
    return found


def __getattr__(name: str) -> Callable[..., Picture]:
    found = {} if name.startswith("_") else pictures()
    if name not in found:
        raise AttributeError(f"companion.pictures has no picture {name!r}: there are {', '.join(sorted(found))}.")
    return found[name]


def __dir__() -> list[str]:
    return sorted([*__all__, *pictures()])
