"""A mixture-of-experts layer in stages: the hand examples, the package's, and what a capacity does."""

import pytest
import torch

from companion.experts import MixtureOfExperts, balance_loss, route, within_capacity
from companion.practice import inputs
from tests.tools.practice import BY_NAME, one_line, refused

CHOICE, PLACES, LAYER, BALANCE = (
    BY_NAME[f"experts-{name}"].reference for name in ("choice", "places", "layer", "balance")
)


def drawn(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def result(name):
    return BY_NAME[name].results(BY_NAME[name].reference, inputs(name, 1))


def test_the_hand_examples_are_the_first_cases():
    """Closed form: the numbers that the statements work out."""
    chosen, weights, _ = result("experts-choice")
    assert chosen.tolist() == [[1, 2]]
    assert weights.tolist() == [pytest.approx([4 / 7, 3 / 7])]
    assert result("experts-places").tolist() == [[0, 1], [1, -1], [0, -1]]
    assert result("experts-layer")[0][:, 0].tolist() == pytest.approx([5, 0])
    assert result("experts-balance")[0].item() == pytest.approx(19 / 18)


def test_choice_places_and_loss_are_those_of_the_package():
    """Oracle: `route`, `within_capacity` and `balance_loss`."""
    logits = drawn(8, 5) - torch.arange(5.0)  # shares of 16 choices, exact in float32 too
    routing = route(logits, 2)
    chosen, weights = CHOICE(logits, 2)
    assert torch.equal(chosen, routing.chosen)
    torch.testing.assert_close(weights, routing.weights, rtol=0, atol=1e-12)
    assert torch.equal(PLACES(chosen, 5, 3) >= 0, within_capacity(chosen, 5, 3))
    torch.testing.assert_close(BALANCE(logits, 2), balance_loss(routing), rtol=0, atol=1e-12)


def test_with_room_for_all_the_layer_is_that_of_the_package():
    """Oracle: `MixtureOfExperts`, its experts exchanged for two maps with a ReLU."""
    x, w_up, w_down = drawn(7, 4), drawn(3, 4, 6, seed=2), drawn(3, 6, 4, seed=3)
    layer = MixtureOfExperts(4, 6, 3, k=2).double()
    layer.experts = torch.nn.ModuleList(
        torch.nn.Sequential(torch.nn.Linear(4, 6, False), torch.nn.ReLU(), torch.nn.Linear(6, 4, False)).double()
        for _ in range(3)
    )
    with torch.no_grad():
        for expert, up, down in zip(layer.experts, w_up, w_down, strict=True):
            expert[0].weight.copy_(up.mT)
            expert[2].weight.copy_(down.mT)
    want, _ = layer(x)
    torch.testing.assert_close(LAYER(x, layer.router(x), w_up, w_down, 2, 7), want, rtol=0, atol=1e-12)


def test_no_slot_is_given_twice_and_none_is_left_free_while_a_choice_is_dropped():
    """Identity: an expert's slots are 0, 1, 2 and so on, as many as its choices or its capacity."""
    chosen = (drawn(12, 4) - torch.arange(4.0)).topk(2).indices
    places = PLACES(chosen, 4, 4)
    for expert in range(4):
        mine = places[chosen == expert]
        assert sorted(mine[mine >= 0].tolist()) == list(range(min(4, len(mine))))
    assert (places < 0).any()


def test_even_shares_give_a_loss_of_one_and_a_collapsed_router_gives_the_number_of_experts():
    """Closed form: 1 where all experts are chosen alike, E where one has all of choices and probability."""
    even = 9 * torch.eye(4, dtype=torch.float64)
    assert BALANCE(even, 1).item() == pytest.approx(1)
    collapsed = torch.tensor([50.0, 0.0, 0.0, 0.0], dtype=torch.float64).expand(6, -1)
    assert BALANCE(collapsed, 1).item() == pytest.approx(4)


def places_in_bfloat16(chosen, n_experts, capacity):
    order = chosen.T.flatten()
    ours = torch.nn.functional.one_hot(order, n_experts).bfloat16()
    before = (ours.cumsum(0) - ours).gather(1, order[:, None]).long()
    return torch.where(before < capacity, before, -1).view(chosen.T.shape).T


def choice_of_bounded_logits(logits, k):
    return CHOICE(logits.clamp(min=-1e4), k)


@pytest.mark.parametrize(
    ("name", "function", "note"),
    [
        ("experts-places", places_in_bfloat16, "hundreds of choices of one expert"),
        ("experts-choice", choice_of_bounded_logits, "logits far below 0"),
    ],
)
def test_numbers_beyond_what_an_answer_can_tell_apart_are_among_the_cases(name, function, note):
    assert f"({note})" in one_line(refused(BY_NAME[name], function))


def slots_for_weights_above_0(x, logits, w_up, w_down, k, capacity):
    """Let choices of weight 0 queue for an expert that there is not."""
    chosen, weights = CHOICE(logits, k)
    places = PLACES(torch.where(weights > 0, chosen, len(w_up)), len(w_up) + 1, capacity)
    kept = torch.zeros_like(logits).scatter(1, chosen, weights * (places >= 0))
    return torch.einsum("te,etd->td", kept, torch.relu(x @ w_up) @ w_down)


def test_a_choice_of_weight_0_takes_a_slot():
    error = refused(BY_NAME["experts-layer"], slots_for_weights_above_0)
    assert "(a choice of weight 0, which takes a slot)" in one_line(error)


def into_the_logits(reference):
    """Answer rightly, and switch off the first expert of the caller's logits behind the back of autograd."""

    def answer(*given):
        made = reference(*given)
        logits = next(x for x in given if x.ndim == 2 and x.shape[1] > 1)
        logits.detach()[:, 0] = -torch.inf
        return made

    return answer


@pytest.mark.parametrize("name", ["experts-choice", "experts-layer", "experts-balance"])
def test_an_answer_that_writes_into_the_logits_is_refused(name):
    error = refused(BY_NAME[name], into_the_logits(BY_NAME[name].reference))
    assert "Your code changed its argument `logits` in place" in one_line(error)
