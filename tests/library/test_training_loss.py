"""Losses: closed forms of label smoothing, padding without influence, low precision, and every refusal."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from companion.tasks import encode_pairs
from companion.training import (
    Loss,
    language_model_loss,
    pairs_batch,
    seq2seq_loss,
    smoothed_targets,
    summed_loss,
    token_losses,
)
from tests.library.tensors import ROUNDING, close

BATCH, T, VOCAB = 3, 5, 7  # all different: a swapped axis cannot pass


def draw(seed=0, batch=BATCH, t=T):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(batch, t, VOCAB, generator=generator, dtype=torch.float64)
    return logits, torch.randint(0, VOCAB, (batch, t), generator=generator)


# Closed forms


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_equal_logits_cost_the_logarithm_of_the_vocabulary(smoothing):
    losses = token_losses(torch.zeros(BATCH, T, VOCAB).double(), draw()[1], smoothing=smoothing)
    close(losses, torch.full((BATCH, T), math.log(VOCAB), dtype=torch.float64))


def test_the_right_token_gets_its_share_of_what_is_spread():
    """Epsilon 0.3 over 4 tokens, the right one among them: 0.7 + 0.075, and 0.075 for each other."""
    (row,) = smoothed_targets(torch.tensor([[1]]), 4, 0.3, dtype=torch.float64)[0].tolist()
    assert row == pytest.approx([0.075, 0.775, 0.075, 0.075], abs=1e-15)


def test_a_smoothed_target_is_a_distribution():
    close(smoothed_targets(draw()[1], VOCAB, 0.1, dtype=torch.float64).sum(-1), torch.ones(BATCH, T).double())


def test_the_smoothed_loss_is_lowest_where_the_model_says_the_smoothed_target():
    """There the right logit stands log((1 - e + e/K) / (e/K)) above the others, not infinitely far."""
    target = torch.tensor([[2]])
    gap = torch.tensor(math.log((1 - 0.1 + 0.1 / VOCAB) / (0.1 / VOCAB)), dtype=torch.float64, requires_grad=True)
    logits = gap * torch.nn.functional.one_hot(target, VOCAB)
    loss = summed_loss(logits, target, smoothing=0.1).mean
    (slope,) = torch.autograd.grad(loss, gap)
    assert abs(slope.item()) < ROUNDING
    entropy = -sum(q * math.log(q) for q in smoothed_targets(target, VOCAB, 0.1, dtype=torch.float64)[0, 0].tolist())
    assert loss.item() == pytest.approx(entropy, abs=ROUNDING)


def test_the_mean_is_over_tokens_not_over_rows():
    """By hand: rows of 1 and 3 real tokens; the short row's token counts as much as each of the others."""
    logits, _ = draw(batch=2, t=3)
    target = torch.tensor([[4, 0, 0], [1, 2, 3]])
    log_p = logits.log_softmax(dim=-1)
    wanted = -(log_p[0, 0, 4] + log_p[1, 0, 1] + log_p[1, 1, 2] + log_p[1, 2, 3])
    loss = summed_loss(logits, target, padding=0)
    assert loss.tokens == 4
    close(loss.total, wanted)
    close(loss.mean, wanted / 4)


# Padding and precision


@given(seed=st.integers(0, 2**16), smoothing=st.sampled_from([0.0, 0.1]), padding=st.sampled_from([-100, 0, 6]))
def test_padding_has_no_influence_and_gets_no_gradient(seed, smoothing, padding):
    logits, target = draw(seed)
    target[:, -1] = padding
    logits[:, -1] = 1e3 * logits[:, -1]
    logits.requires_grad_()
    loss = summed_loss(logits, target, smoothing=smoothing, padding=padding)
    (gradient,) = torch.autograd.grad(loss.total, logits)
    assert (gradient[:, -1] == 0).all()
    real = target[:, :-1] != padding
    if real.all():  # drawn tokens may be padding too
        close(loss.mean, summed_loss(logits[:, :-1], target[:, :-1], smoothing=smoothing).mean)


def test_nan_in_the_logits_of_a_real_token_is_seen():
    logits, target = draw()
    logits[1, 2, 3] = torch.nan
    assert summed_loss(logits, target).mean.isnan()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_logits_are_widened_before_the_logarithm(dtype):
    logits, target = draw()
    logits = logits.to(dtype)
    losses = token_losses(logits, target)
    assert losses.dtype == torch.float32
    assert torch.equal(losses, token_losses(logits.float(), target))


def test_the_arguments_are_never_written_to():
    logits, target = draw()
    target[:, -1] = -100
    before = logits.clone(), target.clone()
    summed_loss(logits, target, smoothing=0.1, padding=-100)
    assert torch.equal(logits, before[0])
    assert torch.equal(target, before[1])


