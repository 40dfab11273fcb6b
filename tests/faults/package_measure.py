"""Faults of `companion.measure`."""

from faults import Fault

CLOCK = "companion/measure/clock.py"
FILES = "companion/measure/files.py"


def measure(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_measure.py::test_{test}",)


TURNS = measure("the_rounds_take_turns_in_who_runs_first")
FORM = measure("rows_of_another_form_are_not_saved")

FAULTS = [
    Fault(
        "the spread is not relative",
        CLOCK,
        "(self.upper - self.lower) / self.median",
        "self.upper - self.lower",
        measure("the_spread_is_a_part_of_the_median"),
    ),
    Fault(
        "quartiles of two values",
        CLOCK,
        "len(values) < 3 or",
        "len(values) < 2 or",
        measure("too_few_values_or_impossible_ones_have_no_quartiles"),
    ),
    Fault(
        "quartiles as of a sample from a larger population",
        CLOCK,
        'method="inclusive"',
        'method="exclusive"',
        measure("quartiles_are_those_of_the_values"),
    ),
    Fault(
        "any spread is steady",
        CLOCK,
        "if self.spread > limit:",
        "if self.spread > 1 + limit:",
        measure("values_too_far_apart_are_refused_with_their_spread"),
    ),
    Fault(
        "the warm-up of a ratio is measured",
        CLOCK,
        "return ratios[warmup:]",
        "return ratios[: len(ratios) - warmup]",
        measure("a_ratio_divides_ours_by_theirs_in_each_round"),
    ),
    Fault(
        "theirs by ours",
        CLOCK,
        "ratios.append(first / second)",
        "ratios.append(second / first)",
        measure("a_ratio_divides_ours_by_theirs_in_each_round"),
    ),
    Fault("ours always runs second", CLOCK, "if turn % 2:", "if False:", TURNS),
    Fault(
        "the threads are not given back after an error",
        CLOCK,
        "    try:\n        yield\n    finally:\n        torch.set_num_threads(before)",
        "    yield\n    torch.set_num_threads(before)",
        measure("a_measurement_runs_on_one_thread_and_gives_the_others_back"),
    ),
    Fault(
        "a measurement uses all threads",
        CLOCK,
        "    with one_thread():\n        for _ in range(warmup):",
        "    if True:\n        for _ in range(warmup):",
        measure("a_measurement_runs_on_one_thread_and_gives_the_others_back"),
    ),
    Fault(
        "the peak is all that was ever allocated",
        CLOCK,
        "held += change.nbytes()",
        "held += max(change.nbytes(), 0)",
        measure("the_peak_counts_what_lives_together_and_not_what_was_freed"),
    ),
    Fault(
        "the peak is what is left at the end",
        CLOCK,
        "peak = max(peak, held)",
        "peak = held",
        measure("plain_attention_holds_scores_and_weights_together"),
    ),
    Fault(
        "the profiler chats on stderr",
        CLOCK,
        'os.environ.setdefault("KINETO_LOG_LEVEL", "99")',
        "pass",
        measure("measuring_memory_writes_nothing_to_the_screen"),
    ),
    Fault(
        "the exponent on plain sizes",
        CLOCK,
        "[math.log(size) for size in sizes]",
        "list(sizes)",
        measure("the_exponent_of_a_power_is_found_whatever_its_factor"),
    ),
    Fault(
        "a bound from below is ignored",
        FILES,
        'bound.get("at_least", -float("inf")) <= self.value <= bound.get("at_most", float("inf"))',
        'self.value <= bound.get("at_most", float("inf"))',
        measure("a_bound_is_kept_or_not_and_no_bound_is_always_kept"),
    ),
    Fault(
        "a bound that is just reached is broken",
        FILES,
        '<= self.value <= bound.get("at_most", float("inf"))',
        '<= self.value < bound.get("at_most", float("inf"))',
        measure("a_bound_is_kept_or_not_and_no_bound_is_always_kept"),
    ),
    Fault(
        "the largest value passes for the median",
        FILES,
        '{"median": median, "max": max, "min": min}',
        '{"median": max, "max": max, "min": min}',
        measure("the_number_that_counts_is_the_one_that_the_row_names"),
    ),
    Fault("rows of any form are saved", FILES, '    _check(content, "these rows")\n', "", FORM),
    Fault(
        "a file of any form is loaded",
        FILES,
        "        _check(content, path.name)\n",
        "",
        measure("a_file_of_another_form_is_not_loaded"),
        reason="KeyError",
    ),
    Fault(
        "the first device hides the others",
        FILES,
        'sorted((home / topic).glob("*.json"))',
        'sorted((home / topic).glob("*.json"))[:1]',
        measure("each_device_has_its_own_rows"),
    ),
]
