"""Drills on choosing the next token: ``temperature-top-k`` and ``top-p``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Exercise, Mistake
from companion.practice.inputs import Draw

F32, F64 = torch.float32, torch.float64


def _top_k(scores: Tensor, temperature: float, k: int) -> Tensor:
    return _cooled(scores, temperature, k)


def _cooled(scores: Tensor, temperature: float, k: int, *, how: str = "right") -> Tensor:
    """Turn scores into the probabilities to draw from, with one thing changed."""
    scores = {"multiplied": scores * temperature, "ignored": scores}.get(how, scores / temperature)
    order = scores.sort(dim=-1, descending=how != "smallest", stable=True).indices
    if how == "ties kept":
        least = scores.gather(-1, order[..., min(k, scores.shape[-1]) - 1 :][..., :1])
        return scores.masked_fill(scores < least, -torch.inf).softmax(dim=-1)
    if how == "not renormalised":
        return scores.softmax(dim=-1).scatter(-1, order[..., k:], 0.0)
    if how == "last of equals":
        order = scores.shape[-1] - 1 - scores.flip(-1).sort(dim=-1, descending=True, stable=True).indices
    if how == "any of equals":
        kept = scores.topk(min(k, scores.shape[-1]))
        return torch.zeros_like(scores).scatter(-1, kept.indices, kept.values.softmax(dim=-1))
    return scores.scatter(-1, order[..., k:], 0.0 if how == "zero scores" else -torch.inf).softmax(dim=-1)


def _top_k_cases() -> list[Case]:
    draw = Draw(54)
    tied = torch.tensor([[0.0, 0.0, -1.0, 0.0], [-2.0, 0.0, 0.0, 1.0]], dtype=F64)
    return [
        Case((torch.tensor([[0.0, 2.0, 1.0]]), 0.5, 1), "the example"),
        Case((draw.normal(1, 4, dtype=F64), 1.0, 2), "temperature 1"),
        Case((draw.normal(2, 5, dtype=F32), 2.0, 3), "hotter"),
        Case((tied, 0.7, 2), "equal scores"),
        Case((draw.normal(3, 7, dtype=F64), 0.3, 4), "colder"),
        Case((draw.normal(2, 3, dtype=F32), 0.5, 5), "k above the vocabulary"),
        Case((draw.normal(5, 11, dtype=F64, scale=1e3), 1.5, 3), "large scores"),
    ]


TEMPERATURE_TOP_K = Exercise(
    name="temperature-top-k",
    title="Draw with a temperature from the top k",
    chapter="exercises",
    tier=1,
    minutes=10,
    topic="inference",
    reference=_top_k,
    cases=_top_k_cases,
    tested="temperatures from 0.3 to 2, equal scores, k above the vocabulary, large scores, both dtypes",
    hints=(
        "Two steps on the scores and one softmax at the end. A low temperature makes the likely tokens likelier: does "
        "it multiply or divide?",
        "Tokens outside the top k get probability exactly 0 and the others sum to 1. Which score does a softmax turn "
        "into exactly 0?",
        "A stable descending sort gives the order with the smaller token first among equals. `scatter` writes into the "
        "places of all tokens behind the first k.",
    ),
    mistakes=(
        Mistake(
            "multiplied",
            lambda *given: _cooled(*given, how="multiplied"),
            "You multiplied by the temperature. Scores are divided by it: below 1 the distribution gets sharper.",
        ),
        Mistake(
            "temperature-ignored",
            lambda *given: _cooled(*given, how="ignored"),
            "The temperature has no effect in your answer.",
        ),
        Mistake(
            "not-renormalised",
            lambda *given: _cooled(*given, how="not renormalised"),
            "You cut probabilities after the softmax, and what is left does not sum to 1.",
        ),
        Mistake(
            "zero-for-a-score",
            lambda *given: _cooled(*given, how="zero scores"),
            "You set the scores of the other tokens to 0. A score of 0 has weight exp(0) = 1: nothing is cut off.",
        ),
        Mistake(
            "ties-kept",
            lambda *given: _cooled(*given, how="ties kept"),
            "You kept every token whose score reaches the k-th largest. With equal scores those are more than k.",
        ),
        Mistake(
            "other-of-equals",
            lambda *given: _cooled(*given, how="last of equals"),
            "Among equal scores you kept a token with a larger number. `topk` and a sort that is not stable promise no "
            "order among equals.",
            also=(lambda *given: _cooled(*given, how="any of equals"),),
        ),
        Mistake(
            "smallest-kept",
            lambda *given: _cooled(*given, how="smallest"),
            "You kept the tokens with the smallest scores: the sort is ascending.",
        ),
    ),
)


def _top_p(scores: Tensor, p: float) -> Tensor:
    return _nucleus(scores, p)


def _nucleus(scores: Tensor, p: float, *, how: str = "right") -> Tensor:
    """Keep the most probable tokens up to a probability, with one thing changed."""
    probabilities = scores.softmax(dim=-1)
    ranked, order = probabilities.sort(dim=-1, descending=how != "ascending", stable=True)
    before = ranked.cumsum(dim=-1) - ranked
    if how == "unsorted":
        kept = probabilities * (probabilities.cumsum(dim=-1) - probabilities < p)
        return kept / kept.sum(dim=-1, keepdim=True)
    if how == "single threshold":
        return (probabilities * (probabilities >= 1 - p)) / (probabilities * (probabilities >= 1 - p)).sum(-1, True)
    keep = ranked.cumsum(dim=-1) <= p if how == "crossing dropped" else before < p
    if how == "first kept":
        keep = ranked.cumsum(dim=-1) <= p
        keep[..., 0] = True
    if how == "mask not taken back":
        kept = probabilities * keep
        return kept / kept.sum(dim=-1, keepdim=True)
    if how == "ties kept":
        least = ranked.masked_fill(~keep, torch.inf).amin(dim=-1, keepdim=True)
        keep = ranked >= least
    kept = ranked * keep
    if how != "not renormalised":
        kept = kept / kept.sum(dim=-1, keepdim=True)
    return kept if how == "left sorted" else torch.zeros_like(kept).scatter(-1, order, kept)


def _top_p_cases() -> list[Case]:
    draw = Draw(55)
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
    ]


TOP_P = Exercise(
    name="top-p",
    title="Keep the nucleus",
    chapter="exercises",
    tier=2,
    minutes=15,
    topic="inference",
    reference=_top_p,
    cases=_top_p_cases,
    tested="small and full p, equal scores, large scores, both dtypes",
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
            lambda *given: _nucleus(*given, how="crossing dropped"),
            "You dropped the token with which the sum reaches p. It belongs to the nucleus, which has p or more.",
            also=(lambda *given: _nucleus(*given, how="first kept"),),
        ),
        Mistake(
            "not-sorted",
            lambda *given: _nucleus(*given, how="unsorted"),
            "You added the probabilities in the order of the vocabulary. The most probable come first.",
        ),
        Mistake(
            "left-sorted",
            lambda *given: _nucleus(*given, how="left sorted"),
            "Your probabilities are still in sorted order: entry 0 belongs to the likeliest token, not to token 0.",
        ),
        Mistake(
            "not-renormalised",
            lambda *given: _nucleus(*given, how="not renormalised"),
            "What you keep sums to less than 1. Divide by its sum.",
        ),
        Mistake(
            "mask-not-taken-back",
            lambda *given: _nucleus(*given, how="mask not taken back"),
            "Your mask belongs to the sorted places, and you laid it on the tokens in their own order.",
        ),
        Mistake(
            "ties-kept",
            lambda *given: _nucleus(*given, how="ties kept"),
            "You kept all tokens as probable as the last one needed. Among equal ones only the first are needed.",
        ),
        Mistake(
            "ascending",
            lambda *given: _nucleus(*given, how="ascending"),
            "Your order is ascending: you kept the least probable tokens.",
        ),
    ),
)
