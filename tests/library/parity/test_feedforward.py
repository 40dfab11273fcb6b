"""Parity of the feed-forward networks with torch and with GPT-2's and LLaMA's in `transformers`, in float64."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from transformers import GPT2Config, LlamaConfig
from transformers.models.gpt2.modeling_gpt2 import GPT2MLP
from transformers.models.llama.modeling_llama import LlamaMLP

from companion.feedforward import FeedForward, SwiGLU, gelu, gelu_tanh, relu, silu
from tests.library.tensors import fill

BATCH, T, D_MODEL, D_FF = 2, 5, 7, 11  # all different: a swapped axis cannot pass
ATOL = 1e-12  # float64, unit weights: products of two layers are below 100, still two orders above their rounding


def assert_same(got, want, inputs, other_inputs, upstream):
    """Compare two outputs, and the gradients of each with respect to its own inputs; matrices may be transposed."""
    torch.testing.assert_close(got, want, rtol=0, atol=ATOL)
    ours, theirs = torch.autograd.grad(got, inputs, upstream), torch.autograd.grad(want, other_inputs, upstream)
    for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        other = other if one.shape == other.shape else other.T
        torch.testing.assert_close(one, other, rtol=0, atol=ATOL, msg=lambda text, n=number: f"gradient {n}: {text}")


def twins(x):
    return x.detach().clone().requires_grad_(), x.detach().clone().requires_grad_()


ACTIVATIONS = {
    "relu": (relu, F.relu),
    "gelu": (gelu, F.gelu),
    "gelu-tanh": (gelu_tanh, lambda x: F.gelu(x, approximate="tanh")),
    "silu": (silu, F.silu),
}
each_activation = pytest.mark.parametrize(("ours", "theirs"), ACTIVATIONS.values(), ids=list(ACTIVATIONS))


@each_activation
@pytest.mark.parametrize("shape", [(1,), (T,), (BATCH, T, D_FF)], ids=str)
@pytest.mark.parametrize("size", [1, 10])
def test_an_activation_equals_that_of_torch(randn, ours, theirs, shape, size):
    x = (randn(*shape) * size).requires_grad_()
    assert_same(ours(x), theirs(x), (x,), (x,), randn(*shape))


@each_activation
def test_at_zero_the_slope_is_that_of_torch(ours, theirs):
    x = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    slopes = [torch.autograd.grad(function(x), x)[0].item() for function in (ours, theirs)]
    assert slopes == [0.0 if ours is relu else 0.5] * 2


@each_activation
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_an_activation_in_low_precision_agrees_with_torch_to_its_rounding(randn, assert_agrees, ours, theirs, dtype):
    # Numbers below 8, rounded about four times here and once in torch.
    assert_agrees(ours, theirs, randn(T, 64, dtype=dtype), rtol=0, atol=8 * 4 * torch.finfo(dtype).eps)


@pytest.mark.parametrize("name", ["relu", "gelu", "gelu-tanh"])
@pytest.mark.parametrize("bias", [True, False])
def test_a_network_equals_two_linear_layers_of_torch(randn, name, bias):
    activation = {"relu": nn.ReLU(), "gelu": nn.GELU(), "gelu-tanh": nn.GELU(approximate="tanh")}[name]
    theirs = nn.Sequential(nn.Linear(D_MODEL, D_FF, bias=bias), activation, nn.Linear(D_FF, D_MODEL, bias=bias))
    ours, theirs = fill(FeedForward(D_MODEL, D_FF, activation=name, bias=bias).eval(), randn), theirs.double()
    ours.w_1.load_state_dict(theirs[0].state_dict())
    ours.w_2.load_state_dict(theirs[2].state_dict())
    one, other = twins(randn(BATCH, T, D_MODEL))
    inputs, other_inputs = (one, *ours.parameters()), (other, *theirs.parameters())
    assert_same(ours(one), theirs(other), inputs, other_inputs, randn(BATCH, T, D_MODEL))


def test_a_network_equals_that_of_gpt_2(randn):
    config = GPT2Config(n_embd=D_MODEL, n_head=1, resid_pdrop=0.0)
    theirs = fill(GPT2MLP(D_FF, config).eval(), randn)
    ours = FeedForward(D_MODEL, D_FF, activation="gelu-tanh").double()
    with torch.no_grad():
        for layer, source in ((ours.w_1, theirs.c_fc), (ours.w_2, theirs.c_proj)):
            layer.weight.copy_(source.weight.T)  # GPT-2 keeps its matrices as (in, out)
            layer.bias.copy_(source.bias)
    one, other = twins(randn(BATCH, T, D_MODEL))
    inputs = (one, ours.w_1.weight, ours.w_1.bias, ours.w_2.weight, ours.w_2.bias)
    other_inputs = (other, theirs.c_fc.weight, theirs.c_fc.bias, theirs.c_proj.weight, theirs.c_proj.bias)
    assert_same(ours(one), theirs(other), inputs, other_inputs, randn(BATCH, T, D_MODEL))


def test_a_gated_network_equals_that_of_llama(randn):
    theirs = fill(
        LlamaMLP(LlamaConfig(hidden_size=D_MODEL, intermediate_size=D_FF, num_attention_heads=1, head_dim=2)).eval(),
        randn,
    )
    ours = SwiGLU(D_MODEL, D_FF).double()
    pairs = [(ours.w_gate, theirs.gate_proj), (ours.w_up, theirs.up_proj), (ours.w_down, theirs.down_proj)]
    for layer, source in pairs:
        layer.load_state_dict(source.state_dict())
    one, other = twins(randn(BATCH, T, D_MODEL))
    inputs = (one, *(layer.weight for layer, _ in pairs))
    other_inputs = (other, *(source.weight for _, source in pairs))
    assert_same(ours(one), theirs(other), inputs, other_inputs, randn(BATCH, T, D_MODEL))


@pytest.mark.parametrize("bias", [True, False])
def test_a_gated_network_equals_its_formula_in_float64(randn, bias):
    """Shazeer (2020), Eq. (6), written with einsum and an explicit exponential, biases as in nn.Linear."""
    ours = fill(SwiGLU(D_MODEL, D_FF, bias=bias).eval(), randn)
    weights = [parameter.detach().clone().requires_grad_() for parameter in ours.parameters()]
    one, other = twins(randn(BATCH, T, D_MODEL))
    gate, up, down = weights[::2] if bias else weights
    gate_bias, up_bias, down_bias = weights[1::2] if bias else (0, 0, 0)
    gated = torch.einsum("btd,fd->btf", other, gate) + gate_bias
    passed = torch.einsum("btd,fd->btf", other, up) + up_bias
    want = torch.einsum("btf,df->btd", gated / (1 + torch.exp(-gated)) * passed, down) + down_bias
    assert_same(ours(one), want, (one, *ours.parameters()), (other, *weights), randn(BATCH, T, D_MODEL))
