"""Drill on drafts: ``speculative-step``."""

from collections.abc import Callable

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs
from companion.practice.trial import Refusal, several

F32, F64 = torch.float32, torch.float64


def _speculative(draft: Tensor, target: Tensor, tokens: Tensor, u: Tensor) -> tuple[int, Tensor]:
    place = torch.arange(len(tokens))
    accepted = u < target[place, tokens] / draft[place, tokens]
    n = int(accepted.long().cumprod(dim=0).sum())  # up to the first refusal
    if n == len(tokens):
        return n, target[n]
    left = (target[n] - draft[n]).clamp(min=0)
    return n, left / left.sum()


def _speculative_trial(
    answer: Callable[..., object], draft: Tensor, target: Tensor, tokens: Tensor, u: Tensor
) -> tuple[object, object]:
    """Call the answer once, and see that it counts in whole numbers of Python."""
    n, distribution = several(answer(draft, target, tokens, u), "accepted", "distribution")
    if isinstance(n, Tensor) or hasattr(n, "item"):
        kind = "a tensor" if isinstance(n, Tensor) else "a number of NumPy"
        raise Refusal(f"Your first result is {kind}; an int is asked for. `int(...)` or `.item()` makes one.")
    return n, distribution


def _speculative_cases() -> list[Case]:
    draw = RandomInputs(56)
    generator = torch.Generator().manual_seed(57)

    def drafts(k: int, vocab: int, u: list[float], near: float = 1.0, dtype: torch.dtype = F32) -> tuple:
        scores = draw.normal(k + 1, vocab, dtype=dtype)
        draft = (scores[:k] + near * draw.normal(k, vocab, dtype=dtype)).softmax(dim=-1)
        tokens = torch.randint(0, vocab, (k,), generator=generator)
        return draft, scores.softmax(dim=-1), tokens, torch.tensor(u, dtype=dtype)

    by_hand = (
        torch.tensor([[0.5, 0.5]]),
        torch.tensor([[0.25, 0.75], [0.5, 0.5]]),
        torch.tensor([0]),
        torch.tensor([0.6]),
    )
    rare = torch.tensor([[1e-8, 1.0], [0.5, 0.5]])
    ruled_out = by_hand[0], torch.tensor([[0.0, 1.0], [0.5, 0.5]]), by_hand[2], torch.tensor([0.0])
    return [
        Case(by_hand, "the example"),
        Case(drafts(1, 3, [0.0]), "one token, accepted"),
        Case(drafts(2, 3, [0.0, 0.999], near=3.0)),
        Case(drafts(3, 5, [0.0, 0.0, 0.0]), "all accepted"),
        Case(drafts(3, 5, [0.999, 0.0, 0.0], near=3.0)),
        Case(drafts(4, 7, [0.3, 0.6, 0.2, 0.9], near=1.5)),
        Case(drafts(5, 11, [0.1, 0.2, 0.95, 0.1, 0.05], near=2.0)),
        Case(drafts(4, 6, [0.5, 0.7, 0.01, 0.3], near=0.5)),
        Case(ruled_out, "a token that the target rules out, and a draw of 0"),
        Case(
            (by_hand[0], rare, by_hand[2], torch.tensor([0.0])),
            "a token that the target hardly allows, and a draw of 0",
        ),
        Case((*by_hand[:3], torch.tensor([0.5])), "a draw that is the ratio exactly"),
        Case(drafts(3, 5, [0.1, 0.9, 0.4], near=1.5, dtype=F64)),
    ]


