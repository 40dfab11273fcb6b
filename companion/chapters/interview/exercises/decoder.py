"""Drill on writing token by token: ``cached-decoder``."""

import math

import torch
from torch import Tensor

from companion.practice.budget import Budget
from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _cached_decoder(
    prompt: Tensor,
    n_new: int,
    table: Tensor,
    positions: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_1: Tensor,
    w_2: Tensor,
) -> tuple[Tensor, Tensor]:
    keys, values = [[] for _ in w_q], [[] for _ in w_q]
    tokens, picked = prompt.tolist(), []
    for place in range(len(prompt) + n_new - 1):
        h = table[tokens[place]] + positions[place]
        for i in range(len(w_q)):
            keys[i].append(h @ w_k[i])
            values[i].append(h @ w_v[i])
            scores = torch.stack(keys[i]) @ (h @ w_q[i]) / math.sqrt(w_q.shape[-1])
            h = h + scores.softmax(dim=0) @ torch.stack(values[i])
            h = h + (h @ w_1[i]).relu() @ w_2[i]
        if place >= len(prompt) - 1:
            picked.append(table @ h)
            tokens.append(int(picked[-1].argmax()))
    return torch.tensor(tokens[len(prompt) :]), torch.stack(picked)


def _recomputed(prompt: Tensor, n_new: int, table: Tensor, positions: Tensor, *weights: Tensor) -> tuple:
    """Write greedily and go through the whole text again for every token."""
    w_q, w_k, w_v, w_1, w_2 = weights
    text, picked = prompt, []
    for _ in range(n_new):
        h = table[text] + positions[: len(text)]
        later = torch.ones(len(text), len(text), dtype=torch.bool).triu(1)
        for i in range(len(w_q)):
            scores = (h @ w_q[i]) @ (h @ w_k[i]).mT / math.sqrt(w_q.shape[-1])
            h = h + scores.masked_fill(later, -torch.inf).softmax(dim=-1) @ (h @ w_v[i])
            h = h + (h @ w_1[i]).relu() @ w_2[i]
        picked.append(table @ h[-1])
        text = torch.cat([text, picked[-1].argmax()[None]])
    return text[len(prompt) :], torch.stack(picked)


def _hidden_by_a_number(
    prompt: Tensor, n_new: int, table: Tensor, positions: Tensor, *weights: Tensor, number: float | None = -1e4
) -> tuple[Tensor, Tensor]:
    w_q, w_k, w_v, w_1, w_2 = weights
    keys, values = ([table.new_zeros(0, table.shape[1]) for _ in w_q] for _ in range(2))
    text, picked, start = prompt, [], 0
    for _ in range(n_new):
        h = table[text[start:]] + positions[start : len(text)]
        for i in range(len(w_q)):
            keys[i], values[i] = torch.cat([keys[i], h @ w_k[i]]), torch.cat([values[i], h @ w_v[i]])
            later = torch.ones(len(h), len(text), dtype=torch.bool).triu(1 + start)
            scores = h @ w_q[i] @ keys[i].mT / math.sqrt(w_q.shape[-1])
            scores = scores if number is None else scores.masked_fill(later, number)
            h = h + scores.softmax(dim=-1) @ values[i]
            h = h + (h @ w_1[i]).relu() @ w_2[i]
        picked.append(table @ h[-1])
        start, text = len(text), torch.cat([text, picked[-1].argmax()[None]])
    return text[len(prompt) :], torch.stack(picked)


def _prompt_not_causal(
    prompt: Tensor, n_new: int, table: Tensor, positions: Tensor, *weights: Tensor
) -> tuple[Tensor, Tensor]:
    return _hidden_by_a_number(prompt, n_new, table, positions, *weights, number=None)


