"""The loop: what one step does, what a run records and shows, evaluation, mixed precision, and every refusal."""

import functools
import json
import math

import pytest
import torch
from torch import nn

from companion.config import ModelConfig
from companion.recurrent import AttentionSeq2Seq, FixedVectorSeq2Seq
from companion.training import (
    Batches,
    History,
    Loss,
    Trainer,
    clip_gradients,
    decoding_accuracy,
    evaluating,
    language_model_loss,
    mean_loss,
    pairs_batch,
    paper_adam,
    seq2seq_loss,
    texts_batch,
    warmup_schedule,
)
from companion.transformer import DecoderOnly, Transformer

TEXTS = [[1 + (n + k) % 5 for k in range(2 + n % 4)] for n in range(13)]  # rows of 2 to 5 tokens, counting up


class Bigram(nn.Module):
    """The next token from the last one alone, with dropout in between; records what it computes with."""

    def __init__(self, dropout=0.0):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.embedding = nn.Parameter(torch.randn(6, 8, generator=generator))
        self.output = nn.Parameter(torch.randn(6, 8, generator=generator))
        self.dropout = nn.Dropout(dropout)
        self.seen = []

    def forward(self, tokens):
        logits = nn.functional.linear(self.dropout(self.embedding[tokens]), self.output)
        self.seen.append((self.training, torch.is_grad_enabled(), logits.dtype))
        return logits


def new_trainer(model=None, *, loss_fn=None, schedule=lambda step: 0.01, size=4, **options):
    model = Bigram() if model is None else model
    return Trainer(
        model,
        language_model_loss(padding=0) if loss_fn is None else loss_fn,
        Batches(TEXTS, texts_batch, size=size),
        optimizer=paper_adam(model.parameters()),
        schedule=schedule,
        **options,
    )


# One step


def test_each_step_has_the_rate_of_its_number():
    schedule = functools.partial(warmup_schedule, d_model=8, warmup=3)
    trainer = new_trainer(schedule=schedule)
    for step in range(1, 6):
        trainer.step()
        assert trainer.optimizer.param_groups[0]["lr"] == schedule(step)
    assert trainer.history.learning_rate == [schedule(step) for step in range(1, 6)]
    assert trainer.history.step == [1, 2, 3, 4, 5]


def test_the_loss_falls():
    history = new_trainer(schedule=lambda step: 0.1).run(60, progress=False)
    assert history.loss[-1] < 0.3 * history.loss[0]


def test_a_step_without_clipping_records_the_length_and_leaves_the_gradient():
    trainer = new_trainer(size=13)
    trainer.step()
    gradient = [parameter.grad for parameter in trainer.model.parameters()]
    loss = language_model_loss(padding=0)(Bigram(), texts_batch([TEXTS[i] for i in trainer.batches.plan[0]])).mean
    want = torch.stack([g.norm() for g in gradient]).norm().item()
    assert trainer.history.gradient_norm == [want]
    assert trainer.history.loss == [pytest.approx(loss.item(), rel=1e-6)]


def test_a_step_with_clipping_records_the_length_before():
    free, clipped = new_trainer(), new_trainer(clip=0.01)
    free.step()
    clipped.step()
    assert clipped.history.gradient_norm == free.history.gradient_norm
    norm = torch.stack([parameter.grad.norm() for parameter in clipped.model.parameters()]).norm().item()
    assert norm == pytest.approx(0.01, rel=1e-4)  # 1e-6 stands beside a length of about 1


def test_gradients_of_earlier_steps_are_forgotten():
    trainer = new_trainer(size=13, schedule=lambda step: 0.0)
    trainer.step()
    trainer.step()
    assert trainer.history.gradient_norm[1] == pytest.approx(trainer.history.gradient_norm[0], rel=1e-5)


def test_a_step_trains_even_after_an_evaluation():
    trainer = new_trainer(Bigram(dropout=0.5))
    trainer.model.eval()
    trainer.step()
    assert trainer.model.seen == [(True, True, torch.float32)]


def test_accumulated_batches_make_one_step_and_one_mean():
    """Rates of 0 keep the weights: the mean over two batches weighs each by its tokens."""
    one, two = new_trainer(schedule=lambda step: 0.0), new_trainer(schedule=lambda step: 0.0, accumulate=2)
    one.run(2, progress=False)
    two.step()
    tokens = [sum(len(TEXTS[i]) - 1 for i in rows) for rows in one.batches.plan[:2]]
    assert tokens[0] != tokens[1]
    assert two.history.loss[0] == pytest.approx(
        sum(n * loss for n, loss in zip(tokens, one.history.loss, strict=True)) / sum(tokens)
    )


def test_a_parameter_without_gradient_is_left_alone():
    model = Bigram()
    model.unused = nn.Parameter(torch.ones(3))
    new_trainer(model, clip=1.0).run(2, progress=False)
    assert model.unused.tolist() == [1, 1, 1]
    assert model.unused.grad is None


