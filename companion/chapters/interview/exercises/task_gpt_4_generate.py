"""Last stage of a small GPT: ``gpt-generate``, and the task of all four stages."""

from collections.abc import Callable

import torch
from torch import Tensor

from companion.chapters.interview.exercises.task_gpt_1_block import BLOCK
from companion.chapters.interview.exercises.task_gpt_2_loss import (
    LOSS,
    Weights,
    _logits,
    _no_blocks,
    _stacked,
    _weights,
)
from companion.chapters.interview.exercises.task_gpt_3_step import STEP
from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs
from companion.practice.task import Task

F32, F64 = torch.float32, torch.float64
Answer = Callable[..., object]


def _generate(prompt: Tensor, draws: Tensor, weights: Weights, n_heads: int, temperature: float, end: int) -> Tensor:
    tokens, longest = prompt, len(weights["positions"])
    ended = torch.zeros(len(prompt), dtype=torch.bool)
    for draw in draws.mT:
        logits = _logits(tokens[:, -longest:], weights, n_heads)[:, -1]
        if temperature == 0:
            new = logits.argmax(dim=-1)
        else:
            sums = (logits / temperature).softmax(dim=-1).cumsum(dim=-1)
            new = (sums <= draw[:, None]).sum(dim=-1).clamp(max=logits.shape[-1] - 1)
        new = new.masked_fill(ended, end)
        ended = ended | (new == end)
        tokens = torch.cat([tokens, new[:, None]], dim=1)
    return tokens


def _generate_trial(
    answer: Answer,
    prompt: Tensor,
    draws: Tensor,
    table: Tensor,
    positions: Tensor,
    gain: Tensor,
    gain_1: Tensor,
    w_qkv: Tensor,
    w_o: Tensor,
    gain_2: Tensor,
    w_up: Tensor,
    w_down: Tensor,
    n_heads: int,
    temperature: float,
    end: int,
) -> object:
    """Call the answer once, with the weights named."""
    weights = _weights(table, positions, gain, gain_1, w_qkv, w_o, gain_2, w_up, w_down)
    return answer(prompt, draws, weights, n_heads, temperature, end)


def _generate_cases() -> list[Case]:
    draw = RandomInputs(174)
    generator = torch.Generator().manual_seed(175)

    def text(
        batch: int,
        t: int,
        n_new: int,
        longest: int,
        vocab: int,
        n_layers: int,
        dtype: torch.dtype,
        temperature: float,
        end: int,
        scale: float = 1.0,
    ) -> tuple:
        table, *rest = _stacked(draw, vocab, longest, n_layers, 2, 3, dtype)
        prompt = torch.randint(0, vocab, (batch, t), generator=generator)
        draws = torch.rand(batch, n_new, generator=generator, dtype=F64).to(dtype)
        return prompt, draws, scale * table, *rest, temperature, end

    by_hand = torch.tensor([[0]]), torch.tensor([[0.5, 0.9]]), *_no_blocks(), 1.0, 1
    prompt, _, table, *rest = by_hand
    alike = prompt, torch.full((1, 2), 0.9), table[[2, 0, 0]], *rest[:-2], 0.0, 0
    many = (
        torch.ones(2000, 1, dtype=torch.long),
        (torch.arange(2000)[:, None] + 0.37) / 2000,
        table,
        *rest[:-2],
        0.3,
        1,
    )
    lowest = text(3, 2, 3, 9, 8, 1, F64, 1.0, 7, 1e4)
    lowest = lowest[0], torch.zeros_like(lowest[1]), *lowest[2:]
    vocab = 20
    table, *rest = draw.normal(vocab, 2, dtype=F32), torch.zeros(1, 2), torch.ones(2), *by_hand[5:-2]
    last = torch.arange(vocab)[:, None], torch.full((vocab, 1), 1 - 2**-24), table, *rest, 1.0, 0
    return [
        Case(by_hand, "the example"),
        Case(alike, "greedy, equal logits"),
        Case(text(2, 3, 0, 4, 5, 1, F64, 1.0, 4), "nothing to write"),
        Case(text(3, 2, 6, 8, 11, 2, F64, 0.0, 10), "greedy"),
        Case(text(4, 1, 7, 8, 9, 1, F32, 1.0, 8), "a prompt of one token"),
        Case(text(4, 3, 6, 9, 7, 2, F64, 0.3, 6), "colder"),
        Case(text(4, 3, 6, 9, 7, 2, F64, 3.0, 6), "hotter"),
        Case(text(9, 3, 8, 5, 9, 2, F64, 2.0, 8), "beyond the last position"),
        Case(text(8, 7, 4, 5, 9, 1, F64, 0.0, 8), "a prompt longer than the positions, greedy"),
        Case(text(6, 2, 8, 10, 3, 1, F64, 2.0, 0), "texts that end, prompts that hold the end"),
        Case(many, "two thousand draws"),
        Case(lowest, "a large table, draws of 0"),
        Case(last, "draws just below 1"),
    ]


