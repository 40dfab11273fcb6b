"""Parity of training with torch and transformers: losses, clipping, schedules, Adam, and whole runs, in float64."""

import functools
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from transformers import get_cosine_schedule_with_warmup

from companion.config import ModelConfig
from companion.training import (
    Batches,
    Trainer,
    clip_gradients,
    cosine_schedule,
    lambda_lr,
    pairs_batch,
    paper_adam,
    seq2seq_loss,
    smoothed_targets,
    summed_loss,
    token_losses,
    warmup_schedule,
)
from companion.transformer import Transformer, shift_right
from tests.library.tensors import ROUNDING, close

BATCH, T, VOCAB = 3, 5, 7  # all different: a swapped axis cannot pass
PADDINGS = [None, -100, 0, 6]


def draw_targets(padding):
    target = torch.randint(0, VOCAB, (BATCH, T), generator=torch.Generator().manual_seed(1))
    if padding is not None:
        target[0, 2:], target[2, 4:] = padding, padding
    return target


def torch_loss(logits, target, *, smoothing, padding, reduction):
    options = {"label_smoothing": smoothing, "reduction": reduction}
    if padding is not None:
        options["ignore_index"] = padding
    return F.cross_entropy(logits.transpose(1, 2), target, **options)


# Losses


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
def test_the_mean_loss_and_its_gradient_equal_those_of_torch(randn, smoothing, padding):
    logits, target = randn(BATCH, T, VOCAB, requires_grad=True), draw_targets(padding)
    ours = summed_loss(logits, target, smoothing=smoothing, padding=padding).mean
    theirs = torch_loss(logits, target, smoothing=smoothing, padding=padding, reduction="mean")
    close(ours, theirs)
    close(torch.autograd.grad(ours, logits)[0], torch.autograd.grad(theirs, logits)[0])


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_of_each_token_and_their_sum_equal_those_of_torch(randn, smoothing, padding):
    logits, target = randn(BATCH, T, VOCAB), draw_targets(padding)
    options = {"smoothing": smoothing, "padding": padding}
    close(token_losses(logits, target, **options), torch_loss(logits, target, **options, reduction="none"))
    close(summed_loss(logits, target, **options).total, torch_loss(logits, target, **options, reduction="sum"))


def test_the_smoothed_distributions_give_the_same_loss(randn):
    """The two readings of section 5.4: distributions as targets, and the formula that never builds them."""
    logits, target = randn(BATCH, T, VOCAB), draw_targets(None)
    wanted = smoothed_targets(target, VOCAB, 0.1, dtype=torch.float64)
    close(token_losses(logits, target, smoothing=0.1), -(wanted * logits.log_softmax(dim=-1)).sum(dim=-1))
    close(summed_loss(logits, target, smoothing=0.1).mean, F.cross_entropy(logits.flatten(0, 1), wanted.flatten(0, 1)))


def test_a_token_that_the_model_cannot_say_costs_nothing_without_smoothing_as_in_torch(randn):
    logits, target = randn(BATCH, T, VOCAB), draw_targets(None)
    logits[..., 0] = -torch.inf
    target = target.clamp(min=1)
    ours = summed_loss(logits, target).mean
    assert ours.isfinite()
    close(ours, F.cross_entropy(logits.flatten(0, 1), target.flatten()))


# Clipping


@pytest.mark.parametrize("max_norm", [0.01, 1.0, 1e6, math.inf])
def test_clipping_equals_that_of_torch(randn, max_norm):
    ours, theirs = ([nn.Parameter(torch.zeros(2, 3)), nn.Parameter(torch.zeros(5)), nn.Parameter(torch.zeros(7))],) * 2
    theirs = [nn.Parameter(parameter.detach().double()) for parameter in theirs]
    ours = [nn.Parameter(parameter.detach().double()) for parameter in ours]
    for mine, other in zip(ours[:2], theirs[:2], strict=True):  # the third has no gradient
        mine.grad = 10 * randn(*mine.shape)
        other.grad = mine.grad.clone()
    close(clip_gradients(ours, max_norm), nn.utils.clip_grad_norm_(theirs, max_norm))
    for mine, other in zip(ours[:2], theirs[:2], strict=True):
        close(mine.grad, other.grad)
    assert ours[2].grad is None


# Schedules and the optimiser


def rates_of(scheduler, optimizer, steps):
    rates = []
    for _ in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return rates


def new_optimizer(lr):
    return torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=lr)


@pytest.mark.parametrize(
    "schedule",
    [
        functools.partial(warmup_schedule, d_model=48, warmup=7),
        functools.partial(cosine_schedule, peak=0.3, warmup=4, total=17, floor=0.1),
    ],
    ids=["warm-up", "cosine"],
)
def test_lambda_lr_steps_through_the_schedule(schedule):
    optimizer = new_optimizer(1.0)
    rates = rates_of(lambda_lr(optimizer, schedule), optimizer, 20)
    assert rates == [schedule(step) for step in range(1, 21)]


def test_without_a_warm_up_the_cosine_is_that_of_torch():
    """`CosineAnnealingLR` counts from 0, the steps from 1: its rate number t is ours of step t."""
    optimizer = new_optimizer(0.7)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=13, eta_min=0.2)
    theirs = rates_of(scheduler, optimizer, 14)
    ours = [cosine_schedule(step, peak=0.7, warmup=0, total=13, floor=0.2) for step in range(1, 14)]
    assert theirs[0] == 0.7
    assert ours == pytest.approx(theirs[1:], rel=0, abs=ROUNDING)  # theirs is a recursion, with its own rounding


