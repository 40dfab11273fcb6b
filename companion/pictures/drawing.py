"""A picture of the book: one drawing in two layouts, shown by a cell, and the style sheet of all of them."""

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path

from companion.pictures.canvas import Canvas

SHEET = Path(__file__).with_name("picture.css")


@functools.cache
def stylesheet() -> str:
    """Return the one style sheet of all pictures, without what only its readers need."""
    text = " ".join(re.sub(r"/\*.*?\*/", "", SHEET.read_text("utf8"), flags=re.DOTALL).split())
    return re.sub(r" ?([{};,]) ?", r"\1", text).replace(": ", ":").replace(";}", "}")


@dataclass(frozen=True)
class Picture:
    """A drawing in two layouts, for a column of text and for a phone; a notebook shows the one that fits.

    It carries its style sheet, since it may stand alone; the site takes it out. Where the sheet is taken out by
    anything else, as in a notebook that is not trusted, the words of `text` are shown in place of the drawing.
    """

    wide: Canvas
    narrow: Canvas

    @property
    def text(self) -> str:
        """What it is and what one sees, in words."""
        return f"{self.wide.title}. {self.wide.desc}"

    def _repr_html_(self) -> str:
        words = f'<p class="fig-words">{escape(self.text, quote=False)}</p>'
        drawn = f'<div class="fig-drawn" style="display:none">{self.wide.svg()}{self.narrow.svg()}</div>'
        return f'<div class="fig-pair"><style>{stylesheet()}</style>{words}{drawn}</div>'

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "text/plain": self.text}


def picture(draw: Callable[..., Canvas]) -> Callable[..., Picture]:
    """Make of a function that draws one layout, ``draw(wide, ...)``, one that returns the picture in both."""

    @functools.wraps(draw)
    def make(*args: object, **kwargs: object) -> Picture:
        return Picture(draw(True, *args, **kwargs), draw(False, *args, **kwargs))

    own = inspect.signature(draw)
    shown = list(own.parameters.values())[1:]
    make.__signature__ = own.replace(parameters=shown, return_annotation=Picture)
    make.is_picture = True
    return make
