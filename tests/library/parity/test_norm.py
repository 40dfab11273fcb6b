"""Parity of the norms with torch's: values and gradients in float64, formula and module, and with LLaMA's RMSNorm."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from companion.masks import padding
from companion.norm import LayerNorm, RMSNorm, SequenceBatchNorm, layer_norm, rms_norm

BATCH, T, D_MODEL = 3, 5, 7  # all different: a swapped axis cannot pass
ATOL = 1e-12  # float64 on numbers of unit size: four orders above the rounding
LEADING = [(), (T,), (BATCH, T), (2, BATCH, T)]
EPS = [1e-5, 0.3]  # a large one cannot be misplaced unseen


def copied(module, vectors):
    """Put given vectors into a module of ours or of torch, under the names both use."""
    module = module.double()
    with torch.no_grad():
        for name, vector in vectors.items():
            getattr(module, name).copy_(vector)
    return module


def assert_same(got, want, inputs, other_inputs, upstream):
    """Compare two outputs, and the gradients of each with respect to its own inputs."""
    torch.testing.assert_close(got, want, rtol=0, atol=ATOL)
    ours, theirs = torch.autograd.grad(got, inputs, upstream), torch.autograd.grad(want, other_inputs, upstream)
    for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        torch.testing.assert_close(one, other, rtol=0, atol=ATOL, msg=lambda text, n=number: f"gradient {n}: {text}")


def twins(x):
    return x.detach().clone().requires_grad_(), x.detach().clone().requires_grad_()


@pytest.mark.parametrize("eps", EPS)
@pytest.mark.parametrize("names", [(), ("weight",), ("weight", "bias"), ("bias",)], ids=str)
@pytest.mark.parametrize("leading", LEADING, ids=str)
def test_layer_norm_equals_that_of_torch(randn, leading, names, eps):
    x, upstream = randn(*leading, D_MODEL, requires_grad=True), randn(*leading, D_MODEL)
    vectors = {name: randn(D_MODEL, requires_grad=True) for name in names}
    got, want = layer_norm(x, **vectors, eps=eps), F.layer_norm(x, (D_MODEL,), **vectors, eps=eps)
    assert_same(got, want, (x, *vectors.values()), (x, *vectors.values()), upstream)


@pytest.mark.parametrize("eps", EPS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("leading", LEADING, ids=str)
def test_rms_norm_equals_that_of_torch(randn, leading, weighted, eps):
    x, upstream = randn(*leading, D_MODEL, requires_grad=True), randn(*leading, D_MODEL)
    vectors = {"weight": randn(D_MODEL, requires_grad=True)} if weighted else {}
    got, want = rms_norm(x, **vectors, eps=eps), F.rms_norm(x, (D_MODEL,), **vectors, eps=eps)
    assert_same(got, want, (x, *vectors.values()), (x, *vectors.values()), upstream)


@pytest.mark.parametrize("eps", EPS)
@pytest.mark.parametrize("bias", [False, True])
def test_the_layer_norm_module_equals_that_of_torch(randn, bias, eps):
    vectors = {name: randn(D_MODEL) for name in ("weight", "bias")[: 1 + bias]}
    ours = copied(LayerNorm(D_MODEL, eps=eps, bias=bias), vectors)
    theirs = copied(nn.LayerNorm(D_MODEL, eps=eps, bias=bias), vectors)
    one, other = twins(randn(BATCH, T, D_MODEL))
    inputs, other_inputs = (one, *ours.parameters()), (other, *theirs.parameters())
    assert_same(ours(one), theirs(other), inputs, other_inputs, randn(BATCH, T, D_MODEL))


@pytest.mark.parametrize("eps", EPS)
def test_the_rms_norm_module_equals_that_of_torch(randn, eps):
    vectors = {"weight": randn(D_MODEL)}
    ours, theirs = copied(RMSNorm(D_MODEL, eps=eps), vectors), copied(nn.RMSNorm(D_MODEL, eps=eps), vectors)
    one, other = twins(randn(BATCH, T, D_MODEL))
    inputs, other_inputs = (one, *ours.parameters()), (other, *theirs.parameters())
    assert_same(ours(one), theirs(other), inputs, other_inputs, randn(BATCH, T, D_MODEL))


@pytest.mark.parametrize(
    ("formula", "module"),
    [
        (layer_norm, LayerNorm(D_MODEL)),
        (layer_norm, LayerNorm(D_MODEL, eps=0.3)),
        (layer_norm, LayerNorm(D_MODEL, bias=False)),
        (rms_norm, RMSNorm(D_MODEL)),
        (rms_norm, RMSNorm(D_MODEL, eps=0.3)),
    ],
    ids=str,
)
def test_a_module_equals_its_formula(randn, formula, module):
    names = [name for name, _ in module.named_parameters()]
    norm = copied(module, {name: randn(D_MODEL) for name in names})
    one, other = twins(randn(BATCH, T, D_MODEL))
    vectors = {name: vector.detach().clone().requires_grad_() for name, vector in norm.named_parameters()}
    want = formula(other, **vectors, eps=norm.eps)
    inputs, other_inputs = (one, *norm.parameters()), (other, *vectors.values())
    assert_same(norm(one), want, inputs, other_inputs, randn(BATCH, T, D_MODEL))


@pytest.mark.parametrize(("ours", "theirs"), [(layer_norm, F.layer_norm), (rms_norm, F.rms_norm)], ids=["layer", "rms"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_low_precision_agrees_with_torch_to_its_rounding(randn, assert_agrees, ours, theirs, dtype):
    x, weight = randn(BATCH, T, 64, dtype=dtype), randn(64, dtype=dtype)
    # Both compute in float32 at least and round once, to numbers below 16: two neighbours at most.
    atol = 16 * torch.finfo(dtype).eps
    assert_agrees(
        lambda x, w: ours(x, w, eps=1e-5), lambda x, w: theirs(x, (64,), w, eps=1e-5), x, weight, rtol=0, atol=atol
    )


def test_rms_norm_equals_that_of_llama_in_transformers(randn):
    from transformers.models.llama.modeling_llama import LlamaRMSNorm

    weight = {"weight": randn(D_MODEL)}
    ours, theirs = copied(RMSNorm(D_MODEL), weight), copied(LlamaRMSNorm(D_MODEL, eps=1e-6), weight)
    x = randn(BATCH, T, D_MODEL) * 2
    # LLaMA's norm computes in float32 even for float64 input: a few roundings of 6e-8 on numbers below 10.
    torch.testing.assert_close(ours(x), theirs(x), rtol=0, atol=3e-6)


# BatchNorm: torch has the features in the middle, (batch, d_model, t)


def batch_norms(randn, **arguments):
    vectors = {"weight": randn(D_MODEL), "bias": randn(D_MODEL)}
    ours = copied(SequenceBatchNorm(D_MODEL, **arguments), vectors)
    return ours, copied(nn.BatchNorm1d(D_MODEL, **arguments), vectors)


def assert_same_averages(ours, theirs):
    torch.testing.assert_close(ours.running_mean, theirs.running_mean, rtol=0, atol=ATOL)
    torch.testing.assert_close(ours.running_var, theirs.running_var, rtol=0, atol=ATOL)


@pytest.mark.parametrize("arguments", [{}, {"eps": 0.3, "momentum": 0.25}, {"momentum": 1.0}], ids=str)
def test_a_batch_norm_over_sequences_equals_that_of_torch(randn, arguments):
    ours, theirs = batch_norms(randn, **arguments)
    for training in (True, True, False, True, False):
        ours.train(training)
        theirs.train(training)
        one, other = twins(randn(BATCH, T, D_MODEL) * 2 + 1)
        got, want = ours(one), theirs(other.mT).mT
        inputs, other_inputs = (one, *ours.parameters()), (other, *theirs.parameters())
        assert_same(got, want, inputs, other_inputs, randn(BATCH, T, D_MODEL))
        assert_same_averages(ours, theirs)


@pytest.mark.parametrize("arguments", [{}, {"eps": 0.3, "momentum": 0.25}], ids=str)
def test_a_masked_batch_norm_equals_that_of_torch_over_the_real_tokens(randn, arguments):
    ours, theirs = batch_norms(randn, **arguments)
    for training, lengths in ((True, [5, 2, 1]), (True, [0, 4, 1]), (False, [1, 0, 3]), (False, [5, 5, 5])):
        ours.train(training)
        theirs.train(training)
        mask = padding(lengths, T)
        real = mask[:, 0]
        one, other = twins(randn(BATCH, T, D_MODEL) * 2 + 1)
        upstream = randn(sum(lengths), D_MODEL)
        inputs, other_inputs = (one, *ours.parameters()), (other, *theirs.parameters())
        assert_same(ours(one, mask)[real], theirs(other[real]), inputs, other_inputs, upstream)
        assert_same_averages(ours, theirs)
