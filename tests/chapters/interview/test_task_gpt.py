"""The small GPT in stages: the stages fit together, and give what torch gives."""

import math

import pytest
import torch
from torch import nn

from companion.chapters.interview.exercises.task_gpt_2_loss import _logits, _parameters, _weights
from companion.practice import inputs
from tests.tools.practice import BY_NAME

REFERENCE = {name: BY_NAME[name].reference for name in ("gpt-block", "gpt-loss", "gpt-step", "gpt-generate")}


def arguments(name, words):
    return next(case.arguments for case in BY_NAME[name].cases() if case.note == words)


def test_the_hand_examples_are_the_first_cases():
    """Closed form: the numbers that the statements work out."""
    block, loss, step, text = (BY_NAME[name].results(REFERENCE[name], inputs(name, 1)) for name in REFERENCE)
    torch.testing.assert_close(block[0], torch.tensor([[[2.0, -2.0], [-3.0, 3.0]]]), rtol=0, atol=1e-5)
    assert loss[0].item() == pytest.approx(math.log(3.5), abs=1e-5)
    assert step[0].tolist() == pytest.approx([math.log(3.5)], abs=1e-5)
    assert torch.equal(step[1], inputs("gpt-step", 1)[1])
    assert text.tolist() == [[0, 0, 2]]


def test_the_block_is_torch_s_own():
    """Oracle: `nn.TransformerEncoderLayer` with the norm in front, GELU and a causal mask."""
    x, gain_1, w_qkv, w_o, gain_2, w_up, w_down, n_heads = arguments("gpt-block", "three heads")
    d, d_ff = w_up.shape
    theirs = nn.TransformerEncoderLayer(
        d, n_heads, d_ff, dropout=0.0, activation="gelu", batch_first=True, norm_first=True, bias=False, dtype=x.dtype
    )
    with torch.no_grad():
        theirs.norm1.weight.copy_(gain_1)
        theirs.norm2.weight.copy_(gain_2)
        theirs.self_attn.in_proj_weight.copy_(w_qkv.mT)
        theirs.self_attn.out_proj.weight.copy_(w_o.mT)
        theirs.linear1.weight.copy_(w_up.mT)
        theirs.linear2.weight.copy_(w_down.mT)
        later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        want = theirs(x, src_mask=later)
    got = REFERENCE["gpt-block"](x, gain_1, w_qkv, w_o, gain_2, w_up, w_down, n_heads)
    torch.testing.assert_close(got, want, rtol=0, atol=1e-12)


def test_padding_changes_nothing_and_texts_weigh_by_their_targets():
    """Identity: the loss of a padded batch is that of its texts, cut to their lengths and weighted by their targets."""
    tokens, *stacked, n_heads, padding = arguments("gpt-loss", "texts of three lengths")
    weights, lengths = _weights(*stacked), (5, 3, 2)
    cut = [
        REFERENCE["gpt-loss"](row[None, :n], weights, n_heads, padding) for row, n in zip(tokens, lengths, strict=True)
    ]
    want = sum(loss * (n - 1) for loss, n in zip(cut, lengths, strict=True)) / sum(n - 1 for n in lengths)
    got = REFERENCE["gpt-loss"](tokens, weights, n_heads, padding)
    torch.testing.assert_close(got, want, rtol=0, atol=1e-12)


def test_micro_batches_make_the_update_of_all_texts_together():
    """Identity: cut into micro-batches or not, the same texts give the same weights and the same loss."""
    texts, *stacked, n_heads, padding, max_norm = arguments("gpt-step", "one without target")
    losses, after = [], []
    for batches in (list(texts[0]), [texts[0].flatten(0, 1)]):
        weights = _weights(*stacked)
        optimizer = torch.optim.SGD(_parameters(weights), lr=0.25)
        losses.append(REFERENCE["gpt-step"](batches, weights, n_heads, padding, optimizer, max_norm))
        after.append(torch.cat([x.detach().flatten() for x in _parameters(weights)]))
    assert losses[0] == pytest.approx(losses[1], abs=1e-12)
    torch.testing.assert_close(*after, rtol=0, atol=1e-12)
    before = torch.cat([x.detach().flatten() for x in _parameters(_weights(*stacked))])
    assert (after[0] - before).norm().item() == pytest.approx(0.25 * max_norm, rel=1e-5)  # it was clipped


def test_what_is_written_greedily_is_what_the_model_reads_as_likeliest():
    """Identity: one pass over the finished text gives each written token as the largest logit before it."""
    prompt, draws, *stacked, n_heads, temperature, end = arguments("gpt-generate", "greedy")
    weights = _weights(*stacked)
    text = REFERENCE["gpt-generate"](prompt, draws, weights, n_heads, temperature, end)
    best = _logits(text[:, :-1], weights, n_heads).argmax(-1)[:, prompt.shape[1] - 1 :]
    new = text[:, prompt.shape[1] :]
    ended = (new == end).cumsum(1) - (new == end).long() > 0
    assert torch.equal(new, best.masked_fill(ended, end))


def test_draws_give_tokens_as_often_as_their_probabilities_say():
    """Closed form: a thousand evenly spaced draws give 4/7, 1/7 and 2/7 of them."""
    _, _, *stacked, n_heads, _, _ = inputs("gpt-generate", 1)
    draws = ((torch.arange(1000) + 0.5) / 1000)[:, None]
    prompt = torch.zeros(1000, 1, dtype=torch.long)
    text = REFERENCE["gpt-generate"](prompt, draws, _weights(*stacked), n_heads, 1.0, 2)
    assert torch.bincount(text[:, 1]).tolist() == pytest.approx([4000 / 7, 1000 / 7, 2000 / 7], abs=1)
