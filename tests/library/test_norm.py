"""Normalisation: closed forms, properties for all sizes, large means, low precision, gradients, then every refusal."""

import math
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from companion.masks import padding
from companion.norm import LayerNorm, RMSNorm, SequenceBatchNorm, layer_norm, rms_norm
from tests.library.tensors import close, draw

BATCH, T, D_MODEL = 2, 5, 7  # all different: a swapped axis cannot pass
sizes = st.integers(1, 6)
seeds = st.integers(0, 2**16)
shape_checks_off = pytest.mark.usefixtures("shape_checks_off")
NORMS = {"layer": (layer_norm, LayerNorm), "rms": (rms_norm, RMSNorm)}
each_norm = pytest.mark.parametrize(("function", "module"), NORMS.values(), ids=list(NORMS))


def float64(rows):
    return torch.tensor(rows, dtype=torch.float64)


def perturbed(module, randn):
    """Give a module weights of unit size, so that none of them can be left out."""
    module = module.double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(randn(*parameter.shape))
    return module


# LayerNorm and RMSNorm: closed forms


def test_eps_stands_under_the_root_and_the_variance_is_biased():
    """By hand: mean 4 and variance 1 (unbiased it would be 2); with eps = 3 the root is 2."""
    close(layer_norm(float64([3.0, 5.0]), eps=3.0), float64([-0.5, 0.5]))


def test_gain_and_bias_act_on_each_feature():
    weight, bias = float64([10.0, 100.0]), float64([1.0, 2.0])
    close(layer_norm(float64([3.0, 5.0]), weight, bias, eps=3.0), float64([-4.0, 52.0]))
    close(layer_norm(float64([3.0, 5.0]), None, bias, eps=3.0), float64([0.5, 2.5]))


def test_the_root_mean_square_keeps_the_mean_and_has_eps_under_the_root():
    """By hand: the mean square of (1, 7) is 25, and with eps = 11 the root is 6."""
    close(rms_norm(float64([1.0, 7.0]), eps=11.0), float64([1 / 6, 7 / 6]))
    close(rms_norm(float64([1.0, 7.0]), float64([6.0, 60.0]), eps=11.0), float64([1.0, 70.0]))


def test_the_usual_eps_are_those_of_torch_and_of_t5():
    close(layer_norm(float64([-1e-3, 1e-3])), float64([-1, 1]) * 1e-3 / math.sqrt(1e-6 + 1e-5))
    close(rms_norm(float64([-1e-3, 1e-3])), float64([-1, 1]) * 1e-3 / math.sqrt(1e-6 + 1e-6))
    assert LayerNorm(2).eps == 1e-5
    assert RMSNorm(2).eps == 1e-6


def test_a_constant_vector_becomes_the_bias(randn):
    bias = randn(D_MODEL)
    assert torch.equal(layer_norm(torch.full((T, D_MODEL), 3.0).double(), randn(D_MODEL), bias), bias.expand(T, -1))


@each_norm
def test_a_zero_vector_stays_zero(function, module):
    assert torch.equal(function(torch.zeros(T, D_MODEL)), torch.zeros(T, D_MODEL))
    assert torch.equal(module(D_MODEL)(torch.zeros(T, D_MODEL)), torch.zeros(T, D_MODEL))


# LayerNorm and RMSNorm: properties


@given(t=sizes, d_model=st.integers(2, 9), seed=seeds)
def test_layer_norm_gives_mean_zero_and_variance_one_less_what_eps_takes(t, d_model, seed):
    (x,) = draw(seed, (t, d_model))
    y, variance = layer_norm(x, eps=0.1), x.var(dim=-1, correction=0)
    close(y.mean(dim=-1), torch.zeros(t).double())
    close(y.var(dim=-1, correction=0), variance / (variance + 0.1))


@given(t=sizes, d_model=sizes, seed=seeds)
def test_rms_norm_gives_a_mean_square_of_one_less_what_eps_takes(t, d_model, seed):
    (x,) = draw(seed, (t, d_model))
    mean_square = x.square().mean(dim=-1)
    close(rms_norm(x, eps=0.1).square().mean(dim=-1), mean_square / (mean_square + 0.1))


@given(t=sizes, d_model=st.integers(2, 9), seed=seeds)
def test_layer_norm_does_not_see_a_shift_and_rms_norm_does(t, d_model, seed):
    x, shift = draw(seed, (t, d_model), (t, 1))
    close(layer_norm(x + shift, eps=0.1), layer_norm(x, eps=0.1))
    assert not torch.allclose(rms_norm(x + 1, eps=0.1), rms_norm(x, eps=0.1), atol=1e-3)


