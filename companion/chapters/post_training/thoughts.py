"""The task of the page on reasoning: add digits modulo 10, after as many written steps as the model likes.

A problem is two to eight digits. A thought is the sum of the first two digits, of the first three, and so on, each
modulo 10; then comes a sign, and the answer. Demonstrations stop their thought anywhere, and then answer rightly.

Chapter: book/post-training/reasoning.
"""

from functools import cache

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from companion.chapters.post_training.policies import BATCH, RATE, log_probabilities, scalar_model, score, step
from companion.chapters.post_training.sums import END, Answers, as_answers, write
from companion.config import ModelConfig
from companion.training import evaluating
from companion.transformer import DecoderOnly

DIGITS = 8
THINK, ANSWER, EMPTY = 11, 12, 13
"""Tokens behind those of the digits, which are one more than the digit: 0 is the end."""
LONGEST = DIGITS + 3
"""Tokens of an answer at most: one thought more than a problem can need, the sign, the answer, the end."""
LEARN, SCORER_STEPS, LABELS, ROUNDS = 500, 400, 4000, 100
"""Steps of fine-tuning and of the scorer's training, its labelled answers, and rounds of GRPO."""
Problems = Int[Tensor, "batch 9"]


def config(layers: int = 2) -> ModelConfig:
    """Return the sizes of every network here: width 32.

    Args:
        layers: one or two.

    Returns:
        The sizes.
    """
    kinds = {"position": "learned", "activation": "gelu-tanh", "norm_placement": "pre", "scale_embedding": False}
    sizes = {"d_model": 32, "n_layers": layers, "n_heads": 4, "d_ff": 128, "max_len": DIGITS + LONGEST + 2}
    return ModelConfig(vocab=EMPTY + 1, dropout=0.0, tied=False, **sizes, **kinds)


def problems(count: int, generator: torch.Generator, digits: int | None = None) -> Problems:
    """Draw problems.

    Args:
        count: how many.
        generator: of the draws.
        digits: of each; ``None``: two to eight.

    Returns:
        Digits, empty places up to eight, and the sign that asks for an answer.
    """
    drawn = torch.randint(10, (count, DIGITS), generator=generator) + 1
    many = torch.randint(2, DIGITS + 1, (count, 1), generator=generator) if digits is None else digits
    drawn = torch.where(torch.arange(DIGITS) < many, drawn, EMPTY)
    return F.pad(drawn, (0, 1), value=THINK)


def solved(problem: Problems) -> tuple[Int[Tensor, "batch 8"], Int[Tensor, " batch"]]:
    """Solve problems.

    Args:
        problem: as drawn.

    Returns:
        The sum of the first digits up to each, modulo 10; and how many steps a whole thought has.
    """
    there = problem[:, :DIGITS] != EMPTY
    return ((problem[:, :DIGITS] - 1) * there).cumsum(1) % 10, there.sum(1) - 1


def thinking(problem: Problems, steps: Int[Tensor, " batch"]) -> Answers:
    """Write right thoughts of given lengths, and right answers.

    Args:
        problem: as drawn.
        steps: of each thought.

    Returns:
        The demonstrations.
    """
    sums, _ = solved(problem)
    place, steps = torch.arange(LONGEST), steps[:, None]
    thought = F.pad(sums[:, 1:] + 1, (0, LONGEST - DIGITS + 1), value=END)
    tokens = torch.where(place < steps, thought, END)
    tokens = torch.where(place == steps, ANSWER, tokens)
    return as_answers(problem, torch.where(place == steps + 1, sums[:, -1:] + 1, tokens))


def demonstrations(count: int, generator: torch.Generator, *, thought: bool = True) -> Answers:
    """Draw what a model is fine-tuned on.

    Args:
        count: how many.
        generator: of the draws.
        thought: whether there is one; it stops anywhere, also before its first step.

    Returns:
        Right answers.
    """
    problem = problems(count, generator)
    drawn = (torch.rand(count, generator=generator) * (solved(problem)[1] + 1)).long()
    return thinking(problem, drawn * thought)


@cache
def base(seed: int, *, thought: bool = True) -> DecoderOnly:
    """Fine-tune a new model on demonstrations.

    Args:
        seed: of the parameters and the demonstrations.
        thought: as in :func:`demonstrations`.

    Returns:
        Not to be changed: it is kept for the next call.
    """
    generator, model = torch.Generator().manual_seed(seed), DecoderOnly(config(), seed=seed)
    adam = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(LEARN):
        answers = demonstrations(BATCH, generator, thought=thought)
        step(adam, -log_probabilities(model, answers).sum() / answers.written.sum())
    return model


