"""Faults of the exercises on the whole architecture, and of the function that follows derivatives."""

from faults import Fault

HERE = "companion/exercises/architecture"


def own(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_exercises_architecture.py::test_{test}",)


def reach(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_interpret.py::test_{test}",)


FAULTS = [
    Fault(
        "the reference does not drop the last token",
        f"{HERE}/inputs.py",
        "start), target[:, :-1]], dim=1)",
        "start), target], dim=1)",
        own("the_hand_examples_are_the_first_cases"),
    ),
    Fault(
        "the reference mean counts the padding",
        f"{HERE}/inputs.py",
        "sum(dim=1) / lengths[:, None]",
        "sum(dim=1) / x.shape[1]",
        own("the_hand_examples_are_the_first_cases"),
    ),
    Fault(
        "the reference masks are strict",
        f"{HERE}/inputs.py",
        "    causal = torch.ones(t, t, dtype=torch.bool).tril()\n",
        "    causal = torch.ones(t, t, dtype=torch.bool).tril(-1)\n",
        own("the_hand_examples_are_the_first_cases"),
    ),
    Fault(
        "the reference count has two norms in a decoder layer",
        f"{HERE}/count.py",
        'wrong.get("norms", 3)',
        'wrong.get("norms", 2)',
        own("the_count_is_that_of_the_package"),
    ),
    Fault(
        "the reference count unties the table",
        f"{HERE}/count.py",
        'wrong.get("tables", 1)',
        'wrong.get("tables", 2)',
        own("the_count_is_that_of_the_package"),
    ),
    Fault(
        "the factor of the reference multiplies the position code too",
        f"{HERE}/layers.py",
        "    return table[tokens] * math.sqrt(table.shape[-1]) + code, hidden @ table.T\n",
        "    return (table[tokens] + code) * math.sqrt(table.shape[-1]), hidden @ table.T\n",
        own("the_two_ends_are_those_of_the_package"),
    ),
    Fault(
        "the reference layer reads no memory",
        f"{HERE}/layers.py",
        'read = y if wrong.get("own") else memory',
        "read = y",
        own("the_layer_is_that_of_the_package"),
    ),
    Fault(
        "the reference layer sees the future",
        f"{HERE}/layers.py",
        'causal=not wrong.get("open")',
        "causal=False",
        own("the_layer_is_that_of_the_package"),
    ),
    Fault(
        "the reference writes on behind the end",
        f"{HERE}/decode.py",
        'if token == end and not wrong.get("goes_on"):',
        "if False:",
        own("the_hand_examples_are_the_first_cases"),
        reason=r"AssertionError|shape",
    ),
    Fault(
        "a derivative is hidden by a sum of 0",
        "companion/interpret.py",
        "torch.autograd.grad(row @ direction, x,",
        "torch.autograd.grad(row.sum(), x,",
        reach("reach_is_the_pattern_of_the_derivatives"),
    ),
    Fault(
        "an input that is not used raises",
        "companion/interpret.py",
        "retain_graph=True, allow_unused=True",
        "retain_graph=True",
        reach("an_input_that_is_not_used_reaches_nothing"),
        reason=r"RuntimeError",
    ),
    Fault(
        "the sentences of a batch are thrown together",
        "companion/interpret.py",
        "else (slope != 0).any(-1))",
        "else (slope != 0).any(-1).any(0, keepdim=True).expand(x.shape[:-1]))",
        reach("reach_tells_the_sentences_of_a_batch_apart"),
    ),
]
