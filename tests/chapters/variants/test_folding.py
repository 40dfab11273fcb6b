"""The pairs of points, and what is left of triangle attention without its bias."""

import pytest
import torch

from companion.chapters.variants import folding


@pytest.mark.parametrize(("third", "read"), [(True, True), (False, False)])
def test_an_attention_without_its_bias_does_not_read_the_third_edge(third, read):
    torch.manual_seed(0)
    layer = folding.biased(starting=True, third=third)
    z = torch.randn(1, 4, 4, folding.WIDTH, requires_grad=True)
    (reads,) = torch.autograd.grad(layer(z)[0, 0, 1].square().sum(), z)
    assert bool((reads[0, 1, 2] != 0).any()) == read  # the edge of triangle 0, 1, 2 that does not touch 0
    assert (reads[0, 0, 2] != 0).any()


def test_a_bias_that_is_left_out_is_not_trained():
    model = folding.Filler(folding.NO_BIAS, seed=0)
    frozen = [name for name, p in model.named_parameters() if not p.requires_grad]
    assert len(frozen) == 2 * folding.BLOCKS
    assert all(name.endswith("bias.weight") for name in frozen)
    assert all(p.requires_grad for p in folding.Filler("triangle attention", seed=0).parameters())
