"""Faults against the rules that hold for every module and every test."""

from faults import Fault

ATTENTION = "companion/attention.py"
MASKS = "companion/masks.py"


def api(test: str) -> tuple[str, ...]:
    return (f"tests/test_api.py::test_{test}",)


def layers(test: str) -> tuple[str, ...]:
    return (f"tests/test_layers.py::test_{test}",)


FAULTS = [
    Fault(
        "masks imports a module above it",
        MASKS,
        "from torch import Tensor\n",
        "from torch import Tensor\n\nfrom companion import attention\n",
        layers("a_module_imports_only_from_the_layers_below_it"),
    ),
    Fault(
        "attention imports matplotlib inside a function",
        ATTENTION,
        "    _check_query_key(query, key)\n",
        "    import matplotlib.pyplot\n\n    _check_query_key(query, key)\n",
        layers("a_module_imports_only_from_the_layers_below_it"),
    ),
    Fault(
        "a plain import loads matplotlib",
        "companion/__init__.py",
        "from companion import attention, ",
        "from companion import plots, attention, ",
        layers("a_plain_import_loads_torch_and_nothing_to_draw_with"),
    ),
    Fault(
        "a docstring explains a parameter that is not there",
        MASKS,
        "        size: number of positions.",
        "        width: number of positions.",
        api("the_docstring_says_what_the_signature_asks_for[companion.masks]"),
    ),
    Fault(
        "a docstring does not say what is raised",
        ATTENTION,
        "        ValueError: shapes or dtypes do not fit together, an axis is empty, or the mask is not legal.\n",
        "        TypeError: shapes or dtypes do not fit together, an axis is empty, or the mask is not legal.\n",
        api("the_docstring_says_what_the_signature_asks_for[companion.attention]"),
    ),
    Fault(
        "a file has grown beyond 300 lines",
        ATTENTION,
        tests=api("no_file_has_more_than_300_lines"),
        edit=lambda text: text + "# more\n" * 300,
    ),
    Fault(
        "a module sets the global seed",
        ATTENTION,
        "    _check_query_key(query, key)\n",
        "    torch.manual_seed(0)\n    _check_query_key(query, key)\n",
        api("no_module_uses_print_assert_or_a_global_seed"),
    ),
    Fault(
        "a header names no chapter that exists",
        ATTENTION,
        "Chapter: book/attention.ipynb",
        "Chapter: book/atention.ipynb",
        api("each_chapter_that_a_header_names_exists"),
    ),
    Fault(
        "a test compares and does not assert",
        "tests/unit/test_masks.py",
        "    assert torch.equal(causal(4), ",
        "    torch.equal(causal(4), ",
        ("tests/test_suite.py::test_each_test_asserts_something[unit/test_masks.py]",),
    ),
    Fault(
        "the shape hook is off in the tests",
        "pyproject.toml",
        '    "--jaxtyping-packages=companion,beartype.beartype",\n',
        "",
        api("a_swapped_axis_is_caught_by_the_shape_hook"),
    ),
    Fault(
        "a cell may end in a semicolon",
        "tests/notebooks/test_pairs.py",
        'cell.source.rstrip().endswith(";")',
        'cell.source.rstrip().endswith(";;")',
        ("tests/notebooks/test_pairs.py::test_a_cell_that_ends_in_a_semicolon_is_seen",),
    ),
]