@given(factor=st.sampled_from([0.25, 4.0, 1024.0]), t=sizes, d_model=st.integers(2, 9), seed=seeds)
def test_a_vector_as_long_as_you_like_gives_the_same_where_eps_grows_with_its_square(factor, t, d_model, seed):
    (x,) = draw(seed, (t, d_model))
    for function in (layer_norm, rms_norm):
        close(function(x * factor, eps=1e-5 * factor**2), function(x, eps=1e-5))


def test_rms_norm_is_layer_norm_where_the_mean_is_zero(randn):
    x = randn(T, D_MODEL)
    centred = x - x.mean(dim=-1, keepdim=True)
    close(rms_norm(centred, eps=1e-5), layer_norm(centred))


@each_norm
def test_a_vector_is_normalised_on_its_own(function, module, randn):
    x, layer = randn(BATCH, T, D_MODEL), perturbed(module(D_MODEL), randn)
    for norm in (function, layer):
        close(norm(x)[1, 3], norm(x[1, 3]))


def test_the_gradient_of_layer_norm_has_no_mean(randn):
    """The output does not see a shift of the input, so the derivative along the shift is 0."""
    x = randn(T, D_MODEL, requires_grad=True)
    (gradient,) = torch.autograd.grad(layer_norm(x), x, randn(T, D_MODEL))
    close(gradient.sum(dim=-1), torch.zeros(T).double())
    assert gradient.abs().amin() > 1e-3


@each_norm
def test_the_gradient_is_that_of_finite_differences(function, module, randn):
    x, weight = randn(3, D_MODEL, requires_grad=True), randn(D_MODEL, requires_grad=True)
    vectors = (weight, randn(D_MODEL, requires_grad=True)) if function is layer_norm else (weight,)
    assert torch.autograd.gradcheck(function, (x, *vectors))
    assert torch.autograd.gradcheck(perturbed(module(D_MODEL), randn), (x,))


# Numbers that are hard to compute with


@pytest.mark.parametrize("norm", [layer_norm, LayerNorm(512)], ids=["formula", "module"])
@pytest.mark.parametrize("mean", [1e3, 1e4, 1e5])
def test_a_large_mean_does_no_harm(randn, norm, mean):
    """`E[x^2] - E[x]^2` loses every digit from a mean of 1e4 on; what stays here is the rounding of the mean."""
    x = (randn(T, 512) + mean).float()
    want = layer_norm(x.double())
    # The mean is a float32, off by up to four units in its last place after 512 additions; the spread is 1.
    torch.testing.assert_close(norm(x).double(), want, rtol=0, atol=4 * torch.finfo(torch.float32).eps * mean)


@each_norm
def test_squares_that_float16_cannot_hold_do_no_harm(function, module, randn):
    x = (randn(T, D_MODEL) * 3000).half()  # squares of ten million; float16 ends at 65504
    want = function(x.double())
    for norm in (function, module(D_MODEL).half()):
        got = norm(x)
        assert got.dtype == torch.float16
        # One rounding of a number below 4: half a unit in the last place is 4 * 2**-11.
        torch.testing.assert_close(got.double(), want, rtol=0, atol=2**-9)


@each_norm
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_output_has_the_dtype_of_the_input(function, module, dtype, randn):
    x = randn(T, D_MODEL, dtype=dtype)
    assert function(x, torch.ones(D_MODEL)).dtype == dtype
    assert module(D_MODEL).to(dtype)(x).dtype == dtype


@each_norm
def test_autocast_gives_a_module_in_float32_an_input_of_half_its_precision(function, module, randn):
    """Under autocast a linear layer hands over bfloat16; torch's RMSNorm would warn, and warnings are errors here."""
    x, norm = randn(T, D_MODEL, dtype=torch.bfloat16), perturbed(module(D_MODEL), randn).float()
    with torch.autocast("cpu", torch.bfloat16):
        got = norm(x)
    assert got.dtype == torch.bfloat16
    vectors = [parameter.double() for parameter in norm.parameters()]
    # One rounding of a number below 8 to bfloat16, whose unit roundoff is 2**-8.
    torch.testing.assert_close(got.double(), function(x.double(), *vectors, eps=norm.eps), rtol=0, atol=8 * 2**-8)


@each_norm
def test_nan_is_not_hidden_and_stays_in_its_vector(function, module, randn):
    x = randn(T, D_MODEL)
    x[2, 4] = math.nan
    for norm in (function, module(D_MODEL).double()):
        assert norm(x).isnan().all(dim=-1).tolist() == [False, False, True, False, False]
        assert norm(x).isnan().any(dim=-1).tolist() == [False, False, True, False, False]


