"""Faults of `companion.decoder`."""

from faults import Fault

DECODER = "companion/decoder.py"


def decoder(*tests: str) -> tuple[str, ...]:
    return tuple(f"tests/unit/test_decoder.py::test_{test}" for test in tests)


def parity(test: str = "a_layer_equals_that_of_torch") -> tuple[str, ...]:
    return (f"tests/parity/test_decoder.py::test_{test}",)


FAULTS = [
    Fault(
        "post-norm sees the future",
        DECODER,
        "self.self_attention(x, mask=mask, cache=past, causal=True)",
        "self.self_attention(x, mask=mask, cache=past)",
        decoder("no_output_depends_on_a_later_input"),
    ),
    Fault(
        "the further mask is forgotten",
        DECODER,
        "self.self_attention(x, mask=mask, cache=past, causal=True)",
        "self.self_attention(x, cache=past, causal=True)",
        parity("a_further_mask_on_the_target_equals_that_of_torch"),
    ),
    Fault(
        "the memory's mask is forgotten",
        DECODER,
        "self.cross_attention(x, memory, memory_mask, cache=read)",
        "self.cross_attention(x, memory, cache=read)",
        parity(),
    ),
    Fault(
        "pre-norm normalises the memory",
        DECODER,
        "self.cross_attention(self.norm_2(x), memory,",
        "self.cross_attention(self.norm_2(x), self.norm_2(memory),",
        decoder("the_memory_is_not_normalised_by_the_layer"),
    ),
    Fault(
        "the self-attention does not use the cache",
        DECODER,
        "(None, None) if cache is None else (cache.self, cache.cross)",
        "(None, None) if cache is None else (None, cache.cross)",
        decoder("with_a_cache_the_outputs_are_the_same"),
    ),
    Fault(
        "the memory is projected at each step",
        DECODER,
        "(None, None) if cache is None else (cache.self, cache.cross)",
        "(None, None) if cache is None else (cache.self, None)",
        decoder("the_memory_is_projected_once"),
    ),
    Fault(
        "all layers share the first layer's cache",
        DECODER,
        "if cache is None else cache.layers",
        "if cache is None else cache.layers[:1] * len(self.layers)",
        decoder("with_a_cache_the_outputs_are_the_same"),
    ),
    Fault(
        "cross-attention has a relative position",
        DECODER,
        "self.cross_attention = MultiHeadAttention(d_model, n_heads, **heads)",
        "self.cross_attention = MultiHeadAttention(d_model, n_heads, position=position, **heads)",
        decoder("the_choices_reach_the_parts"),
    ),
    Fault(
        "a memory that nothing reads is accepted",
        DECODER,
        "if memory is not None and attention is None:",
        "if False:",
        decoder("a_memory_that_nothing_would_read_is_refused"),
    ),
    Fault(
        "without a memory a layer attends to itself",
        DECODER,
        "if memory is None and attention is not None:",
        "if False:",
        decoder("a_missing_memory_is_refused"),
    ),
    Fault(
        "a cache of another depth reaches the layers",
        DECODER,
        "len(cache.layers) != len(self.layers)",
        "not cache.layers",
        decoder("a_cache_of_another_depth_is_refused"),
    ),
]
