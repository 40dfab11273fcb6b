"""Looking into attention: recorded weights, ablated heads, importance by gates, rollout, norms of values."""

import pytest
import torch
from torch import nn

from companion.config import ModelConfig
from companion.interpret import (
    ablate,
    attention_layers,
    depends_on,
    head_contributions,
    head_importance,
    norm_weighted,
    record_attention,
    rollout,
)
from companion.multihead import MultiHeadAttention
from companion.transformer import DecoderOnly, EncoderOnly, Transformer

CONFIG = ModelConfig(vocab=7, d_model=12, n_layers=2, n_heads=3, d_ff=5, max_len=11, dropout=0.3)
TOKENS = torch.tensor([[1, 2, 3, 4, 5], [6, 5, 0, 0, 0]])
LENGTHS = [5, 2]


def unit(model):
    """Redraw the weights at unit size, so that no effect hides in small numbers."""
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.5)
    return model.double().eval()


@pytest.fixture(scope="module")
def encoder():
    return unit(EncoderOnly(CONFIG))


@pytest.fixture(scope="module")
def translator():
    return unit(Transformer(CONFIG))


@pytest.fixture
def layer(randn):
    layer = MultiHeadAttention(12, 6, n_kv_heads=2, d_k=5, d_v=7).double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(randn(*parameter.shape))
    return layer


def test_the_layers_are_found_by_name_in_order(encoder, translator):
    assert list(attention_layers(encoder)) == ["encoder.layers.0.attention", "encoder.layers.1.attention"]
    assert list(attention_layers(translator)) == [
        *(f"encoder.layers.{i}.attention" for i in range(2)),
        *(f"decoder.layers.{i}.{kind}_attention" for i in range(2) for kind in ("self", "cross")),
    ]


# Recording


def test_recorded_weights_are_those_that_the_output_was_made_with(encoder):
    layer = encoder.encoder.layers[0].attention
    seen = {}
    hook = layer.register_forward_hook(lambda _, inputs, output: seen.update(x=inputs[0], output=output))
    with record_attention(encoder) as weights:
        encoder(TOKENS, lengths=LENGTHS)
    hook.remove()
    value = layer.w_v(seen["x"]).unflatten(-1, (3, 4)).transpose(1, 2)
    rebuilt = layer.w_o((weights["encoder.layers.0.attention"] @ value).transpose(1, 2).flatten(2))
    torch.testing.assert_close(rebuilt, seen["output"], rtol=0, atol=1e-12)


def test_masks_are_in_the_recorded_weights(translator):
    target = torch.tensor([[1, 2, 3], [4, 5, 6]])
    with record_attention(translator) as weights:
        translator(TOKENS, target, source_lengths=LENGTHS)
    assert {tuple(layer.shape) for layer in weights.values()} == {(2, 3, 5, 5), (2, 3, 3, 3), (2, 3, 3, 5)}
    assert all(torch.allclose(layer.sum(-1), torch.ones((), dtype=torch.float64)) for layer in weights.values())
    causal = weights["decoder.layers.1.self_attention"]
    assert causal.triu(1).abs().max() == 0
    assert (causal.tril() > 0).sum() == 2 * 3 * 6
    assert weights["decoder.layers.1.cross_attention"][1, :, :, 2:].abs().max() == 0
    assert weights["encoder.layers.0.attention"][1, :, :, :2].min() > 0


def test_recording_changes_nothing_and_ends_with_its_block(encoder):
    before = encoder(TOKENS)
    with record_attention(encoder) as weights:
        assert torch.equal(encoder(TOKENS), before)
    assert not any(layer.requires_grad for layer in weights.values())
    kept = dict(weights)
    encoder(TOKENS.flip(1))
    assert all(weights[name] is kept[name] for name in kept)


def test_a_later_call_takes_the_place_of_an_earlier_one(encoder):
    with record_attention(encoder) as weights:
        encoder(TOKENS)
        encoder(TOKENS[:, :2])
    assert weights["encoder.layers.1.attention"].shape == (2, 3, 2, 2)


def test_a_call_with_a_cache_is_not_recorded():
    model = unit(DecoderOnly(CONFIG))
    with torch.no_grad(), pytest.raises(ValueError, match="recorded without a cache"), record_attention(model):
        model(TOKENS, cache=model.new_cache())
    hooks = [layer._forward_pre_hooks for layer in attention_layers(model).values()]
    assert not any(hooks)  # they are gone in spite of the error


# Ablation


