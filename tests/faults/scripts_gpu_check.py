"""Faults of `make gpu-check`: comparisons that cannot fail, and parts that fail in silence."""

from faults import Fault

PRECISION = "scripts/precision.py"
CHECK = "scripts/gpu_check.py"


def check(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_scripts_gpu_check.py::test_{test}",)


FAULTS = [
    Fault(
        "both sides compute in the precision",
        PRECISION,
        "want = results(case.exact or case.function, module, inputs, dtype, gradients)",
        "want = [x.double() for x in results(case.function, module, inputs, dtype, gradients)]",
        check("a_mistake_is_beyond_the_bound_in_every_precision"),
    ),
    Fault(
        "a result that is not finite is no error",
        PRECISION,
        "return max(errors) if all(map(math.isfinite, errors)) else math.nan",
        "return max((error for error in errors if math.isfinite(error)), default=0.0)",
        check("a_mistake_is_beyond_the_bound_in_every_precision"),
    ),
    Fault(
        "gradients are compared with themselves",
        PRECISION,
        "return [output.detach(), *torch.autograd.grad(output, leaves, upstream)]",
        "return [output.detach(), *[x * 0 + 1 for x in torch.autograd.grad(output, leaves, upstream)]]",
        check("a_wrong_gradient_behind_a_right_result_is_seen"),
    ),
    Fault(
        "inputs are not rounded before both sides compute",
        PRECISION,
        "return x.to(dtype).double() if x.is_floating_point() else x",
        "return x",
        check("inputs_and_weights_are_rounded_before_either_side_computes"),
    ),
    Fault(
        "weights are not rounded before both sides compute",
        PRECISION,
        "copy.deepcopy(case.module).to(dtype).double()",
        "copy.deepcopy(case.module)",
        check("inputs_and_weights_are_rounded_before_either_side_computes"),
    ),
    Fault(
        "the unit ignores how badly a case is conditioned",
        PRECISION,
        "units = [max(unit, distance(a, b)) for unit, a, b in zip(units, shaken, want, strict=True)]",
        "units = list(units)",
        check("a_result_that_one_change_moves_far_has_a_large_unit"),
    ),
    Fault(
        "a result may come back in another dtype",
        PRECISION,
        "if x.dtype != dtype or x.device.type",
        "if x.device.type",
        check("a_result_in_another_precision_or_place_is_refused"),
    ),
    Fault(
        "float32 is compared with TF32 on",
        PRECISION,
        'torch.set_float32_matmul_precision("highest")',
        'torch.set_float32_matmul_precision("high")',
        check("float32_is_full_inside_and_as_before_outside"),
    ),
    Fault(
        "a failing part hides behind the next",
        CHECK,
        "        failures += [] if well else [title]",
        "        failures = [] if well else [title]",
        check("a_failing_part_does_not_stop_the_others_and_makes_the_exit_code_1"),
    ),
    Fault(
        "an error in a part stops the others",
        CHECK,
        "        except Exception as error:  #",
        "        except KeyError as error:  #",
        check("a_failing_part_does_not_stop_the_others_and_makes_the_exit_code_1"),
        reason="RuntimeError: out of memory",
    ),
    Fault(
        "tests that were skipped passed",
        CHECK,
        'return code == 0 and " skipped" not in said, said',
        "return code == 0, said",
        check("a_skipped_test_is_no_test_on_a_gpu"),
    ),
    Fault(
        "chapters are said to have run on CUDA because their text names it",
        CHECK,
        ' for cell in cells if cell["cell_type"] == "code")',
        " for cell in cells)",
        check("the_notebooks_are_said_to_run_on_the_cpu_unless_a_cell_asks_for_cuda"),
    ),
    Fault(
        "an error beyond its bound is kept and passes",
        CHECK,
        "for row in rows if not row.kept]",
        "for row in rows if row.kept is None]",
        check("a_case_that_fails_is_named_and_the_others_are_kept"),
    ),
    Fault(
        "without CUDA the check goes on",
        CHECK,
        "if not torch.cuda.is_available():",
        "if torch.cuda.is_available() is None:",
        check("without_cuda_it_stops_with_one_sentence"),
        reason="AssertionError|RuntimeError",  # torch's own, of the GPU that it does not find
    ),
]
