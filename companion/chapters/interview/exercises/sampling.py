"""Drills on choosing the next token: ``temperature-top-k`` and ``top-p``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _top_k(scores: Tensor, temperature: float, k: int) -> Tensor:
    scores = scores / temperature
    order = scores.sort(dim=-1, descending=True, stable=True).indices
    return scores.scatter(-1, order[..., k:], -torch.inf).softmax(dim=-1)


def _ties_kept(scores: Tensor, temperature: float, k: int) -> Tensor:
    scores = scores / temperature
    least = scores.topk(min(k, scores.shape[-1])).values[..., -1:]
    return scores.masked_fill(scores < least, -torch.inf).softmax(dim=-1)


def _ties_kept_up_to_the_vocabulary(scores: Tensor, temperature: float, k: int) -> Tensor:
    scores = scores / temperature
    return scores.masked_fill(scores < scores.topk(k).values[..., -1:], -torch.inf).softmax(dim=-1)


def _any_of_equals(scores: Tensor, temperature: float, k: int) -> Tensor:
    kept = (scores / temperature).topk(min(k, scores.shape[-1]))
    return torch.zeros_like(scores).scatter(-1, kept.indices, kept.values.softmax(dim=-1))


def _top_k_cases() -> list[Case]:
    draw = RandomInputs(54)
    tied = torch.tensor([[0.0, 0.0, -1.0, 0.0], [-2.0, 0.0, 0.0, 1.0]], dtype=F64)
    return [
        Case((torch.tensor([[0.0, 2.0, 1.0]]), 0.5, 1), "the example"),
        Case((draw.normal(1, 4, dtype=F64), 1.0, 2), "temperature 1"),
        Case((draw.normal(2, 5, dtype=F32), 2.0, 3), "hotter"),
        Case((tied, 0.7, 2), "equal scores"),
        Case((draw.normal(3, 7, dtype=F64), 0.3, 4), "colder"),
        Case((draw.normal(2, 3, dtype=F32), 0.5, 5), "k above the vocabulary"),
        Case((draw.normal(5, 11, dtype=F64, scale=1e3), 1.5, 3), "large scores"),
        Case((draw.normal(2, 6, dtype=F64) - 2e4, 1.0, 2), "scores far below 0"),
        Case((torch.tensor([[-1e20, -3e20, -2e20]], dtype=F64), 0.5, 2), "scores of -1e20"),
        Case((torch.tensor([[0.0, -200.0]]), 100.0, 2), "a temperature of 100, scores far apart"),
        Case((torch.tensor([[0.0, 1e-9]], dtype=F32), 1.0, 1), "scores closer than their probabilities show"),
        Case((torch.tensor([[1.0, 1.0 + 1e-9]], dtype=F64), 1.0, 1), "scores that are equal in float32"),
    ]


TEMPERATURE_TOP_K = Exercise(
    name="temperature-top-k",
    title="Draw with a temperature from the top k",
    chapter="exercises",
    level=1,
    place=4,
    minutes=10,
    topic="generation",
    reference=_top_k,
    cases=_top_k_cases,
    exact_zeros=True,
    tested="temperatures from 0.3 to 100, equal scores and nearly equal ones, k above the vocabulary, large scores "
    "and low ones, both dtypes",
    hints=(
        "Two steps on the scores and one softmax at the end. A low temperature makes the likely tokens likelier: does "
        "it multiply or divide?",
        "Tokens outside the top k get probability exactly 0 and the others sum to 1. Which score does a softmax turn "
        "into exactly 0?",
        "A stable descending sort gives the order with the smaller token first among equals. `scatter` writes into the "
        "places of all tokens after the first k.",
    ),
    mistakes=(
        Mistake(
            "multiplied",
            Edit("scores / temperature", "scores * temperature"),
            "You multiplied by the temperature. Scores are divided by it: below 1 the distribution gets sharper.",
        ),
        Mistake(
            "temperature-ignored",
            Edit("scores / temperature", "scores"),
            "The temperature has no effect in your answer.",
        ),
        Mistake(
            "not-renormalised",
            Edit(
                "scores.scatter(-1, order[..., k:], -torch.inf).softmax(dim=-1)",
                "scores.softmax(dim=-1).scatter(-1, order[..., k:], 0.0)",
            ),
            "You cut probabilities after the softmax, and what is left does not sum to 1.",
        ),
        Mistake(
            "zero-for-a-score",
            Edit("-torch.inf", "0.0"),
            "You set the scores of the other tokens to 0. A score of 0 has weight exp(0) = 1: nothing is cut off.",
        ),
        Mistake(
            "ties-kept",
            _ties_kept,
            "You kept every token whose score reaches the k-th largest. With equal scores those are more than k.",
            also=(_ties_kept_up_to_the_vocabulary,),
        ),
        Mistake(
            "other-of-equals",
            Edit(
                "scores.sort(dim=-1, descending=True, stable=True).indices",
                "scores.shape[-1] - 1 - scores.flip(-1).sort(dim=-1, descending=True, stable=True).indices",
            ),
            "Among equal scores you kept a token with a larger number. `topk` and a sort that is not stable promise no "
            "order among equals.",
            also=(_any_of_equals,),
        ),
        Mistake(
            "smallest-kept",
            Edit("descending=True", "descending=False"),
            "You kept the tokens with the smallest scores: the sort is ascending.",
        ),
        Mistake(
            "hidden-by-a-number",
            Edit("-torch.inf", "-1e9"),
            "You hide scores by a finite number, and scores that count can be lower. Use -inf.",
        ),
        Mistake(
            "one-more",
            Edit("order[..., k:]", "order[..., k + 1 :]"),
            "You kept one token too many: places are counted from 0, so what is cut begins at place k.",
        ),
        Mistake(
            "left-sorted",
            Edit("scores.scatter(-1, order[..., k:], -torch.inf)", "scores.gather(-1, order)[..., :k]"),
            "Your probabilities are in sorted order: entry 0 belongs to the likeliest token, not to token 0.",
            also=(
                Edit(
                    "scores.scatter(-1, order[..., k:], -torch.inf)",
                    "scores.gather(-1, order).masked_fill(torch.arange(scores.shape[-1]) >= k, -torch.inf)",
                ),
            ),
        ),
    ),
)


def _top_p(scores: Tensor, p: float) -> Tensor:
    ranked, order = scores.softmax(dim=-1).sort(dim=-1, descending=True, stable=True)
    before = ranked.cumsum(dim=-1) - ranked
    kept = ranked * (before < p)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(kept).scatter(-1, order, kept)


def _from_the_least(scores: Tensor, p: float) -> Tensor:
    ranked, order = scores.softmax(dim=-1).sort(dim=-1, stable=True)
    kept = ranked * (ranked.cumsum(dim=-1) > 1 - p)
    return torch.zeros_like(kept).scatter(-1, order, kept / kept.sum(dim=-1, keepdim=True))


def _top_p_cases() -> list[Case]:
    draw = RandomInputs(55)
    tied = torch.tensor([[0.0, -9.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]], dtype=F64)
    return [
        Case((torch.tensor([[2.0, 5.0, 3.0]]).log(), 0.6), "the example"),
        Case((draw.normal(1, 4, dtype=F64), 0.7)),
        Case((draw.normal(2, 5, dtype=F32), 0.01), "less than the first token has"),
        Case((tied, 0.6), "equal scores"),
        Case((draw.normal(3, 7, dtype=F64), 0.9)),
        Case((draw.normal(2, 6, dtype=F32), 1.0), "everything"),
        Case((draw.normal(4, 13, dtype=F64), 0.5)),
        Case((draw.normal(5, 11, dtype=F64, scale=1e3), 0.9), "large scores"),
        Case((draw.normal(2, 6, dtype=F64) - 2e4, 0.7), "scores far below 0"),
        Case((torch.tensor([[2.0, 4.0, 1.0, 1.0]]).log(), 0.5), "the sum reaches p exactly"),
    ]


TOP_P = Exercise(
    name="top-p",
    title="Keep the nucleus",
    chapter="exercises",
    level=2,
    place=5,
    minutes=15,
    topic="generation",
    reference=_top_p,
    cases=_top_p_cases,
    exact_zeros=True,
    tested="small and full p, a sum that is exactly p, equal scores, large scores and low ones, both dtypes",
    hints=(
        "Put the probabilities in descending order and add them up from the front. Which token is the last one needed, "
        "the one before the sum reaches p or the one with which it does?",
        "For each token in order look at the sum of those before it. That sum is 0 for the first token, so the first "
        "is always kept.",
        "Keep where the sum before is below p, divide by what is kept, and bring the probabilities back to the order "
        "of the tokens: `scatter` with the indices of the sort is the way back.",
    ),
    mistakes=(
        Mistake(
            "crossing-token-dropped",
            Edit("before < p", "before + ranked <= p"),
            "You dropped the token with which the sum reaches p. It belongs to the nucleus, which has p or more.",
            also=(Edit("before < p", "(before + ranked <= p) | (before == 0)"),),
        ),
        Mistake(
            "one-more-at-the-border",
            Edit("before < p", "before <= p"),
            "Where the tokens kept so far have exactly p, they are enough: p or more is asked for. You kept one more.",
        ),
        Mistake(
            "not-sorted",
            Edit(
                "scores.softmax(dim=-1).sort(dim=-1, descending=True, stable=True)",
                "scores.softmax(dim=-1), torch.arange(scores.shape[-1]).expand(scores.shape)",
            ),
            "You added the probabilities in the order of the vocabulary. The most probable come first.",
        ),
        Mistake(
            "left-sorted",
            Edit("torch.zeros_like(kept).scatter(-1, order, kept)", "kept"),
            "Your probabilities are still in sorted order: entry 0 belongs to the likeliest token, not to token 0.",
        ),
        Mistake(
            "not-renormalised",
            Edit("kept / kept.sum(dim=-1, keepdim=True)", "kept"),
            "What you keep sums to less than 1. Divide by its sum.",
        ),
        Mistake(
            "mask-not-taken-back",
            (
                Edit("ranked * (before < p)", "scores.softmax(dim=-1) * (before < p)"),
                Edit("torch.zeros_like(kept).scatter(-1, order, kept)", "kept"),
            ),
            "Your mask belongs to the sorted places, and you laid it on the tokens in their own order.",
        ),
        Mistake(
            "ties-kept",
            Edit("before < p", "ranked >= ranked.masked_fill(before >= p, torch.inf).amin(dim=-1, keepdim=True)"),
            "You kept all tokens as probable as the last one needed. Among equal ones only the first are needed.",
        ),
        Mistake(
            "ascending",
            Edit("descending=True", "descending=False"),
            "Your order is ascending: you kept the least probable tokens.",
        ),
        Mistake(
            "gathered-with-the-order",
            Edit("torch.zeros_like(kept).scatter(-1, order, kept)", "kept.gather(-1, order)"),
            "`gather` with the indices of the sort sorts once more. The way back is `scatter`, or the argsort of them.",
        ),
        Mistake(
            "softmax-of-probabilities",
            Edit(
                "kept / kept.sum(dim=-1, keepdim=True)",
                "ranked.masked_fill(before >= p, -torch.inf).softmax(dim=-1)",
            ),
            "You took a softmax of probabilities. Divide those that are kept by their sum.",
        ),
        Mistake(
            "larger-of-equals",
            _from_the_least,
            "Among equal probabilities you kept the larger tokens: you cut from the end of an ascending order.",
        ),
    ),
)
