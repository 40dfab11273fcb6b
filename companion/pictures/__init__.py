"""Drawn pictures: the engine, and the pictures of all chapters by name.

``companion.pictures.four_masks`` is a function in ``companion/chapters/attention/pictures/``: the chapters are
searched when a name is first asked for, so that none is listed a second time.
"""

import importlib
from collections.abc import Callable

from companion.book import toc
from companion.pictures.canvas import Canvas
from companion.pictures.drawing import Picture, picture, stylesheet
from companion.pictures.sheet import BOLD, DISPLAY, LABEL, LINE, NARROW, SMALL, SUB, TITLE, WIDE, Box, number

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
    for chapter, folder in toc.chapter_files("pictures").items():
        for path in sorted(folder.glob("[a-z]*.py")):
            name = f"companion.chapters.{toc.module_name(chapter)}.pictures.{path.stem}"
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
