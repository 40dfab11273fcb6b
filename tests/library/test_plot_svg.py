"""A plot as SVG: both layouts, colours as variables, names of its own, and a figure that stays as it was."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from companion import plot_svg, plots

SPACE = "{http://www.w3.org/2000/svg}"


def drawn(figure):
    """The two layouts of a figure."""
    wide = ElementTree.fromstring(plot_svg.svg(figure))
    (narrow,) = wide.findall(f"{SPACE}svg")
    wide.remove(narrow)
    return wide, narrow


def words(svg):
    return [text for element in svg.iter(f"{SPACE}text") if (text := "".join(element.itertext()).strip())]


def size(svg):
    return tuple(float(number) for number in svg.get("viewBox").split()[2:])


def elements(svg, *names):
    return [one for name in names for one in svg.iter(f"{SPACE}{name}")]


@pytest.fixture
def three():
    figure, panels = plots.panels(7.2, 2.4, columns=3)
    for ax, name in zip(panels, "abc", strict=True):
        plots.draw_curves(ax, [1, 2, 3], {f"of {name}": [1, 2, 3], "other": [3, 2, 1]}, xlabel="$d_k$", ylabel="loss")
        ax.set_title(name)
    yield figure
    plots.plt.close(figure)


def test_a_phone_has_the_panels_below_each_other_with_the_same_words(three):
    wide, narrow = drawn(three)
    assert size(wide) == pytest.approx((7.2 * 72, 2.4 * 72))
    assert size(narrow) == pytest.approx((plot_svg.NARROW * 72, 3 * 2.4 * 72))
    assert (wide.get("class"), narrow.get("class")) == ("plot fig-wide", "plot fig-narrow")
    assert (wide.get("display"), narrow.get("display")) == (None, "none")
    titles = [[one for one in words(layout) if one in "abc"] for layout in (wide, narrow)]
    assert titles == [list("abc")] * 2
    assert {"of a", "of b", "of c", "other", "loss"} <= set(words(narrow))


@pytest.mark.parametrize(("narrow", "lines"), [(None, 3), (1, 3), (2, 2), (3, 1)])
def test_a_figure_may_say_how_many_stand_in_a_row_on_a_phone(narrow, lines):
    figure, _ = plots.panels(7.2, 2.4, columns=3, narrow=narrow)
    assert size(drawn(figure)[1])[1] == pytest.approx(lines * 2.4 * 72)
    plots.plt.close(figure)


def test_panels_that_are_narrow_enough_stay_side_by_side():
    figure, _ = plots.panels(6.8, 4.0, columns=4, rows=2)
    assert size(drawn(figure)[1]) == pytest.approx((plot_svg.NARROW * 72, 4 * 2.0 * 72))
    plots.plt.close(figure)


@pytest.mark.parametrize("narrow", [0, 4])
def test_a_row_on_a_phone_has_one_axes_to_as_many_as_there_are(narrow):
    with pytest.raises(ValueError, match=f"a row has 1 to 3 Axes: got narrow={narrow}"):
        plots.panels(7.2, 2.4, columns=3, narrow=narrow)


def test_the_figure_stays_as_it_was_with_its_legends():
    figure, (left, right) = plots.panels(7.2, 2.4, columns=2)
    for ax in (left, right):
        ax.plot([1, 2], [1, 2], label="up")
        ax.plot([1, 2], [2, 1], label="down")
        ax.plot([1, 2], [2, 2], label="level")
    legend = figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    places = [ax.get_subplotspec() for ax in (left, right)]
    first, second = plot_svg.svg(figure), plot_svg.svg(figure)
    assert first == second
    assert figure.get_size_inches() == pytest.approx((7.2, 2.4))
    assert [ax.get_subplotspec() for ax in (left, right)] == places
    assert [text.get_text() for text in legend.get_texts()] == ["up", "down", "level"]
    for layout, lines in zip(drawn(figure), (1, 2), strict=True):
        of = [one for one in elements(layout, "text") if "".join(one.itertext()) in ("up", "down", "level")]
        assert len(of) == 3
        assert len({one.get("y") for one in of}) == lines
        left, right = (bound * size(layout)[0] for bound in (0.2, 0.8))  # in the middle below the Axes
        assert all(left < float(one.get("x")) < right for one in of)
    plots.plt.close(figure)


def test_every_colour_is_a_variable_with_a_value_for_where_there_is_no_theme(three):
    text = plot_svg.svg(three)
    assert "var(--plot-blue,#0072b2)" in text
    assert "var(--plot-ink,#000000)" in text
    bare = re.sub(r"var\(--plot-[a-z]+,#[0-9a-f]{6}\)", "", text)
    assert re.findall(r"#[0-9a-f]{6}\b(?!-)", bare) == []


@pytest.mark.parametrize(
    ("colour", "written"),
    [
        ("#0072b2", "var(--plot-blue,#0072b2)"),
        ("#595959", "var(--plot-muted,#595959)"),
        ("#999999", "var(--plot-line,#999999)"),
        ("#ffffff", "var(--plot-paper,#ffffff)"),
        ("#123456", "#123456"),
        (plots.PALE, plots.PALE),
        (plots.DARK, plots.DARK),
    ],
)
def test_greys_and_the_colours_of_the_book_follow_the_theme(colour, written):
    assert plot_svg.themed(colour) == written


def test_words_on_a_heat_map_keep_their_colours_and_it_its_pixels(ax):
    plots.draw_weights(ax, [[0.1, 0.9]], ["q"], ["a", "b"])
    wide, narrow = drawn(ax.figure)
    for layout in (wide, narrow):
        fills = {"".join(one.itertext()): one.get("style") for one in elements(layout, "text")}
        assert f"fill:{plots.DARK}" in fills["0.10"]
        assert f"fill:{plots.PALE}" in fills["0.90"]
        assert "fill:var(--plot-ink,#000000)" in fills["key"]
        (image,) = elements(layout, "image")
        assert (image.get("width"), image.get("height")) == ("2", "1")
        assert "pixelated" in image.get("style")
        assert image.get("href").startswith("data:image/png;base64,")


def test_what_is_referred_to_is_there_once_under_a_name_of_this_drawing(three):
    plots.axes()
    texts = [plot_svg.svg(three), plot_svg.svg(plots.plt.gcf())]
    named = [re.findall(r' id="([^"]+)"', text) for text in texts]
    used = [re.findall(r'(?:href="#|url\(#)([^")]+)', text) for text in texts]
    assert [len(names) == len(set(names)) > 0 for names in named] == [True, True]
    assert [set(names) == set(uses) for names, uses in zip(named, used, strict=True)] == [True, True]
    assert set(named[0]).isdisjoint(named[1])
    plots.plt.close("all")


def test_nothing_reaches_beyond_the_drawing(three):
    wide, narrow = drawn(three)
    for layout in (wide, narrow):
        assert elements(layout, "style", "metadata", "script") == []
        assert "DejaVu" not in ElementTree.tostring(layout, encoding="unicode")


def test_words_tell_what_is_drawn(three):
    data, _ = three._repr_mimebundle_()
    assert data["text/plain"].startswith("Plot. a: loss by $d_k$: of a, other. b: loss by $d_k$: of b, other.")
    assert plot_svg.in_words({"axes": [{"words": ["", "", ""], "legend": []}]}) == "Plot."


def test_a_notebook_stores_no_second_picture_in_pixels(monkeypatch):
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.core.pylabtools import select_figure_formats

    shell = InteractiveShell.instance()
    select_figure_formats(shell, {"png"})
    figure, ax = plots.axes()
    ax.plot(np.arange(3))
    data, metadata = shell.display_formatter.format(figure)
    assert sorted(data) == ["image/svg+xml", "text/plain"]
    assert sorted(metadata) == ["plot"]
    plots.plt.close(figure)
    InteractiveShell.clear_instance()
