"""The three models: sizes, causality, the cache, padding, what is shared, the first weights, then every refusal."""

import re

import pytest
import torch
from torch import nn

from companion.config import ModelConfig, base, big
from companion.cost import BERT_BASE, GPT2_SMALL, LLAMA_7B
from companion.decoder import DecoderLayer
from companion.norm import LayerNorm, RMSNorm
from companion.positional import ALiBi, Learned, RotaryPosition, Sinusoidal, T5Bias, TransformerXLPosition, sinusoidal
from companion.transformer import DecoderOnly, EncoderOnly, Transformer, shift_right
from tests.library.tensors import close

BATCH, T, T_K, VOCAB, TARGET_VOCAB = 3, 7, 9, 17, 19  # all different, as are the sizes below
SIZES = {"vocab": VOCAB, "d_model": 12, "n_layers": 2, "n_heads": 6, "d_ff": 11, "dropout": 0, "max_len": 10}
SCHEMES = ["none", "sinusoidal", "learned", "rope", "alibi", "t5", "transformer-xl"]
LENGTHS, SOURCE_LENGTHS = [T, 4, 1], [T_K, 2, 5]
each_scheme = pytest.mark.parametrize("position", SCHEMES)
each_model = pytest.mark.parametrize("model", [Transformer, DecoderOnly, EncoderOnly])
reader = pytest.mark.usefixtures("shape_checks_off")


def config(**changes):
    return ModelConfig(**{**SIZES, **changes})


def make(model, seed=0, **changes):
    """Build a model in float64 and evaluation mode whose every parameter is drawn anew at unit scale."""
    built = model(config(**changes), seed=seed).double().eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in built.parameters():
            scale = parameter.shape[-1] ** -0.5 if parameter.ndim == 2 else 1.0
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * scale)
    return built


def draw(t, vocab=VOCAB, seed=1):
    return torch.randint(vocab, (BATCH, t), generator=torch.Generator().manual_seed(seed))


# Sizes, counted without storing a number


def count(model, described):
    with torch.device("meta"):
        built = model(described)
    assert all(parameter.is_meta for parameter in built.parameters())
    return sum(parameter.numel() for parameter in built.parameters())


def test_gpt2_small_has_124439808_parameters():
    assert count(DecoderOnly, GPT2_SMALL) == 124_439_808


def test_bert_base_has_109482240_parameters_with_its_pooler():
    pooler = 768 * 768 + 768  # left out of EncoderOnly
    assert count(EncoderOnly, BERT_BASE) + pooler == 109_482_240


def test_llama_7b_has_6738415616_parameters():
    assert count(DecoderOnly, LLAMA_7B) == 6_738_415_616


@pytest.mark.parametrize(("make_config", "d", "ff"), [(base, 512, 2048), (big, 1024, 4096)])
def test_the_models_of_2017_have_the_parameters_that_their_sizes_give(make_config, d, ff):
    """One shared table; per layer 4 d^2 + 4 d an attention, 2 d d_ff + d_ff + d the network, 2 d a norm."""
    attention, network, norm = 4 * d * d + 4 * d, 2 * d * ff + ff + d, 2 * d
    encoder, decoder = attention + network + 2 * norm, 2 * attention + network + 3 * norm
    want = 37_000 * d + 6 * encoder + 6 * decoder
    assert count(Transformer, make_config(37_000)) == want
    assert want == {512: 63_082_496, 1024: 214_245_376}[d]  # Table 3 rounds to 65 and 213 million


# Causality, by autograd: the gradient of an output with respect to the input vectors


def vectors_of(embedding):
    """Collect what an embedding gives, so that gradients can be asked for it."""
    seen = []
    embedding.register_forward_hook(lambda _module, _inputs, output: seen.append(output))
    return seen


@each_scheme
@pytest.mark.parametrize("norm_placement", ["post", "pre"])
def test_no_logit_of_a_decoder_only_model_depends_on_a_later_token(position, norm_placement):
    model = make(DecoderOnly, position=position, norm_placement=norm_placement)
    seen = vectors_of(model.embedding)
    logits = model(draw(T))
    for t in range(T):
        (gradient,) = torch.autograd.grad(logits[1, t].square().sum(), seen[0], retain_graph=True)
        assert (gradient[1, t + 1 :] == 0).all()
        assert (gradient[[0, 2]] == 0).all()
        assert (gradient[1, : t + 1].abs().amax(dim=-1) > 1e-9).all()


