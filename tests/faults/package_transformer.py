"""Faults of `companion.transformer`."""

from faults import Fault

BUILD = "companion/transformer/build.py"
ENCODER_DECODER = "companion/transformer/encoder_decoder.py"
DECODER_ONLY = "companion/transformer/decoder_only.py"
ENCODER_ONLY = "companion/transformer/encoder_only.py"


def model(*tests: str) -> tuple[str, ...]:
    return tuple(f"tests/unit/test_transformer.py::test_{test}" for test in tests)


def parity(name: str, test: str) -> tuple[str, ...]:
    return (f"tests/parity/test_{name}.py::test_{test}",)


CACHED = "a_decoder_only_model_with_a_cache_gives_the_same_logits"
CACHED_TRANSFORMER = "a_transformer_with_a_cache_gives_the_same_logits"
PADDED_TRANSFORMER = "a_padded_batch_of_a_transformer_equals_single_runs"
NEVER_A_LATER_TARGET = "no_logit_of_a_transformer_depends_on_a_later_target_or_on_padding_of_the_source"

FAULTS = [
    # The input
    Fault(
        "a table starts at 0 whatever the cache holds",
        BUILD,
        "self.position(tokens.shape[1], start)",
        "self.position(tokens.shape[1])",
        model(CACHED),
    ),
    Fault(
        "the decoder-only model forgets where the cache ends",
        DECODER_ONLY,
        "start=0 if cache is None else cache.length",
        "start=0",
        model(CACHED),
    ),
    Fault(
        "embeddings are scaled whatever the config says",
        BUILD,
        "scale=config.scale_embedding",
        "scale=True",
        parity("gpt2", "logits_and_gradients_equal_those_of_gpt2"),
    ),
    Fault(
        "segments are scaled as tokens are",
        BUILD,
        "TokenEmbedding(config.segments, d_model, scale=False)",
        "TokenEmbedding(config.segments, d_model)",
        model("the_input_of_bert_is_a_normalised_sum_of_three"),
    ),
    Fault(
        "the sum of embeddings is not normalised",
        BUILD,
        "x if self.norm is None else self.norm(x)",
        "x",
        parity("bert", "hidden_states_and_gradients_equal_those_of_bert"),
    ),
    Fault(
        "an empty batch reaches the table",
        BUILD,
        "tokens.ndim != 2 or 0 in tokens.shape",
        "tokens.ndim != 2",
        model("empty_tokens_are_refused"),
    ),
    # The stacks
    Fault(
        "a pre-norm encoder ends without a norm",
        BUILD,
        'return Encoder(layers, make_norm(config) if config.order == "pre" else None)',
        "return Encoder(layers)",
        model("a_pre_norm_stack_ends_in_a_norm_and_a_post_norm_stack_does_not"),
    ),
    Fault(
        "a post-norm decoder ends in one norm more",
        BUILD,
        'return Decoder(layers, make_norm(config) if config.order == "pre" else None)',
        "return Decoder(layers, make_norm(config))",
        model("a_pre_norm_stack_ends_in_a_norm_and_a_post_norm_stack_does_not"),
    ),
    Fault(
        "the last norm keeps a bias",
        BUILD,
        "eps=config.eps, bias=config.bias)",
        "eps=config.eps)",
        model("a_model_without_biases_has_none"),
    ),
    Fault(
        "the layers have as many key heads as query heads",
        BUILD,
        '"activation", "n_kv_heads",',
        '"activation",',
        model("every_choice_reaches_every_layer"),
    ),
    Fault(
        "each layer has its own T5 table",
        BUILD,
        "[T5Bias(config.n_heads, causal=causal)] * config.n_layers",
        "[T5Bias(config.n_heads, causal=causal) for _ in range(config.n_layers)]",
        model("the_layers_of_a_stack_share_one_t5_table_and_the_two_stacks_do_not"),
    ),
    Fault(
        "the encoder has the decoder's T5 buckets",
        BUILD,
        "T5Bias(config.n_heads, causal=causal)",
        "T5Bias(config.n_heads, causal=True)",
        model("only_the_encoder_has_buckets_for_later_keys"),
    ),
    # Padding
    Fault(
        "the encoder sees the padding of the source",
        ENCODER_DECODER,
        "return self.encoder(x, padding_mask(source_lengths, source))",
        "padding_mask(source_lengths, source)\n        return self.encoder(x)",
        model(PADDED_TRANSFORMER),
    ),
    Fault(
        "the decoder sees the padding of the source",
        ENCODER_DECODER,
        "memory_mask=padding_mask(source_lengths, memory), ",
        "",
        model(NEVER_A_LATER_TARGET),
    ),
    Fault(
        "the encoder-only model sees its padding",
        ENCODER_ONLY,
        "return self.encoder(x, padding_mask(lengths, tokens))",
        "return self.encoder(x)",
        parity("bert", "hidden_states_and_gradients_equal_those_of_bert"),
    ),
    Fault(
        "one length serves the whole batch",
        BUILD,
        "if len(lengths) != len(batch):",
        "if len(lengths) not in (1, len(batch)):",
        model("another_number_of_lengths_than_sequences_is_refused"),
    ),
    Fault(
        "padding enters the cache",
        DECODER_ONLY,
        "if cache is not None and mask is not None and not mask.all():",
        "if False:",
        model("padding_in_a_cache_is_refused"),
    ),
    # The cache
    # What is shared, and the output
    Fault(
        "both sides have a table of their own",
        ENCODER_DECODER,
        "self.source_embedding.token if shared else None",
        "None",
        model("one_vocabulary_means_one_table_for_both_sides_and_the_output"),
    ),
    Fault(
        "the output is tied whatever the config says",
        DECODER_ONLY,
        "self.embedding.token.logits(x) if self.output is None else self.output(x)",
        "self.embedding.token.logits(x)",
        parity("llama", "decoding_with_the_cache_equals_that_of_llama"),
    ),
    Fault(
        "shift_right repeats the first token in place of the start",
        ENCODER_DECODER,
        "torch.full_like(target[:, :1], start)",
        "target[:, :1]",
        model("shift_right_puts_the_start_first_and_drops_the_last"),
    ),
    # The first weights
    Fault(
        "linear maps begin Xavier-normal",
        BUILD,
        "xavier_uniform_",
        "xavier_normal_",
        model("linear_maps_begin_xavier_uniform_without_bias"),
    ),
]