def _decoder_cases() -> list[Case]:
    draw = RandomInputs(60)
    generator = torch.Generator().manual_seed(61)

    def model(t: int, n_new: int, vocab: int, d: int, layers: int, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        table = draw.normal(vocab, d, dtype=dtype, scale=scale)
        positions = draw.normal(t + n_new, d, dtype=dtype, scale=scale)
        weights = [draw.normal(layers, d, d, dtype=dtype, scale=0.5 / d**0.5) for _ in range(3)]
        w_1 = draw.normal(layers, d, 2 * d, dtype=dtype, scale=0.5 / d**0.5)
        w_2 = draw.normal(layers, 2 * d, d, dtype=dtype, scale=0.5 / d**0.5)
        return torch.randint(0, vocab, (t,), generator=generator), n_new, table, positions, *weights, w_1, w_2

    one = torch.ones(1, 1, 1)
    table, positions = torch.tensor([[1.0], [2.0]]), torch.tensor([[1.0], [2.0], [3.0]])
    by_hand = torch.tensor([0]), 2, table, positions, 0 * one, one, one, one, 0 * one
    first, far = torch.tensor([1.0, 0.0]).view(2, 1, 1), torch.tensor([[200.0], [-500.0], [0.0]])
    hidden = torch.tensor([[1.0], [0.5]]), far, first, -first, one.expand(2, 1, 1), *[0 * one.expand(2, 1, 1)] * 2
    return [
        Case(by_hand, "the example"),
        Case(model(2, 1, 5, 3, 1, F64), "one new token, one layer"),
        Case(model(1, 3, 4, 2, 1, F32), "a prompt of one token"),
        Case(model(3, 2, 5, 4, 2, F64), "two layers"),
        Case(model(2, 5, 7, 5, 2, F32)),
        Case(model(4, 4, 6, 6, 3, F64), "three layers"),
        Case(model(5, 48, 11, 8, 2, F64), "a long text"),
        Case(model(3, 5, 7, 4, 2, F64, 1e3), "large numbers"),
        Case((torch.tensor([0, 0]), 1, *hidden), "scores far below 0"),
    ]


def _decoder_budget(prompt: Tensor, n_new: int, table: Tensor, positions: Tensor, w_q: Tensor, *rest: Tensor) -> Budget:
    """Allow three times the products with a cache, once the text is long enough for that to matter."""
    t, (vocab, d), layers = len(prompt) + n_new, table.shape, len(w_q)
    return Budget(work=3 * t * (layers * (7 * d * d + 2 * t * d) + vocab * d)) if n_new >= 16 else Budget()


CACHED_DECODER = Exercise(
    name="cached-decoder",
    title="Write with a cache in every layer",
    chapter="exercises",
    level=3,
    place=9,
    minutes=45,
    topic="generation",
    reference=_cached_decoder,
    cases=_decoder_cases,
    budget=_decoder_budget,
    tested="prompts of one token and more, one to three layers, a long text within a limit of work, scores far "
    "below 0, both dtypes",
    returns=("tokens", "scores"),
    hints=(
        "Write the version without a cache first and keep its numbers. Then ask of each layer: what of the tokens "
        "already read does the next token need?",
        "Each layer keeps its own keys and values, made from that layer's own input. A new token adds one row to each "
        "and looks at all rows. The tokens of the prompt go the same way.",
        "Token number `place` gets `positions[place]`, also while writing. Its path through a layer: append key and "
        "value, attend with one query, add; then the feed-forward branch, add. The last hidden vector meets `table`.",
    ),
    mistakes=(
        Mistake(
            "recomputed",
            _recomputed,
            "For every new token your answer computes again what it had for the earlier ones. Keep the keys and values "
            "of each layer.",
        ),
        Mistake(
            "hidden-by-a-number",
            _hidden_by_a_number,
            "You hide scores by a finite number, and scores far below 0 can be smaller than it. Use -inf.",
        ),
        Mistake(
            "position-zero-again",
            Edit("positions[place]", "positions[0]"),
            "Each token gets position 0. With a cache only one token goes through at a time, but its place in the text "
            "is still that of the whole text.",
        ),
        Mistake(
            "position-one-late",
            Edit("positions[place]", "positions[place + 1]"),
            "Your positions are off by one: the first token of the prompt has position 0.",
        ),
        Mistake(
            "one-cache-for-all-layers",
            Edit("[[] for _ in w_q], [[] for _ in w_q]", "[[]] * len(w_q), [[]] * len(w_q)"),
            "The layers share a cache. The keys of one layer mean nothing to another: each has its own.",
        ),
        Mistake(
            "prompt-not-seen",
            (
                Edit(
                    "        for i in", "        first = len(prompt) if place >= len(prompt) else 0\n        for i in"
                ),
                Edit("stack(keys[i])", "stack(keys[i][first:])"),
                Edit("stack(values[i])", "stack(values[i][first:])"),
            ),
            "While writing, your model sees the new tokens only. The keys of the prompt belong in the cache as well.",
        ),
        Mistake(
            "no-scale",
            Edit(" / math.sqrt(w_q.shape[-1])", ""),
            "You did not divide the scores by the square root of their width.",
        ),
        Mistake(
            "prompt-not-causal",
            _prompt_not_causal,
            "You read the prompt in one pass without a causal mask, so its tokens see later ones, and the cache keeps "
            "what they saw.",
        ),
        Mistake(
            "new-tokens-one-early",
            Edit("positions[place]", "positions[place - (place >= len(prompt))]"),
            "The first new token gets the position of the prompt's last one. Its own is `len(prompt)`.",
        ),
        Mistake(
            "positions-begin-again",
            Edit("positions[place]", "positions[place - len(prompt) * (place >= len(prompt))]"),
            "Your new tokens are counted from 0 again. They go on after the prompt.",
        ),
        Mistake(
            "no-position-while-writing",
            Edit("positions[place]", "positions[place] * (place < len(prompt))"),
            "A token that was written gets no position. It enters as those of the prompt do.",
        ),
        Mistake(
            "prompt-returned",
            Edit("tokens[len(prompt) :]", "tokens"),
            "You returned the prompt with the new tokens. The new ones alone are asked for.",
        ),
        Mistake(
            "probabilities-returned",
            Edit("torch.stack(picked)", "torch.stack(picked).softmax(dim=-1)"),
            "You returned probabilities. Asked for are the scores, before a softmax.",
        ),
    ),
)
