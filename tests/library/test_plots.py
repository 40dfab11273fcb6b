"""Figures: what stands on the Axes (data, limits, labels, styles), not pixels."""

import matplotlib
import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from companion import plots

matplotlib.use("Agg")

WEIGHTS = [[0.2, 0.8, 0.0], [0.465, 0.035, 0.5]]
EVERY_SHADE = (np.arange(256) + 0.5)[None] / 256  # the middle of each of the 256 steps of a colour map


def texts(ax):
    return {tuple(int(x) for x in text.get_position()): text for text in ax.texts}


def test_a_figure_has_the_size_asked_for_and_one_axes(ax):
    assert isinstance(ax, Axes)
    assert ax.figure.get_size_inches().tolist() == [4, 2]


def test_a_figure_of_three_columns_has_three_axes_side_by_side():
    figure, row = plots.panels(6.0, 2.0, 3)
    figure.draw_without_rendering()  # runs the layout
    left = [one.get_position().x0 for one in row]
    plots.plt.close(figure)
    assert len(row) == 3
    assert left == sorted(set(left))
    assert figure.get_size_inches().tolist() == [6, 2]


def test_rows_of_panels_come_with_the_upper_row_first():
    figure, grid = plots.panels(4.0, 4.0, 2, rows=2)
    figure.draw_without_rendering()  # runs the layout
    places = [(one.get_position().x0, one.get_position().y0) for one in grid]
    plots.plt.close(figure)
    assert places == sorted(places, key=lambda place: (-round(place[1], 3), place[0]))
    assert len(set(places)) == 4
    assert not any(one.spines["right"].get_visible() for one in grid)


@pytest.mark.parametrize("columns", [1, 2])
def test_panels_are_a_list_however_many_there_are(columns):
    figure, row = plots.panels(4.0, 2.0, columns)
    plots.plt.close(figure)
    assert isinstance(row, list)
    assert [type(one) for one in row] == [Axes] * columns
    assert row == figure.axes


def test_the_style_is_on_the_figure_and_not_in_the_settings_of_others():
    before = dict(matplotlib.rcParams)
    figure, ax = plots.axes()
    plots.plt.close(figure)
    assert dict(matplotlib.rcParams) == before
    assert figure.dpi == plots.DPI
    assert ax.xaxis.label.get_size() == ax.yaxis.label.get_size() == plots.TEXT
    assert not ax.spines["top"].get_visible()


def test_each_panel_has_the_style_of_the_book():
    figure, row = plots.panels(4.0, 2.0, 2)
    plots.plt.close(figure)
    assert figure.dpi == plots.DPI
    assert [one.yaxis.label.get_size() for one in row] == [plots.TEXT] * 2
    assert not any(one.spines["top"].get_visible() for one in row)


@pytest.mark.parametrize("columns", [0, -1])
def test_no_columns_are_refused(columns):
    with pytest.raises(ValueError, match=rf"at least one column of Axes: got columns={columns}\. Use columns >= 1"):
        plots.panels(4.0, 2.0, columns)


def test_no_rows_are_refused():
    with pytest.raises(ValueError, match=r"at least one row of Axes: got rows=0\. Use rows >= 1"):
        plots.panels(4.0, 2.0, 2, rows=0)


