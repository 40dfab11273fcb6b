"""A plot as SVG in two layouts, for a column of text and for a phone.

Made for this book. Every chapter uses it through ``companion.plots``.

A notebook stores one drawing, whose colours are variables with a value for where nobody sets them: GitHub, Jupyter and
Colab show it on white, and the site gives the variables the colours of its theme. The layout for a phone is a second
drawing inside the first that only the site shows.
"""

import contextlib
import hashlib
import io
import re
from collections.abc import Iterator
from xml.etree import ElementTree

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.legend import Legend

from companion.plot_data import KEY, figure_data

NARROW = 3.4
"""Inches, the width of the layout for a phone."""
FONTS = "system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','Liberation Sans',sans-serif"
THEMED = {
    "#0072b2": "blue",
    "#d55e00": "red",
    "#009e73": "green",
    "#cc79a7": "pink",
    "#e69f00": "orange",
    "#56b4e9": "sky",
    "#000000": "ink",
    "#ffffff": "paper",
}
"""Colours that follow the theme, and the last part of the name of their variable. Greys do so too."""
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_LONG = re.compile(r"-?\d+\.\d{3,}")
_SVG, _LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
_FONT = re.compile(r"\s*font-family:[^;]*;?")
_SHORT_FONT = re.compile(r"font: (?:(italic|oblique) )?(?:(?:bold|[1-9]00) )?([\d.]+)px [^;]*")


