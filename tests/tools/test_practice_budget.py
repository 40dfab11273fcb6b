"""Limits on what an answer may cost: counted, compared with what is allowed, and told."""

import dataclasses
import re
import sys
import threading

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import _disable_current_modes

from companion.practice import budget, check_exercise, exercises
from companion.practice.budget import Budget, Cost, CostMeter
from companion.practice.checker import check, run_cases
from companion.practice.definition import Case, Mistake
from companion.practice.operations import Operations
from companion.practice.random_inputs import ChunkStream
from tests.tools.practice import BY_NAME, one_line, refused, toy

pytestmark = pytest.mark.usefixtures("fresh", "mistakes_run_once")

LIMITED = [pytest.param(exercise, id=exercise.name) for exercise in exercises() if exercise.budget]


def spent_by(function, *arguments):
    meter = CostMeter()
    with Operations(after=[meter.see]):
        kept = function(*arguments)
    assert kept is not None
    return meter.cost


def test_the_meter_counts_what_is_made_held_and_multiplied():
    """Closed form, on operations whose cost can be told by hand."""
    x, y = torch.ones(5, 3), torch.ones(3, 7)
    assert spent_by(lambda: x @ y) == Cost(largest=35, held=35, work=105)
    assert spent_by(lambda: x + 1) == Cost(15, 15, 15)
    assert spent_by(lambda: x.T[1:].reshape(-1)[:4]) == Cost(10, 10, 10)  # the views make nothing
    assert spent_by(lambda: x[:2].mT) == Cost(0, 0, 0)
    assert spent_by(lambda: x @ y[:, 0]) == Cost(5, 5, 15)
    assert spent_by(lambda: torch.einsum("ij,jk->ik", x, y)).work == 105
    assert spent_by(lambda: torch.tensor([1.0, 2.0])) == Cost(2, 2, 2)
    assert spent_by(lambda: x.expand(9, 5, 3)) == Cost(0, 0, 0)
    assert spent_by(lambda: x.new_zeros(2)) == spent_by(lambda: torch.zeros(2)) == Cost(2, 2, 2)
    assert spent_by(lambda: x.new_full((1, 1), 3.0)) == spent_by(lambda: x.new_ones(1)) == Cost(1, 1, 1)
    assert spent_by(lambda: torch.zeros_like(x)) == Cost(15, 15, 15)
    rows = torch.tensor([4, 0])
    assert spent_by(lambda: x[rows]) == Cost(6, 6, 6)  # of 15 only these are read
    assert spent_by(lambda: x.index_put_((rows,), y[:2, :3])).work == 6
    assert spent_by(lambda: x[0].index_put_((torch.zeros(9).long(),), x.new_tensor(2.0))).work == 9 + 9 + 9 + 1


def test_a_product_counts_the_same_in_every_dress():
    """Closed form: (5, 3) by (3, 7), once or in a batch of two, whatever is added and wherever it is written."""
    x, y, z = torch.ones(5, 3), torch.ones(3, 7), torch.ones(5, 7)
    xs, ys, zs = (a.expand(2, *a.shape) for a in (x, y, z))
    one = (x.mm, lambda y: z.addmm(x, y), lambda y: z.clone().addmm_(x, y), lambda y: torch.mm(x, y, out=z))
    two = (xs.bmm, lambda ys: zs.baddbmm(xs, ys), lambda ys: zs.clone().baddbmm_(xs, ys))
    assert spent_by(one[3], y) == Cost(0, 0, 105), "it is written into a tensor that was there"
    for product, copied in zip(one, (0, 0, 35, 0), strict=True):
        assert spent_by(product, y).work == 105 + copied
    for product, copied in zip(two, (0, 0, 70), strict=True):
        assert spent_by(product, ys).work == 210 + copied
    for product, copied in ((z.addbmm, 0), (lambda *of: z.clone().addbmm_(*of, alpha=2), 35)):
        assert spent_by(product, xs, ys).work == 210 + copied


def test_watching_an_answer_does_not_load_the_compiler_of_torch(monkeypatch):
    """It takes seconds, and a reader would wait for it at the first check."""

    class Fresh(Operations):  # torch decides about loading where a class is made, and does so once
        __torch_dispatch__ = Operations.__torch_dispatch__

    monkeypatch.setitem(sys.modules, "torch._dynamo", None)
    with Fresh():
        assert (torch.ones(2) + 1).tolist() == [2, 2]


def test_what_is_let_go_is_not_held():
    def one_by_one():
        for _ in range(10):
            x = torch.zeros(100)
        return x

    assert spent_by(one_by_one) == Cost(100, 200, 1000)  # the new one is made before the old one goes
    assert spent_by(lambda: [torch.zeros(100) for _ in range(10)]).held == 1000


def test_what_autograd_keeps_is_held():
    def chain(n):
        h = torch.ones(50, requires_grad=True)
        for _ in range(n):
            h = torch.tanh(h)
        return h

    assert spent_by(chain, 20).held - spent_by(chain, 10).held == 500


@pytest.mark.parametrize("exercise", LIMITED)
def test_a_costly_answer_is_refused_with_what_it_used_and_what_is_allowed(exercise):
    mistake = next(
        m
        for m in exercise.mistakes
        if m.name in ("recomputed", "all-kept", "whole-matrix", "all-pairs", "all-pairs-or-all-states")
    )
    for function in exercise.wrong_answers[mistake.name]:
        error = refused(exercise, function)
        text = one_line(error)
        assert error.mistake == mistake.name
        assert "The numbers are right, but they cost too much: " in text
        used, allowed = re.search(r"([\d,]+) (?:numbers|units)[^;]*?, and ([\d,]+) are allowed", text).groups()
        assert int(used.replace(",", "")) > int(allowed.replace(",", ""))
        assert exercise.allowed(exercise.cases()[error.case - 1]) != budget.NO_BUDGET


