"""Faults of `make bench` and of what becomes of its files: unlike things compared, noise kept, bars without effect."""

from faults import Fault

BENCH = "scripts/bench.py"
SHARED = "scripts/resume.py"


def bench(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_scripts_bench.py::test_{test}",)


FAULTS = [
    Fault(
        "torch's decoder sees later tokens",
        BENCH,
        "self.stack(x, mask=mask, is_causal=True)",
        "self.stack(x)",
        bench("the_two_decoders_are_one_function"),
    ),
    Fault(
        "a training step updates nothing",
        BENCH,
        "            optimizer.step()\n",
        "",
        bench("a_training_step_changes_both_models_and_they_are_of_one_size"),
    ),
    Fault(
        "gradients add up from step to step",
        BENCH,
        "        layer.zero_grad()\n",
        "",
        bench("a_multi_head_step_takes_every_gradient_anew"),
    ),
    Fault(
        "cached decoding writes one token more",
        BENCH,
        "        for _ in range(tokens):\n            token = ",
        "        for _ in range(tokens + 1):\n            token = ",
        bench("decoding_with_and_without_a_cache_writes_the_same_tokens"),
        reason="ValueError: with and without the cache",
    ),
    Fault(
        "the tokens of both ways are not compared",
        BENCH,
        'if device == "cpu" and not torch.equal(cached(), uncached()):',
        'if device == "cuda":',
        bench("tokens_that_differ_with_the_cache_are_refused"),
    ),
    Fault(
        "memory is counted in the forward pass only",
        BENCH,
        "torch.autograd.grad(function(*inputs).sum(), inputs)",
        "function(*inputs).sum()",
        bench("memory_is_counted_forward_and_backward_and_after_a_first_call_on_a_gpu"),
    ),
    Fault(
        "on a GPU the library's work space counts as attention's",
        BENCH,
        '    if torch.device(device).type != "cpu":\n        call()',
        "    if False:\n        call()",
        bench("memory_is_counted_forward_and_backward_and_after_a_first_call_on_a_gpu"),
    ),
    Fault(
        "all multi-head rows measure one kernel",
        BENCH,
        "lambda device, sizes=(batch, t, kernel): multi_head(device, *sizes)",
        "lambda device: multi_head(device, batch, t, kernel)",
        bench("each_row_measures_what_its_settings_say"),
    ),
    Fault(
        "a GPU must keep the bars on times",
        BENCH,
        'return bound if torch.device(device).type == "cpu" else None',
        "return bound",
        bench("the_rows_are_the_promises_and_on_a_gpu_only_memory_has_a_bar"),
    ),
    Fault(
        "a noisy row is kept",
        BENCH,
        "Quartiles.of(done.values).steady(SPREAD)",
        "Quartiles.of(done.values)",
        bench("a_row_that_stays_noisy_is_refused"),
    ),
    Fault(
        "a noisy row is refused at once",
        BENCH,
        "ATTEMPTS, SPREAD = 3, 0.25",
        "ATTEMPTS, SPREAD = 1, 0.25",
        bench("a_noisy_row_is_measured_again_up_to_three_times"),
    ),
    Fault(
        "a missed bar is shown and passes",
        SHARED,
        "return 0 if all(row.kept for row in found.values()) else 1",
        "return 0",
        bench("a_missed_bar_is_named_and_makes_the_exit_code_1_and_the_file_says_it"),
    ),
    Fault(
        "a part of the rows takes the place of all",
        SHARED,
        "device, whole = arguments.device, not arguments.only",
        "device, whole = arguments.device, True",
        bench("a_part_of_the_rows_writes_no_file_and_keeps_nothing"),
    ),
    Fault(
        "a stopped run begins again",
        SHARED,
        "for row, kept in kept_rows(scratch, now).items() if row in rows}",
        "for row, kept in kept_rows(scratch, now).items() if not row}",
        bench("a_stopped_run_goes_on_where_it_was"),
    ),
    Fault(
        "a stopped run goes on with the numbers of other code",
        SHARED,
        'if content["state"] == now else {}',
        'if content["state"] else {}',
        bench("what_was_measured_before_the_code_changed_is_measured_again"),
    ),
    Fault(
        "what is left of a finished run is taken for a new one",
        SHARED,
        "        scratch.unlink()\n",
        "",
        bench("a_stopped_run_goes_on_where_it_was"),
    ),
    Fault(
        "the wheel has no measurements",
        "pyproject.toml",
        '"measurements" = "companion/measurements"\n',
        "",
        bench("the_installed_package_brings_the_measurements_and_the_ledger"),
    ),
    Fault(
        "the sdist lacks what the wheel takes",
        "pyproject.toml",
        '"book/formulas.yml", "measurements"]',
        '"book/formulas.yml"]',
        bench("what_the_wheel_takes_from_outside_the_package_is_in_the_sdist_too"),
    ),
]
