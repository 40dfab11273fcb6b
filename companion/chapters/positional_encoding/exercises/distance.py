"""Exercises on distances in the scores: ``alibi-bias``, ``t5-bucket`` and ``relative-shift``."""

import math

import torch
from torch import Tensor

from companion.positional import relative_shift
from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _alibi(n_heads: int, t: int) -> Tensor:
    slopes = 2.0 ** (-8 * torch.arange(1, n_heads + 1, dtype=F64) / n_heads)
    distance = (torch.arange(t)[:, None] - torch.arange(t)).clamp(min=0)
    return -slopes[:, None, None] * distance


ALIBI_BIAS = Exercise(
    name="alibi-bias",
    title="Write the bias of ALiBi",
    chapter="positional-encoding",
    level=1,
    place=2,
    minutes=15,
    reference=_alibi,
    cases=lambda: [
        Case((8, 2), "the example"),
        Case((2, 3)),
        Case((1, 9), "one head"),
        Case((4, 7)),
        Case((16, 5), "more heads than positions"),
        Case((4, 1), "one position"),
        Case((2, 11)),
        Case((2, 600), "a long text"),
    ],
    tested="1 to 16 heads, one position, more heads than positions",
    hints=(
        "Two tables are multiplied: one number for each head, and one for each pair of query and key.",
        "The distance is the query's position minus the key's. Which shape must the slopes have so that they multiply "
        "each table of distances?",
        "Heads count from 1 in the formula of the slope. Later keys have a negative distance, and `clamp` can take "
        "care "
        "of them.",
    ),
    mistakes=(
        Mistake(
            "adds",
            Edit("-slopes", "slopes"),
            "Your bias adds with the distance, so far keys win. It is subtracted.",
        ),
        Mistake(
            "heads-from-zero",
            Edit("1, n_heads + 1", "n_heads"),
            "Your first slope is 1: you count the heads from 0, and the formula counts them from 1.",
        ),
        Mistake(
            "one-slope-rule",
            Edit("-8 *", "-n_heads *"),
            "Your slopes halve from head to head whatever their number. That is right for 8 heads only: the last "
            "slope is "
            "always 1/256.",
        ),
        Mistake(
            "future-rewarded",
            Edit(".clamp(min=0)", ""),
            "Your bias is positive for later keys. Where the key is later, it is 0 here.",
        ),
        Mistake(
            "keys-by-queries",
            Edit("* distance", "* distance.mT"),
            "Rows and columns are exchanged: a row is a query, and its distances to the keys before it stand to the "
            "left.",
        ),
        Mistake(
            "both-sides",
            Edit(".clamp(min=0)", ".abs()"),
            "You also lowered keys that are later than the query. There the bias is 0, since the mask hides them.",
        ),
        Mistake(
            "hidden-as-well",
            Edit(
                "-slopes[:, None, None] * distance",
                "(-slopes[:, None, None] * distance).masked_fill(distance.mT > 0, -torch.inf)",
            ),
            "You put minus infinity where the key is later. Hiding is left to the mask; the bias is 0 there.",
        ),
    ),
)


def _bucket(distances: Tensor, buckets: int, max_distance: int) -> Tensor:
    exact = buckets // 2
    part = distances.clamp(min=1).double() / exact
    far = exact + (part.log() / math.log(max_distance / exact) * (buckets - exact)).long()
    return torch.where(distances < exact, distances, far.clamp(max=buckets - 1))


def _bucket_cases() -> list[Case]:
    # Most edges between two buckets are left out, since rounding would decide there. Where the largest distance over e
    # is a power of 2, all ways to write the formula agree on its edges.
    return [
        Case((torch.tensor([3, 4, 9, 17, 64, 1000]), 8, 65), "the example"),
        Case((torch.arange(0, 9), 8, 65), "near distances"),
        Case((torch.tensor([[0, 5, 31], [70, 120, 200]]), 32, 127), "two axes"),
        Case((torch.tensor([1, 2, 3, 5, 9, 12, 18, 40]), 5, 30), "an odd number of buckets"),
        Case((torch.tensor([5000, 100_000]), 32, 127), "far beyond"),
        Case((torch.arange(0, 200, 7), 16, 250)),
        Case((torch.arange(40), 4, 21), "few buckets"),
        Case((torch.arange(45), 8, 30), "wide buckets from a small distance on"),
        Case((torch.tensor([7, 8, 9, 15, 16, 17, 32]), 8, 64), "distances on an edge"),
        Case((torch.tensor([2, 9, 30], dtype=torch.int32), 16, 250), "distances in int32"),
        Case((torch.tensor(17), 32, 127), "one distance, no axis"),
    ]


