"""Calls that an exercise forbids are seen in whatever way they are written, and zeros can be asked for exactly."""

import re
import threading

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import forward_ad
from torch.utils._python_dispatch import _disable_current_modes

from companion.practice.checker import check
from tests.tools.practice import BY_NAME, one_line, refused


def quietly(scores):
    try:
        return scores.softmax(-1).nan_to_num(0.0)
    except Exception:
        return None


def by_attention(scores):
    keys = torch.eye(scores.shape[-1], dtype=scores.dtype)
    return F.scaled_dot_product_attention(scores, keys, keys, scale=1.0).nan_to_num(0.0)


def sparse(scores):
    places = scores.isfinite().nonzero().T
    return torch.sparse_coo_tensor(places, scores[tuple(places)], scores.shape, check_invariants=True)


@pytest.mark.parametrize(
    "function",
    [
        lambda scores: scores.softmax(-1).nan_to_num(0.0),
        lambda scores: torch.softmax(scores, -1).nan_to_num(0.0),
        lambda scores: F.softmax(scores, -1).nan_to_num(0.0),
        lambda scores: nn.Softmax(-1)(scores).nan_to_num(0.0),
        lambda scores: scores.log_softmax(-1).exp().nan_to_num(0.0),
        lambda scores: torch._masked_softmax(scores, scores == -torch.inf, -1).nan_to_num(0.0),
        lambda scores: torch.sparse.softmax(sparse(scores), -1).to_dense(),
        lambda scores: torch.sparse.log_softmax(sparse(scores), -1).to_dense().exp(),
        quietly,
        by_attention,
    ],
    ids=["method", "torch", "functional", "module", "log", "masked", "sparse", "sparse log", "caught", "attention"],
)
def test_a_forbidden_softmax_is_refused_and_named(function):
    error = refused(BY_NAME["softmax-stable"], function)
    assert error.case == 1
    assert "and the exercise forbids that" in one_line(error)
    assert re.search(r"calls `\w*(softmax|attention)\w*` of torch", one_line(error))


def in_a_thread(scores):
    results = []
    thread = threading.Thread(target=lambda: results.append(scores.softmax(-1).nan_to_num(0.0)))
    thread.start()
    thread.join()
    return results[0]


def unwatched(scores):
    with _disable_current_modes():
        return scores.softmax(-1).nan_to_num(0.0)


@pytest.mark.parametrize("function", [in_a_thread, unwatched])
def test_a_result_from_out_of_sight_is_refused_where_calls_are_forbidden(function):
    assert "computed where the check cannot follow" in one_line(refused(BY_NAME["softmax-stable"], function))


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # a row of -inf
def test_numpy_is_allowed_where_nothing_but_a_call_is_forbidden():
    def mine(scores):
        powers = np.exp(scores.numpy() - scores.numpy().max(-1, keepdims=True))
        return torch.from_numpy(np.nan_to_num(powers / powers.sum(-1, keepdims=True)))

    exercise = BY_NAME["softmax-stable"]
    assert check(exercise, mine) == len(exercise.cases())


def output_of(query, key, value):
    return (query @ key.mT / query.shape[-1] ** 0.5).softmax(-1) @ value


def by_grad(query, key, value, d_output):
    leaves = [x.clone().requires_grad_() for x in (query, key, value)]
    return torch.autograd.grad(output_of(*leaves), leaves, d_output)


def by_backward(query, key, value, d_output):
    leaves = [x.clone().requires_grad_() for x in (query, key, value)]
    (F.scaled_dot_product_attention(*leaves) * d_output).sum().backward()
    return tuple(x.grad for x in leaves)


def by_vjp(query, key, value, d_output):
    return torch.func.vjp(output_of, query, key, value)[1](d_output)


def by_forward_derivatives(*given):
    *tensors, d_output = given
    gradients = [torch.zeros_like(x) for x in tensors]
    for place, x in enumerate(tensors):
        for entry in range(x.numel()):
            with forward_ad.dual_level():
                one = torch.zeros_like(x).flatten().index_fill(0, torch.tensor([entry]), 1.0).view_as(x)
                moved = [*tensors[:place], forward_ad.make_dual(x, one), *tensors[place + 1 :]]
                slope = forward_ad.unpack_dual(output_of(*moved)).tangent
            gradients[place].view(-1)[entry] = (slope * d_output).sum()
    return tuple(gradients)


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # of torch, when it takes forward derivatives
@pytest.mark.parametrize("function", [by_grad, by_backward, by_vjp, by_forward_derivatives])
def test_gradients_that_autograd_took_are_refused_where_they_are_to_be_worked_out(function):
    error = refused(BY_NAME["attention-backward"], function)
    assert error.case == 1
    assert "calls `autograd` of torch" in one_line(error)
    assert "and the exercise forbids that" in one_line(error)


def test_a_wrong_answer_is_told_what_differs_before_what_is_forbidden():
    assert "What differs" in str(refused(BY_NAME["softmax-stable"], lambda scores: scores.softmax(-1) + 1.0))


def test_nearly_zero_is_refused_where_exactly_zero_is_asked_for():
    def nearly(scores, mask):
        weights = scores.masked_fill(~mask, scores.amin() - 40.0).softmax(-1)
        return weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)

    assert "not exactly 0" in one_line(refused(BY_NAME["masked-weights"], nearly))
