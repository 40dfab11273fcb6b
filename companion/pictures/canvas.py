"""The shapes of the book's pictures: boxes, vectors, masks, bars, arrows and nodes."""

from collections.abc import Sequence
from itertools import pairwise
from math import hypot

from companion.pictures.sheet import LABEL, SMALL, Box, Number, Point, Sheet, number, tone_class

SIGNS = {"+": "M-{0} 0H{0}M0 -{0}V{0}", "×": "M-{0} -{0}L{0} {0}M-{0} {0}L{0} -{0}", "·": "", "": ""}


class Canvas(Sheet):
    """A drawing: a sheet with shapes on it, in the order in which they are called."""

    def box(
        self,
        x: Number,
        y: Number,
        w: Number,
        h: Number,
        label: str = "",
        sub: str = "",
        tone: str = "ink",
        bold: bool = False,
        size: int = LABEL,
        shift: Number = 0,
        radius: Number = 6,
        wrap: int = 0,
    ) -> Box:
        """Draw a box with a label, and a quieter line below it.

        Args:
            x: of its left side.
            y: of its upper side.
            w: width.
            h: height.
            label: inside.
            sub: the quieter line.
            tone: of line and ground.
            bold: whether it is the emphasis of the picture.
            size: of the label.
            shift: how far both texts move to the right, for an icon.
            radius: of the corners.
            wrap: the number of letters after which the label breaks.

        Returns:
            Where it lies.
        """
        drawn = self._rect(Box(x, y, w, h), f"f-box {tone_class(tone)}" + " f-bold" * bold, radius)
        centre, middle = drawn.centre
        self.text(centre + shift, middle - 9 * bool(sub), label, size, strong=bold, wrap=wrap)
        self.text(centre + shift, middle + 10, sub, SMALL, tone="muted")
        return drawn

    def group(self, x: Number, y: Number, w: Number, h: Number, label: str = "", sub: str = "", stack: int = 0) -> Box:
        """Draw a rounded ground that holds a part.

        Args:
            x: of its left side.
            y: of its upper side.
            w: width.
            h: height.
            label: at its upper left.
            sub: at its upper right.
            stack: sheets behind it, which say that it is repeated.

        Returns:
            Where it lies, without the sheets.
        """
        for sheet in range(stack, -1, -1):
            drawn = self._rect(Box(x + 4 * sheet, y - 4 * sheet, w, h), "f-box f-soft", 12)
        inset, size = (16, LABEL) if self.wide else (8, SMALL)
        self.text(x + inset, y + 20, label, size, "start", strong=True)
        self.text(x + w - inset, y + 20, sub, SMALL, "end", "muted")
        return drawn

    def vector(
        self,
        x: Number,
        y: Number,
        values: Sequence[object],
        tone: str,
        cell: Number = 24,
        height: Number = 24,
        size: int = SMALL,
    ) -> Box:
        """Draw a row of cells, each with a number or a text.

        Args:
            x: of its left side.
            y: of its upper side.
            values: one a cell; an empty text leaves its cell empty.
            tone: keys come hatched and values dotted.
            cell: the width of a cell.
            height: of the row.
            size: of the texts.

        Returns:
            Where the row lies.

        Raises:
            ValueError: there is no value.
        """
        if not values:
            raise ValueError("a vector has at least one value: got none. Pass an empty text for an empty cell.")
        drawn = self._rect(Box(x, y, cell * len(values), height), f"f-cell {tone_class(tone)}", 3)
        if tone in ("key", "value"):
            self.add(
                f'<rect x="{number(x)}" y="{number(y)}" width="{number(drawn.w)}" height="{number(height)}" rx="3"'
                f"{self._pattern(tone)}/>"
            )
        cuts = "".join(f"M{number(x + i * cell)} {number(y)}v{number(height)}" for i in range(1, len(values)))
        if cuts:
            self.add(f'<path d="{cuts}" class="f-cell {tone_class(tone)}"/>')
        for index, value in enumerate(values):
            self.text(x + (index + 0.5) * cell, y + height / 2, str(value), size)
        return drawn

    def bar(
        self, x: Number, y: Number, w: Number, h: Number, share: Number, tone: str = "attention", upright: bool = False
    ) -> Box:
        """Draw a share of a whole: a track, filled from the left or from below.

        Args:
            x: of its left side.
            y: of its upper side.
            w: the width of the whole.
            h: its height.
            share: from 0 to 1.
            tone: of the filled part.
            upright: whether it is filled from below.

        Returns:
            Where the track lies.

        Raises:
            ValueError: the share is none.
        """
        if not 0 <= share <= 1:
            raise ValueError(f"a bar shows a share from 0 to 1: got {share}. Divide by the whole.")
        drawn = self._rect(Box(x, y, w, h), "f-cell f-soft", 3)
        filled = Box(x, y + h * (1 - share), w, h * share) if upright else Box(x, y, w * share, h)
        self._rect(filled, f"f-cell {tone_class(tone)} f-full", 3 if min(filled.w, filled.h) >= 6 else 0)
        return drawn

    def mask(
        self, x: Number, y: Number, rows: Sequence[Sequence[bool]], cell: Number = 28, gap: Number = 2, focus: int = -1
    ) -> Box:
        """Draw a mask, rows for queries and columns for keys: full cells may look, hatched ones are hidden.

        Args:
            x: of its left side.
            y: of its upper side.
            rows: of the mask, of one length.
            cell: the side of a cell, with its gap.
            gap: between cells.
            focus: the row that the picture is about, the others being paler; -1 means all.

        Returns:
            Where it lies.

        Raises:
            ValueError: the rows have several lengths, or none.
        """
        if len({len(row) for row in rows}) != 1:
            raise ValueError(
                f"the rows of a mask have one length: got {[len(row) for row in rows]}. Pad the short ones."
            )
        side, pale = number(cell - gap), [focus not in (-1, i) for i in range(len(rows))]
        kinds = (
            ('class="f-full f-attention f-pale"', lambda i, allowed: allowed and pale[i]),
            ('class="f-full f-attention"', lambda i, allowed: allowed and not pale[i]),
            (f'class="f-cell f-soft" style="fill:url(#{self.name}-muted)"', lambda i, allowed: not allowed),
        )
        for style, is_kind in kinds:
            cells = "".join(
                f"M{number(x + j * cell + gap / 2)} {number(y + i * cell + gap / 2)}h{side}v{side}h-{side}z"
                for i, row in enumerate(rows)
                for j, allowed in enumerate(row)
                if is_kind(i, bool(allowed))
            )
            self.add(f'<path d="{cells}" {style}/>' if cells else "")
        self._pattern("muted")
        return Box(x, y, cell * len(rows[0]), cell * len(rows))

    def arrow(
        self,
        *points: Point,
        tone: str = "ink",
        label: str = "",
        at: Number = 0.5,
        off: Point = (0, 0),
        anchor: str = "middle",
        width: Number = 0,
        head: bool = True,
        radius: Number = 8,
    ) -> None:
        """Draw a line through points, its corners rounded: full, for keys dashed, for values dotted.

        Args:
            *points: two or more.
            tone: of line, head and label.
            label: on the line, or beside it.
            at: where the label stands, as a share of the way from the first point to the last.
            off: how far it stands from there; without it, it lies on the line.
            anchor: of the label.
            width: of the line, where it means something; 0 means ``LINE``.
            head: whether it has a direction.
            radius: of the corners.

        Raises:
            ValueError: a line has no two points, two of its points are the same, or there is no room for its head.
        """
        if len(points) < 2 or any(a == b for a, b in pairwise(points)):
            raise ValueError(
                f"a line goes through two points or more, each apart from the next: got {points}. Move one."
            )
        (x0, y0), (x1, y1) = points[-2:]
        size, length = 7 + width * 0.6, hypot(x1 - x0, y1 - y0)
        if head and length <= size:
            raise ValueError(
                f"the last stretch of an arrow is longer than its head of {size:g}: got {length:g}. Move it."
            )
        ux, uy = (x1 - x0) / length, (y1 - y0) / length
        end = (x1 - ux * (size - 1), y1 - uy * (size - 1)) if head else (x1, y1)
        path = [*points[:-1], end]
        d = "M{} {}".format(*map(number, path[0]))
        for before, corner, after in zip(path, path[1:], path[2:], strict=False):
            d += "L{} {}Q{} {} {} {}".format(
                *map(number, (*_toward(corner, before, radius), *corner, *_toward(corner, after, radius)))
            )
        d += "L{} {}".format(*map(number, end))
        style = f' style="stroke-width:{number(width)}px"' if width else ""
        self.add(f'<path d="{d}" class="f-line {tone_class(tone)}"{style}/>')
        if head:
            half, bx, by = size / 2, x1 - ux * size, y1 - uy * size
            tip = (x1, y1, bx - uy * half, by + ux * half, bx + uy * half, by - ux * half)
            self.add('<path d="M{} {}L{} {} {} {}z" class="f-head {}"/>'.format(*map(number, tip), tone_class(tone)))
        (ax, ay), on_it = points[0], off == (0, 0)
        self.text(ax + (x1 - ax) * at + off[0], ay + (y1 - ay) * at + off[1], label, SMALL, anchor, tone, halo=on_it)

    def node(self, x: Number, y: Number, sign: str = "+", tone: str = "ink", radius: Number = 12) -> Box:
        """Draw a round node.

        Args:
            x: of its centre.
            y: of its centre.
            sign: ``+`` adds, ``×`` multiplies, ``·`` takes the dot product; an empty text leaves it empty.
            tone: of line and ground.
            radius: of the circle.

        Returns:
            Where it lies.

        Raises:
            ValueError: there is no such sign.
        """
        if sign not in SIGNS:
            raise ValueError(f"a node has one of the signs {', '.join(filter(None, SIGNS))}, or none: got {sign!r}.")
        cx, cy = number(x), number(y)
        self.add(f'<circle cx="{cx}" cy="{cy}" r="{number(radius)}" class="f-box {tone_class(tone)}"/>')
        if SIGNS[sign]:
            arms = SIGNS[sign].format(number(radius * (0.46 if sign == "+" else 0.33)))
            self.add(f'<path d="{arms}" transform="translate({cx} {cy})" class="f-line f-ink"/>')
        elif sign:
            self.add(f'<circle cx="{cx}" cy="{cy}" r="2.5" class="f-head f-ink"/>')
        return Box(x - radius, y - radius, 2 * radius, 2 * radius)


def _toward(corner: Point, other: Point, radius: Number) -> Point:
    """Return the point beside a corner where its rounding begins, at most half the way to the other point."""
    length = hypot(other[0] - corner[0], other[1] - corner[1])
    share = min(radius, length / 2) / length
    return corner[0] + (other[0] - corner[0]) * share, corner[1] + (other[1] - corner[1]) * share
