"""Parity of the whole encoder-decoder with T5 in `transformers`, in logits and in gradients."""

import re

import torch
from torch import nn
from transformers import T5Config, T5ForConditionalGeneration
from transformers.models.t5.modeling_t5 import T5LayerNorm

from companion.config import ModelConfig
from companion.transformer import Transformer
from tests.library.tensors import close

VOCAB, D_MODEL, HEADS, D_FF = 29, 12, 3, 20
NAMES = {
    "shared": "source_embedding.token",
    r"\.block\.": ".layers.",
    r"layer\.0\.SelfAttention": "self_attention",
    r"layer\.1\.EncDecAttention": "cross_attention",
    r"relative_attention_bias": "position",
    r"\.([qkvo])\.weight": r".w_\1.weight",
    r"layer\.[12]\.DenseReluDense": "feed_forward",
    r"\.wi\.": ".w_1.",
    r"\.wo\.": ".w_2.",
    "final_layer_norm": "final_norm",
    "encoder(.*)self_attention": r"encoder\1attention",
}
"""Theirs to ours."""


def exact(model):
    """T5 takes the mean square in float32 whatever its numbers are; torch's RMSNorm takes it as they are."""
    for name, module in list(model.named_modules()):
        if isinstance(module, T5LayerNorm):
            norm = nn.RMSNorm(len(module.weight), eps=module.variance_epsilon, dtype=torch.double)
            norm.weight = module.weight
            model.set_submodule(name, norm)
    return model


def pair(randn):
    sizes = {"vocab_size": VOCAB, "d_model": D_MODEL, "d_kv": D_MODEL // HEADS, "d_ff": D_FF, "num_layers": 2}
    options = {"num_heads": HEADS, "dropout_rate": 0.0}
    theirs = exact(T5ForConditionalGeneration(T5Config(**sizes, **options)).double().eval())
    choices = {"position": "t5", "norm": "rms", "norm_placement": "pre", "bias": False, "eps": 1e-6, "dropout": 0.0}
    config = ModelConfig(vocab=VOCAB, d_model=D_MODEL, n_layers=2, n_heads=HEADS, d_ff=D_FF, **choices)
    ours = Transformer(ModelConfig(**vars(config) | {"scale_embedding": False})).double().eval()
    state, pairs = ours.state_dict(), {}
    for name, weight in theirs.named_parameters():
        weight.data = randn(*weight.shape) / (weight.shape[-1] ** 0.5 if weight.ndim == 2 else 1)
        our = re.sub(r"layer\.(\d)\.layer_norm", lambda found: f"norm_{int(found[1]) + 1}", name)
        for old, new in NAMES.items():
            our = re.sub(old, new, our)
        root = (D_MODEL / HEADS) ** 0.5 if our.endswith("w_q.weight") else 1  # T5 does not divide by it
        assert state[our].shape == weight.shape
        state[our] = weight.data * root
        pairs[our] = weight, root
    for name in state:
        if name.startswith("target_embedding"):
            state[name] = state["source_embedding.token.weight"]
        elif name.endswith("position.weight"):  # one table for all layers of a side
            side = name.split(".")[0]
            state[name] = state[f"{side}.layers.0.{'self_' * (side == 'decoder')}attention.position.weight"]
    ours.load_state_dict(state)
    return ours, theirs, pairs


def test_the_encoder_decoder_with_t5s_choices_is_t5(randn):
    ours, theirs, pairs = pair(randn)
    generator = torch.Generator().manual_seed(3)
    source, target = (torch.randint(VOCAB, (2, t), generator=generator) for t in (40, 9))
    got = ours(source, target) * D_MODEL**-0.5  # T5 scales the output of the shared matrix
    want = theirs(input_ids=source, decoder_input_ids=target).logits
    close(got, want)
    upstream = randn(*got.shape)
    got.backward(upstream)
    want.backward(upstream)
    found = dict(ours.named_parameters())
    assert found.keys() == pairs.keys()
    for name, (weight, root) in pairs.items():
        close(found[name].grad * root, weight.grad, name)
