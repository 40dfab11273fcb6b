"""Drills on what is measured and trained: ``perplexity`` and ``mask-tokens``."""

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _perplexity(losses: Tensor, real: Tensor, n_bytes: int) -> tuple[Tensor, Tensor]:
    kept = losses[real]
    bit = torch.tensor(2.0, dtype=losses.dtype).log()  # in nats
    return kept.mean().exp(), kept.sum() / n_bytes / bit


def _multiplied(losses: Tensor, real: Tensor, n_bytes: int) -> tuple[Tensor, Tensor]:
    total = (losses * real).sum()
    return (total / real.sum()).exp(), total / n_bytes / torch.tensor(2.0, dtype=losses.dtype).log()


def _perplexity_cases() -> list[Case]:
    draw = RandomInputs(66)

    def batch(lengths: list[int], n_bytes: int, junk: float = 1.0) -> tuple:
        t = max(lengths) + 1
        real = torch.arange(t) < torch.tensor(lengths)[:, None]
        losses = draw.normal(len(lengths), t, dtype=F32).abs()
        return torch.where(real, losses, junk * losses), real, n_bytes

    by_hand = torch.tensor([[1.0, 2.0, 9.0]]) * torch.tensor(2.0).log(), torch.tensor([[True, True, False]]), 6
    return [
        Case(by_hand, "the example"),
        Case(batch([1], 3), "one token"),
        Case(batch([2, 3], 11)),
        Case(batch([5, 2, 4], 37)),
        Case(batch([4, 4], 20)),
        Case(batch([7, 1], 5), "a text of long tokens and one token"),
        Case(batch([3, 8, 5, 2], 61, junk=30.0), "large losses in the padding"),
        Case((torch.tensor([[1e3, 1.0]], dtype=F64), torch.tensor([[False, True]]), 12), "padding in front"),
        Case((torch.tensor([[1.0, 9.0, 2.0]]), torch.tensor([[True, False, True]]), 12), "a gap"),
        Case((torch.tensor([[1.0, torch.inf]]), torch.tensor([[True, False]]), 2), "an infinite loss in the padding"),
        Case((torch.tensor([[150.0, 0.0]], dtype=F64), torch.ones(1, 2, dtype=bool), 7), "a real loss of 150"),
    ]


PERPLEXITY = Exercise(
    name="perplexity",
    title="Turn losses into perplexity and bits per byte",
    chapter="exercises",
    level=1,
    place=16,
    minutes=10,
    topic="training",
    same_dtype=True,
    reference=_perplexity,
    cases=_perplexity_cases,
    tested="one token, rows of several lengths, padding in front and inside, large and infinite losses in it, a "
    "large loss of a real token, both dtypes",
    returns=("perplexity", "bits_per_byte"),
    hints=(
        "Both measures begin with the losses of the real tokens only. One needs their mean, the other their sum: "
        "which?",
        "Perplexity undoes the logarithm of the mean loss. Bits per byte do not know of tokens: the information in the "
        "whole text, shared out over its bytes.",
        "The losses are in nats, and one bit is ln 2 nats. So divide the sum by the bytes and by ln 2; the base of the "
        "perplexity is e, since the losses are natural logarithms.",
    ),
    mistakes=(
        Mistake(
            "padding-counted",
            Edit("losses[real]", "losses"),
            "The losses of the padding take part in your answer.",
        ),
        Mistake(
            "zero-times-infinity",
            _multiplied,
            "You multiply the losses of the padding by 0. An infinite loss times 0 is NaN: pick the real ones instead.",
        ),
        Mistake(
            "mean-of-rows",
            Edit("kept.mean()", "(losses.where(real, 0.0).sum(dim=1) / real.sum(dim=1)).mean()"),
            "You averaged each row and then the rows: a token of a short row then counts more.",
        ),
        Mistake(
            "two-to-the-mean",
            Edit("kept.mean().exp()", "2 ** kept.mean()"),
            "You raised 2 to the mean loss. The losses are natural logarithms.",
        ),
        Mistake(
            "mean-of-powers",
            Edit("kept.mean().exp()", "kept.exp().mean()"),
            "You exponentiated each loss and then averaged. The mean comes first: perplexity is a geometric mean.",
        ),
        Mistake(
            "nats",
            Edit(" / bit", ""),
            "Your second number is in nats per byte. A bit is ln 2 nats.",
        ),
        Mistake(
            "multiplied-by-ln-2",
            Edit("/ bit", "* bit"),
            "You multiplied by ln 2. A bit is less than a nat, so the number in bits is larger.",
        ),
        Mistake(
            "per-token",
            Edit("kept.sum() / n_bytes", "kept.mean()"),
            "Your second number is in bits per token. It then depends on how the text is cut into tokens.",
        ),
        Mistake(
            "mean-over-all-places",
            Edit("kept.mean()", "(kept.sum() / losses.numel())"),
            "You divide by the number of all places, those of the padding too. The mean is over real tokens.",
        ),
        Mistake(
            "mean-over-bytes",
            Edit("kept.sum() / n_bytes", "kept.mean() / n_bytes"),
            "You shared out the mean loss of a token over the bytes. The text's information is the sum of the losses.",
        ),
        Mistake(
            "swapped",
            lambda losses, real, n_bytes: _perplexity(losses, real, n_bytes)[::-1],
            "The two results have changed places: the perplexity comes first.",
        ),
    ),
)


