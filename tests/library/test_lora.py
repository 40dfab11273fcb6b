"""LoRA: equal to its merged map, and to the sum it stands for; four bits spaced for normal weights."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from companion.config import ModelConfig
from companion.lora import LoRALinear, add_lora, merge_lora
from companion.normal_float import bits_per_weight, dequantise_nf4, nf4_levels, quantise_nf4
from companion.transformer import DecoderOnly

GPT = {"d_model": 8, "n_layers": 2, "n_heads": 2, "d_ff": 16, "norm_placement": "pre", "dropout": 0.0}
PUBLISHED = [
    -1.0,
    -0.6961928009986877,
    -0.5250730514526367,
    -0.39491748809814453,
    -0.28444138169288635,
    -0.18477343022823334,
    -0.09105003625154495,
    0.0,
    0.07958029955625534,
    0.16093020141124725,
    0.24611230194568634,
    0.33791524171829224,
    0.44070982933044434,
    0.5626170039176941,
    0.7229568362236023,
    1.0,
]


def layer(rank: int = 2, alpha: float = 6.0, bias: bool = True) -> LoRALinear:
    base = nn.Linear(5, 7, bias=bias, dtype=torch.float64)
    return LoRALinear(base, rank, alpha)


def test_an_adapter_begins_as_its_base():
    """Closed form: B is zero."""
    adapter, x = layer(), torch.randn(3, 5, dtype=torch.float64)
    assert_close(adapter(x), adapter.base(x), rtol=0, atol=0)
    assert adapter.a.abs().max() > 0
    assert adapter.a.abs().max() <= 5**-0.5


@pytest.mark.parametrize("bias", [True, False])
def test_a_merged_map_equals_its_adapter(bias):
    """Two ways: the sum of two maps, and one map; and entry by entry against alpha over rank times B A."""
    adapter, x = layer(bias=bias), torch.randn(3, 5, dtype=torch.float64)
    nn.init.normal_(adapter.b)
    assert_close(adapter.merged()(x), adapter(x), rtol=0, atol=1e-12)
    change = adapter.merged().weight - adapter.base.weight
    assert_close(change, 3.0 * torch.einsum("or,ri->oi", adapter.b, adapter.a), rtol=0, atol=1e-12)
    assert torch.linalg.matrix_rank(change.detach()) == 2


def test_only_the_narrow_matrices_learn():
    adapter = layer()
    adapter(torch.randn(3, 5, dtype=torch.float64)).sum().backward()
    assert adapter.base.weight.grad is None
    assert adapter.base.bias.grad is None
    assert adapter.b.grad.abs().max() > 0
    assert_close(adapter.a.grad, torch.zeros_like(adapter.a), rtol=0, atol=0)  # B is zero


def test_a_model_with_adapters_begins_as_itself_and_is_merged_into_itself():
    """Property: names, parameters and outputs of the whole model."""
    model = DecoderOnly(ModelConfig(vocab=11, **GPT), seed=0).double().eval()
    tokens = torch.randint(11, (2, 6))
    before = model(tokens)
    names = add_lora(model, 2, 4, {"w_q", "w_2"})
    assert [name.rpartition(".")[2] for name in names] == ["w_q", "w_2"] * 2
    assert_close(model(tokens), before, rtol=0, atol=0)
    trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
    assert sum(p.numel() for p in trained.values()) == 2 * 2 * ((8 + 8) + (16 + 8))
    for name, p in trained.items():
        if name.endswith(".b"):
            nn.init.normal_(p)
    apart = model(tokens)
    assert (apart - before).abs().max() > 0.01
    assert_close(merge_lora(model)(tokens), apart, rtol=0, atol=1e-12)
    assert not any(isinstance(part, LoRALinear) for part in model.modules())


def test_bad_adapters_are_refused():
    base = nn.Linear(5, 7)
    with pytest.raises(ValueError, match="at most the smaller side"):
        LoRALinear(base, 6, 1)
    with pytest.raises(ValueError, match="rank is a whole number, at least 1"):
        LoRALinear(base, 0, 1)
    with pytest.raises(ValueError, match="alpha is positive"):
        LoRALinear(base, 2, 0)
    with pytest.raises(ValueError, match=r"linear map of the model.*got \['w_x'\]"):
        add_lora(DecoderOnly(ModelConfig(vocab=11, **GPT), seed=0), 2, 4, {"w_x"})


def test_the_levels_are_those_of_the_authors_code():
    """Parity: the table in the kernels of bitsandbytes, in float32."""
    assert_close(nf4_levels(), torch.tensor(PUBLISHED, dtype=torch.float64), rtol=0, atol=1e-6)


def test_each_weight_becomes_its_nearest_level():
    """Two ways: by borders, and by comparing all levels."""
    weight = torch.randn(6, 32, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    codes, scales = quantise_nf4(weight, 16)
    assert_close(scales, weight.reshape(-1, 16).abs().amax(dim=1))
    shares = weight.reshape(-1, 16) / scales[:, None]
    nearest = (shares[..., None] - nf4_levels()).abs().argmin(dim=-1)
    assert_close(codes.long(), nearest.flatten(), rtol=0, atol=0)
    back = dequantise_nf4(codes, scales, weight.shape)
    assert_close(back.reshape(-1, 16), nf4_levels()[nearest] * scales[:, None], rtol=0, atol=0)


def test_zeros_stay_zero():
    codes, scales = quantise_nf4(torch.zeros(2, 8), 8)
    assert_close(dequantise_nf4(codes, scales, (2, 8)), torch.zeros(2, 8), rtol=0, atol=0)


def test_bits_are_those_of_the_paper():
    """Closed form: QLoRA, section 3: the scales take 0.5 bits a weight, and 0.127 in two steps."""
    assert bits_per_weight(64) == 4.5
    assert bits_per_weight(64, double=True) == 4 + 8 / 64 + 32 / (64 * 256)


def test_bad_weights_are_refused():
    with pytest.raises(ValueError, match="a block divides the number of weights"):
        quantise_nf4(torch.ones(3, 5), 4)
    with pytest.raises(ValueError, match="only finite weights"):
        quantise_nf4(torch.full((2, 4), torch.nan), 4)