def test_weights_are_drawn_as_they_are_with_queries_down_and_keys_across(ax):
    plots.draw_weights(ax, WEIGHTS, queries=["it", "is"], keys=["a", "b", "c"])
    assert ax.images[0].get_array().tolist() == WEIGHTS
    assert [label.get_text() for label in ax.get_yticklabels()] == ["it", "is"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b", "c"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("key", "query")
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first query is on top


def test_the_colours_of_weights_are_fixed_so_that_figures_compare(ax):
    plots.draw_weights(ax, [[0.4, 0.6]], queries=["q"], keys=["a", "b"])
    assert ax.images[0].get_clim() == (0.0, 1.0)


def test_more_weight_is_darker_and_none_is_almost_white(ax):
    """As in the explorers, where a weight is a depth of blue."""
    plots.draw_weights(ax, EVERY_SHADE, queries=["q"], keys=[""] * 256, digits=None)
    shades = ax.images[0].to_rgba(EVERY_SHADE[0])[:, :3]
    light = [luminance(shade) for shade in shades]
    assert light == sorted(light, reverse=True)
    assert light[0] > 0.9
    assert light[-1] < 0.05
    assert all(red < green < blue for red, green, blue in shades)


def test_the_labels_of_weights_have_the_size_of_the_books_text_on_any_axes(ax):
    ax.tick_params(labelsize=4)
    plots.draw_weights(ax, WEIGHTS, queries=["it", "is"], keys=["a", "b", "c"])
    sizes = {label.get_size() for label in (*ax.get_xticklabels(), *ax.get_yticklabels())}
    assert sizes == {plots.TEXT}


def test_each_weight_is_written_in_its_cell(ax):
    plots.draw_weights(ax, WEIGHTS, queries=["it", "is"], keys=["a", "b", "c"])
    written = {place: text.get_text() for place, text in texts(ax).items()}
    assert written == {(0, 0): "0.20", (1, 0): "0.80", (2, 0): "0.00", (0, 1): "0.47", (1, 1): "0.04", (2, 1): "0.50"}


@pytest.mark.parametrize(("digits", "shown"), [(0, ["0", "1"]), (1, ["0.3", "0.7"]), (None, [])])
def test_the_number_of_decimals_can_be_chosen(ax, digits, shown):
    plots.draw_weights(ax, [[0.26, 0.74]], queries=["q"], keys=["a", "b"], digits=digits)
    assert [text.get_text() for text in ax.texts] == shown


def test_a_written_weight_stands_out_from_its_cell(ax):
    """Contrast by WCAG 2.1 is at least 4.5 for every weight, on both sides of where the text turns black."""
    plots.draw_weights(ax, EVERY_SHADE, queries=["q"], keys=[""] * 256)
    written = texts(ax)
    assert len(written) == 256
    assert {text.get_color() for text in written.values()} == {plots.DARK, plots.PALE}
    for (column, _), text in written.items():
        cell = luminance(ax.images[0].to_rgba(EVERY_SHADE[0, column])[:3])
        low, high = sorted([cell, luminance(to_rgb(text.get_color()))])
        assert (high + 0.05) / (low + 0.05) >= 4.5, EVERY_SHADE[0, column]


def luminance(rgb):
    channels = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return float(np.dot(channels, [0.2126, 0.7152, 0.0722]))


def test_weights_of_torch_are_drawn_and_not_changed(ax):
    weights = torch.tensor(WEIGHTS)
    plots.draw_weights(ax, weights, queries=["it", "is"], keys=["a", "b", "c"])
    assert torch.equal(weights, torch.tensor(WEIGHTS))
    assert ax.images[0].get_array().shape == (2, 3)


def test_weights_and_labels_that_do_not_match_are_refused(ax):
    with pytest.raises(ValueError, match=r"got \(2, 3\) for 3 queries and 2 keys\. Give one label a row"):
        plots.draw_weights(ax, WEIGHTS, queries=["a", "b", "c"], keys=["it", "is"])
    with pytest.raises(ValueError, match=r"got \(1, 2, 3\) for 2 queries and 3 keys"):
        plots.draw_weights(ax, [WEIGHTS], queries=["it", "is"], keys=["a", "b", "c"])


@pytest.mark.parametrize(
    ("row", "got"), [([-0.1, 1.0], r"-0\.1 to 1"), ([0.0, 1.5], r"0 to 1\.5"), ([float("nan"), 1.0], "nan to nan")]
)
def test_scores_in_place_of_weights_are_refused(ax, row, got):
    with pytest.raises(ValueError, match=rf"weights lie in \[0, 1\]: got {got}\. Draw scores after softmax"):
        plots.draw_weights(ax, [row], queries=["q"], keys=["a", "b"])


def test_a_weight_above_one_by_rounding_is_drawn(ax):
    plots.draw_weights(ax, [[1 + 1e-7]], queries=["q"], keys=["a"])
    assert ax.texts[0].get_text() == "1.00"


def test_a_distribution_is_a_density_over_the_bins(ax):
    """By hand: two of four values in each bin of width 2 make a height of 2 / 4 / 2 = 0.25."""
    plots.draw_distribution(ax, {"x": [0.5, 1.0, 2.5, 3.5]}, (0.0, 4.0), bins=2, xlabel="score")
    heights, edges, _ = ax.patches[0].get_data()
    assert heights.tolist() == [0.25, 0.25]
    assert edges.tolist() == [0, 2, 4]
    assert (ax.get_xlim(), ax.get_xlabel(), ax.get_ylabel()) == ((0, 4), "score", "density")


def test_every_sample_shares_the_bins_and_has_area_one(ax):
    generator = np.random.default_rng(7)
    samples = {"narrow": generator.normal(size=(3, 50)), "wide": generator.normal(size=200) * 9}
    plots.draw_distribution(ax, samples, (-5.0, 5.0), bins=20)
    for patch in ax.patches:
        heights, edges, _ = patch.get_data()
        assert np.allclose(edges, np.linspace(-5, 5, 21))
        assert np.isclose((heights * np.diff(edges)).sum(), 1)


def test_a_value_beyond_the_limits_is_counted_in_the_outermost_bin(ax):
    plots.draw_distribution(ax, {"x": [-99, 1.5, 2.5, 99]}, (0.0, 4.0), bins=4)
    assert ax.patches[0].get_data().values.tolist() == [0.25, 0.25, 0.25, 0.25]


def test_samples_differ_in_more_than_their_colour(ax):
    plots.draw_distribution(ax, {name: [0.5] for name in "abcd"}, (0.0, 1.0))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list("abcd")
    assert len({patch.get_edgecolor() for patch in ax.patches}) == 4
    assert len({patch.get_linestyle() for patch in ax.patches}) == 4


@pytest.mark.parametrize(("samples", "limits"), [({}, (0.0, 1.0)), ({"x": [1]}, (1.0, 0.0)), ({"x": [1]}, (2.0, 2.0))])
def test_a_distribution_without_samples_or_limits_in_order_is_refused(ax, samples, limits):
    with pytest.raises(ValueError, match="needs a sample and limits in rising order") as refusal:
        plots.draw_distribution(ax, samples, limits)
    assert f"got {list(samples)} and {limits}." in str(refusal.value)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_sample_that_is_not_finite_is_refused_by_name(ax, bad):
    with pytest.raises(ValueError, match="finite: 'broken' holds NaN or infinity"):
        plots.draw_distribution(ax, {"fine": [1.0], "broken": [1.0, bad]}, (0.0, 2.0))


def test_curves_are_drawn_as_they_are(ax):
    plots.draw_curves(ax, [1, 2, 4], {"up": [1, 2, 3], "down": [3, 2, 1]}, xlabel="d_k", ylabel="entropy (nats)")
    lines = {line.get_label(): line for line in ax.lines}
    assert lines["up"].get_xydata().tolist() == [[1, 1], [2, 2], [4, 3]]
    assert lines["down"].get_xydata().tolist() == [[1, 3], [2, 2], [4, 1]]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("d_k", "entropy (nats)")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["up", "down"]


def test_no_two_of_many_curves_look_alike(ax):
    names = [str(i) for i in range(9)]
    plots.draw_curves(ax, [0, 1], {name: [0, 1] for name in names}, xlabel="x", ylabel="y")
    assert len({(line.get_color(), line.get_linestyle(), line.get_marker()) for line in ax.lines}) == 9
    assert len({line.get_color() for line in ax.lines}) == 7  # the colours of Okabe and Ito (2008) but yellow


def test_a_heat_map_has_its_title_in_the_size_of_the_labels(ax):
    plots.draw_weights(ax, [[1.0]], ["q"], ["k"], title="run 1")
    assert (ax.get_title(), ax.title.get_size()) == ("run 1", plots.TEXT)


@pytest.mark.parametrize("markers", [False, True])
def test_the_points_of_a_long_curve_can_go_unmarked(ax, markers):
    plots.draw_curves(ax, [0, 1], {"only": [0, 1]}, xlabel="x", ylabel="y", markers=markers)
    assert (ax.lines[0].get_marker() != "") == markers


@pytest.mark.parametrize(
    ("x", "y", "got"), [([1, 2], [1, 2, 3], r"\(3,\) for x \(2,\)"), ([[1, 2]], [[1, 2]], r"\(1, 2\) for x \(1, 2\)")]
)
def test_a_curve_without_one_value_for_each_x_is_refused_by_name(ax, x, y, got):
    with pytest.raises(ValueError, match=rf"one value for each x: 'bad' has {got}"):
        plots.draw_curves(ax, x, {"bad": y}, xlabel="x", ylabel="y")


@pytest.mark.parametrize(
    "draw",
    [
        lambda ax: plots.draw_weights(ax, [[1.0]], ["q"], ["k"]),
        lambda ax: plots.draw_distribution(ax, {"x": [0.5]}, (0.0, 1.0)),
        lambda ax: plots.draw_curves(ax, [0, 1], {"y": [0, 1]}, xlabel="x", ylabel="y"),
    ],
    ids=["weights", "distribution", "curves"],
)
def test_a_draw_function_returns_nothing_and_opens_no_figure(ax, draw):
    """A captioned cell has one output: its figure."""
    before = plots.plt.get_fignums()
    assert draw(ax) is None
    assert plots.plt.get_fignums() == before


def test_a_figure_becomes_a_png_of_its_size_and_is_closed():
    before = plots.plt.get_fignums()
    figure, ax = plots.axes(3.0, 2.0)
    ax.plot([0, 1])
    image = plots.png(figure)
    assert image[:8] == b"\x89PNG\r\n\x1a\n"
    assert [int.from_bytes(image[at : at + 4], "big") for at in (16, 20)] == [3 * plots.DPI, 2 * plots.DPI]
    assert plots.plt.get_fignums() == before