def _mask_tokens(
    tokens: Tensor, special: Tensor, chance: Tensor, action: Tensor, other: Tensor, mask_id: int
) -> tuple[Tensor, Tensor]:
    picked = (chance < 0.15) & ~special
    inputs = torch.where(picked & (action < 0.8), mask_id, tokens)
    inputs = torch.where(picked & (action >= 0.8) & (action < 0.9), other, inputs)
    return inputs, torch.where(picked, tokens, -100)


def _mask_cases() -> list[Case]:
    generator = torch.Generator().manual_seed(67)

    def batch(n: int, t: int, keen: float, mask_id: int = 103) -> tuple:
        tokens = torch.randint(5, 90, (n, t), generator=generator)
        special = torch.rand(n, t, generator=generator) < 0.2
        chance, action = (torch.rand(n, t, generator=generator) for _ in range(2))
        return tokens, special, chance * keen, action, torch.randint(5, 90, (n, t), generator=generator), mask_id

    by_hand = (
        torch.tensor([[1, 20, 21, 22, 23]]),
        torch.tensor([[True, False, False, False, False]]),
        torch.tensor([[0.1, 0.1, 0.1, 0.1, 0.9]]),
        torch.tensor([[0.1, 0.1, 0.85, 0.95, 0.1]]),
        torch.tensor([[30, 31, 32, 33, 34]]),
        99,
    )
    borders = (
        torch.tensor([[20, 21, 22, 23]]),
        torch.zeros(1, 4, dtype=torch.bool),
        torch.tensor([[0.1, 0.1, 0.15, 0.1]], dtype=torch.float64),
        torch.tensor([[0.8, 0.9, 0.1, 0.0]], dtype=torch.float64),
        torch.tensor([[30, 31, 32, 33]]),
        99,
    )
    held = (
        torch.tensor([[127, 127, 20]]),
        torch.zeros(1, 3, dtype=torch.bool),
        torch.tensor([[0.1, 0.1, 0.1]]),
        torch.tensor([[0.85, 0.1, 0.85]]),
        torch.tensor([[30, 31, 127]]),
        127,
    )
    return [
        Case(by_hand, "the example"),
        Case(batch(1, 7, 0.3)),
        Case(batch(2, 11, 0.2, mask_id=4)),
        Case(batch(3, 13, 1.0), "few picked"),
        Case(batch(2, 17, 0.1), "all picked"),
        Case(batch(4, 12, 0.4)),
        Case(batch(5, 30, 0.3), "a large batch"),
        Case(borders, "draws on the borders"),
        Case(held, "texts that hold the mask"),
    ]


