"""Exercises on what a model is trained for: ``read-and-say`` and ``smoothed-loss``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _pairs(target: Tensor, padding: int) -> tuple[Tensor, Tensor, Tensor]:
    return target[:, :-1], target[:, 1:], target[:, 1:] != padding


def _pair_cases() -> list[Case]:
    generator = torch.Generator().manual_seed(31)

    def rows(*lengths: int, padding: int = 0, t: int | None = None) -> tuple:
        t = max(lengths) if t is None else t
        target = torch.randint(1, 9, (len(lengths), t), generator=generator)
        target[torch.arange(t) >= torch.tensor(lengths)[:, None]] = padding
        return target, padding

    by_hand = torch.tensor([[1, 5, 2, 0]]), 0
    return [
        Case(by_hand, "the example"),
        Case(rows(3)),
        Case(rows(2, 3), "one row shorter"),
        Case(rows(5, 2, 7)),
        Case(rows(4, 4, 4), "no padding"),
        Case(rows(3, 6, 2, padding=9), "another token for padding"),
        Case(rows(2, 5, t=8), "padding at the end of each row"),
        Case((torch.tensor([[0, 5, 2]]), 0), "a start token that is the padding token"),
    ]


READ_AND_SAY = Exercise(
    name="read-and-say",
    title="Shift a target into input and labels",
    chapter="training",
    level=1,
    place=1,
    minutes=10,
    reference=_pairs,
    cases=_pair_cases,
    tested="rows of one length and of several, no padding, another token for padding, one token for padding and start",
    returns=("reads", "says", "real"),
    hints=(
        "Write one row down twice, below itself. Under each token that the model reads stands the token that it has to "
        "say. Which token is read and never said, and which is said and never read?",
        "Both results are one token shorter than the row: one lacks the last token, the other the first. Slices of the "
        "second axis give them.",
        "What counts is decided by what the model has to say, not by what it reads: compare the wanted tokens with the "
        "one that stands for padding.",
    ),
    mistakes=(
        Mistake(
            "not-shifted",
            lambda target, padding: (target[:, :-1], target[:, :-1], target[:, :-1] != padding),
            "The model has to say the very token that it reads. It learns to copy, and its loss goes to zero.",
            also=(lambda target, padding: (target, target, target != padding),),
        ),
        Mistake(
            "backwards",
            lambda target, padding: (target[:, 1:], target[:, :-1], target[:, :-1] != padding),
            "You shifted the wrong way: the model reads a token and has to say the one before it.",
        ),
        Mistake(
            "rolled",
            lambda target, padding: (target, target.roll(-1, 1), target.roll(-1, 1) != padding),
            "`roll` brings the first token round to the end, so the last place has to say the start. Drop a place "
            "instead.",
        ),
        Mistake(
            "mask-of-what-is-read",
            lambda target, padding: (target[:, :-1], target[:, 1:], target[:, :-1] != padding),
            "Your mask looks at what the model reads. The place that reads the end token then counts, and there it has "
            "to say padding.",
        ),
        Mistake(
            "mask-inverted",
            lambda target, padding: (target[:, :-1], target[:, 1:], target[:, 1:] == padding),
            "Your mask is true at the padding. It says which places count.",
        ),
        Mistake(
            "both-must-be-real",
            lambda target, padding: (
                target[:, :-1],
                target[:, 1:],
                (target[:, 1:] != padding) & (target[:, :-1] != padding),
            ),
            "You also ask that the token that is read be no padding. Only what must be said counts: the start token "
            "may be the padding token.",
        ),
    ),
)


def _smoothed(scores: Tensor, target: Tensor, smoothing: float, padding: int) -> Tensor:
    log_p = scores.log_softmax(dim=-1)
    inside = target.clamp(0, scores.shape[-1] - 1)  # the padding may be no token of the vocabulary
    right = log_p.gather(-1, inside[..., None]).squeeze(-1)
    losses = -(1 - smoothing) * right - smoothing * log_p.mean(dim=-1)
    return losses[target != padding].mean()


def _spread_over_the_others(scores: Tensor, target: Tensor, smoothing: float, padding: int) -> Tensor:
    shares = torch.full_like(scores, smoothing / max(scores.shape[-1] - 2, 1))
    shares[..., padding] = 0.0
    shares.scatter_(-1, target[..., None], 1 - smoothing)
    return -(shares * scores.log_softmax(dim=-1)).sum(dim=-1)[target != padding].mean()


def _smoothed_cases() -> list[Case]:
    draw = RandomInputs(32)
    generator = torch.Generator().manual_seed(33)

    def batch(lengths: list[int], vocab: int, smoothing: float, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        t = max(lengths)
        target = torch.randint(1, vocab, (len(lengths), t), generator=generator)
        target[torch.arange(t) >= torch.tensor(lengths)[:, None]] = 0
        return draw.normal(len(lengths), t, vocab, dtype=dtype, scale=scale), target, smoothing, 0

    def padded_with(padding: int, scores: Tensor, target: Tensor, smoothing: float, _: int) -> tuple:
        """Let another token stand for padding, and 0 for a real one."""
        return scores, (target + padding) % scores.shape[-1], smoothing, padding

    by_hand = torch.zeros(1, 2, 4), torch.tensor([[2, 0]]), 0.1, 0
    return [
        Case(by_hand, "the example"),
        Case(batch([2], 3, 0.5, F64)),
        Case(batch([1, 2], 4, 0.1, F32), "one row shorter"),
        Case(batch([3, 5, 2], 7, 0.1, F32)),
        Case(batch([4, 4], 5, 0.3, F64), "no padding"),
        Case(batch([3, 6], 5, 0.0, F64), "no smoothing"),
        Case(batch([2, 7, 3], 11, 0.2, F64, 1e3), "large scores"),
        Case(padded_with(3, *batch([6, 2, 4], 5, 0.1, F64)), "another token for padding"),
        Case((draw.normal(2, 3, 4, dtype=F32), torch.tensor([[0, 0, 2], [1, 0, 3]]), 0.1, 0), "padding before the end"),
        Case(batch([3, 2], 3, 0.1, F64), "as many places as tokens in the vocabulary"),
    ]


SMOOTHED_LOSS = Exercise(
    name="smoothed-loss",
    title="Write the loss with smoothing and padding",
    chapter="training",
    level=2,
    place=5,
    minutes=20,
    reference=_smoothed,
    gradients=("scores",),
    cases=_smoothed_cases,
    tested="several lengths, padding anywhere, another token for it, smoothing 0 to 0.5, large scores, both dtypes",
    hints=(
        "Begin with the logarithms of the model's probabilities, taken in one stable step. The loss of a place is a "
        "weighted sum of them. What are the weights?",
        "One part goes to the right token, the other is spread evenly over all tokens, the right one among them. An "
        "even share of a sum is a mean.",
        "`gather` picks the right token's entry, and `mean` over the vocabulary gives the spread part. Then only the "
        "real places are kept, and the sum is divided by how many they are.",
    ),
    mistakes=(
        Mistake(
            "padding-counted",
            Edit("losses[target != padding].mean()", "losses.mean()"),
            "The padding takes part in your mean. It is no text, and a model soon finds it easy.",
        ),
        Mistake(
            "divided-by-all-places",
            Edit("losses[target != padding].mean()", "(losses * (target != padding)).mean()"),
            "You set the loss of the padding to zero, and then divided by all places. Divide by the real ones.",
        ),
        Mistake(
            "spread-over-the-wrong-tokens",
            Edit("log_p.mean(dim=-1)", "(log_p.sum(dim=-1) - right) / (scores.shape[-1] - 1)"),
            "You spread the smoothing over the wrong tokens only. Here the right one gets its even share too.",
        ),
        Mistake(
            "spread-over-the-others",
            _spread_over_the_others,
            "You spread the smoothing over the tokens that are neither the right one nor padding, as the Annotated "
            "Transformer does. Here every token of the vocabulary gets an even share.",
        ),
        Mistake(
            "not-smoothed",
            Edit("-(1 - smoothing) * right - smoothing * log_p.mean(dim=-1)", "-right"),
            "The smoothing has no effect in your loss.",
        ),
        Mistake(
            "shares-swapped",
            (
                Edit("-(1 - smoothing) * right", "-smoothing * right"),
                Edit("- smoothing * log_p", "- (1 - smoothing) * log_p"),
            ),
            "The two shares are swapped: the smoothing is the small part, the one that is spread.",
        ),
        Mistake(
            "spread-not-divided",
            Edit("log_p.mean(dim=-1)", "log_p.sum(dim=-1)"),
            "Each token gets the whole smoothing instead of an even share of it: divide by the size of the vocabulary.",
        ),
        Mistake(
            "summed",
            Edit("padding].mean()", "padding].sum()"),
            "You returned a sum over the places. The loss is a mean, so that long batches do not count more.",
        ),
        Mistake(
            "mean-of-rows",
            Edit(
                "losses[target != padding].mean()",
                "((losses * (target != padding)).sum(dim=1) / (target != padding).sum(dim=1)).mean()",
            ),
            "You averaged each row and then the rows: a token of a short row counts more than one of a long row.",
        ),
        Mistake(
            "softmax-twice",
            Edit("scores.log_softmax(dim=-1)", "scores.softmax(dim=-1).log_softmax(dim=-1)"),
            "You took the softmax before the logarithm of the softmax. The scores go in as they are.",
        ),
        Mistake(
            "over-the-wrong-axis",
            Edit("log_softmax(dim=-1)", "log_softmax(dim=1)"),
            "Your softmax runs over the positions. The vocabulary is the last axis.",
        ),
    ),
)
