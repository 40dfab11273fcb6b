"""Processes that compute together: each way of dividing gives what one process gives."""

import math
import time

import pytest
import torch

from companion import cost
from companion.chapters.scaling import small_stack
from companion.chapters.scaling.small_stack import (
    ColwiseParallel,
    PipelineStage,
    RowwiseParallel,
    ScheduleGPipe,
    batch,
    fully_shard,
    init_device_mesh,
    mse,
    parallelize_module,
    rank,
    stack,
    world_size,
)
from companion.parallel import Processes, Traffic
from companion.training.distributed import all_gather

SIZE = 8 * 8512  # bytes of the model in float64


@pytest.fixture(scope="module")
def processes():
    with Processes(4, small_stack.__name__) as started:
        yield started


@pytest.fixture(scope="module")
def one():
    model, (x, y) = small_stack.stack(), small_stack.batch()
    loss = small_stack.mse(model(x), y)
    loss.backward()
    return loss.item(), [p.grad for p in model.parameters()]


def largest(gradients, expected):
    return max((a - b).abs().max().item() for a, b in zip(gradients, expected, strict=True))


def sharded():
    model, (x, y) = stack(), batch()
    for part in [*model, model]:
        fully_shard(part, mesh=init_device_mesh("cpu", (world_size(),)))
    with Traffic() as traffic:
        loss = mse(model(x[rank() :: world_size()]), y[rank() :: world_size()])
        loss.backward()
    held = sum(p.to_local().numel() for p in model.parameters())
    return loss.item(), [p.grad.full_tensor() for p in model.parameters()], held, traffic.bytes, traffic.sent(4)


def divided_matrices():
    model, (x, y) = stack(), batch()
    plan = {"w_1": ColwiseParallel(), "w_2": RowwiseParallel()}
    for block in model:
        parallelize_module(block, init_device_mesh("cpu", (world_size(),)), plan)
    with Traffic() as traffic:
        loss = mse(model(x), y)
        loss.backward()
    return loss.item(), [p.grad.full_tensor() for p in model.parameters()], traffic.bytes


def pipeline():
    model, (x, y), losses = stack(), batch(), []
    mine = model[rank()]
    like = mine(x[:2])
    stage = PipelineStage(mine, rank(), 4, torch.device("cpu"), input_args=like, output_args=like)
    schedule = ScheduleGPipe(stage, 4, loss_fn=mse)
    with Traffic() as traffic:
        if rank() == 0:
            schedule.step(x)
        else:
            schedule.step(target=y, losses=losses)
    losses = [loss.item() for loss in losses]
    return losses, [p.grad for p in mine.parameters()], traffic.bytes


def test_sharded_processes_reach_the_gradients_of_one(processes, one):
    found = processes.run(sharded)
    assert sum(loss for loss, *_ in found) / 4 == pytest.approx(one[0], abs=1e-14)
    for _, gradients, *_ in found:
        assert largest(gradients, one[1]) < 1e-14


def test_each_process_holds_its_share_and_sends_three_times_its_part_of_the_model(processes):
    for _, _, held, exchanged, sent in processes.run(sharded):
        assert held == 8512 / 4
        assert exchanged == {"all-gather": 2 * SIZE, "reduce-scatter": SIZE}
        assert sent == 3 * SIZE * 3 / 4


def test_divided_matrices_reach_the_gradients_of_one_and_exchange_activations(processes, one):
    for loss, gradients, exchanged in processes.run(divided_matrices):
        assert loss == pytest.approx(one[0], abs=1e-14)
        assert largest(gradients, one[1]) < 1e-14
        assert exchanged.keys() == {"all-reduce"}
        assert exchanged["all-reduce"] in (7 * 8 * 16 * 8, 8 * 8 * 16 * 8)  # x needs no gradient


def test_a_pipeline_reaches_the_gradients_of_one_and_sends_what_lies_between_its_stages(processes, one):
    found = processes.run(pipeline)
    assert sum(found[-1][0]) / 4 == pytest.approx(one[0], abs=1e-14)
    assert largest([g for _, gradients, _ in found for g in gradients], one[1]) < 1e-14
    passed = 8 * 16 * 8
    assert [exchanged["send"] for *_, exchanged in found] == [passed, 2 * passed, 2 * passed, passed]


def fails():
    if rank() == 1:
        raise KeyError("lost")
    all_gather(None)


def ends():
    import os

    os._exit(3)


def waits():
    if rank() == 0:
        all_gather(None)


def test_an_error_of_one_process_is_shown_and_ends_all():
    with Processes(2, "companion.training.distributed") as started:
        with pytest.raises(RuntimeError, match=r"(?s)process 1 raised an error in fails:.*KeyError: 'lost'"):
            started.run(fails)
        with pytest.raises(ValueError, match="processes are closed"):
            started.run(fails)


@pytest.mark.parametrize(("function", "error"), [(ends, "ended during ends"), (waits, "1 of 2 did not finish")])
def test_a_process_that_is_gone_or_hangs_is_no_endless_wait(function, error):
    started = Processes(2, "companion.training.distributed")
    started.seconds, begun = 2, time.monotonic()
    with pytest.raises((RuntimeError, TimeoutError), match=error):
        started.run(function)
    assert time.monotonic() - begun < 60


def test_one_operation_that_is_no_exchange_counts_nothing():
    with Traffic() as traffic:
        torch.ones(3).sum()
    assert traffic.bytes == {}
    assert traffic.sent(4) == 0


def test_zero_leaves_what_its_paper_states():
    """Figure 1: 7.5 billion parameters on 64 processors."""
    found = [round(cost.zero_bytes(7_500_000_000, 64, stage) / 1e9, 1) for stage in range(4)]
    assert found == [120.0, 31.4, 16.6, 1.9]
    assert all(cost.zero_bytes(10, 1, stage) == 160 for stage in range(4))


def test_a_ring_sends_its_part_of_the_tensor_once_or_twice():
    for n in (1, 2, 5):
        assert cost.ring_bytes(1000, n) == 2 * cost.ring_bytes(1000, n, "all-gather") == 2000 * (n - 1) / n
        assert cost.ring_bytes(1000, n, "reduce-scatter") == 1000 * (n - 1) / n
    assert cost.ring_bytes(1000, 5, "send") == 1000


def test_the_bubble_is_what_is_left_over_in_the_schedule():
    for p, m in ((1, 3), (2, 4), (4, 1), (4, 16)):
        slots = p * (m + p - 1)  # forward passes; the backward ones are the same once more
        assert cost.bubble(p, m) == pytest.approx((slots - p * m) / slots)
    assert math.isclose(cost.bubble(4, 16), 3 / 19)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: cost.zero_bytes(10, 2, 4), "stages 1 to 3"),
        (lambda: cost.ring_bytes(10, 2, "gossip"), "an exchange is one of all-reduce"),
        (lambda: cost.bubble(0, 2), "stages is a whole number, at least 1"),
        (lambda: Processes(0, "math"), "number is a whole number, at least 1"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()