@each_norm
def test_the_arguments_are_never_written_to(function, module, randn):
    x, weight = randn(T, D_MODEL), randn(D_MODEL)
    before = x.clone(), weight.clone()
    function(x, weight)
    module(D_MODEL).double()(x)
    assert torch.equal(x, before[0])
    assert torch.equal(weight, before[1])


# The modules


def test_a_new_norm_has_gain_one_and_bias_zero():
    layer, rms, batch = LayerNorm(D_MODEL), RMSNorm(D_MODEL), SequenceBatchNorm(D_MODEL)
    for norm in (layer, rms, batch):
        assert torch.equal(norm.weight, torch.ones(D_MODEL))
    for norm in (layer, batch):
        assert torch.equal(norm.bias, torch.zeros(D_MODEL))
    assert set(rms.state_dict()) == {"weight"}


def test_a_layer_norm_without_bias_has_none(randn):
    norm = perturbed(LayerNorm(D_MODEL, bias=False), randn)
    assert set(norm.state_dict()) == {"weight"}
    x = randn(T, D_MODEL)
    close(norm(x), layer_norm(x, norm.weight))


def test_a_module_names_its_sizes():
    assert repr(LayerNorm(7, bias=False)) == "LayerNorm(7, eps=1e-05, bias=False)"
    assert repr(RMSNorm(7)) == "RMSNorm(7, eps=1e-06)"
    assert repr(SequenceBatchNorm(7)) == "SequenceBatchNorm(7, eps=1e-05, momentum=0.1)"


# BatchNorm over sequences

FOUR = [[[1.0], [3.0]], [[5.0], [7.0]]]  # two sequences of two tokens with one feature: mean 4, variance 5


def test_statistics_are_taken_over_batch_and_positions():
    got = SequenceBatchNorm(1, eps=11.0).double()(float64(FOUR))
    close(got, (float64(FOUR) - 4) / 4)  # by hand: sqrt(5 + 11) = 4


def test_only_real_tokens_count():
    """Without the last token: mean 3, variance 8/3, and with eps = 4/3 the root is 2."""
    got = SequenceBatchNorm(1, eps=4 / 3).double()(float64(FOUR), padding([2, 1]))
    close(got, float64([[[-1.0], [0.0]], [[1.0], [0.0]]]))


def test_each_feature_has_its_own_statistics(randn):
    x = randn(BATCH, T, D_MODEL) * torch.arange(1, D_MODEL + 1) + torch.arange(D_MODEL)
    y = SequenceBatchNorm(D_MODEL, eps=1e-14).double()(x)
    close(y.mean(dim=(0, 1)), torch.zeros(D_MODEL).double())
    close(y.var(dim=(0, 1), correction=0), torch.ones(D_MODEL).double())


def test_training_moves_the_running_averages_by_the_momentum():
    """By hand: from (0, 1) a quarter of the way to mean 4 and unbiased variance 20/3."""
    norm = SequenceBatchNorm(1, momentum=0.25).double()
    norm(float64(FOUR))
    close(norm.running_mean, float64([1.0]))
    close(norm.running_var, float64([0.75 + 5 / 3]))


def test_the_running_averages_see_real_tokens_alone():
    norm = SequenceBatchNorm(1, momentum=1).double()
    norm(float64(FOUR), padding([2, 1]))
    close(norm.running_mean, float64([3.0]))
    close(norm.running_var, float64([4.0]))


def test_eval_mode_uses_the_running_averages_and_leaves_them():
    norm = SequenceBatchNorm(1, eps=7.0).double().eval()
    norm.running_mean.fill_(1.0)
    norm.running_var.fill_(9.0)
    close(norm(float64(FOUR)), (float64(FOUR) - 1) / 4)
    assert (norm.running_mean.item(), norm.running_var.item()) == (1.0, 9.0)


def test_in_eval_mode_a_token_does_not_depend_on_the_others(randn):
    norm = perturbed(SequenceBatchNorm(D_MODEL), randn)
    norm(randn(BATCH, T, D_MODEL))
    norm.eval()
    x = randn(BATCH, T, D_MODEL)
    close(norm(x)[1:, 2:3], norm(x[1:, 2:3]))


def test_in_training_a_token_depends_on_later_ones_and_in_a_layer_norm_it_does_not(randn):
    x = randn(BATCH, T, D_MODEL)
    later = x.clone()
    later[1, -1] += 1
    batch, layer = SequenceBatchNorm(D_MODEL).double(), LayerNorm(D_MODEL).double()
    assert (batch(x)[0, 0] - batch(later)[0, 0]).abs().amin() > 1e-3
    assert torch.equal(layer(x)[0, 0], layer(later)[0, 0])


