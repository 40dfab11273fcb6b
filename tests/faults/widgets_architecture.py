"""Faults of the explorers on whole models."""

from faults import Fault

HERE = "companion/widgets/architecture.py"
VISIBILITY = "companion/widgets/visibility.js"
PARAMETERS = "companion/widgets/parameters.js"
TRANSLATOR = "companion/widgets/translator.js"


def unit(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_widgets_architecture.py::test_{test}",)


NUMBERS = ("tests/site/test_explorers.py::test_an_explorer_in_any_state_shows_what_the_package_gives[architecture]",)
CONTROLS = ("tests/site/test_explorers.py::test_every_control_changes_what_the_reader_sees[architecture]",)

FAULTS = [
    Fault(
        "the sound model has no source mask",
        HERE,
        'source_lengths=None if name == "no source mask" else [length]',
        "source_lengths=None",
        unit("reach_is_what_the_masks_allow"),
    ),
    Fault(
        "the faulty model has a source mask",
        HERE,
        'source_lengths=None if name == "no source mask" else [length]',
        "source_lengths=[length]",
        unit("reach_is_what_the_masks_allow"),
    ),
    Fault(
        "the encoder alone ignores its padding",
        HERE,
        "output = model(first, lengths=[length])",
        "output = model(first)",
        unit("reach_is_what_the_masks_allow"),
    ),
    Fault(
        "the counter takes the ratio for the width",
        HERE,
        '"d_ff": self.ratio * self.d_model',
        '"d_ff": 4 * self.d_model',
        unit("the_counter_counts_what_the_model_has"),
    ),
    Fault(
        "the counter ties every model",
        HERE,
        "tied=self.tied, **sizes",
        "**sizes",
        unit("the_counter_counts_what_the_model_has"),
    ),
    Fault(
        "the view takes weights that are none",
        HERE,
        "if not torch.allclose(table.sum(-1),",
        "if False and not torch.allclose(table.sum(-1),",
        unit("the_view_refuses_weights_and_links_that_do_not_fit"),
        reason=r"DID NOT RAISE",
    ),
    Fault(
        "the view takes links beyond the source",
        HERE,
        "not all(0 <= k < s for link",
        "not all(0 <= k <= s for link",
        unit("the_view_refuses_weights_and_links_that_do_not_fit"),
        reason=r"DID NOT RAISE",
    ),
    Fault(
        "source and target are taken for each other in the cross-attention",
        HERE,
        "((s, s), (t, t), (t, s))",
        "((s, s), (t, t), (s, t))",
        unit("the_view_keeps_the_weights_to_two_decimals_in_the_order_of_its_choices"),
        reason=r"ValueError|AssertionError",
    ),
    Fault(
        "the rows of a figure are labelled without the shift",
        VISIBILITY,
        '["<s>", ...written.slice(0, -1)]',
        "written",
        NUMBERS,
    ),
    Fault(
        "no leak of padding is called a fault",
        VISIBILITY,
        'return word === "pad" ? state.goal[i] !== "pad" :',
        'return word === "pad" ? false :',
        NUMBERS,
    ),
    Fault(
        "the figure keeps the first output",
        VISIBILITY,
        'const i = view.get("output");',
        "const i = 0;",
        NUMBERS,
    ),
    Fault(
        "the model of the dependences cannot be chosen",
        VISIBILITY,
        'view.watch("model_kind length output", draw);',
        'view.watch("length output", draw);',
        CONTROLS,
    ),
    Fault(
        "the browser counts no cross-attention",
        PARAMETERS,
        "const attentions = n * (both ? 3 : 1);",
        "const attentions = n * (both ? 2 : 1);",
        NUMBERS,
    ),
    Fault(
        "the browser counts an encoder's norms for the decoder",
        PARAMETERS,
        "const normed = n * (both ? 5 : 2);",
        "const normed = n * (both ? 4 : 2);",
        NUMBERS,
    ),
    Fault(
        "the browser counts an output that is tied",
        PARAMETERS,
        'view.get("tied") ? 0 : v * d,',
        "v * d,",
        NUMBERS,
    ),
    Fault(
        "the translator's rows name the word after",
        TRANSLATOR,
        'const read = ["<s>", ...given.target.slice(0, -1)];',
        "const read = given.target;",
        NUMBERS,
    ),
    Fault(
        "the translator shows one head for all",
        TRANSLATOR,
        "indexOf(place)][layer][head];",
        "indexOf(place)][layer][0];",
        NUMBERS,
    ),
    Fault(
        "links are outlined in every kind of attention",
        TRANSLATOR,
        'map.light(place === "cross" ?',
        "map.light(true ?",
        NUMBERS,
        reason=r"AssertionError|assert |Error",
    ),
]
