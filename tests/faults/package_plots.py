"""Faults of `companion.plots`."""

from faults import Fault

PLOTS = "companion/plots.py"
SHAPE_HOOK = "TypeCheckError"


def plots(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_plots.py::test_{test}",)


FAULTS = [
    Fault(
        "only the upper row of panels is handed over",
        PLOTS,
        "return figure, list(grid.flat)",
        "return figure, list(grid[0])",
        plots("rows_of_panels_come_with_the_upper_row_first"),
    ),
    Fault(
        "no rows are taken",
        PLOTS,
        "if rows < 1:",
        "if False:",
        plots("no_rows_are_refused"),
    ),
    Fault(
        "the colours of weights depend on the figure",
        PLOTS,
        "vmin=0.0, vmax=1.0, ",
        "",
        plots("the_colours_of_weights_are_fixed_so_that_figures_compare"),
    ),
    Fault(
        "more weight is lighter",
        PLOTS,
        'cmap="Blues"',
        'cmap="Blues_r"',
        plots("more_weight_is_darker_and_none_is_almost_white"),
    ),
    Fault(
        "weights are drawn in other colours than the explorers",
        PLOTS,
        'cmap="Blues"',
        'cmap="Greys"',
        plots("more_weight_is_darker_and_none_is_almost_white"),
    ),
    Fault(
        "a number turns white where black is still easier to read",
        PLOTS,
        "weight > 0.715",
        "weight > 0.7",
        plots("a_written_weight_stands_out_from_its_cell"),
    ),
    Fault(
        "a number stays black on a blue too dark for it",
        PLOTS,
        "weight > 0.715",
        "weight > 0.73",
        plots("a_written_weight_stands_out_from_its_cell"),
    ),
    Fault(
        "the labels of weights are as small as the Axes had them",
        PLOTS,
        '    ax.tick_params(labelsize=TEXT)\n    ax.set(xlabel="key"',
        '    ax.set(xlabel="key"',
        plots("the_labels_of_weights_have_the_size_of_the_books_text_on_any_axes"),
    ),
    Fault(
        "a single panel is not in a list",
        PLOTS,
        "return figure, list(grid.flat)",
        "return figure, list(grid.flat) if columns > 1 else grid[0, 0]",
        plots("panels_are_a_list_however_many_there_are"),
        SHAPE_HOOK,
    ),
    Fault(
        "no columns pass",
        PLOTS,
        "if columns < 1:",
        "if columns < -1:",
        plots("no_columns_are_refused"),
    ),
    Fault(
        "only the first panel has the style of the book",
        PLOTS,
        "for ax in grid.flat:",
        "for ax in grid[0, :1]:",
        plots("each_panel_has_the_style_of_the_book"),
    ),
    Fault(
        "weights are drawn upside down",
        PLOTS,
        "ax.imshow(weights,",
        "ax.imshow(weights[::-1],",
        plots("weights_are_drawn_as_they_are_with_queries_down_and_keys_across"),
    ),
    Fault(
        "queries and keys are named the wrong way round",
        PLOTS,
        'xlabel="key", ylabel="query"',
        'xlabel="query", ylabel="key"',
        plots("weights_are_drawn_as_they_are_with_queries_down_and_keys_across"),
    ),
    Fault(
        "numbers stand in the transposed cell",
        PLOTS,
        "ax.text(column, row,",
        "ax.text(row, column,",
        plots("each_weight_is_written_in_its_cell"),
    ),
    Fault(
        "numbers vanish in their cells",
        PLOTS,
        '"white" if weight >',
        '"white" if weight <',
        plots("a_written_weight_stands_out_from_its_cell"),
    ),
    Fault(
        "scores pass for weights",
        PLOTS,
        "(weights >= 0) & (weights <= 1 + 1e-6)",
        "weights <= 1 + 1e-6",
        plots("scores_in_place_of_weights_are_refused"),
    ),
    Fault(
        "a message swaps queries and keys",
        PLOTS,
        "for {len(queries)} queries and {len(keys)} keys",
        "for {len(keys)} queries and {len(queries)} keys",
        plots("weights_and_labels_that_do_not_match_are_refused"),
    ),
    Fault(
        "the book's style leaks into other figures",
        PLOTS,
        "    figure, grid = plt.subplots(",
        '    plt.rcParams.update({"figure.dpi": DPI})\n    figure, grid = plt.subplots(',
        plots("the_style_is_on_the_figure_and_not_in_the_settings_of_others"),
    ),
    Fault(
        "a density is not divided by the width of its bins",
        PLOTS,
        " / np.diff(edges)",
        "",
        plots("a_distribution_is_a_density_over_the_bins"),
    ),
    Fault(
        "a value beyond the limits is dropped",
        PLOTS,
        "values.clip(*limits)",
        "values",
        plots("a_value_beyond_the_limits_is_counted_in_the_outermost_bin"),
    ),
    Fault(
        "all curves have one style of line",
        PLOTS,
        'style = {"color": _pick(COLOURS, index), "linestyle": _pick(LINES, index)}',
        'style = {"color": _pick(COLOURS, index), "linestyle": "-"}',
        plots("no_two_of_many_curves_look_alike"),
    ),
    Fault(
        "a draw function returns its Axes",
        PLOTS,
        "    ax.set(xlabel=xlabel, ylabel=ylabel)\n",
        "    ax.set(xlabel=xlabel, ylabel=ylabel)\n    return ax\n",
        plots("a_draw_function_returns_nothing_and_opens_no_figure"),
        SHAPE_HOOK,
    ),
]
