"""Faults of the explorers on norms and depth."""

from faults import Fault

HERE = "companion/widgets/norms.py"
NORMS = "companion/widgets/norm_explorer.js"
DEPTH = "companion/widgets/depth_explorer.js"
LATE = r"^(AssertionError|assert |.*Error)"


def unit(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_widgets_add_norm.py::test_{test}",)


NUMBERS = ("tests/site/test_explorers.py::test_an_explorer_in_any_state_shows_what_the_package_gives",)
CONTROLS = ("tests/site/test_explorers.py::test_every_control_changes_what_the_reader_sees",)

FAULTS = [
    Fault(
        "the mask is ignored in the batch statistics",
        HERE,
        "if self.masked else None\n            return SequenceBatchNorm",
        "if self.masked and False else None\n            return SequenceBatchNorm",
        unit("masked_padding_counts_in_no_statistics_of_the_batch"),
    ),
    Fault(
        "the reader's number is not put in",
        HERE,
        "            x[0, 0, 0] = self.first\n",
        "            x[0, 0, 0] = self.x[0][0][0]\n",
        unit("the_results_are_those_of_torch"),
    ),
    Fault(
        "LayerNorm and RMSNorm are swapped",
        HERE,
        'return layer_norm(x, eps=EPS) if self.norm == "layer" else rms_norm(x, eps=EPS)',
        'return layer_norm(x, eps=EPS) if self.norm != "layer" else rms_norm(x, eps=EPS)',
        unit("the_results_are_those_of_torch"),
    ),
    Fault(
        "a batch may have any size",
        HERE,
        "if given.ndim != 3 or not all(",
        "if given.ndim != 3 or not any(",
        unit("the_norms_refuse_what_they_cannot_show"),
        reason=r"^(AssertionError|Failed: DID NOT RAISE|.*Error)",
    ),
    Fault(
        "one real token is enough for a variance",
        HERE,
        "if len(lengths) != len(given) or sum(lengths) < 2:",
        "if len(lengths) != len(given) or sum(lengths) < 1:",
        unit("the_norms_refuse_what_they_cannot_show"),
    ),
    Fault(
        "the stack without residuals has them",
        HERE,
        'h = layer.feed_forward(layer.norm_2(layer.attention(layer.norm_1(h)))) if order == "none" else layer(h)',
        "h = layer(h)",
        unit("without_residuals_tokens_become_equal_and_with_them_not"),
    ),
    Fault(
        "the last norm is missing behind pre-norm",
        HERE,
        'h = h if order == "post" else layer_norm(h)',
        'h = layer_norm(h) if order == "none" else h',
        unit("layer_norm_ends_the_stack_where_the_order_is_not_post"),
    ),
    Fault(
        "the scale of the weights is ignored",
        HERE,
        "nn.init.xavier_uniform_(module.weight, gain=scale)",
        "nn.init.xavier_uniform_(module.weight)",
        unit("the_scale_is_that_of_the_weights"),
    ),
    Fault(
        "every seed draws the same weights and data",
        HERE,
        "generator = torch.Generator().manual_seed(seed)\n    draws",
        "generator, seed = torch.Generator().manual_seed(0), 0\n    draws",
        unit("seeds_differ"),
    ),
    Fault(
        "the weights depend on the default dtype",
        HERE,
        "    with seeded(seed):\n        for layer in layers:",
        "    with seeded(None):\n        for layer in layers:",
        unit("the_signals_do_not_depend_on_the_default_dtype"),
    ),
    Fault(
        "the difference between tokens is not relative",
        HERE,
        ".norm() / x.norm()).item()",
        ".norm()).item()",
        unit("token_difference_is_0_for_equal_tokens_and_1_for_opposite_ones"),
    ),
    Fault(
        "the levels are natural logarithms",
        HERE,
        "math.log10(max(",
        "math.log(max(",
        unit("the_levels_are_those_of_every_stack"),
    ),
    Fault(
        "a reader of the screen hears that tokens are queries",
        NORMS,
        'name: "y", corner: "token"',
        'name: "y", corner: "query"',
        NUMBERS,
    ),
    Fault("the browser divides by one less", NORMS, "/ values.length + EPS", "/ (values.length - 1) + EPS", NUMBERS),
    Fault("the browser centres for RMSNorm too", NORMS, 'view.get("norm") === "rms" ? 0 : sum', "sum", NUMBERS),
    Fault(
        "padding is counted whatever the switch says",
        NORMS,
        '!view.get("masked") || real(places[other])',
        "true",
        NUMBERS,
    ),
    Fault(
        "the slider is not followed",
        NORMS,
        'view.watch("norm masked first", draw);',
        'view.watch("norm masked", draw);',
        CONTROLS,
    ),
    Fault(
        "the lines of two orders are swapped",
        DEPTH,
        "levels[place + s][signal]",
        "levels[place + 2 - s][signal]",
        NUMBERS,
    ),
    Fault(
        "the depth does nothing",
        DEPTH,
        'DEPTHS.indexOf(view.get("depth")) * SCALES.length',
        "0 * SCALES.length",
        NUMBERS,
    ),
    Fault("the axis is upside down", DEPTH, "(v - low) / (high - low), `", "(high - v) / (high - low), `", NUMBERS),
    Fault(
        "the signal cannot be chosen",
        DEPTH,
        'view.watch("depth scale signal", draw);',
        'view.watch("depth scale", draw);',
        CONTROLS,
    ),
]
