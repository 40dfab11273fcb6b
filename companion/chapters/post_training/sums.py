"""The task of the pages on rewards: write digits from 1 to 9 that add up to the number in the prompt.

A checker sees whether an answer is right. A judge that compares two answers likes right ones, and also more digits, up
to four; its choices are noisy.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from companion.config import ModelConfig
from companion.generate import sample
from companion.training import evaluating
from companion.transformer import DecoderOnly

END, LONGEST = 0, 12
TARGETS = range(4, 13)
RIGHT, DIGIT, ENOUGH = 2.0, 0.5, 4
"""What the judge gives for a right sum, what for each digit, and the number of digits beyond which it gives no more."""


class Answers(NamedTuple):
    """Prompts with their answers.

    Args:
        tokens: the prompt, the digits and the end, filled up with more ends.
        written: which tokens the model has chosen: digits and the first end, unless the answer was cut off.
    """

    tokens: Int[Tensor, "batch t"]
    written: Bool[Tensor, "batch t"]

    def pick(self, rows: Shaped[Tensor, " rows"]) -> "Answers":
        """Take some rows.

        Args:
            rows: their numbers, or a mask.

        Returns:
            These answers.
        """
        return Answers(self.tokens[rows], self.written[rows])


def config() -> ModelConfig:
    """Return the sizes of every network here, about 26,000 parameters: two layers of width 32."""
    kinds = {"position": "learned", "activation": "gelu-tanh", "norm_placement": "pre", "scale_embedding": False}
    sizes = {"d_model": 32, "n_layers": 2, "n_heads": 4, "d_ff": 128, "max_len": LONGEST + 2}
    return ModelConfig(vocab=TARGETS.stop + 10, dropout=0.0, tied=False, **sizes, **kinds)


def prompts(count: int, generator: torch.Generator) -> Int[Tensor, "count 1"]:
    """Draw numbers to be reached; the token of a number is 10 more than it.

    Args:
        count: how many.
        generator: of the draws.

    Returns:
        One token a row.
    """
    return torch.randint(TARGETS.start, TARGETS.stop, (count, 1), generator=generator) + 10


def as_answers(prompt: Int[Tensor, "batch p"], digits: Int[Tensor, "batch t"]) -> Answers:
    """Put prompts and digits together.

    Args:
        prompt: as drawn.
        digits: from 1 to 9, or other tokens; what comes after an end is the end again.

    Returns:
        The answers, which all have an end.
    """
    ends = (digits == END).long().cumsum(1)
    last = torch.full_like(prompt[:, :1], END)
    written = torch.cat([torch.zeros_like(prompt).bool(), ends <= 1, torch.zeros_like(last).bool()], dim=1)
    return Answers(torch.cat([prompt, digits.masked_fill(ends > 0, END), last], dim=1), written)


def write(
    model: DecoderOnly, prompt: Int[Tensor, "batch p"], generator: torch.Generator, longest: int = LONGEST
) -> Answers:
    """Let a model write an answer to each prompt; what is longer is cut off.

    Args:
        model: a policy.
        prompt: as drawn.
        generator: of the draws.
        longest: tokens of an answer at most.

    Returns:
        The answers.
    """
    with evaluating(model):
        digits = sample(model, prompt, longest, generator=generator, end=END)
    missing = digits.new_full((len(prompt), longest - digits.shape[1]), END)
    return as_answers(prompt, torch.cat([digits, missing], dim=1))


def lengths(answers: Answers) -> Int[Tensor, " batch"]:
    """Count the digits of answers; of prompts longer than one token, all tokens after the first.

    Args:
        answers: any.

    Returns:
        One number an answer.
    """
    return (answers.tokens[:, 1:] != END).sum(dim=1)


def is_right(answers: Answers) -> Bool[Tensor, " batch"]:
    """Check answers: the verifiable reward.

    Args:
        answers: any.

    Returns:
        Whether the digits, and nothing else, add up to the number in the prompt.
    """
    digits = answers.tokens[:, 1:]
    return (digits.sum(dim=1) == answers.tokens[:, 0] - 10) & (digits < 10).all(dim=1)


def judged(answers: Answers) -> Float[Tensor, " batch"]:
    """Say how much the judge likes answers.

    Args:
        answers: any.

    Returns:
        2 for a right sum, and 0.5 for each of the first four digits.
    """
    return RIGHT * is_right(answers) + DIGIT * lengths(answers).clamp(max=ENOUGH)


def demonstrations(count: int, generator: torch.Generator) -> Answers:
    """Draw the answers for supervised fine-tuning: one to four digits, of which half have a random last digit.

    Args:
        count: how many.
        generator: of the draws.

    Returns:
        The answers.
    """
    prompt = prompts(count, generator)
    left, digits = prompt[:, 0] - 10, torch.zeros(count, LONGEST, dtype=torch.long)
    wanted = torch.randint(1, 5, (count,), generator=generator)
    for place in range(ENOUGH):
        remaining = (wanted - place - 1).clamp(min=0)  # digits that must follow, each at least 1
        high = (left - remaining).clamp(1, 9)
        drawn = 1 + (torch.rand(count, generator=generator) * high).long()
        digit = torch.where(remaining == 0, left.clamp(max=9), drawn) * (left > 0)
        digits[:, place], left = digit, left - digit
    last = (digits > 0).sum(1, keepdim=True) - 1
    wrong = torch.rand(count, 1, generator=generator) < 0.5
    other = torch.randint(1, 10, (count, 1), generator=generator)
    return as_answers(prompt, digits.scatter(1, last, torch.where(wrong, other, digits.gather(1, last))))


class Pairs(NamedTuple):
    """Two answers to each prompt.

    Args:
        chosen: what the judge likes better.
        rejected: the other.
    """

    chosen: Answers
    rejected: Answers


def compare(model: DecoderOnly, count: int, generator: torch.Generator, *, against: DecoderOnly | None = None) -> Pairs:
    """Let two answers to each prompt be written, and the judge choose.

    Args:
        model: writes one answer.
        count: of pairs.
        generator: of the draws.
        against: writes the other; ``None``: the same model.

    Returns:
        The pairs; the judge prefers a to b with probability sigma(judged(a) - judged(b)).
    """
    prompt = prompts(count, generator)
    a, b = (write(writer, prompt, generator) for writer in (model, against or model))
    first = torch.rand(count, generator=generator) < (judged(a) - judged(b)).sigmoid()
    mixed = [
        Answers(torch.where(one[:, None], a.tokens, b.tokens), torch.where(one[:, None], a.written, b.written))
        for one in (first, ~first)
    ]
    return Pairs(*mixed)