SPECULATIVE_STEP = Exercise(
    name="speculative-step",
    title="Accept or reject a draft",
    chapter="exercises",
    level=3,
    place=7,
    minutes=30,
    topic="generation",
    reference=_speculative,
    cases=_speculative_cases,
    trial=_speculative_trial,
    tested="drafts accepted whole, in part and not at all, draws of 0 and at the ratio, 1 to 5 tokens, both dtypes",
    returns=("accepted", "distribution"),
    hints=(
        "Go through the draft in order and stop at the first token that is refused; what follows it was written "
        "after a token that is not there. When is a token refused?",
        "A token is kept with probability target over draft, at most 1. So compare u with the ratio. After a refusal "
        "the next token makes up for what the draft gave too little of.",
        "After a refusal take target minus draft at that place, set what is negative to 0, and divide by the sum. With "
        "nothing refused the last row of the target is free to draw from as it stands.",
    ),
    mistakes=(
        Mistake(
            "target-after-refusal",
            Edit("left / left.sum()", "target[n]"),
            "After a refusal you draw from the target itself. The tokens accepted were already drawn more often where "
            "the draft is high, so the result would not be distributed as the target.",
        ),
        Mistake(
            "counted-after-refusal",
            Edit("accepted.long().cumprod(dim=0).sum()", "accepted.sum()"),
            "You counted tokens after a refused one. They were written after a token that is not kept.",
        ),
        Mistake(
            "not-clamped",
            (Edit(".clamp(min=0)", ""), Edit("left.sum()", "left.abs().sum()")),
            "Some entries of your distribution are negative. What the draft gave too much of gets 0.",
        ),
        Mistake(
            "not-normalised",
            Edit("left / left.sum()", "left"),
            "What is left after the subtraction does not sum to 1 yet.",
        ),
        Mistake(
            "zero-accepted",
            Edit("u < target", "u <= target"),
            "You accept where u equals the ratio. A uniform draw may be 0, and then you keep a token to which the "
            "target gives no probability.",
        ),
        Mistake(
            "ratio-inverted",
            Edit("target[place, tokens] / draft[place, tokens]", "draft[place, tokens] / target[place, tokens]"),
            "Your ratio is upside down: you accept where the draft is surer than the target.",
        ),
        Mistake(
            "only-the-most-probable",
            Edit("u < target[place, tokens] / draft[place, tokens]", "target[:-1].argmax(dim=-1) == tokens"),
            "You accept a token only where the target finds it most probable. That is right for greedy writing; here "
            "the draws decide.",
        ),
        Mistake(
            "residual-after-all",
            Edit(
                "        return n, target[n]",
                "        left = (target[n] - draft[-1]).clamp(min=0)\n        return n, left / left.sum()",
            ),
            "With every token accepted there is nothing to make up for: the last row of the target is used as it is.",
        ),
        Mistake(
            "no-ratio",
            Edit("target[place, tokens] / draft[place, tokens]", "target[place, tokens]"),
            "You compare the draw with the target's probability. It is compared with the ratio of target and draft.",
        ),
        Mistake(
            "row-before",
            Edit("return n, target[n]", "return n, target[n - 1]"),
            "With every token accepted you take the row of the last one. The target has one row more, for the place "
            "after it.",
        ),
        Mistake(
            "absolute-difference",
            Edit(".clamp(min=0)", ".abs()"),
            "You took the size of the difference. What the draft gave too much of gets 0.",
        ),
        Mistake(
            "draft-minus-target",
            Edit("target[n] - draft[n]", "draft[n] - target[n]"),
            "You subtracted the target from the draft. The next draw makes up for what the draft gave too little of.",
        ),
        Mistake(
            "softmax-of-the-difference",
            Edit("left / left.sum()", "left.softmax(dim=-1)"),
            "You took a softmax of what is left. These are parts of probabilities: divide them by their sum.",
            also=(Edit(".clamp(min=0)\n    return n, left / left.sum()", "\n    return n, left.softmax(dim=-1)"),),
        ),
        Mistake(
            "refused-token-removed",
            Edit("(target[n] - draft[n]).clamp(min=0)", "target[n].index_fill(0, tokens[n], 0.0)"),
            "You took the refused token out of the target. Subtract the whole draft, and set what is negative to 0.",
        ),
        Mistake(
            "refused-counted",
            Edit("return n, left / left.sum()", "return n + 1, left / left.sum()"),
            "You count the refused token, or the one that is drawn in its place. Only accepted ones count.",
        ),
    ),
)
