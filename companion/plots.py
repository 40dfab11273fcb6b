"""Figures of the book: compute elsewhere, draw here, on Axes that the caller gives. Every chapter uses this module.

Scales are fixed, so that figures compare. Colours are those of Okabe and Ito (2008), which readers who are colour-blind
tell apart; line style and marker differ as well. The draw functions return nothing: a captioned cell has one output.
"""

import io
import sys
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from companion.plot_svg import Plot

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
LINES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
PALE, DARK = "#fefefe", "#010101"
"""White and black for words on a heat map, which no theme changes."""
DPI = 130
TEXT, SMALL = 9, 8  # points


def axes(width: float = 5.6, height: float = 2.8) -> tuple[Plot, Axes]:
    """Make a figure with one Axes in the book's style, and leave matplotlib's own settings alone.

    Args:
        width: inches.
        height: inches.

    Returns:
        The figure, and its Axes.
    """
    figure, (ax,) = panels(width, height, 1)
    return figure, ax


def panels(
    width: float, height: float, columns: int, *, rows: int = 1, narrow: int | None = None
) -> tuple[Plot, list[Axes]]:
    """Make a figure with several Axes side by side, in one row or more, in the book's style.

    A notebook stores it as SVG in two layouts, of which the site shows that for a phone where it fits better, and its
    data beside it, with which a later run is compared.

    Args:
        width: of the whole figure, in inches.
        height: inches.
        columns: number of Axes in a row.
        rows: number of rows.
        narrow: number of Axes in a row on a phone; ``None`` for as many as keep four fifths of
            their width.

    Returns:
        The figure, and its Axes from left to right, the upper row first: a list of one where ``columns`` is 1.

    Raises:
        ValueError: ``columns`` or ``rows`` is below 1, or ``narrow`` is not between 1 and ``columns``.
    """
    if rows < 1:
        raise ValueError(f"a figure has at least one row of Axes: got rows={rows}. Use rows >= 1.")
    if columns < 1:
        raise ValueError(f"a figure has at least one column of Axes: got columns={columns}. Use columns >= 1.")
    if narrow is not None and not 1 <= narrow <= columns:
        raise ValueError(f"on a phone a row has 1 to {columns} Axes: got narrow={narrow}. Use fewer, or None.")
    figure = plt.figure(FigureClass=Plot, figsize=(width, height), dpi=DPI, layout="constrained")
    figure.narrow = narrow
    grid = figure.subplots(rows, columns, squeeze=False)
    shown_as_svg()
    for ax in grid.flat:
        ax.set_prop_cycle(color=COLOURS)
        ax.tick_params(labelsize=TEXT)
        for text in (ax.xaxis.label, ax.yaxis.label):
            text.set_size(TEXT)
        ax.spines[["top", "right"]].set_visible(False)
    return figure, list(grid.flat)


def set_tolerance(ax: Axes, *, within: float = 0.0, within_factor: float = 1.0) -> None:
    """State how far the numbers of one Axes may differ on another machine, and write it above its right corner.

    Without it the numbers must be the same. Words must be the same in any case.

    Args:
        ax: of :func:`axes` or :func:`panels`.
        within: the largest difference, in units of the axis. This or the next one.
        within_factor: the largest ratio, in either direction.

    Raises:
        ValueError: neither is stated, or both are, or one is too small to allow for anything; or the figure is plain.
    """
    stated = [("within", within)] * (within != 0) + [("within_factor", within_factor)] * (within_factor != 1)
    if len(stated) != 1 or not (0 <= within < np.inf and 1 <= within_factor < np.inf):
        raise ValueError(
            "a tolerance is one of within > 0 and within_factor > 1: got "
            f"within={within}, within_factor={within_factor}. State one."
        )
    if not hasattr(ax.figure, "tolerances"):
        raise ValueError(
            f"the figure is one of axes or panels, which keep its data: got {ax.figure}. Make it by these."
        )
    ax.figure.tolerances[ax] = stated[0]
    words = f"±{within:g}" if within else f"×/÷ {within_factor:g}"
    corner = {"transform": ax.transAxes, "ha": "right", "va": "bottom", "fontsize": 7, "color": "0.35"}
    ax.text(1, 1.01, f"another machine: {words}", **corner)


