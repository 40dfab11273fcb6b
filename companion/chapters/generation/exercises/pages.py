"""Exercises on a paged cache: ``gather-pages`` and ``paged-attention``."""

import math

import torch
from torch import Tensor

from companion.practice.definition import Case, Edit, Exercise, Mistake
from companion.practice.random_inputs import RandomInputs

F32, F64 = torch.float32, torch.float64


def _gather_pages(pool: Tensor, table: list[int], length: int) -> Tensor:
    return pool[table].flatten(0, 1)[:length]


def _gather_cases() -> list[Case]:
    draw = RandomInputs(81)
    by_hand = torch.tensor([[[5.0], [6.0]], [[7.0], [8.0]], [[1.0], [2.0]]])
    return [
        Case((by_hand, [2, 0], 3), "the example"),
        Case((draw.normal(4, 3, 2, dtype=F64), [1], 2), "one page"),
        Case((draw.normal(3, 1, 5, dtype=F32), [2, 0, 1], 3), "pages of one position"),
        Case((draw.normal(7, 4, 3, dtype=F64), [6, 1, 3], 11)),
        Case((draw.normal(5, 2, 3, dtype=F64), [1, 3, 4], 5), "pages in ascending order"),
        Case((draw.normal(5, 3, 2, dtype=F32), [4, 2], 6), "full pages"),
        Case((draw.normal(6, 5, 4, dtype=F64), [3, 0, 5, 2], 16), "one position on the last page"),
        Case((draw.normal(6, 2, 3, dtype=F64, scale=1e3), [5, 4, 1], 5), "large numbers"),
        Case((torch.tensor([[[9.0], [8.0]], [[0.0], [5.0]]]), [1, 0], 3), "a vector of zeros"),
        Case((draw.normal(7, 16, 3, dtype=F64), [4, 0, 6, 1, 3], 75), "pages of 16"),
    ]


GATHER_PAGES = Exercise(
    name="gather-pages",
    title="Read a sequence through its page table",
    chapter="generation",
    level=1,
    place=1,
    minutes=10,
    reference=_gather_pages,
    fixed=("pool",),  # the length has exactly the pages of the table
    cases=_gather_cases,
    tested="one page, pages in any order and ascending, pages of 16, full and nearly empty last pages, large numbers, "
    "a vector of zeros, both dtypes",
    hints=(
        "Take one position of the sequence. Which entry of the table do you need for it, and which row of that page?",
        "Whole division by the size of a page gives the entry, and the remainder gives the row.",
        "All pages can be taken at once by indexing the pool with the table. What has to go at the end?",
    ),
    mistakes=(
        Mistake("no-table", Edit("pool[table]", "pool"), "You read the pool in its own order, without the table."),
        Mistake(
            "empty-positions",
            Edit("[:length]", ""),
            "You returned whole pages. The positions of the last page beyond the length are empty.",
        ),
        Mistake(
            "full-pages-only",
            Edit("[:length]", "[: length // pool.shape[1] * pool.shape[1]]"),
            "You left out a last page that is not full.",
        ),
        Mistake(
            "sorted-table",
            Edit("pool[table]", "pool[sorted(table)]"),
            "You read the pages in the order of their numbers. The table says in which order they belong.",
        ),
        Mistake(
            "last-page-first",
            Edit("pool[table]", "pool[table[::-1]]"),
            "You read the table from its end. Its first entry is the first page of the sequence.",
        ),
        Mistake(
            "full-last-page-dropped",
            Edit("[:length]", "[: (len(table) - 1) * pool.shape[1] + length % pool.shape[1]]"),
            "You cut the last page with a remainder, which is 0 where that page is full: then none of it is left.",
        ),
        Mistake(
            "pages-in-turn",
            Edit("pool[table].flatten(0, 1)", "pool[table].transpose(0, 1).flatten(0, 1)"),
            "You take one position of each page in turn. A page is full before the next begins: divide by its size.",
        ),
    ),
)


def _paged_attention(query: Tensor, keys: Tensor, values: Tensor, table: list[int], length: int) -> Tensor:
    size, top = keys.shape[1], -math.inf
    total, summed = torch.zeros_like(query[0]), torch.zeros_like(values[0, 0])
    for i, page in enumerate(table):
        filled = min(size, length - i * size)
        scores = keys[page, :filled] @ query / math.sqrt(len(query))
        higher = max(top, scores.max().item())
        weights, shrink = (scores - higher).exp(), math.exp(top - higher)
        total = total * shrink + weights.sum()
        summed = summed * shrink + weights @ values[page, :filled]
        top = higher
    return summed / total


def _mean_of_pages(query: Tensor, keys: Tensor, values: Tensor, table: list[int], length: int) -> Tensor:
    size, outputs = keys.shape[1], []
    for i, page in enumerate(table):
        filled = min(size, length - i * size)
        scores = keys[page, :filled] @ query / math.sqrt(len(query))
        outputs.append(scores.softmax(0) @ values[page, :filled])
    return torch.stack(outputs).mean(0)


def _read_first(
    query: Tensor, keys: Tensor, values: Tensor, table: list[int], length: int, empty: float | str
) -> Tensor:
    """Read all pages, and give the empty positions a score, or make the mistake that is named."""
    key, value = keys[table].flatten(0, 1), values[table].flatten(0, 1)
    scores, hidden = key @ query / math.sqrt(len(query)), torch.arange(len(key)) >= length
    if empty == "no shift":
        powers = scores[:length].exp()
        return powers @ value[:length] / powers.sum()
    if empty == "no values":
        return scores.masked_fill(hidden, 0.0).softmax(0) @ value.masked_fill(hidden[:, None], 0.0)
    return scores.masked_fill(hidden, empty).softmax(0) @ value


