"""Drill on search: ``beam-step``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

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
        Mistake(
            "finished-propose-all",
            Edit("step[finished] = -torch.inf", "step[finished] = 0.0"),
            "A finished beam proposes every token in your answer, each for free. It proposes itself once, with `end`.",
        ),
        Mistake(
            "finished-dropped",
            Edit("    step[finished, end] = 0.0\n", ""),
            "A finished beam has no proposal in your answer, and is lost. It proposes itself.",
        ),
        Mistake(
            "multiplied-by-the-penalty",
            Edit("rank = total / ", "rank = total * "),
            "You multiplied by the penalty. Totals are negative, so long beams then rank lower still: divide.",
        ),
        Mistake(
            "length-alone",
            Edit("((5 + length) / 6)", "length"),
            "You divide by a power of the length. The penalty asked for is a power of (5 + length) / 6.",
        ),
        Mistake(
            "divided-by-the-width",
            Edit("best // vocab, best % vocab", "best // width, best % width"),
            "You divided the places by the number of beams. A row of the table is as long as the vocabulary.",
        ),
        Mistake(
            "parent-and-token-swapped",
            Edit("best // vocab, best % vocab", "best % vocab, best // vocab"),
            "The first two results have changed places: the quotient is the parent, and the rest the token.",
        ),
    ),
)