MASK_TOKENS = Exercise(
    name="mask-tokens",
    title="Corrupt tokens for a masked language model",
    chapter="exercises",
    level=2,
    place=17,
    minutes=15,
    topic="training",
    reference=_mask_tokens,
    cases=_mask_cases,
    tested="few and many picked tokens, special tokens, three ways to corrupt, draws on the borders, masks in a text",
    returns=("inputs", "labels"),
    hints=(
        "Two decisions a token: is it picked, and if so, what happens to it? The draws for both are given, so nothing "
        "is random here.",
        "Picked are tokens with a small `chance` that are not special. Of these, `action` decides between hidden, "
        "replaced and left as it is; the borders are 0.8 and 0.9.",
        "The labels do not ask what happened: every picked token is to be said, also one that was left as it is. "
        "Elsewhere stands -100, which the loss of torch passes over.",
    ),
    mistakes=(
        Mistake(
            "special-tokens-masked",
            Edit(" & ~special", ""),
            "Special tokens are picked too. They carry no text, and there is nothing to learn from them.",
        ),
        Mistake(
            "labels-everywhere",
            Edit("torch.where(picked, tokens, -100)", "tokens"),
            "Every token has a label. The model would be trained to copy what it sees.",
        ),
        Mistake(
            "labels-where-changed",
            Edit("torch.where(picked, tokens, -100)", "torch.where(inputs != tokens, tokens, -100)"),
            "Picked tokens that were left as they are have no label in your answer. They are what teaches the model to "
            "keep a right token.",
            also=(Edit("torch.where(picked, tokens", "torch.where(picked & (action < 0.9), tokens"),),
        ),
        Mistake(
            "border-included",
            Edit("chance < 0.15", "chance <= 0.15"),
            "A draw on a border goes to the wrong side. Picked is what lies below 0.15, hidden what lies below 0.8, "
            "and from 0.9 on a token stays.",
            also=(
                (Edit("action < 0.8", "action <= 0.8"), Edit("action >= 0.8", "action > 0.8")),
                Edit("action < 0.9", "action <= 0.9"),
                (
                    Edit("chance < 0.15", "chance <= 0.15"),
                    Edit("action < 0.8", "action <= 0.8"),
                    Edit("action >= 0.8", "action > 0.8"),
                    Edit("action < 0.9", "action <= 0.9"),
                ),
            ),
        ),
        Mistake(
            "always-hidden",
            (
                Edit("picked & (action < 0.8)", "picked"),
                Edit("torch.where(picked & (action >= 0.8) & (action < 0.9), other, inputs)", "inputs"),
            ),
            "Every picked token is hidden. One in ten is replaced and one in ten stays.",
        ),
        Mistake(
            "replaced-and-kept-swapped",
            Edit("(action >= 0.8) & (action < 0.9)", "(action >= 0.9)"),
            "You replace where `action` is 0.9 or more. Between 0.8 and 0.9 a token is replaced, above it stays.",
        ),
        Mistake(
            "corrupted-labels",
            Edit("torch.where(picked, tokens, -100)", "torch.where(picked, inputs, -100)"),
            "Your labels are the corrupted tokens. The model has to say the true ones.",
        ),
        Mistake(
            "labels-where-hidden",
            Edit("torch.where(picked, tokens", "torch.where(picked & (action < 0.8), tokens"),
            "Only hidden tokens have labels in your answer. Those that were replaced or left as they are have one too.",
        ),
        Mistake(
            "zero-for-no-label",
            Edit("tokens, -100)", "tokens, 0)"),
            "Where no token was picked your label is 0, which is a token. It is -100, which the loss passes over.",
        ),
        Mistake(
            "labels-turned-round",
            Edit("torch.where(picked, tokens, -100)", "torch.where(picked, -100, tokens)"),
            "Your labels stand where no token was picked. The picked ones are asked for.",
        ),
        Mistake(
            "never-left-as-it-is",
            Edit("(action >= 0.8) & (action < 0.9)", "(action >= 0.8)"),
            "You replace every picked token that is not hidden. From 0.9 on it stays as it is.",
        ),
        Mistake(
            "replaced-unpicked",
            Edit("picked & (action >= 0.8)", "(action >= 0.8)"),
            "You change tokens that were not picked. `action` counts for picked ones only.",
            also=(
                Edit("picked & (action < 0.8)", "(action < 0.8)"),
                (
                    Edit("picked & (action >= 0.8)", "(action >= 0.8)"),
                    Edit("picked & (action < 0.8)", "(action < 0.8)"),
                ),
            ),
        ),
    ),
)
