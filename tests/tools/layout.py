"""Where the texts and the lines of a drawing lie, read from its SVG and not from the code that drew it."""

import re
from itertools import pairwise
from math import cos, hypot, pi, sin
from xml.etree import ElementTree

# Widths in em of DejaVu Sans, the widest of the fonts that a system may choose; other letters are as wide as high.
EM = {
    0.29: "'ijlIJ",
    0.35: " ,.·/:;\\|f",
    0.41: "-()[]t⟨⟩!r",
    0.55: '"*_`–sz?c',
    0.6: "LFkvxyP",
    0.64: "TYaoäöeESbdghnpqußü$0123456789{}√",
    0.7: "KAVBRXZC",
    0.79: "UHNDG&OQ",
    0.86: "w#+<=>^~×÷−M",
    1.0: "%mW@",
}
WIDTH = {letter: width for width, letters in EM.items() for letter in letters}
BOLD = 1.12
STEP = 2  # between the points that stand for a line


def elements(svg):
    """The elements of a drawing with the set of their classes, in the order in which they are painted."""
    root = ElementTree.fromstring(svg)

    def walk(node):
        for child in node:
            tag = child.tag.rpartition("}")[2]
            if tag != "defs":
                yield tag, child, set((child.get("class") or "").split())
                yield from walk(child)

    return root, list(walk(root))


def font_size(classes, default=15):
    return next((int(name[2:]) for name in classes if re.fullmatch(r"f-\d+", name)), default)


class Text:
    """A text of a drawing: what it says, its words without formulas, and the box that it needs at most."""

    def __init__(self, node, classes):
        self.said, self.words = "".join(node.itertext()), node.text or ""
        for span in node:
            formula = re.search(r"f-(m|12)\b", span.get("class") or "")
            self.words += (" " if formula else span.text or "") + (span.tail or "")
        self.muted, self.halo = "f-muted" in classes, "f-halo" in classes
        size, wide = font_size(classes), BOLD if "f-strong" in classes else 1
        parts = [(node.text or "", size)]
        for span in node:
            parts += [
                (span.text or "", font_size(set((span.get("class") or "").split()), size)),
                (span.tail or "", size),
            ]
        width = wide * sum(WIDTH.get(letter, 1) * em for text, em in parts for letter in text)
        x, base = float(node.get("x")), float(node.get("y"))
        x -= {"middle": width / 2, "end": width}.get(node.get("text-anchor"), 0)
        below = 0.22 * size + 4 * any(float(span.get("dy") or 0) > 0 for span in node)
        self.box = (x, base - 0.74 * size, x + width, base + below)

    def overlaps(self, other):
        (a, b, c, d), (e, f, g, h) = self.box, other.box
        return a < g and e < c and b < h and f < d

    def holds(self, point):
        return self.box[0] < point[0] < self.box[2] and self.box[1] < point[1] < self.box[3]


def along(points):
    """Points a few pixels apart on the way through the given ones."""
    found = []
    for (ax, ay), (bx, by) in pairwise(points):
        n = max(1, int(hypot(bx - ax, by - ay) / STEP))
        found += [(ax + (bx - ax) * i / n, ay + (by - ay) * i / n) for i in range(n + 1)]
    return found


def path_points(d):
    """Points on a path of the commands that the engine writes; a curve goes by way of its middle point."""
    found, way = [], []
    for command, text in re.findall(r"([MLQHVhvz])([^MLQHVhvz]*)", d):
        values = [float(value) for value in re.findall(r"-?[\d.]+", text)]
        pairs = list(zip(values[::2], values[1::2], strict=False))
        if command == "M":
            found, way = found + along(way), pairs
        elif command in "LQ":
            way += pairs
        elif command == "z":
            way.append(way[0])
        else:
            x, y = way[-1]
            end = {"H": (values[0], y), "V": (x, values[0]), "h": (x + values[0], y), "v": (x, y + values[0])}
            way.append(end[command])
    return found + along(way)


def rect_box(node):
    x, y, w, h = (float(node.get(key)) for key in ("x", "y", "width", "height"))
    return x, y, x + w, y + h


def read(svg):
    """Return the texts of a drawing, and the points of its lines that nothing covers."""
    texts, points = [], []
    for tag, node, classes in elements(svg)[1]:
        if tag == "text":
            texts.append(Text(node, classes))
        elif tag == "rect" and classes:
            a, b, c, d = rect_box(node)
            if "f-line" not in classes:
                points = [(x, y) for x, y in points if not (a < x < c and b < y < d)]
            points += along([(a, b), (c, b), (c, d), (a, d), (a, b)])
        elif tag == "circle" and "f-box" in classes:
            x, y, r = (float(node.get(key)) for key in ("cx", "cy", "r"))
            points = [point for point in points if hypot(point[0] - x, point[1] - y) >= r]
            points += [(x + r * cos(pi * i / 12), y + r * sin(pi * i / 12)) for i in range(24)]
        elif tag == "path" and classes & {"f-line", "f-cell"}:
            x, y = map(float, re.findall(r"-?[\d.]+", node.get("transform", "0 0")))
            points += [(px + x, py + y) for px, py in path_points(node.get("d"))]
    return texts, points