class Plot(Figure):
    """A figure that a notebook stores as SVG, with its data.

    Attributes:
        tolerances: how far the numbers of an Axes may differ on another machine; ``plots.set_tolerance`` states it.
        narrow: Axes in a row of the layout for a phone; ``None`` for as many as keep four fifths of their width.
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.tolerances: dict[Axes, tuple[str, float]] = {}
        self.narrow: int | None = None

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, str], dict[str, dict]]:
        data = figure_data(self)
        return {"image/svg+xml": svg(self), "text/plain": in_words(data)}, {KEY: data}


def in_words(data: dict) -> str:
    """Say what a plot shows, from its data, for where no drawing can be shown."""
    found = []
    for ax in data["axes"]:
        title, x, y = ax["words"]
        named = f"{y} by {x}" if x and y else x or y
        found.append(": ".join(filter(None, [title, named, ", ".join(ax["legend"])])))
    return ". ".join(filter(None, ["Plot", *found])) + "."


def svg(figure: Plot) -> str:
    """Draw a figure as SVG, with the layout for a phone inside, hidden; the figure stays as it was."""
    with _stacked(figure):
        narrow = _drawn(figure, "fig-narrow")
    wide = _drawn(figure, "fig-wide")
    narrow.set("display", "none")
    wide.append(narrow)
    wide.set("xmlns", _SVG.strip("{}"))
    return ElementTree.tostring(wide, encoding="unicode")


@contextlib.contextmanager
def _stacked(figure: Plot) -> Iterator[None]:
    """Put the Axes of a figure below each other as far as a phone needs it, for a while."""
    given = [ax for ax in figure.axes if ax.get_subplotspec() is not None]
    specs, (width, height) = [ax.get_subplotspec() for ax in given], figure.get_size_inches()
    rows, columns = specs[0].get_gridspec().get_geometry()
    kept = min(columns, figure.narrow or max(1, int(NARROW / (0.8 * width / columns))))
    lines = -(-len(given) // kept)
    grid = GridSpec(lines, kept, figure=figure)
    for place, ax in enumerate(given):
        ax.set_subplotspec(grid[place // kept, place % kept])
    legends = [legend for of in (figure, *given) for legend in _legends(of)]
    counted = [legend._ncols for legend in legends]
    figure.set_size_inches(min(width, NARROW), height / rows * lines)
    for legend in legends:
        _set_columns(legend, min(legend._ncols, 2))
    try:
        yield
    finally:
        figure.set_size_inches(width, height)
        for ax, spec in zip(given, specs, strict=True):
            ax.set_subplotspec(spec)
        for legend, columns in zip(legends, counted, strict=True):
            _set_columns(legend, columns)


def _legends(of: Figure | Axes) -> list[Legend]:
    return [*of.legends] if isinstance(of, Figure) else [one for one in [of.get_legend()] if one]


def _set_columns(legend: Legend, columns: int) -> None:
    """Give a legend another number of columns, for which matplotlib has no public way."""
    if legend._ncols != columns:
        legend._ncols = columns
        legend._init_legend_box(legend.legend_handles, [text.get_text() for text in legend.get_texts()])
        legend._legend_box.set_offset(legend._findoffset)


def _drawn(figure: Figure, name: str) -> ElementTree.Element:
    """Draw a figure, and leave of matplotlib's SVG what is seen, with colours of the theme and the page's font."""
    file = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "book"}):
        figure.savefig(file, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    root = ElementTree.fromstring(file.getvalue())
    for child in [one for one in root if one.tag == f"{_SVG}metadata" or one.find(f"{_SVG}style") is not None]:
        root.remove(child)  # its style sheet would reach beyond the drawing
    width, height = (f"{inches * figure.dpi:.0f}" for inches in figure.get_size_inches())
    view, style = root.get("viewBox"), f"font-family:{FONTS};stroke-linejoin:round"
    root.attrib.clear()
    root.attrib |= {"class": f"plot {name}", "viewBox": view, "width": width, "height": height, "style": style}
    _rename(root, hashlib.sha256((name + file.getvalue()).encode()).hexdigest()[:6])
    for element in root.iter():
        _shorten(element)
    _flatten(root)
    return root


def _rename(root: ElementTree.Element, prefix: str) -> None:
    """Give what is referred to a name of its own among all drawings of a page, and take the other names away."""
    defined = {element.get("id"): element for element in root.iter() if element.get("id")}
    names: dict[str, str] = {}

    def name(old: str) -> str:
        return names.setdefault(old, f"p{prefix}-{len(names)}")

    for element in root.iter():
        if (link := element.attrib.pop(_LINK, None)) is not None:
            element.set("href", f"#{name(link[1:])}" if link.startswith("#") else "".join(link.split()))
        if "clip-path" in element.attrib:
            element.set("clip-path", f"url(#{name(element.get('clip-path')[5:-1])})")
    for old, element in defined.items():
        if old in names:
            element.set("id", names[old])
        else:
            del element.attrib["id"]


def _shorten(element: ElementTree.Element) -> None:
    """Write an element in fewer letters, and its colours as variables."""
    element.tag = element.tag.removeprefix(_SVG)
    element.text, element.tail = (text if text and text.strip() else None for text in (element.text, element.tail))
    for key, value in element.attrib.items():
        if key not in ("href", "id", "clip-path", "class", "viewBox"):
            element.set(key, _LONG.sub(lambda found: f"{float(found[0]):.2f}", " ".join(value.split())))
    if element.tag != "svg" and "style" in element.attrib:
        style = _SHORT_FONT.sub(lambda found: f"font-size:{found[2]}px" + ";font-style:italic" * bool(found[1]),
                                _FONT.sub("", element.get("style")))  # fmt: skip
        style = _COLOUR.sub(lambda found: themed(found[0]), style.replace(": ", ":").replace("; ", ";"))
        element.set("style", style.strip("; "))
    if element.tag == "text" and element.get("fill") is None and "fill:" not in element.get("style", ""):
        element.set("style", ";".join(filter(None, [element.get("style"), f"fill:{themed('#000000')}"])))
    if element.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]


def themed(colour: str) -> str:
    """Write a colour, ``#rrggbb``, as the variable that the theme of a page sets.

    Other greys than black and white are two: that of small words, and that of lines.
    """
    red, green, blue = to_rgb(colour)
    name = THEMED.get(to_hex(colour))
    if name is None and red == green == blue and 0.1 < red < 0.95:
        name = "muted" if red < 0.45 else "line"
    return f"var(--plot-{name},{colour})" if name else colour


def _flatten(parent: ElementTree.Element) -> None:
    """Put what groups without any attribute hold in their place."""
    children: list[ElementTree.Element] = []
    for child in parent:
        _flatten(child)
        children += list(child) if child.tag == "g" and not child.attrib and not child.text else [child]
    parent[:] = children