def shown_as_svg() -> None:
    """Let the IPython that runs, if any, store the figures of this module as SVG alone, not as PNG too."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None:
        shell.display_formatter.formatters["image/png"].for_type(Plot, lambda figure: None)


def png(figure: Figure) -> bytes:
    """Write a figure as a PNG image and close it, so that no notebook shows it a second time.

    Args:
        figure: of :func:`axes` or :func:`panels`.

    Returns:
        The bytes of the file.
    """
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    plt.close(figure)
    return buffer.getvalue()


def draw_weights(
    ax: Axes,
    weights: ArrayLike,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    digits: int | None = 2,
    title: str = "",
) -> None:
    """Draw one head's weights, rows = queries, columns = keys; the darker, the more, with 0 to 1 for every figure.

    Args:
        ax: where to draw.
        weights: ``(t_q, t_k)``.
        queries: ``t_q`` row labels.
        keys: ``t_k`` column labels.
        digits: decimals written into each cell; ``None`` writes none.
        title: what is drawn.

    Raises:
        ValueError: the labels do not match the weights, or a weight lies outside [0, 1].
    """
    weights = np.asarray(weights, dtype=float)
    if weights.shape != (len(queries), len(keys)):
        raise ValueError(
            f"weights are (queries, keys): got {weights.shape} for {len(queries)} queries and {len(keys)} keys. "
            "Give one label a row and one a column."
        )
    if not ((weights >= 0) & (weights <= 1 + 1e-6)).all():
        raise ValueError(
            f"weights lie in [0, 1]: got {weights.min():.3g} to {weights.max():.3g}. Draw scores after softmax."
        )
    ax.imshow(weights, vmin=0.0, vmax=1.0, cmap="Blues", aspect="auto", interpolation="none")
    ax.set_xticks(range(len(keys)), labels=keys)
    ax.set_yticks(range(len(queries)), labels=queries)
    ax.tick_params(labelsize=TEXT)
    ax.set(xlabel="key", ylabel="query")
    ax.set_title(title, fontsize=TEXT)
    ax.spines[:].set(visible=True, color="0.7")
    if digits is not None:
        for (row, column), weight in np.ndenumerate(weights):
            colour = PALE if weight > 0.715 else DARK  # there both have a contrast of 4.5 to the blue
            ax.text(column, row, f"{weight:.{digits}f}", ha="center", va="center", color=colour, fontsize=SMALL)


def draw_distribution(
    ax: Axes, samples: Mapping[str, ArrayLike], limits: tuple[float, float], *, bins: int = 60, xlabel: str = ""
) -> None:
    """Outline the histogram of each sample as a density over the same bins.

    Args:
        ax: where to draw.
        samples: values by label; each may have any shape.
        limits: the interval that the bins divide. A value outside is counted in the outermost bin.
        bins: number of bins.
        xlabel: what the values are.

    Raises:
        ValueError: there is no sample, a value is not finite, or the limits are not in order.
    """
    if not samples or limits[0] >= limits[1]:
        raise ValueError(
            f"a distribution needs a sample and limits in rising order: got {list(samples)} and {limits}. "
            "Give samples by label and limits (low, high)."
        )
    edges = np.linspace(*limits, bins + 1)
    for index, (label, values) in enumerate(samples.items()):
        values = np.asarray(values, dtype=float).ravel()
        if not np.isfinite(values).all():
            raise ValueError(f"a drawn value is finite: {label!r} holds NaN or infinity. Drop or mend it first.")
        counts, _ = np.histogram(values.clip(*limits), edges)
        density = counts / counts.sum() / np.diff(edges)
        ax.stairs(density, edges, label=label, color=_pick(COLOURS, index), linestyle=_pick(LINES, index))
    ax.set(xlabel=xlabel, ylabel="density", xlim=limits)
    ax.legend(frameon=False, fontsize=SMALL)


def draw_curves(
    ax: Axes, x: ArrayLike, curves: Mapping[str, ArrayLike], *, xlabel: str, ylabel: str, markers: bool = True
) -> None:
    """Draw curves over one x axis, each with its own colour and line, and name them.

    Set logarithmic axes on ``ax`` itself.

    Args:
        ax: where to draw.
        x: ``(n,)``.
        curves: ``(n,)`` values by label.
        xlabel: what x is, with its unit.
        ylabel: what the curves are, with their unit.
        markers: whether to mark each point.

    Raises:
        ValueError: a curve has not as many values as ``x``.
    """
    x = np.asarray(x, dtype=float)
    for index, (label, y) in enumerate(curves.items()):
        y = np.asarray(y, dtype=float)
        if y.shape != x.shape or x.ndim != 1:
            raise ValueError(f"a curve has one value for each x: {label!r} has {y.shape} for x {x.shape}.")
        style = {"color": _pick(COLOURS, index), "linestyle": _pick(LINES, index)}
        style["marker"] = _pick(MARKERS, index) if markers else ""
        ax.plot(x, y, label=label, markersize=3.5, linewidth=1.4, **style)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.legend(frameon=False, fontsize=SMALL)


def _pick(choices: Sequence[str], index: int) -> str:
    return choices[index % len(choices)]
