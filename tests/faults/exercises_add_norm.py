"""Faults of the exercises on residuals, norms and the feed-forward network."""

from faults import Fault

HERE = "companion/exercises/add_norm"


def own(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_exercises_add_norm.py::test_{test}",)


FAULTS = [
    Fault(
        "the reference norm takes the unbiased variance",
        f"{HERE}/norms.py",
        '    if how == "unbiased":\n        variance',
        '    if how != "unbiased":\n        variance',
        own("the_norms_of_the_package_are_right_answers"),
        reason=r"WrongAnswer|AssertionError",
    ),
    Fault(
        "the reference norm averages over positions",
        f"{HERE}/norms.py",
        '"everything": (-2, -1)}.get(how, -1)',
        '"everything": (-2, -1)}.get(how, -2)',
        own("the_norms_of_the_package_are_right_answers"),
        reason=r"WrongAnswer|AssertionError",
    ),
    Fault(
        "the reference RMSNorm adds eps outside the root",
        f"{HERE}/norms.py",
        "    return x / (x.square().mean(dim=-1, keepdim=True) + eps).sqrt() * gain\n",
        "    return x / (x.square().mean(dim=-1, keepdim=True).sqrt() + eps) * gain\n",
        own("the_hand_examples_are_the_first_cases"),
    ),
    Fault(
        "the reference batch norm counts padding",
        f"{HERE}/norms.py",
        'if how == "padding counted" else real',
        'if how != "padding counted" else real',
        own("the_hand_examples_are_the_first_cases"),
    ),
    Fault(
        "the reference network has no bias before the cut",
        f"{HERE}/blocks.py",
        "    return (x @ w_1 + b_1).clamp(min=0) @ w_2 + b_2\n",
        "    return (x @ w_1).clamp(min=0) @ w_2 + b_2\n",
        own("the_networks_of_the_package_give_what_the_exercises_want"),
    ),
    Fault(
        "the reference gate is the sigmoid alone",
        f"{HERE}/blocks.py",
        "    return (gate * gate.sigmoid() * (x @ w_up)) @ w_down\n",
        "    return (gate.sigmoid() * (x @ w_up)) @ w_down\n",
        own("the_networks_of_the_package_give_what_the_exercises_want"),
    ),
    Fault(
        "the reference swaps the orders",
        f"{HERE}/blocks.py",
        'pre = not pre if how == "swapped" else pre',
        'pre = pre if how == "swapped" else not pre',
        own("the_order_is_that_of_the_layer_of_the_package"),
    ),
    Fault(
        "the reference folds the bias through the scaled matrix",
        f"{HERE}/backward.py",
        "    return gain[:, None] * w, bias @ w + b\n",
        "    return gain[:, None] * w, bias @ (gain[:, None] * w) + b\n",
        own("folding_changes_nothing_in_the_output"),
    ),
    Fault(
        "the reference derivative forgets the part along the vector",
        f"{HERE}/backward.py",
        "result.get(how, d_normal - mean - along)",
        "result.get(how, d_normal - mean)",
        own("the_backward_pass_is_that_of_autograd"),
    ),
]