@given(lengths=st.lists(st.integers(1, 4), min_size=2, max_size=4), beyond=st.integers(0, 3), seed=seeds)
def test_a_padded_batch_equals_its_tokens_in_one_row(lengths, beyond, seed):
    t = max(lengths) + beyond
    x, upstream = draw(seed, (len(lengths), t, 3), (len(lengths), t, 3))
    mask = padding(lengths, t)
    real = mask[:, 0]
    one, other = SequenceBatchNorm(3).double(), SequenceBatchNorm(3).double()
    padded, row = x.requires_grad_(), x.detach()[real][None].requires_grad_()
    got, want = one(padded, mask), other(row)
    close(got[real], want[0])
    assert (got[~real] == 0).all()
    close(one.running_mean, other.running_mean)
    close(one.running_var, other.running_var)
    (got_gradient,) = torch.autograd.grad(got, padded, upstream)
    (want_gradient,) = torch.autograd.grad(want, row, upstream[real][None])
    close(got_gradient[real], want_gradient[0])
    assert (got_gradient[~real] == 0).all()


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("value", [math.nan, math.inf, 1e30])
def test_whatever_stands_in_the_padding_has_no_influence(randn, training, value):
    x, mask = randn(BATCH, T, D_MODEL), padding([T, 3])
    norm = perturbed(SequenceBatchNorm(D_MODEL), randn).train(training)
    want = norm(x, mask)
    spoilt = x.masked_fill(~mask.mT, value).requires_grad_()
    other = perturbed(SequenceBatchNorm(D_MODEL), randn).train(training)
    other.load_state_dict(norm.state_dict())
    other.running_mean.zero_()
    other.running_var.fill_(1.0)
    got = other(spoilt, mask)
    assert torch.equal(got, want)
    gradients = torch.autograd.grad(got.square().sum(), (spoilt, *other.parameters()))
    assert all(gradient.isfinite().all() for gradient in gradients)


def test_nan_in_a_real_token_shows_in_every_token_of_its_feature(randn):
    x = randn(BATCH, T, D_MODEL)
    x[1, 2, 4] = math.nan
    y = SequenceBatchNorm(D_MODEL).double()(x, padding([T, 3]))
    assert y[padding([T, 3])[:, 0]].isnan().all(dim=0).nonzero().tolist() == [[4]]
    assert y[..., :4].isfinite().all()


def test_the_running_averages_carry_no_graph_and_are_saved(randn):
    norm = SequenceBatchNorm(D_MODEL).double()
    norm(randn(BATCH, T, D_MODEL, requires_grad=True))
    assert not norm.running_mean.requires_grad
    assert not norm.running_var.requires_grad
    assert set(norm.state_dict()) == {"weight", "bias", "running_mean", "running_var"}


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("masked", [True, False])
def test_the_gradient_of_the_batch_norm_is_that_of_finite_differences(randn, training, masked):
    norm = perturbed(SequenceBatchNorm(3), randn).train(training)
    mask = padding([4, 2]) if masked else None
    assert torch.autograd.gradcheck(lambda x: norm(x, mask), (randn(2, 4, 3, requires_grad=True),))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("training", [True, False])
def test_a_batch_norm_in_float32_takes_half_the_precision(randn, dtype, training):
    x = (randn(BATCH, T, D_MODEL) * 3000).to(dtype)
    got = SequenceBatchNorm(D_MODEL).train(training)(x)
    want = SequenceBatchNorm(D_MODEL).double().train(training)(x.double())
    assert got.dtype == dtype
    torch.testing.assert_close(got.double(), want, rtol=torch.finfo(dtype).eps, atol=0)  # rounded once


# Refusals


@shape_checks_off
@pytest.mark.parametrize("norm", [layer_norm, rms_norm, LayerNorm(3), RMSNorm(3), SequenceBatchNorm(3)], ids=str)
@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.complex64])
def test_an_input_that_is_not_floating_point_is_refused(norm, dtype):
    with pytest.raises(ValueError, match=f"a norm takes floating-point numbers: got {dtype}"):
        norm(torch.zeros(2, 5, 3, dtype=dtype))


@shape_checks_off
@pytest.mark.parametrize("norm", [layer_norm, rms_norm, LayerNorm(3), RMSNorm(3), SequenceBatchNorm(3)], ids=str)
@pytest.mark.parametrize("shape", [(0, 5, 3), (2, 0, 3), (2, 5, 0), ()], ids=str)
def test_an_empty_input_is_refused(norm, shape):
    with pytest.raises(ValueError, match=re.escape(f"no axis is empty: got {shape}")):
        norm(torch.zeros(shape))


