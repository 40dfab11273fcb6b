"""Parity of `EncoderOnly` with BERT of `transformers`: values and every gradient, in float64, at unit scale."""

import pytest
import torch
from torch import nn
from transformers import BertConfig, BertForMaskedLM, BertModel

from companion.config import ModelConfig
from companion.transformer import EncoderOnly

BATCH, T, D, HEADS, FF, LAYERS, VOCAB, MAX_LEN = 2, 7, 12, 3, 13, 5, 17, 11  # all different, and so is d_k = 4
SEGMENTS = 6
LENGTHS = [T, T - 3]
EPS = 1e-12  # BERT's own, far from the default
ATOL = 1e-12  # float64 on numbers of unit size: four orders above the rounding

NAMES = {
    "embeddings.word_embeddings": "embedding.token",
    "embeddings.position_embeddings": "embedding.position",
    "embeddings.token_type_embeddings": "embedding.segment",
    "embeddings.LayerNorm": "embedding.norm",
}
LAYER = {
    "attention.self.query": "attention.w_q",
    "attention.self.key": "attention.w_k",
    "attention.self.value": "attention.w_v",
    "attention.output.dense": "attention.w_o",
    "attention.output.LayerNorm": "norm_1",
    "intermediate.dense": "feed_forward.w_1",
    "output.dense": "feed_forward.w_2",
    "output.LayerNorm": "norm_2",
}


def parameter_pairs(theirs, ours):
    names = NAMES | {
        f"encoder.layer.{i}.{their}": f"encoder.layers.{i}.{our}" for i in range(LAYERS) for their, our in LAYER.items()
    }
    theirs, ours = dict(theirs.named_parameters()), dict(ours.named_parameters())
    pairs = [
        (theirs.pop(f"{their}.{kind}"), ours.pop(f"{our}.{kind}"))
        for their, our in names.items()
        for kind in ("weight", "bias")
        if f"{their}.{kind}" in theirs
    ]
    assert not theirs
    assert not ours
    return pairs


def theirs_config(activation):
    return BertConfig(
        vocab_size=VOCAB,
        hidden_size=D,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=FF,
        hidden_act=activation,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        max_position_embeddings=MAX_LEN,
        type_vocab_size=SEGMENTS,
        layer_norm_eps=EPS,
        attn_implementation="eager",
    )


def make_ours(activation, kernel="reference"):
    return EncoderOnly(
        ModelConfig(
            vocab=VOCAB,
            d_model=D,
            n_layers=LAYERS,
            n_heads=HEADS,
            d_ff=FF,
            dropout=0,
            max_len=MAX_LEN,
            position="learned",
            activation=activation,
            eps=EPS,
            scale_embedding=False,
            segments=SEGMENTS,
            embedding_norm=True,
            kernel=kernel,
        ),
        seed=0,
    ).double()


def redraw(pairs, randn):
    """Give both the same numbers, of a size that keeps every layer's output at unit size."""
    with torch.no_grad():
        for theirs, ours in pairs:
            scale = theirs.shape[-1] ** -0.5 if theirs.ndim == 2 else 1.0
            ours.copy_(theirs.copy_(randn(*theirs.shape) * scale))


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(1)
    tokens, segments = (torch.randint(most, (BATCH, T), generator=generator) for most in (VOCAB, SEGMENTS))
    attended = torch.tensor([[1] * length + [0] * (T - length) for length in LENGTHS])
    return tokens, segments, attended


def assert_same_with_gradients(output, expected, pairs, upstream):
    torch.testing.assert_close(output, expected, rtol=0, atol=ATOL)
    got = torch.autograd.grad(output, [ours for _, ours in pairs], upstream)
    want = torch.autograd.grad(expected, [theirs for theirs, _ in pairs], upstream)
    for ours, theirs in zip(got, want, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=ATOL)


@pytest.mark.parametrize("kernel", ["reference", "sdpa"])
@pytest.mark.parametrize(("activation", "ours_called"), [("gelu", "gelu"), ("relu", "relu"), ("gelu_new", "gelu-tanh")])
def test_hidden_states_and_gradients_equal_those_of_bert(randn, batch, activation, ours_called, kernel):
    theirs = BertModel(theirs_config(activation), add_pooling_layer=False).double()
    ours = make_ours(ours_called, kernel)
    pairs = parameter_pairs(theirs, ours)
    redraw(pairs, randn)
    tokens, segments, attended = batch
    expected = theirs(tokens, attention_mask=attended, token_type_ids=segments).last_hidden_state
    output = ours(tokens, lengths=LENGTHS, segments=segments)
    assert_same_with_gradients(output, expected, pairs, randn(BATCH, T, D))


def test_no_segments_means_the_first(randn, batch):
    theirs, ours = BertModel(theirs_config("gelu"), add_pooling_layer=False).double(), make_ours("gelu")
    redraw(parameter_pairs(theirs, ours), randn)
    tokens, _, attended = batch
    expected = theirs(tokens, attention_mask=attended).last_hidden_state
    torch.testing.assert_close(ours(tokens, lengths=LENGTHS), expected, rtol=0, atol=ATOL)


def test_tied_logits_equal_those_of_a_masked_language_model(randn, batch):
    """BERT transforms the hidden states once more before its output matrix, and adds a bias; these are taken out."""
    theirs, ours = BertForMaskedLM(theirs_config("gelu")).double(), make_ours("gelu")
    theirs.cls.predictions.transform = nn.Identity()
    theirs.cls.predictions.decoder.bias.requires_grad_(False).zero_()
    pairs = parameter_pairs(theirs.bert, ours)
    redraw(pairs, randn)
    tokens, segments, attended = batch
    expected = theirs(tokens, attention_mask=attended, token_type_ids=segments).logits
    output = ours.logits(ours(tokens, lengths=LENGTHS, segments=segments))
    assert_same_with_gradients(output, expected, pairs, randn(BATCH, T, VOCAB))
