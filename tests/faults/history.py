"""Faults of the chapter on what came before attention: its explorers and its exercises."""

from faults import Fault

WIDGETS = "companion/widgets/history.py"
GRADIENT = "companion/widgets/gradient_product.js"
MEMORY = "companion/widgets/memory_cell.js"
ALIGNMENT = "companion/widgets/alignment_view.js"
EXERCISES = "companion/exercises/history"


def widgets(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_widgets_history.py::test_{test}",)


def exercises(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_exercises_history.py::test_{test}",)


NUMBERS = ("tests/site/test_explorers.py::test_an_explorer_in_any_state_shows_what_the_package_gives[history]",)
CONTROLS = ("tests/site/test_explorers.py::test_every_control_changes_what_the_reader_sees[history]",)

FAULTS = [
    Fault(
        "a later Jacobian stands on the right",
        WIDGETS,
        "product = (1 - h**2)[:, None] * weight @ product",
        "product = product @ ((1 - h**2)[:, None] * weight)",
        widgets("the_gradient_is_that_of_autograd_and_below_the_bound"),
    ),
    Fault(
        "the derivative of tanh is left out",
        WIDGETS,
        "product = (1 - h**2)[:, None] * weight @ product",
        "product = weight @ product",
        widgets("the_gradient_is_that_of_autograd_and_below_the_bound"),
    ),
    Fault(
        "two matrices do not take turns",
        WIDGETS,
        "[[0.0, 0.0], [s, 0.0]] if step % 2 else",
        "[[0.0, 0.0], [s, 0.0]] if step % 3 else",
        widgets("two_matrices_that_take_turns_grow_although_all_eigenvalues_are_zero"),
    ),
    Fault(
        "the eigenvalues are summed up, not multiplied",
        WIDGETS,
        "            eigenvalue *= torch",
        "            eigenvalue += torch",
        widgets("a_scaled_rotation_without_inputs_has_one_line"),
    ),
    Fault(
        "the half-life forgets the sign of the bias",
        WIDGETS,
        "math.log1p(math.exp(-self.bias))",
        "math.log1p(math.exp(self.bias))",
        widgets("equal_gates_leave_a_power_and_half_after_the_half_life"),
    ),
    Fault(
        "the spread of the gates is ignored",
        WIDGETS,
        "(self.bias + self.spread * repeated)",
        "(self.bias + 0 * repeated)",
        widgets("gates_that_differ_multiply_and_the_draws_repeat"),
    ),
    Fault(
        "curves are drawn upside down",
        "companion/widgets/shared.js",
        "(10 + (1 - y) * (base - 10))",
        "(10 + y * (base - 10))",
        NUMBERS,
    ),
    Fault(
        "a missing symbol is no error",
        WIDGETS,
        "max(len(wrote), len(target)) - same",
        "len(wrote) - same",
        widgets("wrong_places_are_counted_missing_ones_too"),
    ),
    Fault(
        "weights need not be distributions",
        WIDGETS,
        "if not torch.allclose(sums, torch.ones_like(sums), atol=1e-3):",
        "if table.shape != (n, n):",
        widgets("weights_that_are_no_distributions_over_the_source_are_refused"),
        reason=r"DID NOT RAISE",
    ),
    Fault(
        "the browser multiplies Jacobians in the wrong order of rows",
        GRADIENT,
        "(1 - h[i] * h[i]) * (row[0]",
        "(1 - h[1 - i] * h[1 - i]) * (row[0]",
        NUMBERS,
    ),
    Fault(
        "the browser takes the Frobenius norm",
        GRADIENT,
        "Math.sqrt((squares + Math.sqrt(Math.max(0, squares * squares - 4 * det * det))) / 2)",
        "Math.sqrt(squares + 0 * det)",
        NUMBERS,
    ),
    Fault(
        "the size of the inputs cannot be moved",
        GRADIENT,
        'view.watch("kind scale inputs", draw);',
        'view.watch("kind scale", draw);',
        CONTROLS,
    ),
    Fault(
        "the browser starts its gates a step late",
        MEMORY,
        "left.push(left[k] * sigmoid(bias + size * draws[k % draws.length]))",
        "left.push(left[k] * sigmoid(bias + size * draws[(k + 1) % draws.length]))",
        NUMBERS,
    ),
    Fault(
        "the spread cannot be moved",
        MEMORY,
        'view.watch("bias lag spread", draw);',
        'view.watch("bias lag", draw);',
        CONTROLS,
    ),
    Fault(
        "the browser outlines the diagonal",
        ALIGNMENT,
        "range(n).map((k) => [k, n - 1 - k])",
        "range(n).map((k) => [k, k])",
        NUMBERS,
    ),
    Fault(
        "the browser counts only what was written",
        ALIGNMENT,
        "range(Math.max(wrote.length, target.length))",
        "range(wrote.length)",
        NUMBERS,
    ),
    Fault(
        "the outline cannot be turned off",
        ALIGNMENT,
        'view.watch("outline", explain);',
        'view.watch("example", explain);',
        CONTROLS,
    ),
    Fault(
        "the reference runs the network without tanh on the sum",
        f"{EXERCISES}/steps.py",
        "        h = (w_x @ row + w_h @ h + b).tanh()\n",
        "        h = (w_x @ row + w_h @ h).tanh() + b\n",
        exercises("the_hand_examples_are_the_first_cases"),
    ),
    Fault(
        "the reference turns the padding round",
        f"{EXERCISES}/steps.py",
        "        result[row, :n] = x[row, :n].flip(0)\n    return result\n\n\ndef _whole",
        "        result[row] = x[row].flip(0)\n    return result\n\n\ndef _whole",
        exercises("the_hand_examples_are_the_first_cases"),
    ),
    Fault(
        "the reference takes the gates in another order",
        f"{EXERCISES}/gated.py",
        'order: str = "ifgo"',
        'order: str = "ifog"',
        exercises("the_order_of_the_gates_is_that_of_torch"),
    ),
    Fault(
        "the update gate of the reference lets in",
        f"{EXERCISES}/gated.py",
        "    _, z, n = _gru(x_sums, h_sums, h)\n    return z * h + (1 - z) * n\n",
        "    _, z, n = _gru(x_sums, h_sums, h)\n    return (1 - z) * h + z * n\n",
        exercises("the_steps_are_those_of_the_cells"),
    ),
    Fault(
        "the reference multiplies from the wrong side",
        f"{EXERCISES}/gradients.py",
        "product = jacobian @ product if left else product @ jacobian",
        "product = product @ jacobian",
        exercises("the_backward_pass_is_that_of_autograd"),
    ),
    Fault(
        "the reference takes the slope of the state before",
        f"{EXERCISES}/gradients.py",
        "    for h in reversed(states[1:]):\n        scaled",
        "    for h in reversed(states[:-1]):\n        scaled",
        exercises("the_backward_pass_is_that_of_autograd"),
    ),
    Fault(
        "the reference lets padding in",
        f"{EXERCISES}/align.py",
        "real = torch.arange(len(scores)) < n",
        "real = torch.arange(len(scores)) < n + 1",
        exercises("the_context_is_that_of_the_package"),
    ),
]