@each_scheme
def test_no_logit_of_a_transformer_depends_on_a_later_target_or_on_padding_of_the_source(position):
    model = make(Transformer, position=position)
    source, target = vectors_of(model.source_embedding), vectors_of(model.target_embedding)
    logits = model(draw(T_K), draw(T), source_lengths=SOURCE_LENGTHS)
    for t in range(T):
        wanted = logits[1, t].square().sum()
        from_source, from_target = torch.autograd.grad(wanted, [source[0], target[0]], retain_graph=True)
        assert (from_target[1, t + 1 :] == 0).all()
        assert (from_target[1, : t + 1].abs().amax(dim=-1) > 1e-9).all()
        assert (from_source[1, SOURCE_LENGTHS[1] :] == 0).all()
        assert (from_source[1, : SOURCE_LENGTHS[1]].abs().amax(dim=-1) > 1e-9).all()


@each_scheme
def test_every_vector_of_an_encoder_only_model_depends_on_all_real_tokens(position):
    model = make(EncoderOnly, position=position)
    seen = vectors_of(model.embedding)
    hidden = model(draw(T), lengths=LENGTHS)
    (gradient,) = torch.autograd.grad(hidden[1, 0].square().sum(), seen[0])
    assert (gradient[1, LENGTHS[1] :] == 0).all()
    assert (gradient[1, : LENGTHS[1]].abs().amax(dim=-1) > 1e-9).all()


# The cache


CHUNKS = [[1] * T, [3, 1, 1, 2], [T - 1, 1]]  # token by token; a prompt, then chunks; a long prompt, then one
GROUPED = {
    "n_kv_heads": 2,
    "norm_placement": "pre",
    "norm": "rms",
    "activation": "swiglu",
    "tied": False,
    "kernel": "reference",
}


@pytest.mark.parametrize("changes", [{}, GROUPED], ids=["2017", "grouped"])
@each_scheme
def test_a_decoder_only_model_with_a_cache_gives_the_same_logits(position, changes):
    model, tokens = make(DecoderOnly, position=position, **changes), draw(T)
    with torch.no_grad():
        want = model(tokens)
        for chunks in CHUNKS:
            cache = model.new_cache()
            parts = [model(part, cache=cache) for part in tokens.split(chunks, dim=1)]
            close(torch.cat(parts, dim=1), want)
            assert cache.length == T


@pytest.mark.parametrize("changes", [{}, GROUPED], ids=["2017", "grouped"])
@each_scheme
def test_a_transformer_with_a_cache_gives_the_same_logits(position, changes):
    model, source, target = make(Transformer, position=position, **changes), draw(T_K), draw(T, seed=2)
    with torch.no_grad():
        want = model(source, target, source_lengths=SOURCE_LENGTHS)
        memory = model.encode(source, SOURCE_LENGTHS)
        for chunks in CHUNKS:
            cache, read = model.new_cache(), {"source_lengths": SOURCE_LENGTHS}
            parts = [model.decode(part, memory, cache=cache, **read) for part in target.split(chunks, dim=1)]
            close(torch.cat(parts, dim=1), want)
            assert cache.length == T


def test_two_caches_of_one_model_do_not_meet():
    model, tokens = make(DecoderOnly), draw(T)
    one, other = model.new_cache(), model.new_cache()
    with torch.no_grad():
        model(tokens[:, :3], cache=one)
        model(tokens[:, :2], cache=other)
        got = model(tokens[:, 3:], cache=one)
        close(got, model(tokens)[:, 3:])
    assert (one.length, other.length) == (T, 2)


# Padding


@each_scheme
def test_a_padded_batch_of_a_decoder_only_model_equals_single_runs(position):
    model, tokens = make(DecoderOnly, position=position), draw(T)
    logits = model(tokens, lengths=LENGTHS)
    for row, length in enumerate(LENGTHS):
        close(logits[row, :length], model(tokens[row : row + 1, :length])[0])


@each_scheme
def test_a_padded_batch_of_a_transformer_equals_single_runs(position):
    model, source, target = make(Transformer, position=position), draw(T_K), draw(T, seed=2)
    logits = model(source, target, source_lengths=torch.tensor(SOURCE_LENGTHS), target_lengths=LENGTHS)
    for row, (t_k, t) in enumerate(zip(SOURCE_LENGTHS, LENGTHS, strict=True)):
        close(logits[row, :t], model(source[row : row + 1, :t_k], target[row : row + 1, :t])[0])


