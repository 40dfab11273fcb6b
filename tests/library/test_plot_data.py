"""What a notebook keeps of a plot: the numbers and the words of each artist, rounded, and of many a part."""

import numpy as np
import pytest

from companion import plots
from companion.plot_data import KEY, MOST, axes_data, figure_data, pack


def artists(ax):
    return axes_data(ax)["artists"]


def test_a_figure_gives_its_data_as_metadata(ax):
    data, metadata = ax.figure._repr_mimebundle_(include=None, exclude=None)
    assert sorted(data) == ["image/svg+xml", "text/plain"]
    assert metadata == {KEY: figure_data(ax.figure)}
    assert metadata[KEY]["size"] == "4 2"
    assert len(metadata[KEY]["axes"]) == 1


def test_lines_bars_areas_marks_and_texts_are_kept(ax):
    ax.plot([0, 1], [2, 3.123456], "r--", label="loss")
    ax.axhline(2.5)
    ax.bar(["a", "b"], [3, 2], color="k")
    ax.stairs([5, 6], [0, 1, 2])
    ax.fill_between([0, 1], [1, 2], [3, 4])
    ax.scatter([7, 8], [9, 10], c=[0.25, 0.75])
    ax.text(1, 2, "here")
    found = artists(ax)
    assert [one["kind"] for one in found] == ["line", "line", "patch", "patch", "patch", "marks", "marks", "texts"]
    assert found[0] == {"kind": "line", "label": "loss", "style": "#ff0000 -- None", "x": "0 1", "y": "2 3.1235"}
    assert (found[1]["label"], found[1]["y"]) == ("", "2.5 2.5")
    assert found[2]["x"].split()[:3] == ["-0.4", "0.4", "0.4"]
    assert found[2]["y"] == "0 0 3 3 0"
    assert {"5", "6"} <= set(found[4]["y"].split())
    assert {"3", "4"} <= set(found[5]["y"].split())
    assert found[6] | {"style": ""} == {
        "kind": "marks",
        "label": "",
        "style": "",
        "x": "7 8",
        "y": "9 10",
        "z": "0.25 0.75",
    }
    assert found[7] == {"kind": "texts", "texts": "here", "x": "1", "y": "2"}


def test_a_heat_map_is_kept_with_its_colours_labels_and_numbers(ax):
    plots.draw_weights(ax, np.array([[0.25, 0.75]]), ["q"], ["a", "b"], title="head 1")
    data = axes_data(ax)
    image, texts = data["artists"]
    assert (image["label"], image["style"], image["z"]) == ("1 x 2", "Blues 0 1", "0.25 0.75")
    assert texts["texts"] == "0.25 | 0.75"
    assert data["words"] == ["head 1", "key", "query"]
    assert data["ticks"] == [["a", "b"], ["q"]]


def test_scales_limits_and_legend_are_kept_and_ticks_that_matplotlib_chooses_are_not(ax):
    plots.draw_curves(ax, np.array([1, 10]), {"x": np.array([1, 2])}, xlabel="step", ylabel="loss")
    ax.set_xscale("log")
    ax.set(xlim=(1, 10), ylim=(0, 4))
    data = axes_data(ax)
    assert (data["scales"], data["limits"], data["legend"]) == (["log", "linear"], "1 10 0 4", ["x"])
    assert data["ticks"] == [[], []]


def test_of_many_numbers_some_are_kept_and_the_mean_of_all():
    numbers = np.zeros(1000)
    numbers[501] = 1000  # one that is not kept
    kept = pack(numbers).split()
    assert len(kept) == MOST + 1
    assert set(kept[:-1]) == {"0"}
    assert kept[-1] == "1"
    assert pack(np.arange(MOST)).split() == [str(n) for n in range(MOST)]
    assert pack([np.nan] * 201).split()[-1] == "nan"
    assert pack(np.ma.masked_array([1.0, 2.0], [False, True])) == "1 nan"


def test_a_tolerance_is_kept_with_its_axes_and_written_on_the_figure():
    figure, (left, right) = plots.panels(4.0, 2.0, 2)
    plots.set_tolerance(left, within=0.25)
    plots.set_tolerance(right, within_factor=2.0)
    data = figure_data(figure)
    plots.plt.close(figure)
    assert [one["tolerance"] for one in data["axes"]] == [["within", 0.25], ["within_factor", 2.0]]
    assert [one["artists"][-1]["texts"] for one in data["axes"]] == ["another machine: ±0.25", "another machine: ×/÷ 2"]


@pytest.mark.parametrize(
    "tolerance",
    [{}, {"within": 1.0, "within_factor": 2.0}, {"within": -1.0}, {"within_factor": 0.5}, {"within": np.inf}],
)
def test_a_tolerance_that_says_nothing_is_refused(ax, tolerance):
    with pytest.raises(ValueError, match="a tolerance is one of within > 0 and within_factor > 1: got within="):
        plots.set_tolerance(ax, **tolerance)
    assert ax.figure.tolerances == {}


def test_a_plain_figure_has_no_tolerance():
    figure, ax = plots.plt.subplots()
    with pytest.raises(ValueError, match="the figure is one of axes or panels, which keep its data: got Figure"):
        plots.set_tolerance(ax, within=1.0)
    plots.plt.close(figure)
