"""Faults of the exercises on multi-head attention."""

from faults import Fault

HERE = "companion/exercises/multi_head"


def own(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_exercises_multi_head.py::test_{test}",)


FAULTS = [
    Fault(
        "the reference cuts by view alone",
        f"{HERE}/cut.py",
        "    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)\n",
        "    return x.reshape(len(x), n_heads, x.shape[1], -1)\n",
        own("the_functions_of_the_package_are_right_answers"),
        reason=r"WrongAnswer|AssertionError",
    ),
    Fault(
        "the reference joins without bringing the heads behind the positions",
        f"{HERE}/cut.py",
        "    return heads.transpose(1, 2).flatten(2)\n",
        "    return heads.reshape(len(heads), heads.shape[2], -1)\n",
        own("the_hand_examples_are_the_first_cases"),
    ),
    Fault(
        "the reference tiles the shared heads",
        f"{HERE}/cut.py",
        "    return heads.repeat_interleave(n_heads // heads.shape[1], dim=1)\n",
        "    return heads.repeat(1, n_heads // heads.shape[1], 1, 1)\n",
        own("the_hand_examples_are_the_first_cases"),
    ),
    Fault(
        "the reference scales by the width of the model",
        f"{HERE}/forward.py",
        'size = {"head": query.shape[-1],',
        'size = {"head": x.shape[-1],',
        own("the_layer_of_the_package_gives_what_the_exercises_want"),
    ),
    Fault(
        "the reference importance drops the sign after the mean",
        f"{HERE}/parts.py",
        "    return (contributions * gradient[:, None]).sum(dim=(2, 3)).abs().mean(dim=0)\n",
        "    return (contributions * gradient[:, None]).sum(dim=(2, 3)).mean(dim=0).abs()\n",
        own("the_hand_examples_are_the_first_cases"),
    ),
    Fault(
        "the reference leaves the output matrix whole",
        f"{HERE}/parts.py",
        "    return (*inner, columns(w_o.T).T)\n",
        "    return (*inner, w_o.clone())\n",
        own("the_hand_examples_are_the_first_cases"),
    ),
    Fault(
        "no case has as many heads as sentences",
        f"{HERE}/forward.py",
        "layer(3, 3, 5, 3, 2, 1, F64, masked=True)",
        "layer(3, 3, 5, 2, 2, 1, F64)",
        own("a_mask_without_an_axis_for_the_heads_is_wrong_in_silence_somewhere"),
    ),
]