@each_scheme
def test_a_padded_batch_of_an_encoder_only_model_equals_single_runs(position):
    model, tokens = make(EncoderOnly, position=position), draw(T)
    hidden = model(tokens, lengths=torch.tensor(LENGTHS))
    for row, length in enumerate(LENGTHS):
        close(hidden[row, :length], model(tokens[row : row + 1, :length])[0])


@pytest.mark.parametrize("filler", [0, VOCAB - 1])
@each_scheme
def test_what_fills_the_padding_does_not_matter(position, filler):
    model, source, target = make(Transformer, position=position), draw(T_K), draw(T, seed=2)
    before = model(source, target, source_lengths=SOURCE_LENGTHS)
    filled = torch.stack(
        [row.where(torch.arange(T_K) < n, filler) for row, n in zip(source, SOURCE_LENGTHS, strict=True)]
    )
    assert torch.equal(model(filled, target, source_lengths=SOURCE_LENGTHS), before)
    assert not torch.allclose(model(filled, target), model(source, target))


@pytest.mark.parametrize("kernel", ["reference", "sdpa"])
@each_model
def test_a_sequence_that_is_all_padding_gives_finite_numbers_and_gradients(model, kernel):
    built = make(model, kernel=kernel).train()
    inputs = (draw(T_K), draw(T)) if model is Transformer else (draw(T),)
    lengths = {"source_lengths" if model is Transformer else "lengths": [5, 0, 2]}
    output = built(*inputs, **lengths)
    output.square().mean().backward()
    assert output.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in built.parameters())


def test_no_lengths_means_that_every_token_is_real():
    model, tokens = make(EncoderOnly), draw(T)
    close(model(tokens), model(tokens, lengths=[T] * BATCH))


# Inputs


def test_shift_right_puts_the_start_first_and_drops_the_last():
    target = torch.tensor([[5, 6, 7], [8, 9, 2]])
    assert shift_right(target, 1).tolist() == [[1, 5, 6], [1, 8, 9]]
    assert target.tolist() == [[5, 6, 7], [8, 9, 2]]


def test_the_input_is_the_scaled_token_plus_its_position():
    model, tokens = make(DecoderOnly), draw(T)
    want = model.embedding.token.weight[tokens] * 12**0.5 + sinusoidal(T, 12, dtype=torch.float64)
    close(model.embedding(tokens), want)


def test_the_input_of_bert_is_a_normalised_sum_of_three():
    model = make(EncoderOnly, position="learned", segments=5, embedding_norm=True, scale_embedding=False)
    parts, tokens, segments = model.embedding, draw(T), draw(T, vocab=5)
    total = parts.token.weight[tokens] + parts.position.weight[:T] + parts.segment.weight[segments]
    close(parts(tokens, segments=segments), parts.norm(total))


def test_the_first_segment_is_the_default():
    model, tokens = make(EncoderOnly, segments=5), draw(T)
    close(model(tokens), model(tokens, segments=torch.zeros_like(tokens)))
    assert not torch.allclose(model(tokens), model(tokens, segments=torch.ones_like(tokens)))


@each_model
def test_dropout_falls_on_the_sum_of_embeddings(model):
    built = model(config(dropout=0.5), seed=0)
    embedding = built.source_embedding if model is Transformer else built.embedding
    with torch.random.fork_rng():
        torch.manual_seed(0)
        share = (embedding(draw(T)) == 0).double().mean()
    assert abs(share - 0.5) < 0.15  # 252 numbers: a standard deviation of 0.03


# What a config describes


@each_model
@pytest.mark.parametrize("norm_placement", ["post", "pre"])
@pytest.mark.parametrize(("norm", "kind"), [("layer", LayerNorm), ("rms", RMSNorm)])
def test_a_pre_norm_stack_ends_in_a_norm_and_a_post_norm_stack_does_not(model, norm_placement, norm, kind):
    built = make(model, norm_placement=norm_placement, norm=norm, eps=0.5)
    for stack in (getattr(built, "encoder", None), getattr(built, "decoder", None)):
        if stack is not None:
            assert len(stack.layers) == SIZES["n_layers"]
            assert (type(stack.final_norm), getattr(stack.final_norm, "eps", None)) == (
                (kind, 0.5) if norm_placement == "pre" else (type(None), None)
            )


