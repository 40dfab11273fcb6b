"""Faults of the chapter on complexity: the shortest way, the explorers on cost, the exercises, the timing script."""

from faults import Fault

PATHS = "companion/cost/paths.py"
WIDGETS = "companion/widgets/cost.py"
CALCULATOR = "companion/widgets/cost_calculator.js"
EXPLORER = "companion/widgets/path_explorer.js"
EXERCISES = "companion/exercises/complexity"
SCRIPT = "scripts/time_layers.py"


def paths(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_cost_paths.py::test_{test}",)


def widgets(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_widgets_complexity.py::test_{test}",)


def exercises(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_exercises_complexity.py::test_{test}",)


def script(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_scripts_time_layers.py::test_{test}",)


NUMBERS = ("tests/site/test_explorers.py::test_an_explorer_in_any_state_shows_what_the_package_gives",)
CONTROLS = ("tests/site/test_explorers.py::test_every_control_changes_what_the_reader_sees",)

FAULTS = [
    Fault(
        "a dilated stack grows by one layer too late",
        PATHS,
        'step = size**layer if kind == "dilated" else 1',
        'step = size**max(0, layer - 1) if kind == "dilated" else 1',
        paths("small_ways_by_hand"),
    ),
    Fault(
        "a convolution counts a place too many in its reach",
        PATHS,
        "else (size - 1) * step",
        "else size * step",
        paths("small_ways_by_hand"),
    ),
    Fault(
        "a state is reached without passing the states before it",
        PATHS,
        "if layer == 0 else [(1, position + 1)]",
        "if layer == 0 else [(1, n - 1)]",
        paths("small_ways_by_hand"),
    ),
    Fault(
        "the search takes the nearest positions only",
        PATHS,
        "for d in range(far, -1, -step)",
        "for d in range(step, -1, -step)",
        paths("the_length_is_that_of_the_table"),
        reason=r"assert|Exception",
    ),
    Fault(
        "a start at the end is refused",
        PATHS,
        "if not 0 <= start < n:",
        "if not 0 <= start < n - 1:",
        paths("small_ways_by_hand"),
        reason=r"ValueError",
    ),
    Fault(
        "the calculator ignores the shared heads",
        WIDGETS,
        "n_kv_heads=heads // min(self.group, heads),",
        "n_kv_heads=heads,",
        widgets("the_numbers_are_those_of_the_model_that_is_shown"),
    ),
    Fault(
        "a gated network is as wide as another",
        WIDGETS,
        "round(8 * self.d_model / 3) if self.gated",
        "4 * self.d_model if self.gated",
        widgets("the_numbers_are_those_of_the_model_that_is_shown"),
    ),
    Fault(
        "the next token does not look back",
        WIDGETS,
        "self.batch, 1, past=self.t)",
        "self.batch, 1)",
        widgets("the_numbers_are_those_of_the_model_that_is_shown"),
    ),
    Fault(
        "the cache has one format",
        WIDGETS,
        "cost.model_cache_bytes(config, self.batch, self.t, dtype=self.dtype)",
        "cost.model_cache_bytes(config, self.batch, self.t)",
        widgets("the_format_of_a_number_sets_the_bytes"),
    ),
    Fault(
        "a start beyond the end is taken as it is",
        WIDGETS,
        "start = min(self.start, self.n - 1)",
        "start = self.start",
        widgets("a_start_beyond_the_last_position_means_the_last"),
        reason=r"ValueError",
    ),
    Fault(
        "the browser leaves the values out of the cache",
        CALCULATOR,
        "const cache = 2n * layers",
        "const cache = layers",
        NUMBERS,
    ),
    Fault(
        "the browser counts in floats",
        CALCULATOR,
        "const pairs = 4n * batch * t * t * d * layers;",
        "const pairs = BigInt(Number(4n * batch * t * t * d * layers) + 4);",
        NUMBERS,
    ),
    Fault(
        "the format cannot be chosen",
        CALCULATOR,
        'view.watch("d_model n_layers head_width group vocab t batch dtype gated", draw);',
        'view.watch("d_model n_layers head_width group vocab t batch gated", draw);',
        CONTROLS,
    ),
    Fault(
        "the browser dilates every layer alike",
        EXPLORER,
        'const step = kind === "dilated" ? size ** layer : 1;',
        'const step = kind === "dilated" ? size : 1;',
        NUMBERS,
        reason=r"^(AssertionError|assert |.*TimeoutError)",  # the search for a way no longer ends
    ),
    Fault(
        "the browser takes the nearest reader first",
        EXPLORER,
        "for (let by = far; by >= 0; by -= step)",
        "for (let by = 0; by <= far; by += step)",
        NUMBERS,
    ),
    Fault(
        "the browser counts the pairs of a window twice",
        EXPLORER,
        "(seen * (seen - 1)) / 2;",
        "0;",
        NUMBERS,
    ),
    Fault(
        "the reference counts the scores only",
        f"{EXERCISES}/counts.py",
        "    return 8 * n * d * d, 4 * n * n * d, 4 * n * d * d_ff\n",
        "    return 8 * n * d * d, 2 * n * n * d, 4 * n * d * d_ff\n",
        exercises("the_counts_are_those_of_the_package"),
    ),
    Fault(
        "the reference adds the two times",
        f"{EXERCISES}/bounds.py",
        "    return max(arithmetic, memory), ",
        "    return arithmetic + memory, ",
        exercises("the_least_time_is_the_roofline"),
    ),
    Fault(
        "the reference writes one token too many",
        f"{EXERCISES}/bounds.py",
        "passes: int = -1",
        "passes: int = 0",
        exercises("the_cache_and_the_writing_are_those_of_the_package"),
    ),
    Fault(
        "the reference does not bring both halves to one maximum",
        f"{EXERCISES}/graphs.py",
        "    top = torch.maximum(m_1, m_2)\n    first",
        "    top = m_1\n    first",
        exercises("scores_far_apart_tell_a_careful_answer_from_one_that_overflows"),
    ),
    Fault(
        "the reference follows the edges backwards",
        f"{EXERCISES}/graphs.py",
        "            heard = reads[:, heard].any(dim=1)\n",
        "            heard = reads[heard].any(dim=0)\n",
        exercises("the_search_agrees_with_the_shortest_path_of_the_package"),
    ),
    Fault(
        "the nine layers have fewer weights than the Transformer",
        SCRIPT,
        "lambda: Lstm(9)",
        "lambda: Lstm(6)",
        script("the_nine_layers_have_as_many_weights_as_the_transformer"),
    ),
    Fault(
        "the FLOPs of a batch are those of one sequence",
        SCRIPT,
        "return 6 * batch * layer",
        "return 6 * layer",
        script("the_counted_work_is_what_runs"),
    ),
    Fault(
        "the layers are timed with gradients",
        SCRIPT,
        "with torch.no_grad(), one_thread():",
        "with one_thread():",
        script("a_row_is_timed_without_gradients_and_keeps_every_run"),
    ),
    Fault(
        "a stopped timing of layers begins again",
        "scripts/resume.py",
        'if content["state"] == now else {}',
        "if False else {}",
        script("a_stopped_run_goes_on_where_it_was"),
    ),
]
