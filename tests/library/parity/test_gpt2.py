"""Parity of `DecoderOnly` with GPT-2 of `transformers`: values and every gradient, in float64, at unit scale."""

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from companion.config import ModelConfig
from companion.transformer import DecoderOnly

BATCH, T, D, HEADS, FF, LAYERS, VOCAB, MAX_LEN = 2, 7, 12, 3, 13, 5, 17, 11  # all different, and so is d_k = 4
EPS = 1e-3  # not the default, and large enough to be seen
ATOL = 1e-12  # float64 on numbers of unit size: four orders above the rounding


def make_theirs():
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=VOCAB,
            n_positions=MAX_LEN,
            n_embd=D,
            n_layer=LAYERS,
            n_head=HEADS,
            n_inner=FF,
            activation_function="gelu_new",
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            layer_norm_epsilon=EPS,
            attn_implementation="eager",
        )
    ).double()


def make_ours(kernel):
    return DecoderOnly(
        ModelConfig(
            vocab=VOCAB,
            d_model=D,
            n_layers=LAYERS,
            n_heads=HEADS,
            d_ff=FF,
            dropout=0,
            max_len=MAX_LEN,
            position="learned",
            activation="gelu-tanh",
            eps=EPS,
            norm_placement="pre",
            scale_embedding=False,
            kernel=kernel,
        ),
        seed=0,
    ).double()


def pairs(theirs, ours):
    """Name each parameter of GPT-2 with ours, and whether it is stored transposed: input by output (`Conv1D`)."""
    body = theirs.transformer
    found = [
        (body.wte.weight, [ours.embedding.token.weight], False),
        (body.wpe.weight, [ours.embedding.position.weight], False),
    ]
    norms = [(body.ln_f, ours.decoder.final_norm)]
    for block, layer in zip(body.h, ours.decoder.layers, strict=True):
        attention, network = layer.self_attention, layer.feed_forward
        norms += [(block.ln_1, layer.norm_1), (block.ln_2, layer.norm_3)]
        maps = [
            (block.attn.c_attn, [attention.w_q, attention.w_k, attention.w_v]),
            (block.attn.c_proj, [attention.w_o]),
            (block.mlp.c_fc, [network.w_1]),
            (block.mlp.c_proj, [network.w_2]),
        ]
        for their, our in maps:
            found.append((their.weight, [module.weight for module in our], True))
            found.append((their.bias, [module.bias for module in our], False))
    for their, our in norms:
        found += [(their.weight, [our.weight], False), (their.bias, [our.bias], False)]
    assert len(found) == len(list(theirs.parameters()))
    assert sum(len(our) for _, our, _ in found) == len(list(ours.parameters()))
    return found


def joined(parts, transposed):
    whole = torch.cat(parts)
    return whole.T if transposed else whole


@pytest.fixture
def models(randn, request):
    """Both models with the same weights, of a size that keeps every layer's output at unit size."""
    theirs, ours = make_theirs(), make_ours(request.param)
    with torch.no_grad():
        for parameter in ours.parameters():
            scale = parameter.shape[-1] ** -0.5 if parameter.ndim == 2 else 1.0
            parameter.copy_(randn(*parameter.shape) * scale)
        for their, our, transposed in pairs(theirs, ours):
            their.copy_(joined(our, transposed))
    return ours, theirs


@pytest.mark.parametrize("models", ["reference", "sdpa"], indirect=True)
def test_logits_and_gradients_equal_those_of_gpt2(randn, models):
    ours, theirs = models
    tokens = torch.randint(VOCAB, (BATCH, T), generator=torch.Generator().manual_seed(1))
    output, expected, upstream = ours(tokens), theirs(tokens).logits, randn(BATCH, T, VOCAB)
    torch.testing.assert_close(output, expected, rtol=0, atol=ATOL)
    matched = pairs(theirs, ours)
    got = torch.autograd.grad(output, list(ours.parameters()), upstream)
    got = dict(zip(ours.parameters(), got, strict=True))
    want = torch.autograd.grad(expected, [their for their, _, _ in matched], upstream)
    for (_, our, transposed), theirs_ in zip(matched, want, strict=True):
        torch.testing.assert_close(joined([got[part] for part in our], transposed), theirs_, rtol=0, atol=ATOL)


@pytest.mark.parametrize("models", ["reference", "sdpa"], indirect=True)
def test_decoding_with_the_cache_equals_that_of_gpt2(models):
    """A prompt of three tokens, then one at a time, each model with its own cache."""
    ours, theirs = models
    tokens = torch.randint(VOCAB, (BATCH, T), generator=torch.Generator().manual_seed(2))
    cache, past = ours.new_cache(), None
    with torch.no_grad():
        for chunk in tokens.split([3, 1, 1, 1, 1], dim=1):
            expected = theirs(chunk, past_key_values=past, use_cache=True)
            past = expected.past_key_values
            torch.testing.assert_close(ours(chunk, cache=cache), expected.logits, rtol=0, atol=ATOL)
    assert cache.length == T
