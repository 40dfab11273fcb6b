"""Faults of `companion.cost`."""

from faults import Fault

HERE = "companion/cost"


def unit(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_cost.py::test_{test}",)


def parity(test: str) -> tuple[str, ...]:
    return (f"tests/parity/test_cost.py::test_{test}",)


PARAMETERS = parity("the_parameters_of_a_model_are_those_that_it_has")
PARTS = parity("each_part_has_the_parameters_of_its_modules")
LAYER = parity("the_parameters_of_a_layer_are_those_that_it_has")
FLOPS = parity("the_flops_of_a_model_are_those_that_torch_counts_forward_and_in_training")
CACHED = parity("prefill_and_decoding_with_a_cache_cost_what_torch_counts")
SAVED = parity("the_activations_are_those_that_autograd_saves")
SIZES = unit("a_size_that_is_no_size_is_refused_by_name")

FAULTS = [
    # Parameters
    Fault(
        "learned positions cost nothing",
        f"{HERE}/parameters.py",
        '* (config.position == "learned") + config.segments',
        "* 0 + config.segments",
        unit("gpt_2_small_has_124439808_parameters"),
    ),
    Fault(
        "the final norm of a pre-norm stack is not counted",
        f"{HERE}/parameters.py",
        ' + stacks * (config.order == "pre")',
        "",
        unit("gpt_2_small_has_124439808_parameters"),
    ),
    Fault(
        "the norm of BERT's embedding is not counted",
        f"{HERE}/parameters.py",
        " + stacks * config.embedding_norm",
        "",
        unit("bert_base_has_109482240_parameters_with_its_pooler"),
    ),
    Fault(
        "a tied output is counted twice",
        f"{HERE}/parameters.py",
        "output=0 if config.tied else d * target",
        "output=d * target",
        unit("the_models_of_2017_have_63_and_214_million_parameters"),
    ),
    Fault(
        "cross-attention has no parameters",
        f"{HERE}/parameters.py",
        "attention=(layers + cross) * attention",
        "attention=layers * attention",
        unit("the_base_model_by_hand"),
    ),
    Fault(
        "keys and values have a bias of the width of the model",
        f"{HERE}/parameters.py",
        "bias * (2 * d_model + 2 * kv_width)",
        "bias * 4 * d_model",
        LAYER,
    ),
    Fault(
        "the gate has no bias",
        f"{HERE}/parameters.py",
        "bias * (into * d_ff + d_model)",
        "bias * (d_ff + d_model)",
        LAYER,
    ),
    Fault(
        "T5's table is counted in each layer",
        f"{HERE}/parameters.py",
        '"t5": stacks * T5_BUCKETS',
        '"t5": layers * T5_BUCKETS',
        PARAMETERS,
    ),
    Fault(
        "the parameters without embeddings hold the output matrix",
        f"{HERE}/parameters.py",
        "        return self.attention + self.feed_forward + self.norms\n",
        "        return self.total - self.embedding\n",
        PARTS,
    ),
    # FLOPs
    Fault(
        "a multiply-add is one FLOP",
        f"{HERE}/flops.py",
        "return 2 * rows * inner * columns",
        "return rows * inner * columns",
        unit("a_product_is_a_multiply_and_an_add_for_each_of_its_terms"),
    ),
    Fault(
        "shared key heads save FLOPs for each pair",
        f"{HERE}/flops.py",
        "pairs = pair_flops(batch, t, past + t, d)",
        "pairs = pair_flops(batch, t, past + t, kv_width)",
        FLOPS,
    ),
    Fault(
        "a new token looks at the past only",
        f"{HERE}/flops.py",
        "pairs = pair_flops(batch, t, past + t, d)",
        "pairs = pair_flops(batch, t, past or t, d)",
        CACHED,
    ),
    Fault(
        "the keys of the past are computed again",
        f"{HERE}/flops.py",
        "projections = projection_flops(batch, t, t, d, kv_width=kv_width)",
        "projections = projection_flops(batch, t, past + t, d, kv_width=kv_width)",
        CACHED,
    ),
    Fault(
        "the keys of the memory are computed at each step",
        f"{HERE}/flops.py",
        "0 if memory_cached else memory",
        "memory",
        parity("decoding_with_a_memory_computes_its_keys_once"),
    ),
    Fault(
        "the encoder runs at each step",
        f"{HERE}/flops.py",
        "if source is not None and not past:",
        "if source is not None:",
        parity("decoding_with_a_memory_computes_its_keys_once"),
    ),
    Fault(
        "the backward pass costs as much as the forward pass",
        f"{HERE}/flops.py",
        "model_flops(config, kind, batch, t, source=source) * 3",
        "model_flops(config, kind, batch, t, source=source) * 2",
        unit("six_n_d_is_exact_but_for_the_pairs_of_attention"),
    ),
    Fault(
        "generation makes one token too many",
        f"{HERE}/flops.py",
        "range(prompt, prompt + tokens - 1)",
        "range(prompt, prompt + tokens)",
        parity("generation_costs_what_torch_counts_with_a_cache_and_without"),
    ),
    Fault(
        "the output is as wide as the source's vocabulary",
        f"{HERE}/flops.py",
        "vocab = config.target_vocab or config.vocab",
        "vocab = config.vocab",
        FLOPS,
    ),
    # Bytes
    Fault(
        "the cache holds keys and no values",
        f"{HERE}/memory.py",
        "return 2 * n_layers",
        "return n_layers",
        unit("llama_7b_keeps_half_a_mebibyte_a_token"),
    ),
    Fault(
        "the cache has a key for each query head",
        f"{HERE}/memory.py",
        "config.n_layers, config.n_kv_heads or config.n_heads,",
        "config.n_layers, config.n_heads,",
        unit("grouped_queries_divide_the_cache"),
    ),
    Fault(
        "the cache leaves the memory out",
        f"{HERE}/memory.py",
        "t + (source or 0)",
        "t",
        parity("the_cache_of_an_encoder_decoder_holds_the_memory_too"),
    ),
    Fault(
        "mixed precision keeps its moments in half precision",
        f"{HERE}/memory.py",
        "(2, 3) if mixed",
        "(4, 1) if mixed",
        unit("adam_takes_16_bytes_a_parameter_in_either_precision"),
    ),
    Fault(
        "masked weights are kept once",
        f"{HERE}/activations.py",
        "(1 + masked) * config.n_heads",
        "config.n_heads",
        SAVED,
    ),
    Fault(
        "GELU keeps its result only",
        f"{HERE}/activations.py",
        '"gelu": 2',
        '"gelu": 1',
        SAVED,
    ),
    Fault(
        "the fused kernel repeats shared key heads",
        f"{HERE}/activations.py",
        'config.n_heads if config.kernel == "formula" else config.n_kv_heads or config.n_heads',
        "config.n_heads",
        SAVED,
    ),
    Fault(
        "the fused kernel keeps the weights",
        f"{HERE}/activations.py",
        "(numbers + config.n_heads * t_q)",
        "(numbers + config.n_heads * t_q * t_k)",
        unit("the_formula_kernel_keeps_the_square_and_the_fused_one_does_not"),
    ),
    # The layers of Table 1, the roofline
    Fault(
        "the path of a dilated stack is one layer short",
        f"{HERE}/layers.py",
        "while kernel**path < n:",
        "while kernel ** (path + 1) < n:",
        parity("a_path_is_as_long_as_the_connections_make_it"),
    ),
    Fault(
        "a kernel reaches as far as it is wide",
        f"{HERE}/layers.py",
        "path=_layers_of_reach(n, kernel - 1)",
        "path=_layers_of_reach(n, kernel)",
        parity("a_path_is_as_long_as_the_connections_make_it"),
    ),
    Fault(
        "each position of a window has a whole window",
        f"{HERE}/layers.py",
        "pairs = n * seen - seen * (seen - 1) // 2",
        "pairs = n * seen",
        parity("a_window_costs_four_d_flops_for_each_pair_that_its_mask_allows"),
    ),
    Fault(
        "a recurrent layer has no product with its state",
        f"{HERE}/layers.py",
        "LayerCost(4 * gates",
        "LayerCost(2 * gates",
        parity("a_recurrent_layer_costs_what_torch_counts_for_its_cell"),
    ),
    Fault(
        "the roofline is the sum of arithmetic and traffic",
        f"{HERE}/roofline.py",
        "max(flops / peak_flops, moved_bytes / bandwidth)",
        "flops / peak_flops + moved_bytes / bandwidth",
        unit("the_roofline_is_the_slower_of_arithmetic_and_traffic"),
    ),
    # Refusals
    Fault(
        "a size of True is one",
        f"{HERE}/checks.py",
        "isinstance(size, bool) or not isinstance(size, int)",
        "not isinstance(size, int)",
        SIZES,
    ),
    Fault(
        "a decoder without an encoder takes a source",
        f"{HERE}/checks.py",
        '(source is not None) != (kind == "encoder-decoder")',
        'source is None and kind == "encoder-decoder"',
        unit("a_source_that_is_missing_or_superfluous_is_refused"),
    ),
    Fault(
        "an amount that is not a number passes",
        f"{HERE}/checks.py",
        "not 0 < amount < math.inf",
        "amount <= 0 or amount == math.inf",
        unit("an_amount_that_is_none_is_refused_by_name"),
    ),
]