# What a model is trained for


class Echo(torch.nn.Module):
    """Bets a thousand on the token that it reads last; records what it was given."""

    def forward(self, tokens, target=None, *, source_lengths=None):
        self.seen = tokens, target, source_lengths
        return 1e3 * torch.nn.functional.one_hot(tokens if target is None else target, 10).double()


def test_the_decoder_reads_the_target_one_token_late():
    """A model that repeats what it reads is right exactly where a token repeats the one before."""
    model, batch = Echo(), pairs_batch([([1, 2, 3], [9, 5, 5, 6]), ([4], [9, 8])])
    loss = seq2seq_loss(padding=0)(model, batch)
    source, target, lengths = model.seen
    assert source.tolist() == [[1, 2, 3], [4, 0, 0]]
    assert target.tolist() == [[9, 5, 5], [9, 8, 0]]
    assert lengths.tolist() == [3, 1]
    assert (loss.total.item(), loss.tokens) == (3e3, 4)  # only the second 5 was right


def test_encoded_pairs_of_the_tasks_are_batches_too():
    pairs = [(["a", "b"], ["b"]), (["b"], ["a", "b"])]
    loss = seq2seq_loss(padding=0)(Echo(), encode_pairs(pairs, ["<pad>", "<s>", "</s>", "a", "b"]))
    assert (loss.total.item(), loss.tokens) == (5e3, 5)  # b </s>, and a b </s>: no word repeats the one before


def test_a_language_model_predicts_each_token_from_the_one_before():
    loss = language_model_loss(padding=0)(Echo(), torch.tensor([[7, 7, 8, 8], [3, 3, 0, 0]]))
    assert (loss.total.item(), loss.tokens) == (1e3, 4)  # wrong where 7 is followed by 8
    smoothed = language_model_loss(padding=0, smoothing=0.5)(Echo(), torch.tensor([[7, 7]]))
    assert smoothed.total.item() == pytest.approx(0.5 * 900)  # nine of ten logits lie 1,000 lower


def test_smoothing_reaches_the_loss_of_pairs():
    batch = pairs_batch([([1], [9, 9])])
    assert seq2seq_loss(padding=0, smoothing=0.5)(Echo(), batch).total.item() == pytest.approx(0.5 * 900)


def test_the_mean_of_a_loss_is_its_total_over_its_tokens():
    assert Loss(torch.tensor(6.0), 4).mean.item() == 1.5


# Refusals


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize("smoothing", [-0.1, 1.0, math.nan])
def test_a_smoothing_that_is_no_share_is_refused(smoothing):
    logits, target = draw()
    with pytest.raises(ValueError, match=f"at least 0 and below 1: got {smoothing}"):
        token_losses(logits, target, smoothing=smoothing)
    with pytest.raises(ValueError, match=f"at least 0 and below 1: got {smoothing}"):
        smoothed_targets(target, VOCAB, smoothing)


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize(("bad", "got"), [(VOCAB, f"0 to {VOCAB}"), (-100, "-100 to 6")])
def test_a_target_outside_the_vocabulary_is_refused(bad, got):
    logits, target = draw()
    target = target.clone()
    target[0, 0], target[0, 1], target[2, 3] = 0, 6, bad
    message = rf"a token of the vocabulary, 0 to 6: got {got}\. Name the number that stands for padding"
    with pytest.raises(ValueError, match=message):
        token_losses(logits, target)
    with pytest.raises(ValueError, match=message):
        smoothed_targets(target, VOCAB, 0.1)


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize("shape", [(BATCH, T - 1), (BATCH - 1, T), (T, BATCH)], ids=str)
def test_targets_of_another_shape_than_the_logits_are_refused(shape):
    """torch's gather would take a smaller target without a word."""
    logits, _ = draw()
    with pytest.raises(ValueError, match=rf"got logits \(3, 5, 7\) and target \({shape[0]}, {shape[1]}\)"):
        token_losses(logits, torch.zeros(shape, dtype=torch.long))


@pytest.mark.usefixtures("shape_checks_off")
def test_an_empty_batch_is_refused():
    with pytest.raises(ValueError, match=r"and there is one: got logits \(0, 5, 7\) and target \(0, 5\)"):
        token_losses(torch.zeros(0, 5, 7), torch.zeros(0, 5, dtype=torch.long))


@pytest.mark.usefixtures("shape_checks_off")
def test_a_batch_of_padding_alone_is_refused():
    with pytest.raises(ValueError, match=r"at least one real token: all of \(3, 5\) are padding, 0\. Drop the batch"):
        summed_loss(torch.zeros(3, 5, 7), torch.zeros(3, 5, dtype=torch.long), padding=0)