def test_an_ablated_head_adds_nothing(layer, randn):
    x = randn(2, 3, 12)
    model = nn.ModuleDict({"layer": layer})
    parts = head_contributions(layer, x).sum(3)  # (batch, head, t_q, d_model)
    with ablate(model, {"layer": [1, 4]}):
        got = layer(x)
    want = parts[:, [0, 2, 3, 5]].sum(1) + layer.w_o.bias
    torch.testing.assert_close(got, want, rtol=0, atol=1e-12)
    assert torch.equal(layer(x), layer(x))
    torch.testing.assert_close(layer(x), parts.sum(1) + layer.w_o.bias, rtol=0, atol=1e-12)


def test_only_the_named_layer_is_ablated(translator):
    target = torch.tensor([[1, 2, 3], [4, 5, 6]])
    plain = translator(TOKENS, target)
    memory = translator.encode(TOKENS)
    with ablate(translator, {"decoder.layers.0.cross_attention": [0, 1, 2]}):
        assert torch.equal(translator.encode(TOKENS), memory)
        assert not torch.allclose(translator(TOKENS, target), plain)
    assert torch.equal(translator(TOKENS, target), plain)
    with ablate(translator, {}):
        assert torch.equal(translator(TOKENS, target), plain)


def test_a_head_or_layer_that_is_not_there_cannot_be_ablated(encoder):
    with (
        pytest.raises(ValueError, match=r"no attention layer is called 'first': there are \['encoder\.layers\.0"),
        ablate(encoder, {"first": [0]}),
    ):
        pass
    for number in (3, -1):
        with (
            pytest.raises(ValueError, match=rf"attention has the heads 0 to 2: got \[{number}\]"),
            ablate(encoder, {"encoder.layers.0.attention": [number]}),
        ):
            pass


def test_a_model_without_attention_is_refused():
    with (
        pytest.raises(ValueError, match="has MultiHeadAttention layers: got Linear without one"),
        record_attention(nn.Linear(1, 1)),
    ):
        pass


# Importance


def losses_of(model, tokens=TOKENS):
    return lambda: model(tokens).square().sum((1, 2))


def test_importance_is_the_slope_at_an_open_gate(encoder):
    name, step = "encoder.layers.0.attention", 1e-6
    found = head_importance(encoder, losses_of(encoder))
    layer = encoder.encoder.layers[0].attention
    with torch.no_grad():
        for head in range(3):
            columns = slice(4 * head, 4 * head + 4)
            ends = []
            for gate in (1 + step, 1 - step):
                layer.w_o.weight[:, columns] *= gate
                ends.append(losses_of(encoder)())
                layer.w_o.weight[:, columns] /= gate
            slope = ((ends[0] - ends[1]) / (2 * step)).abs().mean()
            assert found[name][head].item() == pytest.approx(slope.item(), rel=1e-5)  # differences err by about 1e-7


def test_the_slopes_of_single_examples_do_not_cancel(encoder):
    both = head_importance(encoder, losses_of(encoder))
    each = [head_importance(encoder, losses_of(encoder, TOKENS[row : row + 1])) for row in range(2)]
    for name, importance in both.items():
        torch.testing.assert_close(importance, (each[0][name] + each[1][name]) / 2, rtol=1e-10, atol=0)


def test_importance_leaves_no_gradient_and_no_gate_behind(encoder):
    before = encoder(TOKENS)
    with torch.no_grad():
        assert list(head_importance(encoder, losses_of(encoder))) == list(attention_layers(encoder))
    assert all(parameter.grad is None for parameter in encoder.parameters())
    assert torch.equal(encoder(TOKENS), before)


@pytest.mark.usefixtures("shape_checks_off")
def test_importance_needs_one_loss_an_example_and_every_layer(encoder, translator):
    with pytest.raises(ValueError, match=r"shape \(batch,\): got \(\)"):
        head_importance(encoder, lambda: encoder(TOKENS).sum())
    with pytest.raises(ValueError, match=r"called once for the losses: \['decoder\.layers\.0\.cross_attention'"):
        head_importance(translator, lambda: translator.encode(TOKENS).sum((1, 2)))
    with pytest.raises(ValueError, match=r"called once for the losses: \['encoder\.layers\.0\.attention'"):
        head_importance(encoder, lambda: losses_of(encoder)() + losses_of(encoder)())


# Rollout


def test_without_a_residual_rollout_multiplies_the_averaged_weights(randn):
    layers = [randn(2, 3, 5, 5).softmax(-1) for _ in range(3)]
    first, second, third = (layer.mean(1) for layer in layers)
    torch.testing.assert_close(rollout(layers, residual=0), third @ second @ first, rtol=0, atol=1e-12)