@each_model
def test_every_choice_reaches_every_layer(model):
    built = model(
        config(
            norm_placement="pre",
            norm="rms",
            activation="swiglu",
            n_kv_heads=3,
            bias=False,
            eps=0.5,
            kernel="reference",
            dropout=0.25,
        )
    )
    layers = [layer for layer in built.modules() if hasattr(layer, "norm_1")]
    assert len(layers) == SIZES["n_layers"] * (2 if model is Transformer else 1)
    for layer in layers:
        attention = layer.self_attention if isinstance(layer, DecoderLayer) else layer.attention
        assert (attention.n_heads, attention.n_kv_heads, attention.kernel) == (6, 3, "reference")
        assert (layer.norm_placement, layer.norm_1.eps, layer.dropout.p) == ("pre", 0.5, 0.25)
        assert layer.feed_forward.w_gate.weight.shape == (11, 12)
        assert layer.feed_forward.w_gate.bias is None


@each_model
def test_a_model_without_biases_has_none(model):
    built = model(config(bias=False, norm_placement="pre", embedding_norm=True, tied=False))
    assert [name for name, _ in built.named_parameters() if name.endswith("bias")] == []


@pytest.mark.parametrize(
    ("position", "kind"),
    [
        ("rope", RotaryPosition),
        ("alibi", ALiBi),
        ("t5", T5Bias),
        ("transformer-xl", TransformerXLPosition),
        ("none", type(None)),
        ("sinusoidal", type(None)),
        ("learned", type(None)),
    ],
)
def test_a_scheme_stands_where_it_belongs(position, kind):
    model = make(Transformer, position=position)
    for layer in model.encoder.layers:
        assert type(layer.attention.position) is kind
    for layer in model.decoder.layers:
        assert type(layer.self_attention.position) is kind
        assert layer.cross_attention.position is None
    absolute = {"sinusoidal": Sinusoidal, "learned": Learned}.get(position, type(None))
    assert type(model.source_embedding.position) is type(model.target_embedding.position) is absolute


def test_the_layers_of_a_stack_share_one_t5_table_and_the_two_stacks_do_not():
    model = make(Transformer, position="t5")
    encoder = {id(layer.attention.position) for layer in model.encoder.layers}
    decoder = {id(layer.self_attention.position) for layer in model.decoder.layers}
    assert (len(encoder), len(decoder), len(encoder | decoder)) == (1, 1, 2)


def test_only_the_encoder_has_buckets_for_later_keys(randn):
    """T5's causal table counts a key after the query as if it stood at the query; the other one tells them apart."""
    model, heads = make(Transformer, position="t5"), randn(1, 6, T, 2)
    encoder = model.encoder.layers[0].attention.position.bias(heads, heads)
    decoder = model.decoder.layers[0].self_attention.position.bias(heads, heads)
    assert (encoder[..., 0, 1] != encoder[..., 0, 0]).all()
    assert (decoder[..., 0, 1] == decoder[..., 0, 0]).all()


def test_the_layers_do_not_share_the_parameters_of_transformer_xl():
    model = make(DecoderOnly, position="transformer-xl")
    assert len({id(layer.self_attention.position) for layer in model.decoder.layers}) == SIZES["n_layers"]


@pytest.mark.parametrize("position", ["none", "rope", "alibi", "t5", "transformer-xl"])
def test_a_scheme_without_a_table_reads_more_than_max_len_tokens(position):
    assert make(DecoderOnly, position=position)(draw(11)).isfinite().all()


# What is shared


def test_one_vocabulary_means_one_table_for_both_sides_and_the_output():
    model = make(Transformer)
    assert model.source_embedding.token is model.target_embedding.token
    assert model.output is None
    assert model(draw(T_K), draw(T)).shape == (BATCH, T, VOCAB)


def test_two_vocabularies_mean_two_tables_the_target_one_shared_with_the_output():
    model = make(Transformer, target_vocab=TARGET_VOCAB)
    assert model.source_embedding.token.weight.shape == (VOCAB, 12)
    assert model.target_embedding.token.weight.shape == (TARGET_VOCAB, 12)
    target = draw(T, TARGET_VOCAB)
    logits, x = model(draw(T_K), target), []
    model.decoder.register_forward_hook(lambda _module, _inputs, output: x.append(output))
    model(draw(T_K), target)
    close(logits, x[0] @ model.target_embedding.token.weight.T)


