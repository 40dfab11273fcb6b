"""Drills on one pass with a small state: ``stream-softmax`` and ``linear-recurrent``."""

import torch
import torch.nn.functional as F
from torch import Tensor

from companion.practice.budget import Budget
from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import ChunkStream, RandomInputs

F32, F64 = torch.float32, torch.float64


def _stream_softmax(stream: ChunkStream, d_v: int) -> Tensor:
    top, total, output = torch.tensor(-torch.inf), 0.0, 0.0
    for scores, values in stream:
        new = torch.maximum(top, scores.max())
        shrink = (top - new).exp()
        powers = (scores - new).exp()
        total = total * shrink + powers.sum()
        output = output * shrink + powers @ values
        top = new
    return output / total


def _chunks_averaged(stream: ChunkStream, d_v: int) -> Tensor:
    return sum(scores.softmax(dim=0) @ values for scores, values in stream) / len(stream)


def _all_kept(stream: ChunkStream, d_v: int) -> Tensor:
    scores, values = (torch.cat(parts) for parts in zip(*stream, strict=True))
    return scores.softmax(dim=0) @ values


def _stream_cases() -> list[Case]:
    draw = RandomInputs(65)

    def stream(t: int, d_v: int, chunk: int, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        return ChunkStream(draw.normal(t, dtype=dtype, scale=scale), draw.normal(t, d_v, dtype=dtype), chunk), d_v

    by_hand = ChunkStream(torch.tensor([0.0, 0.0, 2.0]).exp().log(), torch.tensor([[0.0], [4.0], [0.0]]), 2)
    rising = ChunkStream(torch.arange(0.0, 900.0, 100.0, dtype=F64), draw.normal(9, 3), 2)
    low = ChunkStream(torch.arange(-2600.0, -800.0, 200.0, dtype=F64), torch.eye(9, 2, dtype=F64) + 1, 2)
    least = ChunkStream(torch.tensor([-3e20, -1e20, -2e20], dtype=F64), torch.eye(3, 2, dtype=F64) + 1, 1)
    return [
        Case((by_hand, 1), "the example"),
        Case(stream(4, 2, 4, F64), "one chunk"),
        Case(stream(5, 3, 2, F32), "a last chunk that is shorter"),
        Case((rising, 3), "scores that rise to 800"),
        Case((low, 2), "scores that rise from -2600 to -1000"),
        Case((least, 2), "scores of -1e20"),
        Case(stream(7, 3, 1, F64), "one position at a time"),
        Case(stream(11, 4, 3, F32, 30.0), "scores in the tens"),
        Case(stream(12, 5, 4, F64, 1e3), "scores in the thousands"),
        Case(stream(600, 3, 5, F32), "a long stream"),
    ]


def _stream_budget(stream: ChunkStream, d_v: int) -> Budget:
    return Budget(held=60 * (d_v + 2)) if len(stream) > 100 else Budget()


STREAM_SOFTMAX = Exercise(
    name="stream-softmax",
    title="Average a stream with softmax weights",
    chapter="exercises",
    level=2,
    place=10,
    minutes=20,
    topic="complexity",
    reference=_stream_softmax,
    cases=_stream_cases,
    budget=_stream_budget,
    tested="one chunk and many, single positions, rising and large scores, a long stream within a limit, both dtypes",
    hints=(
        "You see each chunk once and cannot keep it. Which numbers, as few as possible, tell all that is needed about "
        "the chunks so far?",
        "The largest score so far, the sum of exp(score - largest), and the sum of the values with these weights. A "
        "new chunk may bring a larger score: what happens to the two sums?",
        "Both sums are multiplied by exp(old largest - new largest) and then the chunk's own part is added. At the end "
        "one sum is divided by the other. The first chunk has no old sums.",
    ),
    mistakes=(
        Mistake(
            "all-kept",
            _all_kept,
            "The numbers are right, and the memory grows with the stream: you kept the chunks, or something for each "
            "of them. Three small things are enough.",
        ),
        Mistake(
            "no-shift",
            Edit("torch.maximum(top, scores.max())", "torch.tensor(0.0)"),
            "You exponentiated the scores as they are. Large ones overflow, or all of them underflow to 0.",
        ),
        Mistake(
            "first-maximum",
            Edit("torch.maximum(top, scores.max())", "scores.max() if top == -torch.inf else top"),
            "You subtract the largest score of the first chunk all the way. A later score that is larger overflows.",
        ),
        Mistake(
            "maximum-of-the-chunk",
            Edit("torch.maximum(top, scores.max())", "scores.max()"),
            "You shift by the largest score of the chunk alone. After a chunk with larger scores the old sums are then "
            "multiplied by a huge number and overflow: keep the largest so far.",
        ),
        Mistake(
            "maximum-from-zero",
            Edit("torch.tensor(-torch.inf)", "torch.tensor(0.0)"),
            "Your largest score begins at 0. Where all scores are far below, every exponential is 0.",
        ),
        Mistake(
            "not-rescaled",
            Edit("(top - new).exp()", "1.0"),
            "The sums so far are not rescaled when a larger score arrives: the early chunks then count too much.",
        ),
        Mistake(
            "chunks-averaged",
            _chunks_averaged,
            "You took a softmax in each chunk and averaged. A chunk with high scores must count more.",
            also=(
                (Edit("(top - new).exp()", "1.0"), Edit("(scores - new).exp()", "len(scores) * scores.softmax(dim=0)")),
            ),
        ),
        Mistake(
            "not-divided",
            Edit("output / total", "output"),
            "The weighted sum is not divided by the sum of the weights.",
        ),
        Mistake(
            "output-not-rescaled",
            Edit("output * shrink", "output"),
            "You rescale the sum of the weights and not the weighted sum of the values.",
        ),
        Mistake(
            "sum-not-rescaled",
            Edit("total * shrink", "total"),
            "You rescale the weighted sum of the values and not the sum of the weights.",
        ),
    ),
)


def _recurrent(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    query, key = F.elu(query) + 1, F.elu(key) + 1
    state, total, rows = value.new_zeros(key.shape[1], value.shape[1]), value.new_zeros(key.shape[1]), []
    for q, k, v in zip(query, key, value, strict=True):
        state, total = state + k[:, None] * v, total + k
        rows.append(q @ state / (q @ total))
    return torch.stack(rows)


def _not_causal(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    query, key = F.elu(query) + 1, F.elu(key) + 1
    return query @ (key.mT @ value) / (query @ key.sum(dim=0))[:, None]


def _by_matrix(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    weights = ((F.elu(query) + 1) @ (F.elu(key) + 1).mT).tril()
    return weights / weights.sum(dim=-1, keepdim=True) @ value


def _by_all_states(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    query, key = F.elu(query) + 1, F.elu(key) + 1
    states = (key[:, :, None] * value[:, None]).cumsum(dim=0)
    return (query[:, None] @ states)[:, 0] / (query * key.cumsum(dim=0)).sum(dim=-1, keepdim=True)


def _recurrent_cases() -> list[Case]:
    draw = RandomInputs(64)

    def three(t: int, d_k: int, d_v: int, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        query, key = (draw.normal(t, d_k, dtype=dtype) for _ in range(2))
        return query, key, draw.normal(t, d_v, dtype=dtype, scale=scale)

    by_hand = torch.zeros(2, 1), torch.tensor([[0.0], [2.0]]), torch.tensor([[0.0], [4.0]])
    far, low, values = three(3, 2, 3, F64)
    return [
        Case(by_hand, "the example"),
        Case(three(3, 2, 3, F64)),
        Case(three(1, 3, 2, F32), "one position"),
        Case(three(5, 3, 4, F32)),
        Case(three(7, 5, 2, F64)),
        Case(three(11, 4, 3, F64, 1e3), "large values"),
        Case((far.clamp(-1, 1) - 15, low.clamp(-1, 1) - 15, values), "queries and keys far below 0"),
        Case(three(256, 4, 4, F64), "a long text"),
    ]


def _recurrent_budget(query: Tensor, key: Tensor, value: Tensor) -> Budget:
    (t, d_k), d_v = key.shape, value.shape[1]
    return Budget(largest=2 * t * max(d_k, d_v), work=16 * t * (d_k + 1) * (d_v + 1)) if t >= 64 else Budget()


LINEAR_RECURRENT = Exercise(
    name="linear-recurrent",
    title="Run linear attention as a recurrent network",
    chapter="exercises",
    level=3,
    place=13,
    minutes=25,
    topic="complexity",
    reference=_recurrent,
    cases=_recurrent_cases,
    budget=_recurrent_budget,
    tested="one position, sizes that differ, large values, entries far below 0, a long text within limits, both dtypes",
    hints=(
        "Without a softmax the weighted sum over the past can be taken before the query is known. Which product of "
        "keys and values holds the whole past?",
        "The state is one matrix, the sum of the outer products of mapped keys and values, and one vector, the sum of "
        "the mapped keys. A position adds its own and then asks.",
        "The query times the matrix is the numerator, the query times the vector the denominator. The map is "
        "`F.elu(x) + 1`, for queries and keys. There is no scale.",
    ),
    mistakes=(
        Mistake(
            "all-pairs-or-all-states",
            _by_matrix,
            "The numbers are right and cost too much: by something for all pairs, a state for every position, or a "
            "copy of all earlier results at each. One state is enough, changed from position to position.",
            also=(_by_all_states,),
        ),
        Mistake(
            "not-causal",
            _not_causal,
            "Every position sees the sums over the whole text. A position may see itself and what came before.",
        ),
        Mistake(
            "relu-for-elu",
            Edit("F.elu(query) + 1, F.elu(key) + 1", "F.relu(query) + 1, F.relu(key) + 1"),
            "Your map is relu(x) + 1. It is elu(x) + 1, which differs below 0.",
        ),
        Mistake(
            "own-key-missing",
            (
                Edit("        rows.append(q @ state / (q @ total))\n", ""),
                Edit(
                    "        state, total = ", "        rows.append(q @ state / (q @ total))\n        state, total = "
                ),
            ),
            "A position asks before its own key and value are added; the first one then divides 0 by 0.",
            also=(
                (
                    Edit("        rows.append(q @ state / (q @ total))\n", ""),
                    Edit(
                        "        state, total = ",
                        "        rows.append((q @ state / (q @ total)).nan_to_num())\n        state, total = ",
                    ),
                ),
            ),
        ),
        Mistake(
            "not-divided",
            Edit(" / (q @ total)", ""),
            "The sum is not divided by the sum of the weights, so it grows with the text.",
        ),
        Mistake(
            "sum-made-larger",
            Edit("(q @ total)", "(q @ total + 1e-6)"),
            "You add a small number to the sum of the weights, or keep it above one. The weights are small themselves "
            "where queries and keys are far below 0, and their sum is never 0.",
            also=(
                Edit("(q @ total)", "(q @ total + 1e-9)"),
                Edit("(q @ total)", "(q @ total).clamp(min=1e-6)"),
            ),
        ),
        Mistake(
            "no-map",
            Edit("F.elu(query) + 1, F.elu(key) + 1", "query, key"),
            "Queries and keys are used as they are. A weight can then be negative, and the denominator 0.",
        ),
        Mistake(
            "elu-without-one",
            Edit("F.elu(query) + 1, F.elu(key) + 1", "F.elu(query), F.elu(key)"),
            "Your map is elu without the 1 that makes it positive.",
        ),
        Mistake(
            "one-of-two-mapped",
            Edit("F.elu(query) + 1, F.elu(key) + 1", "F.elu(query) + 1, key"),
            "You mapped the queries or the keys, and not both.",
            also=(Edit("F.elu(query) + 1, F.elu(key) + 1", "query, F.elu(key) + 1"),),
        ),
        Mistake(
            "divided-by-the-count",
            Edit("(q @ total)", "(len(rows) + 1)"),
            "You divide by the number of positions. The weights do not sum to that: divide by their own sum.",
        ),
        Mistake(
            "sum-without-the-query",
            Edit("(q @ total)", "total.sum()"),
            "You divide by the sum of the mapped keys. A weight is a product with the query, and so is their sum.",
        ),
    ),
)