def test_the_speed_counts_the_target_tokens(monkeypatch):
    clock = iter([10.0, 12.0])
    monkeypatch.setattr("companion.training.loop.time.perf_counter", lambda: next(clock))
    trainer = new_trainer(size=13)
    trainer.step()
    assert trainer.history.tokens_per_second == [sum(len(text) - 1 for text in TEXTS) / 2.0]


@pytest.mark.parametrize(
    "model",
    [
        lambda: Transformer(ModelConfig(vocab=8, d_model=8, n_layers=1, n_heads=2, d_ff=16, dropout=0.0), seed=0),
        lambda: FixedVectorSeq2Seq(8, 8, 8, 8, seed=0),
        lambda: AttentionSeq2Seq(8, 8, 8, 8, seed=0),
    ],
    ids=["Transformer", "fixed vector", "recurrent with attention"],
)
def test_every_model_from_source_to_target_trains(model):
    model, pairs = model(), [([3, 4, 5], [1, 5, 4, 2]), ([6, 7], [1, 7, 2])]
    trainer = Trainer(
        model,
        seq2seq_loss(padding=0),
        Batches(pairs, pairs_batch, size=2),
        optimizer=paper_adam(model.parameters()),
        schedule=lambda step: 0.01,
    )
    history = trainer.run(30, progress=False)
    assert history.loss[-1] < 0.7 * history.loss[0]


def test_a_decoder_alone_trains():
    model = DecoderOnly(ModelConfig(vocab=6, d_model=8, n_layers=1, n_heads=2, d_ff=16, dropout=0.0), seed=0)
    history = new_trainer(model).run(30, progress=False)
    assert history.loss[-1] < 0.5 * history.loss[0]


# Mixed precision


def test_bfloat16_computes_the_products_in_it_and_keeps_the_weights_in_float32():
    full, mixed = new_trainer(), new_trainer(precision="bfloat16")
    full.run(5, progress=False)
    mixed.run(5, progress=False)
    assert {dtype for _, _, dtype in mixed.model.seen} == {torch.bfloat16}
    assert {dtype for _, _, dtype in full.model.seen} == {torch.float32}
    assert {parameter.dtype for parameter in mixed.model.parameters()} == {torch.float32}
    # Weights, products and logits of size up to 8 are rounded to eps = 2**-7 of their size; a mean errs by less.
    assert mixed.history.loss == pytest.approx(full.history.loss, abs=8 * 2**-7)
    assert mixed.history.loss != full.history.loss


# Runs


def test_a_run_counts_all_steps_since_the_first():
    trainer = new_trainer()
    assert trainer.run(3, progress=False).step == [1, 2, 3]
    assert trainer.run(5, progress=False).step == [1, 2, 3, 4, 5]
    assert trainer.run(5, progress=False).step == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(("every", "steps"), [(None, [7]), (3, [3, 6, 7]), (7, [7]), (1, [1, 2, 3, 4, 5, 6, 7])])
def test_a_run_evaluates_so_often_and_at_its_end(every, steps):
    history = new_trainer().run(7, evaluate=lambda model: {"ones": 1.0}, every=every, progress=False)
    assert history.evaluations == [{"step": step, "ones": 1.0} for step in steps]
    assert history.metric("ones") == (steps, [1.0] * len(steps))


def test_an_evaluation_sees_a_model_without_dropout_and_gradients():
    trainer = new_trainer(Bigram(dropout=0.5))
    trainer.run(1, evaluate=lambda model: {"size": float(model(torch.ones(1, 2).long()).sum())}, progress=False)
    assert trainer.model.seen == [(True, True, torch.float32), (False, False, torch.float32)]
    assert trainer.model.training


@pytest.mark.parametrize("progress", [True, False])
def test_progress_is_shown_unless_it_is_turned_off(capfd, progress):
    new_trainer().run(3, progress=progress)
    shown = capfd.readouterr()
    assert shown.out == ""
    assert ("3/3" in shown.err) == progress
    assert ("loss=" in shown.err) == progress


# Evaluation


def test_the_mean_loss_weighs_each_token_the_same():
    batches = [texts_batch(TEXTS[:3]), texts_batch(TEXTS[3:])]
    want = language_model_loss(padding=0)(Bigram(), texts_batch(TEXTS)).mean.item()
    assert mean_loss(Bigram(dropout=0.9), batches, language_model_loss(padding=0)) == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize("size", [1, 2, 250])
def test_an_exact_match_is_right_in_every_token_and_in_length(size):
    answers = {1: [5, 6], 2: [5, 7], 3: [5], 4: [5, 6, 0], 5: [5, 6]}
    pairs = [([n], [5, 6]) for n in answers]
    share = decoding_accuracy(Bigram(), pairs, lambda model, sources: [answers[n] for (n,) in sources], size=size)
    assert share == 2 / 5


def test_an_exact_match_is_decoded_in_evaluation_mode():
    model = Bigram(dropout=0.5)

    def decode(model, sources):
        model(torch.tensor(sources))
        return [[0]] * len(sources)

    assert decoding_accuracy(model, [([1], [0])], decode) == 1
    assert model.seen == [(False, False, torch.float32)]


