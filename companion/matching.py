"""One prediction for each object, at the least total cost: the assignment problem, as DETR solves it in its loss.

The Hungarian algorithm in its usual form with prices: it finds a shortest path to a free column for one row
after the other, in a time of the order rows² · columns. Carion et al. (2020), section 3.1, equation 1.

Chapter: book/variants.
"""

from math import inf

import torch
from jaxtyping import Float, Int
from torch import Tensor


def assign(cost: Float[Tensor, "rows columns"]) -> Int[Tensor, " rows"]:
    """Give each row a column of its own, so that the sum of their costs is as small as possible.

    >>> assign(torch.tensor([[1.0, 2.0, 9.0], [1.0, 5.0, 9.0]])).tolist()
    [1, 0]

    Args:
        cost: finite numbers, ``(rows, columns)``, at most as many rows as columns.

    Returns:
        The column of each row, ``(rows,)``.

    Raises:
        ValueError: the costs are no such table.
    """
    if cost.ndim != 2 or cost.shape[0] > cost.shape[1] or not cost.isfinite().all():
        raise ValueError(
            f"costs are finite numbers, (rows, columns), at most as many rows as columns: got {tuple(cost.shape)}"
            f"{'' if cost.isfinite().all() else ' with numbers that are not finite'}. Add columns, or clip the costs."
        )
    table, count = cost.tolist(), cost.shape[1]
    row_price, price = [0.0] * (len(table) + 1), [0.0] * (count + 1)
    owner = [0] * (count + 1)  # of each column, rows counted from 1; column 0 is where a row waits
    for row in range(1, len(table) + 1):
        column, owner[0] = 0, row
        slack, before, seen = [inf] * (count + 1), [0] * (count + 1), [False] * (count + 1)
        while owner[column]:
            seen[column], i, step, nearest = True, owner[column], inf, 0
            for j in range(1, count + 1):
                if not seen[j]:
                    reduced = table[i - 1][j - 1] - row_price[i] - price[j]
                    if reduced < slack[j]:
                        slack[j], before[j] = reduced, column
                    if slack[j] < step:
                        step, nearest = slack[j], j
            for j in range(count + 1):
                if seen[j]:
                    row_price[owner[j]] += step
                    price[j] -= step
                else:
                    slack[j] -= step
            column = nearest
        while column:
            owner[column], column = owner[before[column]], before[column]
    found = torch.zeros(len(table), dtype=torch.long)
    for j in range(1, count + 1):
        if owner[j]:
            found[owner[j] - 1] = j - 1
    return found