def test_rollout_gives_a_distribution_over_the_input(randn):
    total = rollout([randn(2, 3, 5, 5).softmax(-1) for _ in range(4)])
    torch.testing.assert_close(total.sum(-1), torch.ones(2, 5, dtype=torch.float64), rtol=0, atol=1e-12)


def test_a_residual_of_one_stays_at_each_token(randn):
    assert torch.equal(rollout([randn(1, 2, 3, 3).softmax(-1)] * 2, residual=1)[0], torch.eye(3, dtype=torch.float64))


@pytest.mark.usefixtures("shape_checks_off")
def test_rollout_refuses_what_it_cannot_follow(randn):
    with pytest.raises(ValueError, match=r"at least one layer and 0 <= residual <= 1: got 0 and 0\.5"):
        rollout([])
    with pytest.raises(ValueError, match=r"got 1 and 1\.5"):
        rollout([randn(1, 2, 3, 3)], residual=1.5)
    with pytest.raises(ValueError, match=r"\(batch, n_heads, t, t\): got \(1, 2, 3, 5\)\. Leave out cross-attention"):
        rollout([randn(1, 2, 3, 5)])
    for other in ((4, 2, 3, 3), (1, 2, 5, 5)):  # a batch of 1 would be broadcast
        with pytest.raises(ValueError, match=r"one batch and one length: got \(1, 2, 3, 3\) and"):
            rollout([randn(1, 2, 3, 3), randn(*other)])


# Norms


@pytest.mark.parametrize("cross", [False, True])
def test_what_the_keys_bring_sums_to_the_output(layer, randn, random_mask, cross):
    x, memory = randn(2, 3, 12), randn(2, 5, 12) if cross else None
    mask = random_mask(2, 3, 5 if cross else 3)
    parts = head_contributions(layer, x, memory, mask)
    assert parts.shape == (2, 6, 3, 5 if cross else 3, 12)
    got = parts.sum((1, 3)) + layer.w_o.bias
    torch.testing.assert_close(got, layer(x, memory, mask), rtol=0, atol=1e-12)


def test_the_norm_is_that_of_the_heads_sum_and_not_the_sum_of_norms(layer, randn):
    x = randn(2, 3, 12)
    parts = head_contributions(layer, x, causal=True)
    got = norm_weighted(layer, x, causal=True)
    torch.testing.assert_close(got, parts.sum(1).square().sum(-1).sqrt(), rtol=0, atol=1e-12)
    assert (got < parts.norm(dim=-1).sum(1))[:, 1:, 0].all()
    assert got.triu(1).abs().max() == 0


def test_a_key_with_a_tiny_value_counts_for_little_whatever_its_weight(layer, randn):
    x = randn(1, 3, 12)
    with torch.no_grad():
        layer.w_v.bias.zero_()
        x[:, 1] = torch.linalg.lstsq(layer.w_v.weight, torch.zeros(14, 1, dtype=torch.float64)).solution[:, 0]
    assert norm_weighted(layer, x)[:, :, 1].max() < 1e-12
    assert layer.weights(x)[..., 1].min() > 0


def test_reach_is_the_pattern_of_the_derivatives(randn):
    """Closed form: a sum up to each position depends on it and the earlier ones, a LayerNorm on its own position."""
    x = randn(5, 7).requires_grad_()
    assert torch.equal(depends_on(x.cumsum(0), x), torch.ones(5, 5, dtype=torch.bool).tril())
    assert torch.equal(depends_on(torch.nn.functional.layer_norm(x, (7,)), x), torch.eye(5, dtype=torch.bool))


def test_reach_tells_the_sentences_of_a_batch_apart(randn):
    x = randn(2, 3, 5).requires_grad_()
    found = depends_on((x[0] + x[1, :1])[1:], x)
    assert found.shape == (2, 2, 3)
    assert found[:, 0].tolist() == [[False, True, False], [False, False, True]]
    assert found[:, 1].tolist() == [[True, False, False]] * 2


def test_an_input_that_is_not_used_reaches_nothing(randn):
    x, other = randn(2, 3).requires_grad_(), randn(4, 3).requires_grad_()
    assert not depends_on(x * 2, other).any()


@pytest.mark.usefixtures("shape_checks_off")
def test_reach_needs_gradients(randn):
    x = randn(2, 3)
    with pytest.raises(ValueError, match=r"dependence is told by gradients: got a tensor without. Compute outside"):
        depends_on(x * 2, x)
