"""Faults of the explorers on heads."""

from faults import Fault

HERE = "companion/widgets/heads.py"
SIZES = "companion/widgets/head_sizes.js"
GRID = "companion/widgets/head_grid.js"
SWITCHES = "companion/widgets/head_switches.js"


def unit(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_widgets_heads.py::test_{test}",)


NUMBERS = ("tests/site/test_explorers.py::test_an_explorer_in_any_state_shows_what_the_package_gives[multi_head]",)
CONTROLS = ("tests/site/test_explorers.py::test_every_control_changes_what_the_reader_sees[multi_head]",)

FAULTS = [
    Fault(
        "the attention weights are counted for one head",
        HERE,
        "cost.weights_matrix_bytes(1, heads,",
        "cost.weights_matrix_bytes(1, 1,",
        unit("the_sizes_are_those_of_a_layer"),
    ),
    Fault(
        "the cache is as wide as the model",
        HERE,
        "cost.cache_bytes(1, 1, kv_width, 1,",
        "cost.cache_bytes(1, 1, self.d_model, 1,",
        unit("the_sizes_are_those_of_a_layer"),
    ),
    Fault(
        "more key-value heads than heads are counted",
        HERE,
        "min(self.n_kv_heads, heads)",
        "self.n_kv_heads",
        unit("more_key_value_heads_than_heads_means_as_many"),
    ),
    Fault(
        "the second column keeps the heads",
        HERE,
        "heads = 1 if single else self.n_heads",
        "heads = self.n_heads",
        unit("the_second_column_is_a_layer_with_one_head"),
    ),
    Fault(
        "the grid takes rows that are no weights",
        HERE,
        "if not torch.allclose(weights.sum(-1),",
        "if False and not torch.allclose(weights.sum(-1),",
        unit("the_grid_refuses_what_are_no_rows_of_weights"),
    ),
    Fault(
        "the switches take any number of subsets",
        HERE,
        "scores.ndim != 2 or len(scores) not in counts or",
        "scores.ndim != 2 or",
        unit("the_switches_refuse_what_is_no_table_of_subsets"),
    ),
    Fault(
        "the switches begin with all heads off",
        HERE,
        "on = 2**n_heads - 1 if on is None else on",
        "on = 0 if on is None else on",
        unit("the_switches_begin_with_all_heads_on"),
    ),
    Fault(
        "the browser counts the pairs of one head",
        SIZES,
        "4 * t * t * d, ",
        "4 * t * t * width, ",
        NUMBERS,
    ),
    Fault(
        "the browser gives shared heads to the wrong queries",
        SIZES,
        "Math.floor(k / group) % 2",
        "k % 2",
        NUMBERS,
    ),
    Fault(
        "the key-value heads stay behind when the query heads move",
        SIZES,
        "const follow = kv === queries || kv > heads;",
        "const follow = kv > heads;",
        NUMBERS,
    ),
    Fault(
        "there may be more key-value heads than query heads",
        SIZES,
        'if (view.get("n_kv_heads") > view.get("n_heads"))',
        "if (false)",
        NUMBERS,
    ),
    Fault("the grid shows the first key whatever is chosen", GRID, "row[key]))", "row[0]))", NUMBERS),
    Fault("the menu of keys does nothing", GRID, 'view.watch("key", draw);', "", NUMBERS),
    Fault(
        "a switched head is read from its neighbour",
        SWITCHES,
        "const after = column ? scores(on ^ (1 << head)) : scores(on);",
        "const after = column ? scores(on ^ (1 << column)) : scores(on);",
        NUMBERS,
        reason=r"^(AssertionError|assert |.*Error)",
    ),
    Fault("the model cannot be chosen", SWITCHES, 'view.watch("run on", draw);', 'view.watch("on", draw);', CONTROLS),
]
