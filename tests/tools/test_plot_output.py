"""The data of two plots agree up to rounding, or within a stated tolerance; everything else to the letter."""

import copy

import matplotlib
import numpy as np
import pytest

from companion import plots
from companion.book.plot_output import PLOT, differences, is_sealed, seal
from companion.plot_data import figure_data

matplotlib.use("Agg")


def drawn(values=(2.0, 3.0), *, factor=1.0, **tolerance):
    """The data of a figure with two Axes: a curve and a text, and a heat map."""
    figure, (left, right) = plots.panels(6.0, 3.0, 2)
    plots.draw_curves(left, np.arange(2), {"seed 0": np.array(values)}, xlabel="step", ylabel="loss")
    left.text(0, 1, f"loss {values[0]:.2f}")
    left.set_title("Run 1")
    plots.draw_weights(right, np.array([[0.25 * factor, 0.5]]), ["q"], ["a", "b"], digits=None)
    if tolerance:
        plots.set_tolerance(left, **tolerance)
    data = figure_data(figure)
    plots.plt.close(figure)
    return data


@pytest.mark.parametrize(
    ("values", "tolerance", "agree"),
    [
        ((2.0, 3.0), {}, True),
        ((2.0001, 3.0), {}, True),  # the text rounds to the same
        ((2.0, 3.01), {}, False),
        ((2.05, 3.09), {"within": 0.1}, True),
        ((2.0, 3.11), {"within": 0.1}, False),
        ((1.0, 6.0), {"within_factor": 2.0}, True),
        ((2.0, 6.1), {"within_factor": 2.0}, False),
        ((2.0, -3.0), {"within_factor": 9.0}, False),
        ((2.0, float("nan")), {"within": 0.1}, False),
    ],
)
def test_numbers_agree_up_to_rounding_or_within_the_tolerance_of_their_axes(values, tolerance, agree):
    assert (differences(drawn(**tolerance), drawn(values, **tolerance)) == []) is agree


def test_a_tolerance_holds_for_its_own_axes_only():
    found = differences(drawn(within=9.0), drawn(factor=1.1, within=9.0))
    assert found == ["Axes 1, image 0: its z is 0.25 0.5, and in a run 0.275 0.5"]


def test_small_numbers_are_compared_with_the_largest_beside_them():
    was = {"size": "1 1", "axes": [{"limits": "0 1", "artists": [{"kind": "line", "x": "0 1", "y": "1e-09 2e-09"}]}]}
    now = copy.deepcopy(was)
    now["axes"][0]["artists"][0]["y"] = "1e-09 3e-09"
    assert differences(was, copy.deepcopy(was)) == []
    assert differences(was, now) == ["Axes 0, line 0: its y is 1e-09 2e-09, and in a run 1e-09 3e-09"]
    for data, first in ((was, "1e-17"), (now, "7e-17")):
        data["axes"][0]["artists"][0]["y"] = f"{first} 2"
    assert differences(was, now) == []


@pytest.mark.parametrize(
    ("key", "value", "finding"),
    [
        ("words", ["Run 2", "step", "loss"], "Axes 0, its words are ['Run 2', 'step', 'loss'], and in a run ['Run 1',"),
        ("scales", ["linear", "log"], "Axes 0, its scales are ['linear', 'log'], and in a run"),
        ("legend", ["seed 1"], "Axes 0, its legend are ['seed 1'], and in a run ['seed 0']"),
        ("ticks", [["0"], []], "Axes 0, its ticks are"),
        ("tolerance", ["within", 0.2], "Axes 0, its tolerance are ['within', 0.2], and in a run ['within', 0.1]"),
    ],
)
def test_words_and_the_tolerance_agree_to_the_letter(key, value, finding):
    was = drawn(within=0.1)
    was["axes"][0][key] = value
    assert [one[: len(finding)] for one in differences(was, drawn(within=0.1))] == [finding]


@pytest.mark.parametrize(("key", "value"), [("style", "#000000 - o"), ("label", "seed 1"), ("kind", "patch")])
def test_the_style_and_the_name_of_an_artist_agree_to_the_letter(key, value):
    was = drawn(within=9.0)
    was["axes"][0]["artists"][0][key] = value
    assert len(differences(was, drawn(within=9.0))) == 1


def test_the_words_of_a_text_agree_to_the_letter_and_its_number_within_the_tolerance():
    was = drawn(within=0.5)
    text = was["axes"][0]["artists"][1]
    text["texts"] = text["texts"].replace("2.00", "2.40")
    assert differences(was, drawn(within=0.5)) == []
    text["texts"] = text["texts"].replace("loss", "gain")
    found = differences(was, drawn(within=0.5))
    assert [one[:56] for one in found] == ["Axes 0, texts 1: its texts is gain 2.40 | another machin"]


def test_limits_count_where_no_tolerance_is_stated():
    for tolerance, count in (({}, 1), ({"within": 0.1}, 0)):
        was = drawn(**tolerance)
        was["axes"][0]["limits"] = "0 1 0 9"
        assert len(differences(was, drawn(**tolerance))) == count


def test_another_size_and_another_number_of_axes_are_found():
    was = drawn()
    assert differences({**was, "size": "6 4"}, was) == [
        "it has 6 4 inches with 2 Axes, and in a run 6 3 inches with 2 Axes"
    ]
    assert differences({**was, "axes": was["axes"][:1]}, was)[0].startswith("it has 6 3 inches with 1 Axes")


def test_a_seal_ties_the_picture_to_the_data():
    output = {"data": {"image/svg+xml": "abc"}, "metadata": {PLOT: drawn()}}
    seal(output)
    assert is_sealed(output)
    output["data"]["image/svg+xml"] = "abd"
    assert not is_sealed(output)
    plain = {"data": {"image/svg+xml": "abc"}, "metadata": {}}
    seal(plain)
    assert plain["metadata"] == {}