def test_the_cosine_with_warm_up_is_that_of_transformers():
    optimizer = new_optimizer(0.7)
    theirs = rates_of(get_cosine_schedule_with_warmup(optimizer, 5, 17), optimizer, 18)
    ours = [cosine_schedule(step, peak=0.7, warmup=5, total=17) for step in range(1, 18)]
    assert ours == pytest.approx(theirs[1:], rel=0, abs=ROUNDING)


def test_two_steps_of_the_papers_adam_by_hand(randn):
    weight, gradients = randn(11), [randn(11), randn(11)]
    parameter = nn.Parameter(weight.clone())
    optimizer = paper_adam([parameter])
    m, v = torch.zeros(11).double(), torch.zeros(11).double()
    for step, gradient in enumerate(gradients, start=1):
        optimizer.param_groups[0]["lr"] = 0.1 * step
        parameter.grad = gradient.clone()
        optimizer.step()
        m, v = 0.9 * m + 0.1 * gradient, 0.98 * v + 0.02 * gradient**2
        weight = weight - 0.1 * step * (m / (1 - 0.9**step)) / ((v / (1 - 0.98**step)).sqrt() + 1e-9)
    close(parameter.detach(), weight)


# Whole runs

CONFIG = ModelConfig(
    vocab=11, d_model=12, n_layers=1, n_heads=3, d_ff=20, dropout=0.0, norm_placement="pre", max_len=16
)
START = 10


def draw_pairs(number, seed=0):
    """Sources of 3 to 8 symbols, and targets of 1 to 4."""
    generator = torch.Generator().manual_seed(seed)

    def row(low, high):
        length = int(torch.randint(low, high + 1, (), generator=generator))
        return torch.randint(1, 10, (length,), generator=generator).tolist()

    return [(row(3, 8), [START, *row(1, 4)]) for _ in range(number)]


def plain_sgd(model):
    """Adam would divide the bias of the keys, whose gradient is 0, by its own rounding."""
    return torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9)


def new_trainer(items, *, size, accumulate=1, smoothing=0.1, clip=0.5):
    model = Transformer(CONFIG, seed=3).double()
    return Trainer(
        model,
        seq2seq_loss(padding=0, smoothing=smoothing),
        Batches(items, pairs_batch, size=size, seed=5),
        optimizer=plain_sgd(model),
        schedule=functools.partial(warmup_schedule, d_model=12, warmup=3),
        clip=clip,
        accumulate=accumulate,
    )


def test_a_run_equals_a_loop_written_with_torchs_own_parts():
    items = draw_pairs(20)
    trainer = new_trainer(items, size=5)
    history = trainer.run(6, progress=False)

    model = Transformer(CONFIG, seed=3).double()
    optimizer = plain_sgd(model)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda done: 12**-0.5 * min((done + 1) ** -0.5, (done + 1) * 3**-1.5)
    )
    losses, rates, norms = [], [], []
    for batch, _ in zip(Batches(items, pairs_batch, size=5, seed=5), range(6)):  # noqa: B905 (one side has no end)
        optimizer.zero_grad()
        wanted = batch.target[:, 1:]
        logits = model(batch.source, shift_right(wanted, START), source_lengths=batch.source_lengths)
        loss = F.cross_entropy(logits.transpose(1, 2), wanted, label_smoothing=0.1, ignore_index=0)
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), 0.5).item())
        losses.append(loss.item())
        rates.append(scheduler.get_last_lr()[0])
        optimizer.step()
        scheduler.step()
    assert min(norms) > 0.5  # every step was clipped
    assert history.loss == pytest.approx(losses, rel=0, abs=ROUNDING)
    assert history.gradient_norm == pytest.approx(norms, rel=0, abs=ROUNDING)
    assert history.learning_rate == pytest.approx(rates, rel=1e-15)
    for ours, theirs in zip(trainer.model.parameters(), model.parameters(), strict=True):
        close(ours, theirs)


def gradients_after_one_step(trainer):
    trainer.step()
    return [parameter.grad for parameter in trainer.model.parameters()]


def test_accumulated_gradients_equal_those_of_the_big_batch():
    """Four batches of different lengths: the sum of their losses over the number of their tokens, exactly."""
    items = draw_pairs(16)
    small, big = new_trainer(items, size=4, accumulate=4), new_trainer(items, size=16)
    tokens = [sum(len(items[i][1]) - 1 for i in rows) for rows in small.batches.plan]
    assert len(set(tokens)) > 1
    for got, want in zip(gradients_after_one_step(small), gradients_after_one_step(big), strict=True):
        close(got, want)
    assert small.history.loss == pytest.approx(big.history.loss, rel=0, abs=ROUNDING)
    assert small.history.gradient_norm == pytest.approx(big.history.gradient_norm, rel=0, abs=ROUNDING)


def test_a_mean_of_means_is_another_gradient():
    """What the exact sum avoids: here the mean of the four means lies off by more than a hundredth."""
    items = draw_pairs(16)
    exact = gradients_after_one_step(new_trainer(items, size=16, clip=None))
    trainer = new_trainer(items, size=4)
    loss_fn = seq2seq_loss(padding=0, smoothing=0.1)
    for rows in trainer.batches.plan:
        (loss_fn(trainer.model, pairs_batch([items[i] for i in rows])).mean / 4).backward()
    off = [
        (parameter.grad - want).abs().max().item()
        for parameter, want in zip(trainer.model.parameters(), exact, strict=True)
    ]
    assert max(off) > 0.01