def think(model: DecoderOnly, problem: Problems, generator: torch.Generator) -> Answers:
    """Let a model think as long as it likes, and answer.

    Args:
        model: a policy.
        problem: as drawn.
        generator: of the draws.

    Returns:
        What it wrote.
    """
    return write(model, problem, generator, LONGEST)


def said(answers: Answers) -> tuple[Int[Tensor, " batch"], Int[Tensor, " batch"]]:
    """Read answers.

    Args:
        answers: of a model.

    Returns:
        The digit behind the sign, -1 where there is none; and the tokens of thought before the sign.
    """
    new = answers.tokens[:, DIGITS + 1 :]
    count, row = (new != END).sum(1), torch.arange(len(new))
    digit, sign = (new[row, (count - back).clamp(min=0)] for back in (1, 2))
    there = (count >= 2) & (sign == ANSWER) & (digit >= 1) & (digit <= 10)
    return torch.where(there, digit - 1, -1), (count - 2).clamp(min=0)


def is_right(answers: Answers) -> Bool[Tensor, " batch"]:
    """Check answers, and not their thoughts.

    Args:
        answers: of a model.

    Returns:
        Whether the digit behind the sign is the sum.
    """
    return said(answers)[0] == solved(answers.tokens[:, : DIGITS + 1])[0][:, -1]


def forced(model: DecoderOnly, problem: Problems, tokens: int, *, shift_at: int | None = None) -> Int[Tensor, " batch"]:
    """Make a model think for a given number of tokens, the likeliest digits, and then answer.

    Args:
        model: a policy.
        problem: as drawn.
        tokens: of thought.
        shift_at: the place of a thought to which 1 is added, modulo 10, before the model goes on.

    Returns:
        The answers.
    """
    row = problem
    with evaluating(model):
        for place in range(tokens + 1):
            if place == tokens:
                row = F.pad(row, (0, 1), value=ANSWER)
            digit = model(row)[:, -1, 1:11].argmax(-1)
            row = torch.cat([row, (digit + (place == shift_at))[:, None] % 10 + 1], dim=1)
    return row[:, -1] - 1


def vote(answers: Int[Tensor, "problems n"], weights: Float[Tensor, "problems n"] | None = None) -> Int[Tensor, " p"]:
    """Return the commonest answer to each problem.

    Args:
        answers: digits; -1 does not count.
        weights: of each answer; ``None``: all equal.

    Returns:
        One digit a problem; of equally common ones the smallest.
    """
    weights = torch.ones_like(answers, dtype=torch.float) if weights is None else weights
    return (F.one_hot(answers + 1, 11)[..., 1:] * weights[..., None]).sum(1).argmax(1)


@cache
def scorer(seed: int) -> DecoderOnly:
    """Train a scorer on answers of the base that were checked.

    Args:
        seed: of the base, the answers and the draws.

    Returns:
        A model that gives the log-odds of a right answer.
    """
    generator = torch.Generator().manual_seed(seed + 100)
    answers = think(base(seed), problems(LABELS, generator), generator)
    right, model = is_right(answers).float(), scalar_model(base(seed), seed)
    adam = torch.optim.Adam(model.parameters(), lr=RATE)
    for _ in range(SCORER_STEPS):
        rows = torch.randint(LABELS, (BATCH,), generator=generator)
        step(adam, F.binary_cross_entropy_with_logits(score(model, answers.pick(rows)), right[rows]))
    return model


@cache
def distilled(seed: int, teacher: DecoderOnly, *, thought: bool) -> DecoderOnly:
    """Train a new model of one layer on right answers of a teacher.

    Args:
        seed: of the parameters and the draws.
        teacher: a policy.
        thought: whether the student sees the thoughts, or the answers alone.

    Returns:
        The student.
    """
    generator = torch.Generator().manual_seed(seed + 200)
    answers = think(teacher, problems(LABELS, generator), generator)
    answers = answers.pick(is_right(answers))
    if not thought:
        answers = thinking(answers.tokens[:, : DIGITS + 1], torch.zeros(len(answers.tokens), dtype=torch.long))
    student = DecoderOnly(config(layers=1), seed=seed)
    adam = torch.optim.Adam(student.parameters(), lr=3e-3)
    for _ in range(LEARN):
        rows = answers.pick(torch.randint(len(answers.tokens), (BATCH,), generator=generator))
        step(adam, -log_probabilities(student, rows).sum() / rows.written.sum())
    return student
