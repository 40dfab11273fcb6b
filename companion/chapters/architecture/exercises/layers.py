"""Exercises on the two ends and on a layer between them: ``tied-embedding`` and ``decoder-layer``."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _ends(tokens: Tensor, table: Tensor, code: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
    return table[tokens] * math.sqrt(table.shape[-1]) + code, hidden @ table.T


def _ends_cases() -> list[Case]:
    draw = RandomInputs(23)

    def drawn(batch: int, t: int, vocab: int, d: int, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        tokens = draw.normal(batch, t, vocab).argmax(-1)
        sizes = (vocab, d), (t, d), (batch, t, d)
        return tokens, *(draw.normal(*size, dtype=dtype, scale=scale) for size in sizes)

    rows, code = torch.tensor([[1.0, 0, 0, 0], [0, 1, 1, 0]]), torch.tensor([[0.0, 0, 0, 1]])
    return [
        Case((torch.tensor([[1]]), rows, code, torch.tensor([[[1.0, 2, 3, 0]]])), "the example"),
        Case(drawn(1, 2, 5, 3, F64)),
        Case(drawn(2, 3, 7, 6, F32)),
        Case(drawn(1, 1, 6, 9, F32), "one position"),
        Case(drawn(4, 4, 4, 4, F64), "all sizes equal"),
        Case(drawn(2, 5, 4, 2, F64), "more positions than entries"),
        Case(drawn(3, 2, 11, 7, F64, 1e3), "large numbers"),
    ]


TIED_EMBEDDING = Exercise(
    name="tied-embedding",
    title="Use one table at both ends",
    chapter="architecture",
    level=1,
    place=2,
    minutes=15,
    reference=_ends,
    cases=_ends_cases,
    tested="one position, all sizes equal, large numbers, float32 and float64",
    returns=("inputs", "logits"),
    hints=(
        "At which end does the factor stand, and what does it multiply? The length of the code is right as it is.",
        "A tensor of whole numbers as an index picks rows: the result has the axes of the tokens and then the axis of "
        "a row. The code has no axis for the sentences and needs none.",
        "Each logit is the product of the output with one row. So the table has to be turned for a matrix product. "
        "The factor is the root of the number of its columns and stands at the input.",
    ),
    mistakes=(
        Mistake(
            "no-factor",
            lambda tokens, table, code, hidden: (table[tokens] + code, hidden @ table.T),
            "The input lacks the factor: rows of a table that serves the output are too short beside the code.",
        ),
        Mistake(
            "factor-on-the-code",
            lambda tokens, table, code, hidden: (
                (table[tokens] + code) * math.sqrt(table.shape[-1]),
                hidden @ table.T,
            ),
            "Your factor multiplies the positional encoding as well. It belongs to the rows of the table alone.",
        ),
        Mistake(
            "divided",
            lambda tokens, table, code, hidden: (table[tokens] / math.sqrt(table.shape[-1]) + code, hidden @ table.T),
            "You divide by the root. The input has to become longer, so multiply by it.",
        ),
        Mistake(
            "factor-is-the-width",
            lambda tokens, table, code, hidden: (table[tokens] * table.shape[-1] + code, hidden @ table.T),
            "Your factor is the width. It is the root of the width.",
        ),
        Mistake(
            "no-code",
            lambda tokens, table, code, hidden: _ends(tokens, table, 0 * code, hidden),
            "The positional encoding is missing from the input.",
        ),
        Mistake(
            "logits-with-factor",
            lambda tokens, table, code, hidden: (
                _ends(tokens, table, code, hidden)[0],
                hidden @ table.T * math.sqrt(table.shape[-1]),
            ),
            "Your logits have the factor, too. The output uses the table as it is.",
        ),
        Mistake(
            "probabilities",
            lambda tokens, table, code, hidden: (
                _ends(tokens, table, code, hidden)[0],
                (hidden @ table.T).softmax(dim=-1),
            ),
            "You return probabilities. Logits come before the softmax.",
        ),
        Mistake(
            "root-of-the-vocabulary",
            Edit("table.shape[-1]", "len(table)"),
            "The factor is the root of the width, the number of columns. You took the number of rows, which is the "
            "vocabulary.",
        ),
        Mistake(
            "logits-divided",
            Edit("hidden @ table.T", "hidden @ table.T / math.sqrt(table.shape[-1])"),
            "You divided the logits by the root of the width. The factor stands at the input only.",
        ),
    ),
)


def _attend(x: Tensor, memory: Tensor, w: Tensor, *, causal: bool) -> Tensor:
    """Attention with one head; ``w`` holds the matrices of queries, keys and values."""
    q, k, v = x @ w[0], memory @ w[1], memory @ w[2]
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if causal:
        scores = scores.masked_fill(~torch.ones_like(scores, dtype=torch.bool).tril(), -torch.inf)
    return scores.softmax(dim=-1) @ v


def _norm(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:])


def _decoder_layer(x: Tensor, memory: Tensor, w_self: Tensor, w_cross: Tensor, w_1: Tensor, w_2: Tensor) -> Tensor:
    x = _norm(x + _attend(x, x, w_self, causal=True))
    x = _norm(x + _attend(x, memory, w_cross, causal=False))
    return _norm(x + (x @ w_1).relu() @ w_2)


def _pre_norm(x: Tensor, memory: Tensor, w_self: Tensor, w_cross: Tensor, w_1: Tensor, w_2: Tensor) -> Tensor:
    x = x + _attend(_norm(x), _norm(x), w_self, causal=True)
    x = x + _attend(_norm(x), memory, w_cross, causal=False)
    return x + (_norm(x) @ w_1).relu() @ w_2


SELF = "    x = _norm(x + _attend(x, x, w_self, causal=True))\n"
CROSS = "    x = _norm(x + _attend(x, memory, w_cross, causal=False))\n"


def _layer_cases() -> list[Case]:
    draw = RandomInputs(24)

    def drawn(batch: int, t: int, t_s: int, d: int, d_ff: int, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        x, memory = (draw.normal(batch, n, d, dtype=dtype, scale=scale) for n in (t, t_s))
        matrices = (draw.normal(3, d, d, dtype=dtype, scale=(d * scale) ** -0.5) for _ in range(2))
        return x, memory, *matrices, draw.normal(d, d_ff, dtype=dtype), draw.normal(d_ff, d, dtype=dtype)

    values = torch.stack([torch.zeros(2, 2), torch.zeros(2, 2), torch.eye(2)])
    row, memory = torch.tensor([[[3.0, 1.0]]]), torch.tensor([[[0.0, 5.0]]])
    by_hand = row, memory, torch.zeros(3, 2, 2), values, torch.zeros(2, 3), torch.zeros(3, 2)
    opposed = torch.stack([1e10 * torch.eye(2), -1e10 * torch.eye(2), torch.eye(2)])
    low = torch.tensor([[[1.0, -1.0], [-300.0, 300.0]]]), memory, opposed, *by_hand[2:3], *by_hand[4:]
    return [
        Case(by_hand, "the example"),
        Case(drawn(1, 2, 3, 4, 5, F64)),
        Case(drawn(2, 3, 5, 7, 4, F32)),
        Case(drawn(1, 1, 4, 5, 3, F64), "one target word"),
        Case(drawn(3, 4, 4, 5, 11, F64), "source as long as target"),
        Case(drawn(2, 5, 2, 3, 5, F64), "source shorter than target"),
        Case(drawn(2, 5, 7, 3, 2, F64, 1e3), "large numbers"),
        Case(low, "a low score that is not hidden, and a large one that is"),
    ]


DECODER_LAYER = Exercise(
    name="decoder-layer",
    title="Write a decoder layer",
    chapter="architecture",
    level=3,
    place=7,
    minutes=35,
    reference=_decoder_layer,
    cases=_layer_cases,
    tested="one target word, source as long as target, large numbers, low scores, float32 and float64",
    hints=(
        "Three sub-layers, one after the other. For each write down: queries from, keys and values from, which mask. "
        "What happens to its output is the same three times.",
        "Write one function for attention that takes queries' input, memory and a switch for the mask, and use it "
        "twice. `F.layer_norm(y, y.shape[-1:])` is a normalisation without gain and offset.",
        "Each sub-layer's output is added to its own input, and the sum is normalised before the next one begins. The "
        "network comes last.",
    ),
    mistakes=(
        Mistake(
            "not-causal",
            Edit("causal=True", "causal=False"),
            "Your self-attention sees the future: the causal mask is missing.",
        ),
        Mistake(
            "pre-norm",
            _pre_norm,
            "You normalise the input of each sub-layer. That is pre-norm; here the sum is normalised, after it.",
        ),
        Mistake(
            "no-residual",
            (Edit(SELF, SELF.replace("x + ", "")), Edit(CROSS, CROSS.replace("x + ", "")), Edit("x + (x @", "(x @")),
            "The input of a sub-layer is not added to its output.",
        ),
        Mistake("no-norm", Edit("F.layer_norm(x, x.shape[-1:])", "x", of=_norm), "The normalisations are missing."),
        Mistake("no-cross-attention", Edit(CROSS, ""), "The memory is never read: the cross-attention is missing."),
        Mistake(
            "cross-first",
            Edit(SELF + CROSS, CROSS + SELF),
            "You read the memory before the target. Self-attention comes first, then cross-attention.",
        ),
        Mistake(
            "cross-queries-from-the-input",
            (Edit(SELF, "    given = x\n" + SELF), Edit("_attend(x, memory", "_attend(given, memory")),
            "The queries of your cross-attention come from the layer's input. They come from what self-attention and "
            "its norm have made of it.",
        ),
        Mistake(
            "memory-normalised",
            Edit("_attend(x, memory", "_attend(x, _norm(memory)"),
            "You normalise the memory. It is read as it comes: the encoder has normalised it.",
        ),
        Mistake(
            "memory-not-read",
            Edit("_attend(x, memory", "_attend(x, x"),
            "Your second attention reads the target again. Its keys and values come from the memory.",
        ),
        Mistake(
            "no-scale",
            Edit(" / math.sqrt(q.shape[-1])", "", of=_attend),
            "You did not scale the scores: they are divided by the root of d.",
        ),
        Mistake(
            "last-norm-missing",
            Edit("_norm(x + (x @ w_1).relu() @ w_2)", "x + (x @ w_1).relu() @ w_2"),
            "The network's output is added and not normalised. In post-norm each of the three sums is normalised.",
        ),
        Mistake(
            "no-residual-around-cross",
            Edit("_norm(x + _attend(x, memory", "_norm(_attend(x, memory"),
            "The residual connection around the cross-attention is missing.",
        ),
        Mistake(
            "cross-attention-causal",
            Edit("w_cross, causal=False", "w_cross, causal=True"),
            "Your cross-attention has the causal mask. The whole source is known: nothing of it is hidden.",
        ),
        Mistake(
            "no-relu",
            Edit(".relu()", ""),
            "Without ReLU your network is one linear map.",
        ),
    ),
)
