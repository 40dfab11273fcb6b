"""Training on CUDA: float16 with a scaled loss, and a checkpoint that goes on with the same dropout."""

import functools
import math

import pytest
import torch

from companion.config import ModelConfig
from companion.training import Batches, Trainer, pairs_batch, paper_adam, seq2seq_loss, warmup_schedule
from companion.transformer import Transformer

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")]

CONFIG = ModelConfig(vocab=11, d_model=32, n_layers=1, n_heads=4, d_ff=64, dropout=0.1, max_len=16)
PAIRS = [([1 + (n + k) % 9 for k in range(3 + n % 4)], [10, *[1 + n % 9] * (1 + n % 3)]) for n in range(31)]


def new_trainer(seed=0, **options):
    model = Transformer(CONFIG, seed=seed).cuda()
    return Trainer(
        model,
        seq2seq_loss(padding=0),
        Batches(PAIRS, pairs_batch, tokens=100, seed=seed),
        optimizer=paper_adam(model.parameters()),
        schedule=functools.partial(warmup_schedule, d_model=32, warmup=100),
        clip=1.0,
        **options,
    )


def weights(trainer):
    return torch.cat([parameter.detach().flatten() for parameter in trainer.model.parameters()])


def test_float16_skips_what_overflows_and_learns():
    trainer = new_trainer(precision="float16")
    trainer.scaler = torch.amp.GradScaler("cuda", init_scale=2.0**40)  # overflows until it is small enough
    before = weights(trainer)
    trainer.step()
    assert not math.isfinite(trainer.history.gradient_norm[0])
    assert torch.equal(weights(trainer), before)
    history = trainer.run(200, progress=False)
    assert math.isfinite(history.gradient_norm[-1])
    assert history.loss[-1] < 0.5 * history.loss[0]
    assert trainer.scaler.get_scale() < 2.0**40


@pytest.mark.parametrize("precision", ["full", "bfloat16", "float16"])
def test_every_precision_reaches_the_loss_of_the_full_one(precision):
    history = new_trainer(precision=precision).run(200, progress=False)
    assert sum(history.loss[-20:]) / 20 < 0.5 * history.loss[0]
    assert sum(map(math.isfinite, history.gradient_norm)) > 190  # few steps are lost to the search for a scale


@pytest.mark.parametrize("precision", ["full", "float16"])
def test_a_run_that_was_stopped_goes_on(tmp_path, precision):
    """The same dropout and the same scale; atomic additions on the GPU may round in another order."""
    state = torch.cuda.get_rng_state()
    whole = new_trainer(precision=precision)
    whole.run(20, progress=False)
    torch.cuda.set_rng_state(state)
    new_trainer(precision=precision).run(9, checkpoint=tmp_path / "run.pt", progress=False)
    torch.rand(1000, device="cuda")
    resumed = new_trainer(seed=7, precision=precision)
    resumed.load(tmp_path / "run.pt")
    resumed.run(20, progress=False)
    assert resumed.history.loss == pytest.approx(whole.history.loss, rel=1e-3)
    assert resumed.scaler.get_scale() == whole.scaler.get_scale()
