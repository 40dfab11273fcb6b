"""Drills on search and on drafts: ``beam-step`` and ``speculative-step``."""

from collections.abc import Callable

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs
from companion.practice.trial import Refusal, several

F32, F64 = torch.float32, torch.float64


def _beam_step(
    log_p: Tensor, totals: Tensor, lengths: Tensor, finished: Tensor, end: int, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    width, vocab = log_p.shape
    step = log_p.clone()
    step[finished] = -torch.inf
    step[finished, end] = 0.0
    total = totals[:, None] + step
    length = lengths + (~finished).long()
    rank = total / (((5 + length) / 6) ** alpha)[:, None].to(total)
    best = rank.flatten().topk(width).indices
    return best // vocab, best % vocab, total.flatten()[best]


def _beam_cases() -> list[Case]:
    draw = RandomInputs(58)

    def state(width: int, vocab: int, alpha: float, dtype: torch.dtype, *done: int, scale: float = 1.0) -> tuple:
        log_p = draw.normal(width, vocab, dtype=dtype).log_softmax(dim=-1)
        finished = torch.tensor([row in done for row in range(width)])
        lengths = torch.where(finished, torch.arange(width) + 2, 2 * width)
        return log_p, -draw.normal(width, dtype=dtype, scale=scale).abs(), lengths, finished, vocab - 1, alpha

    def beams(
        log_p: list[list[float]], totals: list[float], lengths: list[int], *done: int, alpha: float = 0.0
    ) -> tuple:
        finished = torch.tensor([row in done for row in range(len(totals))])
        return torch.tensor(log_p), torch.tensor(totals), torch.tensor(lengths), finished, 0, alpha

    by_hand = (
        torch.tensor([[-1.0, -2.0, -3.0], [-0.5, -3.0, -4.0]]),
        torch.tensor([-1.0, -2.0]),
        torch.tensor([1, 1]),
        torch.tensor([False, False]),
        2,
        0.0,
    )
    short = (
        torch.tensor([[-1.0, -1.5, -4.0], [-3.0, -0.2, -5.0]], dtype=F64),
        torch.tensor([-1.1, -6.175], dtype=F64),
        torch.tensor([1, 14]),
        torch.tensor([False, True]),
        1,
        1.0,
    )
    behind = torch.arange(-8.0, 0.0).view(2, 4).double(), torch.tensor([-1.0, -3e10]).double(), torch.tensor([2, 2])
    return [
        Case(by_hand, "the example"),
        Case(state(1, 3, 0.6, F64), "one beam"),
        Case(state(2, 4, 0.6, F32, 0), "one beam finished"),
        Case(state(3, 5, 1.0, F64, 1)),
        Case(state(4, 7, 0.6, F64, 0, 2), "two finished"),
        Case(state(3, 4, 0.0, F32, 2), "no penalty"),
        Case(state(5, 11, 2.0, F64, 3), "a strong penalty"),
        Case(state(3, 5, 0.6, F64, 0, scale=1e4), "large totals"),
        Case(short, "a long finished beam"),
        Case(
            beams([[-1.0, -1.1, -9.0, -9.5], [-8.0, -7.0, -9.2, -9.7]], [-1.0, -3.0], [1, 1], alpha=1.0),
            "an end that is one token longer",
        ),
        Case(
            beams([[-1.0, -9.0], [-1.5, -9.5], [-8.0, -8.5]], [-1.0, -1.58, -9.0], [1, 5, 1], alpha=1.0), "a close race"
        ),
        Case(
            beams([[-1.0, -8.5, -9.0, -9.5], [-1.0, -1.1, -1.2, -1.3]], [-3.0, -1.0], [20, 1], alpha=2.0),
            "a long beam that four short proposals beat without a penalty",
        ),
        Case(beams([[-1.0, -1.1, -1.2]] * 3, [0.0, -5.0, -6.0], [1, 1, 1]), "all of one beam"),
        Case(beams([[-1.0, -2.0]] * 3, [-1.1, -2.2, -3.0], [1, 1, 1], alpha=1.0), "more beams than tokens"),
        Case(beams([[-1.0, -2.0, -3.0]] * 2, [-2.0, -1.0], [2, 2], 0, 1), "all finished"),
        Case(beams([[-1.0, -2.0], [-0.1, -torch.inf]], [-1.0, -0.5], [3, 2], 1), "a finished beam with -inf"),
        Case(beams([[-torch.inf, -0.5], [-0.1, -3.0]], [-1.0, -2.0], [3, 3], 0), "a finished beam that forbids end"),
        Case(
            beams([[-1.0, -torch.inf, -2.5], [-torch.inf, -0.5, -torch.inf]], [-1.0, -1.5], [3, 2], alpha=1.0),
            "forbidden tokens",
        ),
        Case((*behind, torch.tensor([True, False]), 0, 0.0), "one finished, the other far behind"),
    ]


BEAM_STEP = Exercise(
    name="beam-step",
    title="Take a step of beam search",
    chapter="exercises",
    level=3,
    place=6,
    minutes=30,
    topic="generation",
    same_dtype=True,
    reference=_beam_step,
    cases=_beam_cases,
    tested="one to five beams, more beams than tokens, some and all finished, penalties from 0 to 2, large "
    "totals, forbidden tokens",
    returns=("parent", "token", "totals"),
    hints=(
        "Every beam proposes each token of the vocabulary. Make one table of totals with a row for each beam, and "
        "think of all of its entries as one competition.",
        "A finished beam proposes one thing only: itself, at the price it has. Give its row minus infinity everywhere "
        "but at `end`, and keep its length.",
        "Rank by total over penalty, with the length that a proposal has after this step; give totals without "
        "penalty. `topk` of the flattened table gives places: whole division gives the row, the rest the token.",
    ),
    mistakes=(
        Mistake(
            "no-penalty",
            Edit("** alpha", "** 0.0"),
            "You ranked by the totals alone. The longer beams then lose, since every token makes a total smaller.",
        ),
        Mistake(
            "ranks-returned",
            Edit("total.flatten()", "rank.flatten()"),
            "You returned totals that are already divided by the penalty. The next step would divide them again.",
        ),
        Mistake(
            "finished-go-on",
            (
                Edit("step[finished] = -torch.inf", ""),
                Edit("step[finished, end] = 0.0", ""),
                Edit("(~finished).long()", "1"),
            ),
            "A finished beam still grows, or pays for a token, in your answer. It can only stay as it is, at no "
            "further cost.",
        ),
        Mistake(
            "zero-times-infinity",
            Edit("step[finished] = -torch.inf", "step *= (~finished)[:, None]\n    step[finished] += -torch.inf"),
            "Your result has NaN where a log-probability is -inf: you multiply it by 0. Replace the row of a finished "
            "beam, by an assignment or by `torch.where`.",
        ),
        Mistake(
            "one-from-each-beam",
            Edit(
                "best = rank.flatten().topk(width).indices",
                "best = rank.argmax(dim=-1) + vocab * torch.arange(width)\n"
                "    best = best[rank.amax(dim=-1).argsort(descending=True)]",
            ),
            "You took the best token of each beam. That is several greedy runs: the proposals of all beams compete.",
        ),
        Mistake(
            "length-before-the-step",
            Edit("lengths + (~finished).long()", "lengths"),
            "Your penalty uses the lengths before this step. A beam that goes on is one token longer.",
        ),
        Mistake(
            "finished-get-longer",
            Edit("(~finished).long()", "1"),
            "You made the finished beams longer as well. Only a beam that goes on gets one token longer.",
        ),
        Mistake(
            "flat-index",
            Edit("best % vocab", "best"),
            "Your tokens are places in the flattened table. The rest of the division by the vocabulary is the token.",
        ),
    ),
)


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
            "You counted tokens behind a refused one. They were written after a token that is not kept.",
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
    ),
)
