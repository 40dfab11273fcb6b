"""The shortest way through a stack of layers: closed forms, the formulas of the table, and what is refused."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from companion import cost
from companion.efficient import window_attention
from companion.recurrent import CausalConv


def length(kind, n, **settings):
    return len(cost.shortest_path(kind, n, **settings)) - 1


@given(n=st.integers(2, 200), size=st.integers(2, 9))
def test_the_length_is_that_of_the_table(n, size):
    assert length("self-attention", n) == cost.self_attention_layer(n, 4).path
    assert length("recurrent", n) == cost.recurrent_layer(n, 4).path
    assert length("convolution", n, size=size) == cost.convolution_layer(n, 4, size).path
    assert length("dilated", n, size=size) == cost.convolution_layer(n, 4, size, dilated=True).path
    assert length("window", n, size=size) == cost.window_attention_layer(n, 4, size).path


def test_small_ways_by_hand():
    assert cost.shortest_path("recurrent", 3) == [(0, 0), (1, 0), (1, 1), (1, 2)]
    assert cost.shortest_path("dilated", 8, size=2) == [(0, 0), (1, 1), (2, 3), (3, 7)]
    assert cost.shortest_path("convolution", 6, size=3) == [(0, 0), (1, 2), (2, 4), (3, 5)]
    assert cost.shortest_path("window", 6, size=3, start=5) == [(0, 5), (1, 5)]


@given(
    kind=st.sampled_from(["self-attention", "convolution", "dilated", "window"]),
    n=st.integers(2, 40),
    size=st.integers(2, 5),
    data=st.data(),
)
def test_each_step_of_a_way_is_an_edge(kind, n, size, data):
    start = data.draw(st.integers(0, n - 1))
    way = cost.shortest_path(kind, n, size=size, start=start)
    assert way[0] == (0, start)
    assert way[-1][1] == n - 1
    for (layer, position), (above, reached) in itertools.pairwise(way):
        assert above == layer + 1
        step = size**layer if kind == "dilated" else 1
        far = n if kind == "self-attention" else (size - 1) * step
        assert 0 <= reached - position <= far
        assert (reached - position) % step == 0


@pytest.mark.parametrize("n", [5, 9, 20])
def test_a_layer_of_the_package_reaches_as_far_as_the_graph_says(n):
    """Gradients as the oracle: as many layers as the way is long reach the first position, one fewer does not."""
    torch.manual_seed(0)
    layers = {
        "convolution": [CausalConv(2, 2, kernel=3).double() for _ in range(n)],
        "dilated": [CausalConv(2, 2, kernel=3, dilation=3**layer).double() for layer in range(4)],
        "window": [lambda x: window_attention(x, x, x, 3)] * n,
    }
    for kind, stack in layers.items():
        needed = length(kind, n)
        for count in (needed - 1, needed):
            x = torch.randn(1, n, 2, dtype=torch.float64, requires_grad=True)
            y = x
            for layer in stack[:count]:
                y = layer(y)
            (gradient,) = torch.autograd.grad(y[0, -1].sum(), x)
            assert bool((gradient[0, 0] != 0).any()) == (count == needed), (kind, count)


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (("graph", 4), r"kind is one of self-attention, recurrent, .*: got 'graph'\. Use one of these"),
        (("window", 0), r"n is a whole number, at least 1: got n=0"),
        (("window", 4, 1), r"size is a whole number, at least 2: got size=1"),
        (("window", 4, 2, 4), r"start is one of the positions 0 to 3: got 4\. Count from 0"),
    ],
)
def test_what_is_no_graph_is_refused(arguments, rule):
    kind, n, *rest = arguments
    with pytest.raises(ValueError, match=rule):
        cost.shortest_path(kind, n, **dict(zip(("size", "start"), rest, strict=False)))
