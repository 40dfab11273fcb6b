"""A mixture of experts against the dense sum, Mixtral's block and the Switch Transformer's router."""

import pytest
import torch
from transformers import MixtralConfig, SwitchTransformersConfig
from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock, load_balancing_loss_func
from transformers.models.switch_transformers.modeling_switch_transformers import SwitchTransformersTop1Router
from transformers.models.switch_transformers.modeling_switch_transformers import (
    load_balancing_loss_func as switch_loss,
)

from companion.experts import MixtureOfExperts, balance_loss, balanced_bias, route, shares, within_capacity
from companion.seeding import seeded

TOKENS, WIDTH, HIDDEN, EXPERTS = 40, 8, 12, 5


def layer(k=2, **options):
    with seeded(0):
        return MixtureOfExperts(WIDTH, HIDDEN, EXPERTS, k, **options).double()


def tokens(seed=1):
    return torch.randn(TOKENS, WIDTH, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def logits(seed=2):
    return torch.randn(TOKENS, EXPERTS, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("k", [1, 2, EXPERTS])
@pytest.mark.parametrize("normalised", [True, False])
def test_the_output_is_the_dense_sum_with_the_other_weights_zero(k, normalised):
    mixture, x = layer(k, normalised=normalised), tokens()
    p = mixture.router(x).softmax(-1)
    p = p * (p >= p.sort(-1, descending=True).values[:, k - 1 : k])
    weights = p / p.sum(-1, keepdim=True) if normalised else p
    dense = sum(weights[:, e, None] * expert(x) for e, expert in enumerate(mixture.experts))
    torch.testing.assert_close(mixture(x)[0], dense, rtol=0, atol=1e-12)
    torch.testing.assert_close(mixture(x.view(2, 5, 4, WIDTH))[0].flatten(0, 2), dense, rtol=0, atol=1e-12)


def test_normalised_weights_are_the_softmax_of_the_chosen_logits():
    z = logits()
    routing = route(z, 2)
    torch.testing.assert_close(routing.weights, z.gather(1, routing.chosen).softmax(-1), rtol=0, atol=1e-14)


def test_the_layer_is_the_block_of_mixtral():
    """The library's router computes in float32."""
    mixture, x = layer(), tokens()
    config = MixtralConfig(hidden_size=WIDTH, intermediate_size=HIDDEN, num_local_experts=EXPERTS)
    block = MixtralSparseMoeBlock(config).double()
    with torch.no_grad():
        block.gate.weight.copy_(mixture.router.weight)
        up = [torch.cat([e.w_gate.weight, e.w_up.weight]) for e in mixture.experts]
        block.experts.gate_up_proj.copy_(torch.stack(up))
        block.experts.down_proj.copy_(torch.stack([e.w_down.weight for e in mixture.experts]))
    torch.testing.assert_close(mixture(x)[0], block(x[None])[0], rtol=0, atol=1e-6)


def test_one_expert_with_a_capacity_is_the_router_of_switch():
    config = SwitchTransformersConfig(hidden_size=WIDTH, num_experts=EXPERTS, expert_capacity=7)
    router, x = SwitchTransformersTop1Router(config), tokens().float()
    mask, weights, z = router(x[None])
    routing = route(z[0], 1, normalised=False)
    kept = within_capacity(routing.chosen, EXPERTS, 7)
    assert 0 < kept.sum() < TOKENS
    assert torch.equal(torch.nn.functional.one_hot(routing.chosen[:, 0], EXPERTS) * kept, mask[0])
    torch.testing.assert_close(routing.weights, weights[0])


def test_the_balance_loss_is_that_of_both_models():
    one, two = route(logits().float(), 1), route(logits().float(), 2)
    torch.testing.assert_close(balance_loss(one), switch_loss(one.probabilities[None], one.chosen[None, :, 0]))
    torch.testing.assert_close(balance_loss(two) * 2, load_balancing_loss_func((logits().float(),), EXPERTS, 2))


def test_the_balance_loss_is_one_where_all_is_even_and_e_where_one_expert_has_all():
    even = torch.eye(4).repeat(3, 1)
    assert balance_loss(route(9 * even, 1)).item() == pytest.approx(1)
    assert balance_loss(route(99 * even[:1].repeat(8, 1), 1)).item() == pytest.approx(4)


def test_first_choices_come_before_second_ones():
    chosen = torch.tensor([[0, 1], [1, 0], [0, 1]])
    assert within_capacity(chosen, 2, 2).tolist() == [[True, True], [True, False], [True, False]]
    assert within_capacity(chosen, 2, 3).all()


def test_what_exceeds_the_capacity_adds_nothing():
    mixture, x = layer(1, normalised=False), tokens()
    full, routing = mixture(x)
    mixture.capacity_factor = 0.5
    kept = within_capacity(routing.chosen, EXPERTS, 4)[:, 0]  # half of 40 / 5
    assert 0 < kept.sum() < TOKENS
    assert torch.equal(mixture(x)[0], full * kept[:, None])


def test_a_bias_changes_the_choice_and_no_weight_of_what_is_chosen():
    z, bias = logits(), torch.tensor([5.0, 0, 0, 0, 0]).double()
    routing = route(z, 1, normalised=False, bias=bias)
    assert (routing.chosen == 0).all()
    assert torch.equal(routing.weights[:, 0], z.softmax(-1)[:, 0])


def test_the_bias_evens_the_shares_out():
    z, bias = logits() + torch.tensor([1.0, 0, 0, 0, -1]), torch.zeros(EXPERTS).double()
    before = shares(route(z, 1).chosen, EXPERTS)
    for _ in range(400):
        bias = balanced_bias(bias, route(z, 1, bias=bias).chosen, 0.003)
    after = shares(route(z, 1, bias=bias).chosen, EXPERTS)
    assert before.max() > 0.4
    assert after.max() < 0.3
    assert shares(torch.tensor([[0, 2], [2, 1]]), 4).tolist() == [0.25, 0.25, 0.5, 0]


def test_the_layer_chooses_with_its_bias():
    mixture = layer(1)
    mixture.bias[3] = 2.0
    assert (mixture(tokens())[1].chosen == 3).all()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: route(logits(), 6), "at most all experts: got k=6 of 5"),
        (lambda: MixtureOfExperts(4, 4, 2, 3), "at most all experts: got k=3 of 2"),
        (lambda: MixtureOfExperts(4, 4, 2, 1, capacity_factor=0), "capacity factor is above 0"),
        (lambda: within_capacity(torch.zeros(2, 1, dtype=torch.long), 2, 0), "capacity is a whole number"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()