@pytest.mark.parametrize(("target_vocab", "vocab"), [(None, VOCAB), (TARGET_VOCAB, TARGET_VOCAB)])
def test_an_output_of_its_own_has_no_bias(target_vocab, vocab):
    model = make(Transformer, target_vocab=target_vocab, tied=False)
    assert model.output.weight.shape == (vocab, 12)
    assert model.output.bias is None
    assert model(draw(T_K), draw(T)).shape == (BATCH, T, vocab)


@pytest.mark.parametrize("tied", [True, False])
def test_the_logits_of_an_encoder_only_model(tied):
    model, hidden = make(EncoderOnly, tied=tied), torch.eye(12, dtype=torch.float64)[None]
    close(model.logits(hidden)[0].T, (model.embedding.token if tied else model.output).weight)


# First weights


@each_model
def test_one_seed_gives_one_model_and_leaves_the_global_state_alone(model):
    before = torch.get_rng_state()
    one, two, other = (model(config(position="learned"), seed=seed).state_dict() for seed in (5, 5, 6))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not any(torch.equal(one[name], other[name]) for name in one if name.endswith("w_q.weight"))


def test_without_a_seed_the_weights_come_from_the_global_state():
    with torch.random.fork_rng():
        torch.manual_seed(7)
        one, two = DecoderOnly(config()), DecoderOnly(config())
        torch.manual_seed(7)
        again = DecoderOnly(config())
    assert torch.equal(one.embedding.token.weight, again.embedding.token.weight)
    assert not torch.equal(one.embedding.token.weight, two.embedding.token.weight)


@each_model
def test_linear_maps_begin_xavier_uniform_without_bias(model):
    built = model(config(d_model=96, d_ff=200, tied=False), seed=0)
    maps = [module for module in built.modules() if isinstance(module, nn.Linear)]
    for module in maps:
        limit = (6 / sum(module.weight.shape)) ** 0.5
        assert 0.97 * limit < module.weight.max() <= limit
        assert -limit <= module.weight.min() < -0.97 * limit
        assert module.bias is None or (module.bias == 0).all()
    assert len(maps) == {Transformer: 2 * 16, DecoderOnly: 12, EncoderOnly: 12}[model] + 1


@each_model
@pytest.mark.parametrize("scaled", [True, False])
def test_logits_begin_at_unit_size(model, scaled):
    """Tables are drawn with standard deviation 1 / sqrt(d_model), so that a normalised vector scores at unit size."""
    built = model(config(d_model=96, vocab=200, scale_embedding=scaled), seed=0)
    inputs = (draw(T_K, 200), draw(T, 200)) if model is Transformer else (draw(T, 200),)
    output = built(*inputs)
    logits = built.logits(output) if model is EncoderOnly else output
    assert 0.7 < logits.std() < 1.5


# Refusals


@reader
@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (5,)])
@each_model
def test_empty_tokens_are_refused(model, shape):
    tokens = torch.zeros(shape, dtype=torch.long)
    inputs = (tokens, draw(T)) if model is Transformer else (tokens,)
    with pytest.raises(ValueError, match=rf"tokens are \(batch, t\), neither of them 0: got {re.escape(str(shape))}"):
        make(model)(*inputs)


@reader
def test_an_empty_target_is_refused():
    with pytest.raises(ValueError, match=r"got \(3, 0\)\. Give each sequence at least one token, such as a start"):
        make(Transformer)(draw(T_K), torch.zeros(3, 0, dtype=torch.long))


@reader
@pytest.mark.parametrize("position", ["sinusoidal", "learned"])
@each_model
def test_a_sequence_beyond_the_table_is_refused(model, position):
    tokens = draw(11)
    inputs = (tokens, draw(T)) if model is Transformer else (tokens,)
    with pytest.raises(ValueError, match=r"positions lie in the table, 0 to 9.*start=0 and t=11.*larger max_len"):
        make(model, position=position)(*inputs)


@reader
@pytest.mark.parametrize("position", ["sinusoidal", "learned"])
def test_a_cache_that_runs_beyond_the_table_is_refused(position):
    model = make(DecoderOnly, position=position)
    cache = model.new_cache()
    with torch.no_grad():
        model(draw(10), cache=cache)
        with pytest.raises(ValueError, match="start=10 and t=1"):
            model(draw(1), cache=cache)


