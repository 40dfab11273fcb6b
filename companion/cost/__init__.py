"""What a model costs, by arithmetic: parameters, FLOPs, bytes, time at best. No tensors; only :mod:`companion.config`.

Every formula is exact, and the tests hold it against what torch counts: parameters one by one, FLOPs by
``FlopCounterMode``, activations by what autograd saves. Sizes are those of Vaswani et al. (2017).

Chapter: book/complexity.
"""

from companion.cost.activations import activation_bytes
from companion.cost.flops import (
    Flops,
    attention_flops,
    feed_forward_flops,
    generation_flops,
    layer_flops,
    matmul_flops,
    model_flops,
    pair_flops,
    projection_flops,
    training_flops,
)
from companion.cost.layers import (
    LayerCost,
    convolution_layer,
    recurrent_layer,
    self_attention_layer,
    window_attention_layer,
)
from companion.cost.memory import (
    adam_bytes,
    cache_bytes,
    model_cache_bytes,
    number_bytes,
    weight_bytes,
    weights_matrix_bytes,
)
from companion.cost.parallel import bubble, ring_bytes, zero_bytes
from companion.cost.parameters import (
    Kind,
    Parameters,
    attention_parameters,
    feed_forward_parameters,
    model_parameters,
    norm_parameters,
)
from companion.cost.paths import Connection, shortest_path
from companion.cost.published import BERT_BASE, GPT2_SMALL, GPT3, LLAMA_7B
from companion.cost.released import (
    RELEASED,
    Experts,
    Latent,
    Memory,
    Released,
    released_cache_bytes,
    released_memory,
    released_parameters,
    released_token_flops,
)
from companion.cost.roofline import intensity, matmul_intensity, roofline_seconds, six_n_d, utilisation

__all__ = [
    "BERT_BASE",
    "GPT2_SMALL",
    "GPT3",
    "LLAMA_7B",
    "RELEASED",
    "Connection",
    "Experts",
    "Flops",
    "Kind",
    "Latent",
    "LayerCost",
    "Memory",
    "Parameters",
    "Released",
    "activation_bytes",
    "adam_bytes",
    "attention_flops",
    "attention_parameters",
    "bubble",
    "cache_bytes",
    "convolution_layer",
    "feed_forward_flops",
    "feed_forward_parameters",
    "generation_flops",
    "intensity",
    "layer_flops",
    "matmul_flops",
    "matmul_intensity",
    "model_cache_bytes",
    "model_flops",
    "model_parameters",
    "norm_parameters",
    "number_bytes",
    "pair_flops",
    "projection_flops",
    "recurrent_layer",
    "released_cache_bytes",
    "released_memory",
    "released_parameters",
    "released_token_flops",
    "ring_bytes",
    "roofline_seconds",
    "self_attention_layer",
    "shortest_path",
    "six_n_d",
    "training_flops",
    "utilisation",
    "weight_bytes",
    "weights_matrix_bytes",
    "window_attention_layer",
    "zero_bytes",
]
