"""Weights in few bits: against torch, closed forms, bounds on the error, and bytes."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from companion.quantise import dequantise, pack, quantise, unpack
from tests.library.tensors import close, normal

sizes = st.integers(1, 6)


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
@pytest.mark.parametrize("group", [1, 3, 15])
def test_rounding_is_that_of_torch(bits, group):
    weight = normal(bits)(7, 15).float()
    integers, scales = quantise(weight, bits, group)
    most, flat = 2 ** (bits - 1) - 1, scales.flatten()
    zero = torch.zeros(len(flat), dtype=torch.int32)
    theirs = torch.fake_quantize_per_channel_affine(
        weight.reshape(-1, group), flat, zero, axis=0, quant_min=-most, quant_max=most
    )
    close(dequantise(integers, scales), theirs.view(7, 15), atol=1e-6)  # float32: torch has no other


@given(rows=sizes, groups=sizes, group=sizes, bits=st.integers(2, 8), size=st.sampled_from([1e-6, 1.0, 1e6]))
def test_no_weight_moves_by_more_than_half_a_scale(rows, groups, group, bits, size):
    weight = normal(rows)(rows, groups * group) * size
    integers, scales = quantise(weight, bits, group)
    assert scales.shape == (rows, groups)
    assert integers.abs().max() == 2 ** (bits - 1) - 1
    error = (dequantise(integers, scales) - weight).abs().unflatten(-1, (groups, group)).amax(-1)
    assert (error <= scales * (0.5 + 1e-9)).all()


def test_the_largest_of_each_group_is_kept():
    weight = torch.tensor([[0.7, -0.2, 4.0, -7.0], [0.0, 0.0, 1.0, 0.4]], dtype=torch.float64)
    integers, scales = quantise(weight, 4, 2)
    assert integers.tolist() == [[7, -2, 4, -7], [0, 0, 7, 3]]
    close(scales, torch.tensor([[0.1, 1.0], [1.0, 1 / 7]], dtype=torch.float64))
    assert dequantise(integers, scales)[0, 3] == -7


def test_the_error_is_the_scale_over_the_root_of_twelve():
    weight = torch.rand(400, 64, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 2 - 1
    integers, scales = quantise(weight, 6, 64)
    error = (dequantise(integers, scales) - weight).square().mean().sqrt()
    assert error.item() == pytest.approx(scales.square().mean().sqrt().item() / math.sqrt(12), rel=0.03)


def test_an_outlier_spoils_its_own_group_only():
    weight = normal(3)(2, 12)
    before = dequantise(*quantise(weight, 4, 4))
    weight[0, 5] *= 1e4
    after = dequantise(*quantise(weight, 4, 4))
    same = torch.ones(2, 12, dtype=torch.bool)
    same[0, 4:8] = False
    assert torch.equal(before[same], after[same])
    assert after[0, [4, 6, 7]].tolist() == [0, 0, 0]


def test_two_integers_share_a_byte():
    assert pack(torch.tensor([[1, -1, 7, -8]], dtype=torch.int8)).tolist() == [[0xF1, 0x87]]
    every = torch.cartesian_prod(torch.arange(-8, 8), torch.arange(-8, 8)).to(torch.int8)
    packed = pack(every)
    assert (packed.shape, packed.dtype) == ((256, 1), torch.uint8)
    assert len(packed.unique()) == 256
    assert torch.equal(unpack(packed), every)


@pytest.mark.usefixtures("shape_checks_off")
def test_bad_input_is_refused():
    weight = torch.ones(2, 6)
    with pytest.raises(ValueError, match=r"2 to 8 bits: got bits=9"):
        quantise(weight, 9, 2)
    with pytest.raises(ValueError, match=r"got group=4, weight \(2, 6\)\. Use a divisor"):
        quantise(weight, 4, 4)
    with pytest.raises(ValueError, match=r"got group=2, weight \(6,\)"):
        quantise(weight[0, :6], 4, 2)
    with pytest.raises(ValueError, match=r"only finite weights can be rounded: got NaN or infinity"):
        quantise(weight * math.inf, 4, 2)
    with pytest.raises(ValueError, match=r"from -8 to 7: got 8 to 8 in 2 columns\. Quantise to 4 bits"):
        pack(torch.full((1, 2), 8, dtype=torch.int8))
    with pytest.raises(ValueError, match=r"got 1 to 1 in 3 columns"):
        pack(torch.ones(1, 3, dtype=torch.int8))
