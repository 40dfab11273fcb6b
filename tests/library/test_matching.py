"""`assign` against all assignments there are, and what prices can prove."""

from itertools import permutations

import pytest
import torch

from companion.matching import assign


def least(cost):
    rows, columns = cost.shape
    return min(sum(cost[i, j].item() for i, j in enumerate(order)) for order in permutations(range(columns), rows))


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 5), (3, 3), (3, 6), (4, 7), (5, 5)])
def test_no_other_assignment_costs_less(rows, columns):
    generator = torch.Generator().manual_seed(7 * rows + columns)
    for draw in range(40):
        cost = 1000 * torch.randn(rows, columns, generator=generator, dtype=torch.float64)
        if draw % 2:  # many ties
            cost = torch.randint(-2, 3, (rows, columns), generator=generator).double()
        found = assign(cost)
        assert len(set(found.tolist())) == rows
        assert cost[torch.arange(rows), found].sum().item() == pytest.approx(least(cost), abs=1e-9)


def test_the_cheapest_column_of_each_row_is_taken_where_they_differ():
    order = torch.tensor([3, 0, 4, 1])
    assert assign(1.0 - torch.eye(5)[order]).equal(order)


def test_whoever_is_cheaper_elsewhere_gives_way():
    cost = torch.tensor([[0.0, 1.0, 9.0], [0.0, 9.0, 9.0], [0.0, 9.0, 5.0]])
    assert assign(cost).tolist() == [1, 0, 2]


def test_rows_that_are_not_there_need_no_column():
    assert assign(torch.zeros(0, 3)).tolist() == []


@pytest.mark.parametrize(
    ("cost", "came"),
    [
        (torch.zeros(3, 2), r"\(3, 2\)\. Add columns"),
        (torch.zeros(3), r"\(3,\)\. Add columns"),
        (torch.tensor([[1.0, float("nan")]]), r"\(1, 2\) with numbers that are not finite\. Add columns, or clip"),
    ],
)
@pytest.mark.usefixtures("shape_checks_off")
def test_what_is_no_table_of_costs_is_refused(cost, came):
    with pytest.raises(ValueError, match=r"at most as many rows as columns: got " + came):
        assign(cost)
