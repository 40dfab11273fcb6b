"""Parity of `DecoderOnly` with Llama of `transformers`: to 1e-12 but for two parts that Llama computes in float32.

Its RMSNorm and the angles of its rotation are float32 whatever the dtype of the model. With just these two replaced by
float64 ones, values and every gradient agree to 1e-12; as it comes, they agree to the rounding of float32.
"""

import pytest
import torch
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaRMSNorm

from companion.config import ModelConfig
from companion.transformer import DecoderOnly

BATCH, T, D, HEADS, KV_HEADS, FF, LAYERS, VOCAB = 2, 7, 24, 6, 3, 13, 5, 17  # all different, and so is d_k = 4
EPS = 1e-3  # not the default, and large enough to be seen
ATOL = 1e-12  # float64 on numbers of unit size: four orders above the rounding
# Llama as it comes: float32 has a unit roundoff of 6e-8, and 11 norms and the angles add a few of them each. The logits
# reach 2.4 and differ by 1.0e-6; the gradients reach 68 and differ by 4.7e-5. A factor of five for other machines.
LOGITS_IN_FLOAT32, GRADIENTS_IN_FLOAT32 = 5e-6, 2.5e-4


class Rotation(nn.Module):
    """The cosines and sines of Llama's rotation, in float64."""

    def forward(self, x, position_ids):
        d_k = D // HEADS
        frequencies = 10000.0 ** -(torch.arange(0, d_k, 2, dtype=torch.float64) / d_k)
        angles = (position_ids[..., None] * frequencies).repeat(1, 1, 2)  # (batch, t, d_k), the halves alike
        return angles.cos(), angles.sin()


def make_theirs():
    config = LlamaConfig(
        vocab_size=VOCAB,
        hidden_size=D,
        intermediate_size=FF,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        max_position_embeddings=11,
        rms_norm_eps=EPS,
        tie_word_embeddings=False,
        attn_implementation="sdpa",  # the eager form takes its softmax in float32, too
    )
    return LlamaForCausalLM(config).double()


def in_float64(theirs):
    """Replace the two float32 parts; the parameters keep their names and their order."""
    for module in list(theirs.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, LlamaRMSNorm):
                norm = nn.RMSNorm(D, eps=child.variance_epsilon).double()
                norm.load_state_dict(child.state_dict())
                setattr(module, name, norm)
    theirs.model.rotary_emb = Rotation()
    return theirs


def pairs(theirs, ours):
    found = [(theirs.model.embed_tokens, ours.embedding.token), (theirs.lm_head, ours.output)]
    found.append((theirs.model.norm, ours.decoder.final_norm))
    for their, our in zip(theirs.model.layers, ours.decoder.layers, strict=True):
        attention, network = our.self_attention, our.feed_forward
        found += [
            (their.self_attn.q_proj, attention.w_q),
            (their.self_attn.k_proj, attention.w_k),
            (their.self_attn.v_proj, attention.w_v),
            (their.self_attn.o_proj, attention.w_o),
            (their.mlp.gate_proj, network.w_gate),
            (their.mlp.up_proj, network.w_up),
            (their.mlp.down_proj, network.w_down),
            (their.input_layernorm, our.norm_1),
            (their.post_attention_layernorm, our.norm_3),
        ]
    assert len(found) == len(list(theirs.parameters())) == len(list(ours.parameters()))
    return [(their.weight, our.weight) for their, our in found]


def make_ours(kernel="reference"):
    return DecoderOnly(
        ModelConfig(
            vocab=VOCAB,
            d_model=D,
            n_layers=LAYERS,
            n_heads=HEADS,
            n_kv_heads=KV_HEADS,
            d_ff=FF,
            dropout=0,
            position="rope",
            activation="swiglu",
            norm="rms",
            eps=EPS,
            norm_placement="pre",
            bias=False,
            tied=False,
            scale_embedding=False,
            kernel=kernel,
        ),
        seed=0,
    ).double()


def same_weights(randn, theirs, ours):
    """Give both the same numbers, of a size that keeps every layer's output at unit size."""
    matched = pairs(theirs, ours)
    with torch.no_grad():
        for their, our in matched:
            scale = our.shape[-1] ** -0.5 if our.ndim == 2 else 1.0
            our.copy_(their.copy_(randn(*our.shape) * scale))
    return matched


def logits_and_gradients(randn, theirs, ours):
    matched = same_weights(randn, theirs, ours)
    tokens = torch.randint(VOCAB, (BATCH, T), generator=torch.Generator().manual_seed(1))
    output, expected, upstream = ours(tokens), theirs(tokens).logits, randn(BATCH, T, VOCAB)
    got = torch.autograd.grad(output, [our for _, our in matched], upstream)
    want = torch.autograd.grad(expected, [their for their, _ in matched], upstream)
    return (output, *got), (expected, *want)


@pytest.mark.parametrize("kernel", ["reference", "sdpa"])
def test_logits_and_gradients_equal_those_of_llama_in_float64(randn, kernel):
    ours, theirs = logits_and_gradients(randn, in_float64(make_theirs()), make_ours(kernel))
    for got, want in zip(ours, theirs, strict=True):
        torch.testing.assert_close(got, want, rtol=0, atol=ATOL)


def test_llama_as_it_comes_differs_by_the_rounding_of_its_float32_parts(randn):
    ours, theirs = logits_and_gradients(randn, make_theirs(), make_ours())
    (output, *got), (expected, *want) = ours, theirs
    torch.testing.assert_close(output, expected, rtol=0, atol=LOGITS_IN_FLOAT32)
    for ours_, theirs_ in zip(got, want, strict=True):
        torch.testing.assert_close(ours_, theirs_, rtol=0, atol=GRADIENTS_IN_FLOAT32)
    assert (output - expected).abs().max() > 1e-8, "nothing is left that float32 would have to explain"


def test_decoding_with_the_cache_equals_that_of_llama(randn):
    theirs, ours = in_float64(make_theirs()), make_ours()
    same_weights(randn, theirs, ours)
    with torch.no_grad():
        tokens = torch.randint(VOCAB, (BATCH, T), generator=torch.Generator().manual_seed(2))
        cache, past = ours.new_cache(), None
        for chunk in tokens.split([3, 1, 1, 1, 1], dim=1):
            expected = theirs(chunk, past_key_values=past, use_cache=True)
            past = expected.past_key_values
            torch.testing.assert_close(ours(chunk, cache=cache), expected.logits, rtol=0, atol=ATOL)
