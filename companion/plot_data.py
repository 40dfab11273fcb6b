"""What a plot shows, as numbers and words: a notebook keeps it beside the picture, and a later run is compared with it.

Made for this book. Every chapter uses it through ``companion.plots``. Numbers are rounded and packed into one text, and
of many only some are kept, with the mean of all.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import Collection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator

KEY = "plot"  # of the metadata of an output, which companion.book.plot_output reads
MOST = 200  # numbers of one axis of one artist


def figure_data(figure: Figure) -> dict:
    """Collect what all Axes of a figure show, in the order in which they were made, with the tolerances stated."""
    tolerances = {ax: {"tolerance": list(stated)} for ax, stated in getattr(figure, "tolerances", {}).items()}
    return {
        "size": pack(figure.get_size_inches()),
        "axes": [axes_data(ax) | tolerances.get(ax, {}) for ax in figure.axes],
    }


def axes_data(ax: Axes) -> dict:
    """Collect what one Axes shows: its words, its scales and limits, and the numbers of each artist."""
    legend = ax.get_legend()
    return {
        "words": [ax.get_title(), ax.get_xlabel(), ax.get_ylabel()],
        "legend": [text.get_text() for text in legend.get_texts()] if legend else [],
        "ticks": [_ticks(ax.xaxis), _ticks(ax.yaxis)],
        "scales": [ax.get_xscale(), ax.get_yscale()],
        "limits": pack([*ax.get_xlim(), *ax.get_ylim()]),
        "artists": [
            *map(_line, ax.lines),
            *map(_patch, ax.patches),
            *map(_image, ax.images),
            *map(_marks, ax.collections),
            *([_text(ax.texts)] if len(ax.texts) else []),
        ],
    }


def pack(numbers: Sequence | np.ndarray) -> str:
    """Write numbers as one text; of more than ``MOST`` as many, evenly spaced, and the mean of all.

    >>> pack([1, 0.123456, 1e6])
    '1 0.12346 1e+06'
    """
    flat = np.asarray(np.ma.filled(np.ma.asarray(numbers, dtype=float), np.nan)).ravel()
    kept = flat
    if len(flat) > MOST:
        places = np.linspace(0, len(flat) - 1, MOST).round().astype(int)
        kept = [*flat[places], np.nanmean(flat) if not np.isnan(flat).all() else np.nan]
    return " ".join(f"{number:.5g}" for number in kept)


def _ticks(axis: Axis) -> list[str]:
    """Give the labels of ticks that were set by hand; matplotlib chooses others from the limits."""
    places, label = axis.get_major_locator(), axis.get_major_formatter()
    return [str(label(place, n)) for n, place in enumerate(places.locs)] if isinstance(places, FixedLocator) else []


def _line(line: Line2D) -> dict:
    style = f"{to_hex(line.get_color())} {line.get_linestyle()} {line.get_marker()}"
    x, y = (pack(values) for values in line.get_data(orig=False))
    return {"kind": "line", "label": _label(line), "style": style, "x": x, "y": y}


def _patch(patch: Patch) -> dict:
    corners = patch.get_patch_transform().transform_path(patch.get_path()).vertices
    style = f"{to_hex(patch.get_facecolor())} {to_hex(patch.get_edgecolor())}"
    return {"kind": "patch", "label": _label(patch), "style": style, "x": pack(corners[:, 0]), "y": pack(corners[:, 1])}


def _image(image: AxesImage) -> dict:
    values, colours = image.get_array(), f"{image.get_cmap().name} {pack(image.get_clim())}"
    shape = " x ".join(map(str, values.shape))
    return {"kind": "image", "label": shape, "style": colours, "x": pack(image.get_extent()), "z": pack(values)}


def _marks(marks: Collection) -> dict:
    """Give the places of markers, or the corners of areas, and the values that are shown by colours."""
    offsets = np.asarray(marks.get_offsets(), dtype=float)
    corners = offsets if offsets.any() else np.concatenate([path.vertices for path in marks.get_paths()] or [offsets])
    style = " ".join(map(to_hex, marks.get_facecolor()[:1]))
    values = [] if marks.get_array() is None else marks.get_array()
    places = {"x": pack(corners[:, 0]), "y": pack(corners[:, 1]), "z": pack(values)}
    return {"kind": "marks", "label": _label(marks), "style": style, **places}


def _text(texts: Sequence[Text]) -> dict:
    """Give all texts at once; one may stand at a name, on an axis of names."""
    x, y = zip(*(text.get_position() for text in texts), strict=True)
    words = " | ".join(text.get_text() for text in texts)
    return {"kind": "texts", "texts": words, "x": _places(x), "y": _places(y)}


def _places(values: Iterable) -> str:
    return " ".join(one if isinstance(one, str) else f"{one:.5g}" for one in values)


def _label(artist: Artist) -> str:
    """Give the label of an artist, but not one that matplotlib numbers by itself."""
    label = str(artist.get_label())
    return "" if label.startswith("_") else label
