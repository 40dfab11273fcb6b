"""The sheet that a picture is drawn on: its texts, its parts, its ids, and the SVG string that it becomes.

One unit is one CSS pixel, and everything lies on a grid of 8. A `tone` names what a shape means and never a colour;
``picture.css`` gives each tone its colours for light, dark and print. In a text, ``$d_k$`` sets letters in italics with
subscripts and superscripts, and a line feed starts a new line.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from textwrap import wrap as wrapped

WIDE, NARROW = 720, 344  # widths of a canvas: a column of text, and a phone
SUB, SMALL, LABEL, TITLE, DISPLAY = SIZES = (12, 13, 15, 16, 22)  # font sizes; there is no other
LINE, BOLD = 1.5, 2.5  # widths of a stroke: everything, and the one emphasis of a picture
TONES = ("ink", "muted", "soft", "query", "key", "value", "attention")
_TITLE_WORDS, _SENTENCES = 8, range(2, 6)
_MATH = re.compile(r"([_^])(?:\{([^}]*)\}|(.))|([^_^]+)")

Number = float | int
Point = tuple[Number, Number]


def number(value: Number) -> str:
    """Write a coordinate with at most two decimals and no trailing zeros: the same bytes everywhere."""
    return f"{round(value, 2) + 0:.2f}".rstrip("0").rstrip(".")


def tone_class(tone: str) -> str:
    """Name the class of a tone.

    Raises:
        ValueError: there is no such tone.
    """
    if tone not in TONES:
        raise ValueError(
            f"a tone is one of {', '.join(TONES)}: got {tone!r}. Name what the shape means, not its colour."
        )
    return f"f-{tone}"


def _markup(line: str) -> str:
    """Turn one line of a text into tspans."""
    out, shift = [], 0
    for index, part in enumerate(line.split("$")):
        tokens = [(m[1] or "", m[2] or m[3] or m[4]) for m in _MATH.finditer(part)] if index % 2 else [("", part)]
        for mark, word in tokens:
            level = {"_": 4, "^": -6, "": 0}[mark]
            italic = index % 2 and len(word) == 1 and word.isalpha()
            style = " ".join(["f-m"] * bool(italic) + [f"f-{SUB}"] * bool(mark))
            attributes = (f' class="{style}"' if style else "") + (f' dy="{level - shift}"' if level != shift else "")
            word = escape(word, quote=False)
            out.append(f"<tspan{attributes}>{word}</tspan>" if attributes else word)
            shift = level
    return "".join(out)


@dataclass(frozen=True)
class Box:
    """Where a shape lies, with its centre and the middles of its sides, where arrows begin and end."""

    x: Number
    y: Number
    w: Number
    h: Number

    @property
    def centre(self) -> Point:
        """The middle."""
        return self.x + self.w / 2, self.y + self.h / 2

    @property
    def top(self) -> Point:
        """The middle of the upper side."""
        return self.x + self.w / 2, self.y

    @property
    def bottom(self) -> Point:
        """The middle of the lower side."""
        return self.x + self.w / 2, self.y + self.h

    @property
    def left(self) -> Point:
        """The middle of the left side."""
        return self.x, self.y + self.h / 2

    @property
    def right(self) -> Point:
        """The middle of the right side."""
        return self.x + self.w, self.y + self.h / 2


class Sheet:
    """An empty drawing, wide or narrow.

    Args:
        name: starts its ids, and is unique in the book: lower-case words with hyphens.
        wide: ``WIDE``, for a column of text, or else ``NARROW``, for a phone.
        height: a multiple of 8.
        title: what it is, in at most eight words.
        desc: what one sees if one follows the arrows, in two to five sentences.

    Raises:
        ValueError: one of them is not as said.
    """

    def __init__(self, name: str, wide: bool, height: int, title: str, desc: str) -> None:
        if not re.fullmatch(r"[a-z]+(-[a-z0-9]+)*", name):
            raise ValueError(f"the name of a picture is lower-case words with hyphens: got {name!r}. Write four-masks.")
        if height <= 0 or height % 8:
            raise ValueError(f"the height of a canvas is a multiple of 8: got {height}. Move the last shape.")
        if not 0 < len(title.split()) <= _TITLE_WORDS:
            raise ValueError(f"a title has one to {_TITLE_WORDS} words: got {title!r}. Say what the picture is.")
        if len(re.findall(r"[.?](?=\s|$)", desc)) not in _SENTENCES or not desc.rstrip().endswith("."):
            raise ValueError(f"a desc has two to five sentences: got {desc!r}. Say what one sees along the arrows.")
        self.name = name if wide else f"{name}-narrow"
        self.wide, self.width, self.height = wide, WIDE if wide else NARROW, height
        self.title, self.desc = title, desc
        self._body: list[str] = []
        self._patterns: dict[str, str] = {}

    def add(self, raw: str) -> None:
        """Append raw SVG, for what these shapes cannot say."""
        self._body.append(raw)

    @contextmanager
    def part(self, name: str, title: str, page: str = "") -> Iterator[None]:
        """Group what is drawn inside as a part of the picture.

        Args:
            name: by which a page lights it.
            title: what it is, for readers who point at it.
            page: of the book that it opens on the site, such as ``attention/masks``.

        Returns:
            A context manager.
        """
        self.add(f'<a data-page="{escape(page)}">' if page else "")
        self.add(f'<g data-part="{escape(name)}"><title>{escape(title)}</title>')
        yield
        self.add("</g></a>" if page else "</g>")

    @contextmanager
    def wires(self) -> Iterator[None]:
        """Group lines that belong to no part: they dim when one is lit."""
        self.add('<g class="f-wires">')
        yield
        self.add("</g>")

    def text(
        self,
        x: Number,
        y: Number,
        text: str,
        size: int = LABEL,
        anchor: str = "middle",
        tone: str = "ink",
        strong: bool = False,
        wrap: int = 0,
        halo: bool = False,
    ) -> None:
        """Write lines of text, their block centred on `y`.

        Args:
            x: of the anchor.
            y: of the middle of the block.
            text: one line, or several with line feeds.
            size: one of ``SIZES``.
            anchor: ``start``, ``middle`` or ``end``.
            tone: of the letters.
            strong: bold.
            wrap: the number of letters after which a line breaks, at a space or a hyphen; 0 breaks none.
            halo: whether a line behind it keeps away.

        Raises:
            ValueError: there is no such size, anchor or tone, or a ``$`` has no partner.
        """
        if size not in SIZES:
            raise ValueError(f"a text has one of the sizes {SIZES}: got {size}. Use one of these.")
        if anchor not in ("start", "middle", "end"):
            raise ValueError(f"anchor is start, middle or end: got {anchor!r}. Use one of these.")
        if text.count("$") % 2:
            raise ValueError(f"the signs $ of a text come in pairs: got {text!r}. Close the formula.")
        tones = [tone_class(tone)] * (tone != "ink")
        css = " ".join(tones + [f"f-{size}"] * (size != LABEL) + ["f-strong"] * strong + ["f-halo"] * halo)
        lines = (wrapped(text, wrap) if wrap else text.split("\n")) if text else []
        for index, line in enumerate(lines):
            base = y + size * 0.35 + (index - (len(lines) - 1) / 2) * round(size * 1.25)
            attributes = f' class="{css}"' if css else ""
            attributes += f' text-anchor="{anchor}"' if anchor != "start" else ""
            self.add(f'<text x="{number(x)}" y="{number(base)}"{attributes}>{_markup(line)}</text>')

    def _rect(self, box: Box, css: str, radius: Number, extra: str = "") -> Box:
        x, y, w, h = map(number, (box.x, box.y, box.w, box.h))
        rounded = f' rx="{number(radius)}"' if radius else ""
        self.add(f'<rect x="{x}" y="{y}" width="{w}" height="{h}"{rounded} class="{css}"{extra}/>')
        return box

    def _pattern(self, tone: str) -> str:
        """Name the fill that tells a tone without colour: keys and what is hidden are hatched, values dotted."""
        name = f"{self.name}-{tone}"
        mark = (
            '<circle cx="3" cy="3" r="1.1" class="f-dots f-value"/>'
            if tone == "value"
            else f'<path d="M-1 7L7 -1M5 13L13 5" class="f-hatch {tone_class(tone)}"/>'
        )
        size = 'width="6" height="6" patternUnits="userSpaceOnUse"'
        self._patterns[tone] = f'<pattern id="{name}" {size}>{mark}</pattern>'
        return f' fill="url(#{name})"'

    def svg(self) -> str:
        """Return the drawing as text, for a page that has the style sheet."""
        kind = "wide" if self.wide else "narrow"
        patterns = "".join(self._patterns.values())
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="fig fig-{kind}" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" role="img" aria-labelledby="{self.name}-t" '
            f'aria-describedby="{self.name}-d"><title id="{self.name}-t">{escape(self.title, quote=False)}</title>'
            f'<desc id="{self.name}-d">{escape(self.desc, quote=False)}</desc>'
            + (f"<defs>{patterns}</defs>" if patterns else "")
            + "".join(self._body)
            + "</svg>"
        )