GENERATE = Exercise(
    name="gpt-generate",
    title="Write the generation loop",
    chapter="task-gpt",
    topic="generation",
    level=2,
    place=4,
    minutes=10,
    reference=_generate,
    cases=_generate_cases,
    trial=_generate_trial,
    tested="greedy and three temperatures; no new token, texts beyond the positions, texts that end, draws of 0 "
    "and just below 1",
    hints=(
        "One round: what does the model read, which of its outputs do you need, and how does a token come out of it? "
        "Then look at what changes from round to round.",
        "The model has positions for so many tokens and no more: it reads the last ones. Of the logits you need those "
        "of the last position. A temperature of 0 needs a way of its own.",
        "Running sums of the probabilities, and the number of those that do not exceed the draw is the token. A vector "
        "of booleans remembers which texts have ended, and only new tokens can end one.",
    ),
    mistakes=(
        Mistake(
            "whole-text-read",
            Edit("tokens[:, -longest:]", "tokens"),
            "Your model reads more tokens than it has positions. It reads the last ones only.",
        ),
        Mistake(
            "first-tokens-read",
            Edit("tokens[:, -longest:]", "tokens[:, :longest]"),
            "Beyond the last position your model reads the first tokens of the text over and over. It reads the last "
            "ones.",
        ),
        Mistake(
            "one-fewer-read",
            Edit("-longest:", "1 - longest:"),
            "Your model reads one token fewer than it has positions.",
        ),
        Mistake(
            "only-the-last-token",
            Edit("tokens[:, -longest:]", "tokens[:, -1:]"),
            "Your model reads the newest token alone. Without a cache it has to read the whole text.",
        ),
        Mistake(
            "first-position",
            Edit("n_heads)[:, -1]", "n_heads)[:, 0]"),
            "You take the logits of the first position. The next token comes from the last one.",
        ),
        Mistake(
            "always-greedy",
            Edit("if temperature == 0:", "if temperature >= 0:"),
            "You take the most probable token at every temperature.",
        ),
        Mistake(
            "temperature-ignored",
            Edit("logits / temperature", "logits"),
            "The temperature has no effect.",
        ),
        Mistake(
            "temperature-multiplied",
            Edit("logits / temperature", "logits * temperature"),
            "You multiply by the temperature. Logits are divided by it: below 1 the probabilities get sharper.",
        ),
        Mistake(
            "probabilities-divided",
            Edit(
                "(logits / temperature).softmax(dim=-1).cumsum(dim=-1)",
                "(logits.softmax(dim=-1) / temperature).cumsum(dim=-1)",
            ),
            "You divide the probabilities by the temperature, so they no longer sum to 1. The logits are divided.",
        ),
        Mistake(
            "zero-divides",
            Edit("if temperature == 0:", "if temperature < 0:"),
            "At temperature 0 you divide by 0. It stands for the most probable token.",
        ),
        Mistake(
            "equal-to-the-draw",
            Edit("sums <= draw", "sums < draw"),
            "Your running sum may equal the draw. It has to exceed it: with a draw of 0, a first token of probability "
            "0 would be written.",
        ),
        Mistake(
            "beyond-the-vocabulary",
            Edit(".clamp(max=logits.shape[-1] - 1)", ""),
            "Where rounding leaves the last running sum below the draw you write a number that is no token. Write the "
            "last token there.",
        ),
        Mistake(
            "last-of-equals",
            Edit("logits.argmax(dim=-1)", "logits.shape[-1] - 1 - logits.flip(-1).argmax(dim=-1)"),
            "Of equal logits you take the largest token. The smallest is asked for.",
        ),
        Mistake(
            "end-ignored",
            Edit("new.masked_fill(ended, end)", "new"),
            "Texts go on after their end.",
        ),
        Mistake(
            "end-in-the-prompt",
            Edit("ended = torch.zeros(len(prompt), dtype=torch.bool)", "ended = (prompt == end).any(dim=1)"),
            "An `end` in the prompt stops your text. Only a new token ends it.",
            also=(Edit("ended = torch.zeros(len(prompt), dtype=torch.bool)", "ended = prompt[:, -1] == end"),),
        ),
        Mistake(
            "all-end-together",
            Edit("ended | (new == end)", "ended | (new == end).any()"),
            "When one text ends, yours all end. Each text of the batch ends by itself.",
        ),
        Mistake(
            "new-tokens-only",
            Edit("return tokens", "return tokens[:, prompt.shape[1] :]"),
            "You return the new tokens alone. The prompt stands in front of them.",
        ),
    ),
)

SMALL_GPT = Task(
    name="small-gpt",
    title="Write a small GPT from an empty file",
    stages=(BLOCK, LOSS, STEP, GENERATE),
)