T5_BUCKET = Exercise(
    name="t5-bucket",
    title="Sort distances into buckets",
    chapter="positional-encoding",
    level=3,
    place=5,
    minutes=30,
    same_dtype=True,
    reference=_bucket,
    cases=_bucket_cases,
    tested="near and far distances, none to two axes, int32, few buckets, an odd number of them, edges between buckets",
    hints=(
        "There are two rules, one for near distances and one for far ones. Compute both for all, then choose.",
        "For the far rule take the logarithm of the distance over e, and of the largest distance over e. What do you "
        "do "
        "with a distance of 0, whose logarithm is not finite, although its result is thrown away?",
        "Rounding is downwards: `.long()` cuts the decimals off. At the end nothing may exceed the last bucket.",
    ),
    mistakes=(
        Mistake(
            "no-cap",
            Edit(".clamp(max=buckets - 1)", ""),
            "Some of your buckets do not exist: beyond the largest distance all share the last one.",
        ),
        Mistake(
            "linear",
            Edit("part.log() / math.log(max_distance / exact)", "(part - 1) / (max_distance / exact - 1)"),
            "Your far buckets are equally wide. They grow: take logarithms.",
        ),
        Mistake(
            "two-directions",
            lambda distances, buckets, max_distance: _bucket(distances, buckets // 2, max_distance),
            "You gave the past only half of the buckets. That is the rule of an encoder; here all serve the past.",
        ),
        Mistake(
            "quarter-exact",
            Edit("buckets // 2", "buckets // 4"),
            "Too few distances have a bucket of their own: e is half of the buckets.",
        ),
        Mistake(
            "clipped",
            lambda distances, buckets, max_distance: distances.clamp(max=buckets - 1),
            "Every distance below the number of buckets has one of its own in your answer. From e on, several share "
            "one.",
        ),
        Mistake(
            "rounded",
            Edit("(buckets - exact)).long()", "(buckets - exact)).round().long()"),
            "You rounded to the nearest bucket. The rule rounds down.",
        ),
        Mistake(
            "not-over-e",
            Edit("part.log() / math.log(max_distance / exact)", "(part * exact).log() / math.log(max_distance)"),
            "You took logarithms of the distances themselves. Divide both by e first, so that the far rule begins at "
            "0 where the near one ends.",
        ),
        Mistake(
            "one-bucket-fewer",
            Edit("(buckets - exact))", "(buckets - exact - 1))"),
            "You spread the far distances over one bucket fewer. The factor is n - e; the cap at n - 1 comes after it.",
        ),
    ),
)


def _relative_shift(by_distance: Tensor) -> Tensor:
    return relative_shift(by_distance).contiguous()


def _windows(by_distance: Tensor, start: str) -> Tensor:
    """Cut a window of t_k columns from each row, beginning where ``start`` says."""
    t_q = by_distance.shape[1]
    t_k = by_distance.shape[2] - t_q + 1
    first = {"same": torch.zeros(t_q), "down": torch.arange(t_q), "late": torch.full((t_q,), t_q - 1)}[start].long()
    columns = first[:, None] + torch.arange(t_k)
    return by_distance.gather(2, columns.expand(len(by_distance), -1, -1))


def _shift_cases() -> list[Case]:
    draw = RandomInputs(23)
    by_hand = torch.tensor([[[2.0, 1.0, 0.0, -1.0], [20.0, 10.0, 0.0, -10.0]]])
    return [
        Case((by_hand,), "the example"),
        Case((draw.normal(1, 2, 3),), "as many keys as queries"),
        Case((draw.normal(2, 3, 7, dtype=F32),)),
        Case((draw.normal(3, 1, 5),), "one query"),
        Case((draw.normal(2, 5, 11),), "more keys than queries"),
        Case((draw.normal(2, 4, 7, scale=1e3),), "large numbers"),
        Case((draw.normal(3, 2, 9, dtype=F32),)),
        Case((draw.normal(2, 7, 3).mT,), "a transposed view"),
        Case((draw.normal(1, 2, 4, dtype=F32),), "the shape of the example again"),
    ]


RELATIVE_SHIFT = Exercise(
    name="relative-shift",
    title="Shift the rows of distances",
    chapter="positional-encoding",
    level=3,
    place=6,
    minutes=30,
    reference=_relative_shift,
    cases=_shift_cases,
    tested="one query, as many and more keys than queries, several heads, a transposed view, float32 and float64",
    hints=(
        "Which columns does the last query need? It stands at the last key, and its distances to the keys are t_k - 1, "
        "and so on down to 0.",
        "The query before it stands one position earlier, so each of its distances is one smaller, and in the table "
        "smaller distances are further right.",
        "Make a table of column numbers, query by key, and use `gather` along the last axis; or slice each row in a "
        "loop "
        "and stack.",
    ),
    mistakes=(
        Mistake(
            "not-shifted",
            lambda by_distance: _windows(by_distance, "same"),
            "Every row of yours begins at the first column. That is right for the last query only: the others stand "
            "earlier, so the same key is at another distance.",
        ),
        Mistake(
            "shifted-the-other-way",
            lambda by_distance: _windows(by_distance, "down"),
            "Your rows are shifted the wrong way: the first query begins furthest to the right, the last at the left.",
        ),
        Mistake(
            "all-like-the-first",
            lambda by_distance: _windows(by_distance, "late"),
            "Every row of yours begins where the first query begins. The later a query stands, the further left.",
        ),
        Mistake(
            "keys-reversed",
            lambda by_distance: relative_shift(by_distance).flip(2),
            "The shift is right, but your keys come in reverse order: key 0 is the furthest in the past.",
        ),
        Mistake(
            "rolled",
            lambda by_distance: torch.stack(
                [row.roll(i + 1 - by_distance.shape[1], -1) for i, row in enumerate(by_distance.unbind(1))], 1
            ),
            "The rows are shifted well, but you kept all columns. Only as many as there are keys are left.",
        ),
        Mistake(
            "one-column-late",
            lambda by_distance: torch.stack(
                [
                    torch.nn.functional.pad(row, (0, 1))[:, by_distance.shape[1] - i :][
                        :, : by_distance.shape[2] - by_distance.shape[1] + 1
                    ]
                    for i, row in enumerate(by_distance.unbind(1))
                ],
                1,
            ),
            "Your rows begin one column too late. Query i, counted from 0, leaves out the first t_q - 1 - i columns.",
        ),
    ),
)