@reader
@pytest.mark.parametrize("token", [-1, VOCAB])
@each_model
def test_an_id_outside_the_vocabulary_is_refused(model, token):
    tokens = draw(T).index_fill(1, torch.tensor([2]), token)
    inputs = (draw(T_K), tokens) if model is Transformer else (tokens,)
    with pytest.raises(ValueError, match=rf"between 0 and vocab - 1 = {VOCAB - 1}"):
        make(model)(*inputs)


@reader
@pytest.mark.parametrize("lengths", [[5, 5], [5], [5] * 4])
@each_model
def test_another_number_of_lengths_than_sequences_is_refused(model, lengths):
    inputs = (draw(T_K), draw(T)) if model is Transformer else (draw(T),)
    for name in ("source_lengths", "target_lengths") if model is Transformer else ("lengths",):
        with pytest.raises(ValueError, match=rf"one length: got {len(lengths)} lengths for a batch of shape \(3, [79]"):
            make(model)(*inputs, **{name: lengths})


@reader
@pytest.mark.parametrize("lengths", [[5, 5, 10], [5, -1, 5]])
@each_model
def test_a_length_outside_the_batch_is_refused(model, lengths):
    inputs = (draw(T_K), draw(T)) if model is Transformer else (draw(T),)
    for name in ("source_lengths", "target_lengths") if model is Transformer else ("lengths",):
        with pytest.raises(ValueError, match=r"lengths lie between 0 and t_k"):
            make(model)(*inputs, **{name: lengths})


@reader
def test_padding_in_a_cache_is_refused():
    model = make(DecoderOnly)
    with torch.no_grad():
        model(draw(T), lengths=[T] * BATCH, cache=model.new_cache())
        with pytest.raises(ValueError, match=r"holds no padding.*got lengths \[7, 4, 1\] for tokens \(3, 7\)\. Batch"):
            model(draw(T), lengths=torch.tensor(LENGTHS), cache=model.new_cache())


@reader
@pytest.mark.parametrize("shape", [(2, T_K, 12), (T_K, 12)])
def test_a_memory_of_another_batch_is_refused(shape):
    with pytest.raises(ValueError, match=rf"got target \(3, 7\) and memory {re.escape(str(shape))}\. Encode as many"):
        make(Transformer).decode(draw(T), torch.zeros(shape).double())


@reader
def test_a_memory_of_another_width_is_refused():
    with pytest.raises(ValueError, match=r"12.*\(3, 9, 5\)"):
        make(Transformer).decode(draw(T), torch.zeros(BATCH, T_K, 5).double())


@reader
def test_lengths_that_do_not_fit_the_memory_are_refused():
    model = make(Transformer)
    with pytest.raises(ValueError, match=r"got 2 lengths for a batch of shape \(3, 9, 12\)\. Give one number a row"):
        model.decode(draw(T), model.encode(draw(T_K)), source_lengths=[5, 5])


@reader
def test_segments_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"one segment: got tokens \(3, 7\) and segments \(3, 9\)\. Give both"):
        make(EncoderOnly, segments=2)(draw(T), segments=draw(T_K, 2))


@reader
def test_segments_for_a_model_without_them_are_refused():
    with pytest.raises(ValueError, match=r"no segments: got some\. Leave them out, or set segments in its config"):
        make(EncoderOnly)(draw(T), segments=draw(T, 2))


@reader
@pytest.mark.parametrize(
    ("model", "changes", "message"),
    [
        (Transformer, {"segments": 2}, r"only EncoderOnly has segments: got segments=2\. Set segments=0"),
        (DecoderOnly, {"segments": 2}, r"no segments: got target_vocab=None and segments=2\. Set None and 0"),
        (DecoderOnly, {"target_vocab": 5}, r"one vocabulary and .* got target_vocab=5 and segments=0\. Set None"),
        (EncoderOnly, {"target_vocab": 5}, r"one vocabulary: got target_vocab=5\. Set None"),
    ],
)
def test_a_setting_that_a_model_has_no_use_for_is_refused(model, changes, message):
    with pytest.raises(ValueError, match=message):
        model(config(**changes))


@reader
@pytest.mark.parametrize("shape", [(3, 0), (3,)])
def test_a_target_that_cannot_be_shifted_is_refused(shape):
    with pytest.raises(ValueError, match=rf"a target is \(batch, t\).*got {re.escape(str(shape))}\. Add what"):
        shift_right(torch.zeros(shape, dtype=torch.long), 1)
