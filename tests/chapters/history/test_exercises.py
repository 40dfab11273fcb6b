"""The exercises on recurrent networks: the examples by hand, torch and autograd as oracles, mistakes as written."""

import math

import pytest
import torch
from torch import nn

from companion.practice import exercises, inputs
from companion.recurrent import AdditiveAttention, ElmanCell, GRUCell, LSTMCell
from tests.tools.practice import one_line, refused

BY_NAME = {exercise.name: exercise for exercise in exercises("history")}


def reference(name, *arguments):
    return BY_NAME[name].reference(*arguments)


def test_the_hand_examples_are_the_first_cases():
    """Closed form: the numbers that the statements work out."""
    first = math.tanh(0.5)
    new = 3 / (1 + math.exp(-2)) + 0.5 * math.tanh(1)
    e = math.exp(math.tanh(2))
    expected = {
        "rnn-steps": [[first], [math.tanh(1.5 + 2 * first)]],
        "gru-step": [[2 + 0.5 * math.tanh(2)]],
        "reverse-padded": [[[2, 6], [1, 5], [3, 7]]],
        "product-norms": [2, 6],
        "rnn-backward": [[6], [4]],
        "additive-context": [2 * e / (1 + e)],
    }
    for name, by_hand in expected.items():
        result = reference(name, *inputs(name, 1))
        torch.testing.assert_close(result, torch.tensor(by_hand, dtype=result.dtype), rtol=0, atol=1e-12)
    h, c = reference("lstm-step", *inputs("lstm-step", 1))
    assert c.item() == pytest.approx(new)
    assert h.item() == pytest.approx(0.5 * math.tanh(new))


def test_the_steps_are_those_of_the_cells():
    torch.manual_seed(0)
    x, h, c = (torch.randn(3, width, dtype=torch.float64) for width in (2, 5, 5))
    with torch.no_grad():
        lstm = LSTMCell(2, 5).double()
        got = reference("lstm-step", lstm.w_x(x) + lstm.w_h(h), c)
        for ours, theirs in zip(got, lstm(x, (h, c)), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
        gru = GRUCell(2, 5).double()
        h_sums = gru.w_h(h) + torch.cat([torch.zeros(10, dtype=torch.float64), gru.b_h])
        torch.testing.assert_close(reference("gru-step", gru.w_x(x), h_sums, h), gru(x, h), rtol=0, atol=1e-12)


def test_the_context_is_that_of_the_package():
    torch.manual_seed(0)
    look = AdditiveAttention(3, 4, 5).double()
    s, states = torch.randn(3, dtype=torch.float64), torch.randn(7, 4, dtype=torch.float64)
    mask = (torch.arange(7) < 5)[None, None]
    with torch.no_grad():
        got = reference("additive-context", s, states, look.w_query.weight, look.w_key.weight, look.v, 5)
        torch.testing.assert_close(got, look(s[None, None], states[None], mask)[0, 0], rtol=0, atol=1e-12)


def test_the_backward_pass_is_that_of_autograd():
    torch.manual_seed(0)
    cell, g = ElmanCell(2, 4).double(), torch.randn(4, dtype=torch.float64)
    states = [cell(torch.randn(2, dtype=torch.float64))]
    for _ in range(5):
        states.append(cell(torch.randn(2, dtype=torch.float64), states[-1]))
    want = torch.autograd.grad(states[-1] @ g, states)
    weight = cell.w_h.weight.detach()
    got = reference("rnn-backward", torch.stack(states).detach(), weight, g)
    torch.testing.assert_close(got, torch.stack(want), rtol=0, atol=1e-12)
    jacobians = torch.stack([(1 - h.detach() ** 2)[:, None] * weight for h in states[1:]])
    norms = reference("product-norms", jacobians)
    whole = torch.linalg.multi_dot(list(jacobians.flip(0)))  # the last step on the left
    assert norms[-1].item() == pytest.approx(torch.linalg.matrix_norm(whole, 2).item())


def test_the_order_of_the_gates_is_that_of_torch():
    torch.manual_seed(0)
    layer = nn.LSTM(2, 3, batch_first=True).double()
    x = torch.randn(1, 1, 2, dtype=torch.float64)
    with torch.no_grad():
        sums = x[0] @ layer.weight_ih_l0.T + layer.bias_ih_l0 + layer.bias_hh_l0
        h, c = reference("lstm-step", sums, torch.zeros(1, 3, dtype=torch.float64))
        _, (their_h, their_c) = layer(x)
    torch.testing.assert_close((h, c), (their_h[0], their_c[0]), rtol=0, atol=1e-12)


def test_a_slice_from_the_end_is_no_empty_slice():
    """For a sequence without a real token, ``[-0:]`` is all of it."""

    def wrong(x, lengths):
        result = x.clone()
        for row, n in enumerate(lengths.tolist()):
            result[row, :n] = x[row, :n].flip(0) if n == x.shape[1] else x[row].flip(0)[-n:]
        return result

    assert "no real token" in one_line(refused(BY_NAME["reverse-padded"], wrong))