@shape_checks_off
@pytest.mark.parametrize("norm", [LayerNorm(3), RMSNorm(3), SequenceBatchNorm(3)], ids=str)
@pytest.mark.parametrize("width", [1, 2, 4])
def test_an_input_of_another_width_is_refused(norm, width):
    with pytest.raises(ValueError, match=re.escape(f"the last axis of x is d_model=3: got (2, 5, {width})")):
        norm(torch.zeros(2, 5, width))


@shape_checks_off
@pytest.mark.parametrize("shape", [(1,), (2,), (1, 3), (5, 3)], ids=str)
def test_a_vector_that_would_be_broadcast_is_refused(shape):
    got = re.escape(f"shape (3,): got {shape} for x (5, 3)")
    for function in (layer_norm, rms_norm):
        with pytest.raises(ValueError, match=f"weight has one number a feature, {got}"):
            function(torch.zeros(5, 3), torch.ones(shape))
    with pytest.raises(ValueError, match=f"bias has one number a feature, {got}"):
        layer_norm(torch.zeros(5, 3), torch.ones(3), torch.ones(shape))


@pytest.mark.parametrize("eps", [0.0, -1e-5, math.nan, math.inf])
def test_an_eps_that_is_not_above_zero_is_refused(eps):
    calls = (
        lambda: layer_norm(torch.zeros(2, 3), eps=eps),
        lambda: rms_norm(torch.zeros(2, 3), eps=eps),
        lambda: LayerNorm(3, eps=eps),
        lambda: RMSNorm(3, eps=eps),
        lambda: SequenceBatchNorm(3, eps=eps),
    )
    for call in calls:
        with pytest.raises(ValueError, match=f"eps is above 0 and finite: got {eps}"):
            call()


@pytest.mark.parametrize("norm", [LayerNorm, RMSNorm, SequenceBatchNorm])
def test_a_width_below_one_is_refused(norm):
    with pytest.raises(ValueError, match="d_model is at least 1: got 0"):
        norm(0)


@pytest.mark.parametrize("momentum", [0.0, -0.1, 1.1, math.nan])
def test_a_momentum_outside_its_range_is_refused(momentum):
    with pytest.raises(ValueError, match=f"momentum is above 0 and at most 1: got {momentum}"):
        SequenceBatchNorm(3, momentum=momentum)


@shape_checks_off
def test_a_batch_norm_needs_three_axes():
    for shape in ((5, 3), (2, 4, 5, 3)):
        with pytest.raises(ValueError, match=re.escape(f"x is (batch, t, d_model): got {shape}")):
            SequenceBatchNorm(3)(torch.zeros(shape))


@shape_checks_off
@pytest.mark.parametrize("shape", [(2, 5), (2, 5, 1), (1, 1, 5), (2, 1, 4), (5, 5)], ids=str)
def test_a_mask_of_another_shape_is_refused(shape):
    with pytest.raises(ValueError, match=re.escape(f"(batch, 1, t) = (2, 1, 5): got {shape} of torch.bool")):
        SequenceBatchNorm(3)(torch.zeros(2, 5, 3), torch.ones(shape, dtype=torch.bool))


@shape_checks_off
def test_a_mask_of_numbers_is_refused():
    with pytest.raises(ValueError, match=r"boolean, .*: got \(2, 1, 5\) of torch\.float32"):
        SequenceBatchNorm(3)(torch.zeros(2, 5, 3), torch.ones(2, 1, 5))


@pytest.mark.parametrize(("training", "lengths"), [(True, [0, 0]), (True, [1, 0]), (False, [0, 0])])
def test_a_batch_with_too_few_real_tokens_is_refused_and_counts_for_nothing(training, lengths):
    norm = SequenceBatchNorm(3).train(training)
    message = f"at least {1 + training} real tokens where training is {training}: got {sum(lengths)}"
    with pytest.raises(ValueError, match=message):
        norm(torch.zeros(2, 5, 3), padding(lengths, 5))
    assert torch.equal(norm.running_mean, torch.zeros(3))
    assert torch.equal(norm.running_var, torch.ones(3))


def test_a_single_token_is_refused_in_training_and_served_afterwards():
    norm = SequenceBatchNorm(3)
    with pytest.raises(ValueError, match="at least 2 real tokens where training is True: got 1"):
        norm(torch.zeros(1, 1, 3))
    assert norm.eval()(torch.zeros(1, 1, 3)).tolist() == [[[0.0, 0.0, 0.0]]]
