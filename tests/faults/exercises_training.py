"""Faults of the exercises on training."""

from faults import Fault

LOSS = "companion/exercises/training/loss.py"
STEP = "companion/exercises/training/optimizer.py"
SCALE = "companion/exercises/training/scale.py"


def unit(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_exercises_training.py::test_{test}",)


EXAMPLES = unit("the_hand_examples_are_the_first_cases")
PACKAGE = unit("the_functions_of_the_package_are_right_answers")
WRONG = r"WrongAnswer|AssertionError"
WRITTEN = unit("a_mistake_is_recognised_when_written_differently")

FAULTS = [
    Fault(
        "the reference masks what is read",
        LOSS,
        "return target[:, :-1], target[:, 1:], target[:, 1:] != padding",
        "return target[:, :-1], target[:, 1:], target[:, :-1] != padding",
        EXAMPLES,
    ),
    Fault(
        "the reference of the loss counts padding",
        LOSS,
        "return losses[real].mean()",
        "return losses.mean()",
        PACKAGE,
        reason=WRONG,
    ),
    Fault(
        "the reference smooths over a sum",
        LOSS,
        "mean = log_p.mean(dim=-1)",
        "mean = log_p.sum(dim=-1)",
        PACKAGE,
        reason=WRONG,
    ),
    Fault(
        "a copied target is not named",
        LOSS,
        "(target[:, :-1], target[:, :-1], target[:, :-1] != padding),",
        "(target[:, :-1], target[:, :-1], target[:, :-1] == padding),",
        WRITTEN,
    ),
    Fault(
        "the reference of the rate takes the larger branch",
        STEP,
        "return d_model**-0.5 * torch.minimum(",
        "return d_model**-0.5 * torch.maximum(",
        PACKAGE,
        reason=WRONG,
    ),
    Fault(
        "the reference of clipping stretches",
        STEP,
        '(a * factor, b * factor) if how == "always" else',
        "(a * factor, b * factor) if how else",
        unit("the_package_clips_like_the_exercise_up_to_its_small_number"),
    ),
    Fault(
        "the reference of clipping forgets the second parameter",
        STEP,
        "length = (a.square().sum() + b.square().sum()).sqrt()",
        "length = a.square().sum().sqrt()",
        EXAMPLES,
    ),
    Fault(
        "the reference of Adam puts epsilon under the root",
        STEP,
        'if how == "eps inside" else',
        'if how == "right" else',
        PACKAGE,
        reason=WRONG,
    ),
    Fault(
        "the reference of Adam corrects one mean",
        STEP,
        'if how in ("not corrected", "half corrected") else',
        'if how in ("not corrected", "right") else',
        PACKAGE,
        reason=WRONG,
    ),
    Fault(
        "the reference joins means",
        SCALE,
        "return (gradients * tokens[:, None]).sum(dim=0) / tokens.sum()",
        "return gradients.mean(dim=0)",
        EXAMPLES,
    ),
    Fault(
        "a mean of means is not named",
        SCALE,
        "lambda gradients, tokens: gradients.mean(dim=0),",
        "lambda gradients, tokens: gradients.amax(dim=0),",
        WRITTEN,
    ),
    Fault(
        "the reference leaves the scale in",
        SCALE,
        'gradient.clone() if how == "still scaled" else gradient / scale',
        "gradient.clone()",
        EXAMPLES,
    ),
    Fault("the reference does not count good steps", SCALE, "good = good + 1", "good = good + 0", EXAMPLES),
]