@pytest.mark.parametrize("exercise", LIMITED)
def test_the_limits_lie_between_the_solution_and_the_costly_way(exercise):
    """The reference uses at most nine tenths of what is allowed. Other right answers pass too: see `right_answers`."""
    measured = 0
    for case, outcome in zip(exercise.cases(), run_cases(exercise, exercise.reference), strict=True):
        for _, used, allowed in budget._pairs(outcome.cost, exercise.allowed(case)):
            measured += 1
            assert 0 < used <= 0.9 * allowed, case.note
    assert measured


def doubling(x):
    return 2 * x


def doubled_twice(x):
    return (x + 1) + (x - 1)


def limited(**allowed):
    """Twice the argument, with limits on the last case."""
    return toy(
        reference=doubling,
        cases=lambda: [Case((torch.arange(1.0, n),)) for n in (3, 8, 50)],
        mistakes=(
            Mistake("half", lambda x: x / 2, "You halved."),
            Mistake("square", lambda x: x * x, "You squared."),
            Mistake("sum", lambda x: x.sum(), "You summed."),
            Mistake("costly", doubled_twice, "You went through it three times."),
        ),
        budget=lambda x: Budget(**allowed) if len(x) > 40 else Budget(),
    )


def test_an_answer_at_the_border_passes_and_one_beyond_it_does_not():
    assert check(limited(work=147), doubled_twice) == 3
    error = refused(limited(work=146), doubled_twice)
    assert (error.case, error.mistake) == (3, "costly")
    assert "it does 147 units of work, and 146 are allowed." in one_line(error)
    assert check(limited(largest=49), doubling) == 3
    assert refused(limited(largest=48), doubling).case == 3
    text = one_line(refused(limited(held=146, largest=10), doubled_twice))
    assert "the largest tensor that it makes has 49 numbers, and 10 are allowed; at its peak it holds 147" in text


def test_a_wrong_answer_is_told_what_is_wrong_before_what_it_costs():
    text = one_line(refused(limited(work=1), lambda x: x / 2))
    assert "You halved." in text
    assert "cost" not in text


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: torch.from_numpy(2 * x.numpy()),
        lambda x: torch.tensor(2 * x.numpy()),
        lambda x: torch.tensor(2 * np.asarray(x)),
        lambda x: torch.from_numpy(np.asarray(x)) * 2,
        lambda x: torch.from_numpy(2 * np.from_dlpack(x)).clone(),
    ],
)
def test_numpy_is_refused_where_costs_are_limited(compute):
    """Its arrays are not counted, so that an answer could hold all it wants in them."""
    error = refused(limited(work=1000, held=1000), compute)
    assert error.case == 3
    assert "your code computes in NumPy, and the check counts memory and work in torch only" in one_line(error)
    assert check(toy(), compute) == 3


def in_a_thread(x):
    results = []
    thread = threading.Thread(target=lambda: results.append(2 * x))
    thread.start()
    thread.join()
    return results[0]


def unwatched(x):
    with _disable_current_modes():
        return 2 * x


@pytest.mark.parametrize("compute", [in_a_thread, unwatched])
def test_a_result_from_out_of_sight_is_refused_where_costs_are_limited(compute):
    error = refused(limited(held=1000), compute)
    assert error.case == 3
    assert "they were computed where the check cannot follow" in one_line(error)
    assert check(toy(), compute) == 3


def test_arguments_and_views_of_them_are_in_sight():
    doubled = limited(work=1000)
    same = dataclasses.replace(doubled, reference=lambda x: x, mistakes=toy().mistakes)
    for answer in (lambda x: x, lambda x: x.view(1, -1)[0], lambda x: x.detach()):
        assert check(same, answer) == 3


def test_a_right_answer_with_limits_prints_its_bill(capsys):
    check_exercise("stream-softmax", BY_NAME["stream-softmax"].reference)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Average a stream with softmax weights: correct (10 cases)."
    assert re.match(r"Cost of case 10: at its peak it holds \d+ numbers at once, .*\(300", lines[2])
    check_exercise("scaled-scores", BY_NAME["scaled-scores"].reference)
    assert "Cost" not in capsys.readouterr().out


def test_a_stream_is_read_once_and_in_chunks():
    stream = ChunkStream(torch.arange(5.0), torch.arange(10.0).reshape(5, 2), 2)
    assert [(tuple(s.shape), tuple(v.shape)) for s, v in stream] == [((2,), (2, 2)), ((2,), (2, 2)), ((1,), (1, 2))]
    with pytest.raises(RuntimeError, match="a stream is read once, and this one was read already"):
        list(stream)
    assert repr(stream) == "of 3 chunks"
    assert stream == ChunkStream(torch.arange(5.0), torch.arange(10.0).reshape(5, 2), 2)
    assert stream != ChunkStream(torch.arange(5.0), torch.arange(10.0).reshape(5, 2), 3)
    assert stream != ChunkStream(1 + torch.arange(5.0), torch.arange(10.0).reshape(5, 2), 2)
    assert stream != "a stream"
    twice = refused(BY_NAME["stream-softmax"], lambda stream, d_v: [max(s.max() for s, _ in stream), list(stream)])
    assert "a stream is read once" in one_line(twice)
