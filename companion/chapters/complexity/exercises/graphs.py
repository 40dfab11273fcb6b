"""Exercises on the graph of a layer and on joining parts of a softmax: ``layers-needed`` and ``merge-softmax``."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _layers_needed(reads: Tensor, pairs: Sequence[tuple[int, int]]) -> list[int]:
    answers = []
    for start, end in pairs:
        heard, found = reads[:, start], -1
        for layer in range(len(reads)):
            if heard[end]:
                found = layer + 1
                break
            heard = reads[:, heard].any(dim=1)
        answers.append(found)
    return answers


def _band(n: int, back: int, *, ahead: int = 0) -> Tensor:
    distance = torch.arange(n)[:, None] - torch.arange(n)
    return (distance <= back) & (distance >= -ahead)


def _rank(reads: Tensor, pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Divide the distance by the reach of a row, as for a kernel without gaps."""
    reach = max(1, int(reads.sum(1).max()) - 1)
    return [max(1, -(-abs(end - start) // reach)) for start, end in pairs]


def _graph_cases() -> list[Case]:
    step = torch.eye(5, dtype=torch.bool).roll(1, 0)  # each reads the one before it only, the first reads the last
    lonely = torch.eye(4, dtype=torch.bool)
    shifted = _band(6, 1)
    shifted[5] = False
    shifted[5, 0] = True  # a short cut from the first to the last
    chain = torch.ones(12, 12, dtype=torch.bool).tril(-1).triu(-1)  # each reads the one before it only
    diamonds = torch.zeros(25, 25, dtype=torch.bool)  # 0 to 1 and 2, both to 3, and so on: 256 ways to the end
    for top in range(0, 24, 3):
        diamonds[[top + 1, top + 2], top] = diamonds[top + 3, [top + 1, top + 2]] = True
    rows = [torch.tensor([0]), *torch.arange(1, 129).view(32, 4), torch.tensor([129])]
    fans = torch.zeros(130, 130, dtype=torch.bool)  # each of four is read by the next four: 2^64 ways to the end
    for below, above in pairwise(rows):
        fans[above[:, None], below] = True
    crowd = _band(64, 1).logical_and(torch.arange(64)[:, None] != torch.arange(64))
    crowd[:32, :32] = True  # 32 read one another: 2^150 ways through 31 layers; the others are a chain from the last
    return [
        Case((_band(3, 1), [(0, 2), (2, 0), (1, 1)]), "the example"),
        Case((torch.ones(4, 4, dtype=torch.bool), [(0, 3), (3, 0), (2, 2)]), "attention without a mask"),
        Case((_band(9, 2), [(0, 8), (0, 7), (3, 4), (8, 0)]), "a kernel of width 3"),
        Case((_band(7, 1, ahead=1), [(0, 6), (6, 0), (2, 3)]), "both directions"),
        Case((shifted, [(0, 5), (1, 5), (4, 5), (0, 4)]), "a short cut"),
        Case((step, [(0, 0), (0, 1), (3, 2)]), "a ring"),
        Case((lonely, [(0, 0), (0, 1)]), "positions that read themselves only"),
        Case((step, []), "no pair"),
        Case((chain, [(0, 11), (1, 10), (11, 0)]), "a long chain"),
        Case((diamonds, [(0, 24), (3, 22), (1, 2)]), "many ways of one length"),
        Case((fans, [(0, 129), (129, 0), (1, 128)]), "2^64 ways of one length"),
        Case((crowd, [(0, 63), (31, 63), (63, 0)]), "more ways than a float32 holds, and a chain"),
    ]


LAYERS_NEEDED = Exercise(
    name="layers-needed",
    title="Count the layers a signal needs",
    chapter="complexity",
    level=3,
    place=5,
    minutes=30,
    reference=_layers_needed,
    cases=_graph_cases,
    tested="a kernel, attention, both directions, a short cut, a ring, a long chain, many ways, pairs without a way",
    hints=(
        "After one layer the signal is at all positions that read its start. Where is it after two?",
        "Keep a set of positions, or a boolean vector, that have heard of the start. One step makes it the positions "
        "that read any of them.",
        "Column `start` of the matrix is the state after one layer. A step is `reads[:, heard].any(dim=1)`. After as "
        "many steps as there are positions nothing new can come.",
    ),
    mistakes=(
        Mistake(
            "backwards",
            lambda reads, pairs: _layers_needed(reads.T, pairs),
            "You followed the edges backwards. reads[i, j] lets a signal pass from j to i.",
        ),
        Mistake(
            "one-too-few",
            Edit("layer + 1", "layer"),
            "You did not count the first layer. Even the nearest position is reached through one.",
        ),
        Mistake(
            "no-way-is-zero",
            Edit("start], -1", "start], 0"),
            "Where no number of layers suffices the answer is -1.",
        ),
        Mistake(
            "distance-over-reach",
            _rank,
            "You divided the distance by the reach of a layer. That is a formula for kernels without gaps; the matrix "
            "may be any.",
        ),
        Mistake(
            "start-seen-already",
            Edit("append(found)", "append(-1 if start == end and not reads[end, start] else found)"),
            "You never come back to where you set out. Either your search marks its start as seen, though at least one "
            "layer is needed and the start is not reached yet, or it ends a layer early: the way round has as many "
            "layers as there are positions.",
        ),
        Mistake(
            "one-layer-only",
            lambda reads, pairs: [1 if reads[end, start] else -1 for start, end in pairs],
            "You looked at one layer only. A signal may pass through several.",
        ),
        Mistake(
            "same-position-is-free",
            Edit("append(found)", "append(0 if start == end else found)"),
            "From a position to itself takes a layer too, or more, where it does not read itself.",
        ),
    ),
)


def _merge(m_1: Tensor, l_1: Tensor, o_1: Tensor, m_2: Tensor, l_2: Tensor, o_2: Tensor) -> Tensor:
    top = torch.maximum(m_1, m_2)
    first, second = (m_1 - top).exp(), (m_2 - top).exp()
    return (o_1 * first[:, None] + o_2 * second[:, None]) / (l_1 * first + l_2 * second)[:, None]


def _from_one(higher: Tensor, l_1: Tensor, o_1: Tensor, l_2: Tensor, o_2: Tensor) -> Tensor:
    """Measure both halves from the maximum of the first; the second half's is higher by this."""
    factor = higher.exp()
    return (o_1 + o_2 * factor[:, None]) / (l_1 + l_2 * factor)[:, None]


def _merge_cases() -> list[Case]:
    draw = RandomInputs(31)

    def halves(
        n: int, d_v: int, left: int, right: int, dtype: torch.dtype, scale: float = 1.0, shift: float = 0.0
    ) -> tuple:
        parts = []
        for keys, by in ((left, 0.0), (right, shift)):
            scores, values = draw.normal(n, keys, scale=scale) + by, draw.normal(keys, d_v)
            top = scores.amax(dim=-1)
            weights = (scores - top[:, None]).exp()
            parts += [top.to(dtype), weights.sum(dim=-1).to(dtype), (weights @ values).to(dtype)]
        return tuple(parts)

    def by_maxima(*top: float) -> tuple:
        return torch.tensor(top, dtype=F64), 1 + draw.normal(len(top)).square(), draw.normal(len(top), 2)

    by_hand = [torch.tensor([x], dtype=F64) for x in (2.0, 1.5, 3.0, 1.0)]
    example = (by_hand[0].log(), by_hand[1], torch.tensor([[7.5]], dtype=F64), by_hand[2].log(), by_hand[3])
    return [
        Case((*example, torch.tensor([[6.0]], dtype=F64)), "the example"),
        Case(halves(3, 2, 4, 4, F64)),
        Case(halves(2, 5, 1, 7, F32), "one key on the left"),
        Case(halves(4, 4, 3, 5, F64, scale=3.0), "as many queries as features"),
        Case(halves(3, 2, 4, 6, F64, shift=800.0), "scores far apart"),
        Case(halves(2, 3, 3, 5, F64, shift=1200.0), "scores far apart"),
        Case(halves(3, 2, 6, 4, F64, shift=-800.0), "scores far apart"),
        Case((*by_maxima(1e3, -1e3, -1e3), *by_maxima(-1e3, 1e3, -999.0)), "queries that lean to different halves"),
    ]


MERGE_SOFTMAX = Exercise(
    name="merge-softmax",
    title="Merge two halves of a softmax",
    chapter="complexity",
    level=2,
    place=6,
    minutes=20,
    reference=_merge,
    cases=_merge_cases,
    tested="halves of different sizes, scores 800 apart and more, low scores, as many queries as features, both dtypes",
    hints=(
        "Both halves are measured from their own largest score. Before they can be added, they must be measured from "
        "the same one.",
        "Sums measured from m become sums measured from a larger m' by one factor, the same for l and for o.",
        "The factor is exp(m - m'), with m' the larger of the two maxima. Add the two l, add the two o, and divide at "
        "the end. The factors have one entry for each query, o has a row.",
    ),
    mistakes=(
        Mistake(
            "not-rescaled",
            lambda m_1, l_1, o_1, m_2, l_2, o_2: (o_1 + o_2) / (l_1 + l_2)[:, None],
            "You added sums that are measured from different maxima. Bring both to the same one first.",
        ),
        Mistake(
            "mean-of-outputs",
            lambda m_1, l_1, o_1, m_2, l_2, o_2: (o_1 / l_1[:, None] + o_2 / l_2[:, None]) / 2,
            "You averaged the two outputs. The half with the larger sum of exponentials counts more.",
        ),
        Mistake(
            "raw-exponentials",
            lambda m_1, l_1, o_1, m_2, l_2, o_2: (
                (o_1 * m_1.exp()[:, None] + o_2 * m_2.exp()[:, None]) / (l_1 * m_1.exp() + l_2 * m_2.exp())[:, None]
            ),
            "You measured from 0, or from the maximum of one half. That is right on paper, and overflows where the "
            "scores lie far above that number: measure from the larger maximum.",
            also=(
                lambda m_1, l_1, o_1, m_2, l_2, o_2: _from_one(m_2 - m_1, l_1, o_1, l_2, o_2),
                lambda m_1, l_1, o_1, m_2, l_2, o_2: _from_one(m_1 - m_2, l_2, o_2, l_1, o_1),
            ),
        ),
        Mistake(
            "wrong-sign",
            lambda m_1, l_1, o_1, m_2, l_2, o_2: _merge(-m_1, l_1, o_1, -m_2, l_2, o_2),
            "Your factors have the wrong sign: the half with the smaller maximum has to shrink.",
        ),
        Mistake(
            "sums-not-rescaled",
            lambda m_1, l_1, o_1, m_2, l_2, o_2: (
                _merge(m_1, l_1, o_1, m_2, l_2, o_2)
                * (l_1 * (m_1 - torch.maximum(m_1, m_2)).exp() + l_2 * (m_2 - torch.maximum(m_1, m_2)).exp())[:, None]
                / (l_1 + l_2)[:, None]
            ),
            "You rescaled o and not l. Both are measured from the old maximum.",
        ),
        Mistake(
            "not-divided",
            lambda m_1, l_1, o_1, m_2, l_2, o_2: (
                o_1 * (m_1 - torch.maximum(m_1, m_2)).exp()[:, None]
                + o_2 * (m_2 - torch.maximum(m_1, m_2)).exp()[:, None]
            ),
            "You did not divide by the sum of the weights.",
        ),
        Mistake(
            "sums-twice",
            lambda m_1, l_1, o_1, m_2, l_2, o_2: _merge(
                m_1 + l_1.log(), torch.ones_like(l_1), o_1, m_2 + l_2.log(), torch.ones_like(l_2), o_2
            ),
            "You weighted the sums of values by l. They are not normalised, so l is in them already: rescale by the "
            "exponential alone.",
        ),
    ),
)