def _attention_cases() -> list[Case]:
    draw = RandomInputs(82)

    def state(pages: int, size: int, d: int, d_v: int, dtype: torch.dtype, scale: float = 1.0) -> tuple:
        keys, values = draw.normal(pages, size, d, dtype=dtype, scale=scale), draw.normal(pages, size, d_v, dtype=dtype)
        return draw.normal(d, dtype=dtype), keys, values

    def scored(scores: list[list[float]], table: list[int], length: int, dtype: torch.dtype) -> tuple:
        keys = torch.tensor(scores, dtype=dtype)[..., None]
        return torch.ones(1, dtype=dtype), keys, draw.normal(*keys.shape, dtype=dtype), table, length

    rising_and_falling = [[500.0, 499.0], [0.0, 1.0], [9.0, 9.0], [1000.0, 2000.0]]
    low = [[-19e3, 1e3], [0.0, 0.0], [-2e4, -21e3]]  # the large score stands at an empty position
    ones = torch.zeros(1), torch.zeros(3, 2, 1), torch.tensor([[[3.0], [6.0]], [[9.0], [9.0]], [[0.0], [90.0]]])
    return [
        Case((*ones, [0, 2], 3), "the example"),
        Case((*state(2, 3, 2, 2, F64), [1], 3), "one page"),
        Case((*state(4, 2, 3, 5, F32), [3, 0], 4), "full pages"),
        Case((*state(6, 4, 5, 3, F64), [5, 1, 2], 9), "one position on the last page"),
        Case((*state(5, 1, 2, 3, F32), [4, 0, 3], 3), "pages of one position"),
        Case((*state(7, 5, 4, 2, F64), [2, 6, 0, 1], 18)),
        Case((*state(6, 3, 2, 4, F64, 3e3), [0, 4, 2], 8), "large scores"),
        Case(scored(rising_and_falling, [1, 3, 0], 6, F64), "scores that rise by thousands and fall again"),
        Case(scored(low, [2, 0], 3, F32), "low scores, and a large one at an empty position"),
        Case(scored([[-3e20, 1e3], [0.0, 0.0], [-1e20, -2e20]], [2, 0], 3, F64), "scores of -1e20"),
        Case((*state(7, 16, 3, 4, F64), [4, 0, 6, 1, 3], 75), "pages of 16"),
    ]


PAGED_ATTENTION = Exercise(
    name="paged-attention",
    title="Attend to a sequence in pages",
    chapter="generation",
    level=3,
    place=5,
    minutes=25,
    reference=_paged_attention,
    cases=_attention_cases,
    tested="one page, full and nearly empty last pages, pages of one position and of 16, large scores and low "
    "ones, both dtypes",
    hints=(
        "Which numbers of a page does the output need, if pages are visited one after the other?",
        "A softmax is a quotient of two sums over all positions, and a sum can be taken page by page. With large "
        "scores, measure the exponents from the largest score so far.",
        "When a page raises the largest score, multiply both sums by exp(old - new) before you add to them. "
        "Alternatively, read the pages into one tensor first.",
    ),
    mistakes=(
        Mistake(
            "empty-positions",
            Edit("filled = min(size, length - i * size)", "filled = size"),
            "You attended to the empty positions of the last page.",
        ),
        Mistake(
            "no-scale",
            Edit(" / math.sqrt(len(query))", ""),
            "You did not divide the scores by the square root of the width.",
        ),
        Mistake(
            "mean-of-pages",
            _mean_of_pages,
            "You took the mean of the outputs of the pages. A page counts by the sum of its exponentials.",
        ),
        Mistake(
            "sum-not-rescaled",
            Edit("summed = summed * shrink +", "summed = summed +"),
            "Your weighted sum of earlier pages is measured from an old largest score. Rescale it like the total.",
        ),
        Mistake(
            "total-not-rescaled",
            Edit("total = total * shrink +", "total = total +"),
            "Your sum of the exponentials of earlier pages is measured from an old largest score. Rescale it.",
        ),
        Mistake(
            "no-table",
            Edit("enumerate(table)", "enumerate(range(len(table)))"),
            "You visited the first pages of the pool. The table says which ones belong to the sequence.",
        ),
        Mistake(
            "no-shift",
            lambda query, keys, values, table, length: _read_first(query, keys, values, table, length, "no shift"),
            "You exponentiated the scores as they are. Large ones overflow, and very low ones give 0 divided by 0: "
            "subtract the largest first.",
        ),
        Mistake(
            "zero-for-a-score",
            lambda query, keys, values, table, length: _read_first(query, keys, values, table, length, 0.0),
            "You set what is empty to 0. A score of 0 has weight exp(0) = 1: leave the empty positions out.",
            also=(lambda *state: _read_first(*state, "no values"),),
        ),
        Mistake(
            "hidden-by-a-number",
            lambda query, keys, values, table, length: _read_first(query, keys, values, table, length, -1e9),
            "You hid the empty positions by a finite number, and the scores of real ones can be lower. Use -inf, or "
            "leave them out.",
            also=(lambda *state: _read_first(*state, -1e4), lambda *state: _read_first(*state, -1e20)),
        ),
        Mistake(
            "scaled-by-the-values",
            Edit("len(query)", "len(values[0, 0])"),
            "You divided by the root of the width of the values. A score sums over the width of query and key.",
        ),
    ),
)
