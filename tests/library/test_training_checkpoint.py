"""Checkpoints: a stopped run goes on to the same bits, a file is whole or absent, and it can run no code."""

import functools
import pickle

import pytest
import torch

from companion.config import ModelConfig
from companion.training import (
    Batches,
    Trainer,
    load_checkpoint,
    pairs_batch,
    paper_adam,
    random_state,
    save_checkpoint,
    seq2seq_loss,
    set_random_state,
    warmup_schedule,
)
from companion.transformer import Transformer

CONFIG = ModelConfig(vocab=11, d_model=12, n_layers=1, n_heads=3, d_ff=20, dropout=0.3, max_len=16)
PAIRS = [([1 + (n + k) % 9 for k in range(3 + n % 4)], [10, *[1 + n % 9] * (1 + n % 3)]) for n in range(31)]


def new_trainer(seed=0, **options):
    model = Transformer(CONFIG, seed=seed)
    return Trainer(
        model,
        seq2seq_loss(padding=0, smoothing=0.1),
        Batches(PAIRS, pairs_batch, tokens=40, seed=seed),
        optimizer=paper_adam(model.parameters()),
        schedule=functools.partial(warmup_schedule, d_model=12, warmup=5),
        clip=1.0,
        **options,
    )


def weights(trainer):
    return torch.cat([parameter.detach().flatten() for parameter in trainer.model.parameters()])


def without_speed(history):
    return {name: column for name, column in vars(history).items() if name != "tokens_per_second"}


@pytest.mark.parametrize("options", [{}, {"accumulate": 2}, {"precision": "bfloat16"}], ids=str)
@pytest.mark.parametrize("stop", [1, 9])
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(tmp_path, options, stop):
    """Dropout draws from torch's generator, the order of batches from their own: both go on where they were."""
    before = random_state()
    evaluate = lambda model: {"sum": model(torch.ones(1, 3).long(), torch.ones(1, 2).long()).sum().item()}  # noqa: E731
    try:
        whole = new_trainer(**options)
        start = random_state()
        whole.run(12, evaluate=evaluate, every=3, progress=False)
        set_random_state(start)
        new_trainer(**options).run(stop, evaluate=evaluate, every=3, checkpoint=tmp_path / "run.pt", progress=False)
        torch.rand(1000)  # what the next process has drawn before
        resumed = new_trainer(seed=7, **options)
        resumed.load(tmp_path / "run.pt")
        resumed.run(12, evaluate=evaluate, every=3, progress=False)
    finally:
        set_random_state(before)
    assert torch.equal(weights(resumed), weights(whole))
    ours, theirs = without_speed(resumed.history), without_speed(whole.history)
    ours["evaluations"] = [one for one in ours["evaluations"] if one["step"] % 3 == 0]  # not the one of the stop
    assert ours == theirs


def test_a_run_saves_as_often_as_it_evaluates(tmp_path):
    trainer, path = new_trainer(), tmp_path / "new folder" / "run.pt"
    saved = []

    def evaluate(model):
        saved.append(len(load_checkpoint(path)["history"]["step"]) if path.exists() else 0)
        return {}

    trainer.run(5, evaluate=evaluate, every=2, checkpoint=path, progress=False)
    assert saved == [0, 2, 4]  # what lay there before each save
    assert load_checkpoint(path)["history"]["step"] == [1, 2, 3, 4, 5]


def test_a_saved_state_stays_as_it_was_while_training_goes_on():
    trainer = new_trainer()
    trainer.run(2, progress=False)
    state = trainer.state_dict()
    trainer.run(4, progress=False)
    assert state["history"]["step"] == [1, 2]


def test_a_save_that_fails_leaves_the_earlier_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "run.pt"
    save_checkpoint(path, {"step": 1})
    before = path.read_bytes()

    def fail_half_way(state, file):
        file.write(b"half")
        raise OSError("the disk is full")

    monkeypatch.setattr(torch, "save", fail_half_way)
    with pytest.raises(OSError, match="the disk is full"):
        save_checkpoint(path, {"step": 2})
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["run.pt"]


def test_a_file_that_would_run_code_is_not_read(tmp_path):
    torch.save({"print": print}, tmp_path / "run.pt")
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        load_checkpoint(tmp_path / "run.pt")


@pytest.mark.usefixtures("shape_checks_off")
def test_a_checkpoint_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"there is no checkpoint '.*run\.pt'\. Save one first"):
        load_checkpoint(tmp_path / "run.pt")


@pytest.mark.usefixtures("shape_checks_off")
def test_a_run_of_more_processes_does_not_go_on_in_one():
    trainer = new_trainer()
    state = trainer.state_dict()
    state["random"] *= 3
    with pytest.raises(ValueError, match=r"as many processes as before: it had 3, now there are 1\. Start as many"):
        trainer.load_state_dict(state)