def test_every_part_gets_back_the_mode_that_it_had():
    model = nn.Sequential(nn.Dropout(), nn.Sequential(nn.Dropout(), nn.Linear(2, 2)))
    model[1].eval()
    modes = [module.training for module in model.modules()]
    with pytest.raises(KeyError, match="False"), evaluating(model):
        raise KeyError(str(any(module.training for module in model.modules()) or torch.is_grad_enabled()))
    assert [module.training for module in model.modules()] == modes == [True, True, False, False, False]
    assert torch.is_grad_enabled()


# History


def test_a_history_is_read_back_as_it_was_saved(tmp_path):
    history = new_trainer().run(4, evaluate=lambda model: {"exact": 0.5}, every=2, progress=False)
    history.save(tmp_path / "history.json")
    assert History.load(tmp_path / "history.json") == history


def test_a_length_that_is_not_finite_is_null_in_json(tmp_path):
    history = History()
    for norm in (math.inf, 2.0):
        history.add(loss=1.0, learning_rate=0.1, gradient_norm=norm, tokens_per_second=3.0)
    history.save(tmp_path / "history.json")
    assert json.loads((tmp_path / "history.json").read_text("utf-8"))["gradient_norm"] == [None, 2.0]
    assert math.isnan(History.load(tmp_path / "history.json").gradient_norm[0])


# Refusals


@pytest.mark.usefixtures("shape_checks_off")
def test_a_loss_that_is_not_finite_stops_the_run_before_the_weights_change():
    model = Bigram()
    before = model.output.detach().clone()
    trainer = new_trainer(model, loss_fn=lambda model, batch: Loss(model(batch).sum() * math.nan, 2))
    with pytest.raises(
        ValueError, match=r"got a loss of nan and a gradient norm of nan at step 1\. Lower the learning"
    ):
        trainer.run(3, progress=False)
    assert torch.equal(model.output, before)
    assert trainer.history.step == []


@pytest.mark.usefixtures("shape_checks_off")
def test_a_gradient_that_is_not_finite_stops_the_run_too():
    trainer = new_trainer(loss_fn=lambda model, batch: Loss((model(batch) * 0).sum().sqrt(), 2))
    with pytest.raises(ValueError, match=r"got a loss of 0\.0 and a gradient norm of nan at step 1"):
        trainer.step()


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize("precision", ["float16", "float8"])
def test_a_precision_that_the_device_lacks_is_refused(precision):
    with pytest.raises(ValueError, match=rf"float16 only on CUDA: got '{precision}' on cpu\. Use 'bfloat16' or 'full'"):
        new_trainer(precision=precision)


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize("options", [{"accumulate": 0}, {"clip": 0}, {"clip": -1.0}, {"clip": math.nan}], ids=str)
def test_numbers_out_of_range_are_refused(options):
    name, value = next(iter(options.items()))
    with pytest.raises(ValueError, match=f"accumulate is at least 1, clip above 0: got .*{name}={value}"):
        new_trainer(**options)


@pytest.mark.usefixtures("shape_checks_off")
def test_an_evaluation_every_zero_steps_is_refused():
    with pytest.raises(ValueError, match="every is a number of steps, at least 1: got 0"):
        new_trainer().run(2, every=0)


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize("max_norm", [0.0, -1.0, math.nan])
def test_a_greatest_length_that_is_not_above_zero_is_refused(max_norm):
    parameter = nn.Parameter(torch.ones(2))
    parameter.grad = torch.ones(2)
    with pytest.raises(ValueError, match=f"got max_norm={max_norm} and 1 gradients"):
        clip_gradients([parameter], max_norm)


@pytest.mark.usefixtures("shape_checks_off")
def test_clipping_before_backward_is_refused():
    with pytest.raises(ValueError, match=r"got max_norm=1\.0 and 0 gradients\. Call backward\(\) first"):
        clip_gradients([nn.Parameter(torch.ones(2))], 1.0)


@pytest.mark.usefixtures("shape_checks_off")
def test_a_mean_over_no_batch_is_refused():
    with pytest.raises(ValueError, match="at least one batch: got none"):
        mean_loss(Bigram(), [], language_model_loss())


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize(("pairs", "size"), [([], 5), ([([1], [2])], 0)])
def test_a_match_of_no_pairs_is_refused(pairs, size):
    with pytest.raises(ValueError, match=f"got {len(pairs)} pairs and size={size}"):
        decoding_accuracy(Bigram(), pairs, lambda model, sources: [[2]], size=size)


@pytest.mark.usefixtures("shape_checks_off")
def test_a_decoder_that_loses_outputs_is_refused():
    with pytest.raises(ValueError, match="one output for each source: got 1 for 2 sources"):
        decoding_accuracy(Bigram(), [([1], [2]), ([1], [2])], lambda model, sources: [[2]])


@pytest.mark.usefixtures("shape_checks_off")
def test_a_number_that_no_evaluation_has_is_refused_with_those_there_are():
    history = History(evaluations=[{"step": 1, "loss": 2.0}, {"step": 2, "exact": 0.5}])
    with pytest.raises(ValueError, match=r"called 'accuracy': there are \['exact', 'loss'\]\. Use one of these"):
        history.metric("accuracy")
