"""The Transformer that is a table."""

import itertools
import math

import pytest
import torch

from companion.chapters.theory.table_model import TableTransformer, blocks, staircase

F64 = torch.float64


def sort(x):
    return x.sort(dim=-1).values


def test_a_staircase_rises_at_its_edges():
    """Closed form: flat between edges, half of the step in the middle of a slope."""
    edges, rises = torch.tensor([1.0, 2.0], dtype=F64), torch.tensor([3.0, -5.0], dtype=F64)
    x = torch.tensor([0.0, 0.85, 0.9, 0.95, 1.0, 1.5, 2.0, 7.0], dtype=F64)
    want = torch.tensor([0, 0, 0, 1.5, 3, 3, -2, -2], dtype=F64)
    torch.testing.assert_close(staircase(x, edges, rises, 0.1), want, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("n", "levels"), [(1, 7), (2, 5), (3, 4)])
def test_every_cell_gets_the_value_at_its_centre(n, levels):
    """Closed form, for functions that are equivariant, invariant and neither."""
    cells = torch.tensor(list(itertools.product(range(levels), repeat=n)), dtype=F64)
    centres = (cells + 0.5) / levels
    for function in (sort, lambda x: x.flip(-1) + x.sin(), lambda x: x.cumsum(-1), lambda x: x[:, :1].expand_as(x)):
        model = TableTransformer(function, n, levels)
        assert model.entries == n * levels**n == len(model.edges) + 1
        for where in (centres, (cells + 0.1) / levels, (cells + 0.9) / levels):
            torch.testing.assert_close(model(where), function(centres), rtol=0, atol=1e-9)


def test_each_token_of_each_cell_has_a_number_of_its_own():
    model = TableTransformer(sort, 3, 4)
    cells = torch.tensor(list(itertools.product(range(4), repeat=3)), dtype=F64)
    numbers = model.mapping(cells + model.positions)
    assert len(set(numbers.flatten().tolist())) == 192
    rest = numbers - 12 * (cells + model.positions)
    torch.testing.assert_close(rest, rest[:, :1].expand(-1, 3))  # one number for the context
    assert rest.min() >= 0
    assert rest.max() < 12


def test_the_average_error_falls_with_the_levels_and_the_largest_does_not():
    x = torch.rand(1000, 2, generator=torch.Generator().manual_seed(0), dtype=F64)
    errors = [(TableTransformer(sort, 2, levels)(x) - sort(x)).abs() for levels in (4, 8, 16)]
    means = [float(error.mean()) for error in errors]
    assert means[0] > 1.7 * means[1] > 2.9 * means[2]
    assert min(float(error.max()) for error in errors) > 0.4


def test_the_blocks_of_the_narrow_construction():
    """By hand: 4 * 10^8 for four tokens of width 2 at ten levels, divided by 4! = 24 without positions."""
    assert blocks(4, 2, 10, positions=True) == pytest.approx(math.log10(4e8))
    assert blocks(4, 2, 10, positions=False) == pytest.approx(math.log10(4e8 / 24))


@pytest.mark.usefixtures("shape_checks_off")
def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"n and levels must be positive, ramp between 0 and 1: got 0, 4 and 0.01"):
        TableTransformer(sort, 0, 4)
    with pytest.raises(ValueError, match=r"n and levels must be positive, ramp between 0 and 1: got 2, 4 and 1.5"):
        TableTransformer(sort, 2, 4, ramp=1.5)
    with pytest.raises(ValueError, match="too near for float64: take fewer than 16 levels or 4 tokens"):
        TableTransformer(sort, 4, 16)
