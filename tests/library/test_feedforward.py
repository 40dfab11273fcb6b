"""The feed-forward networks and their activations: closed forms, properties, gradients, then every refusal."""

import math
import re
from statistics import NormalDist

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from companion.feedforward import ACTIVATIONS, FeedForward, SwiGLU, feed_forward, gelu, gelu_tanh, relu, silu
from tests.library.tensors import close

BATCH, T, D_MODEL, D_FF = 2, 5, 7, 11  # all different: a swapped axis cannot pass
FORMULAS = {"relu": relu, "gelu": gelu, "gelu-tanh": gelu_tanh}
NAMES = [*FORMULAS, "swiglu"]
numbers = st.floats(-8, 8)
shape_checks_off = pytest.mark.usefixtures("shape_checks_off")
each_activation = pytest.mark.parametrize("function", [relu, gelu, gelu_tanh, silu])


def float64(rows):
    return torch.tensor(rows, dtype=torch.float64)


def filled(module, randn):
    """Give a module weights of unit size in float64."""
    module = module.double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(randn(*parameter.shape))
    return module


def with_weights(module, **weights):
    """Set the weights of a module by the names of its layers, `_b` for a bias."""
    module = module.double()
    with torch.no_grad():
        for name, rows in weights.items():
            layer = getattr(module, name.removesuffix("_b"))
            (layer.bias if name.endswith("_b") else layer.weight).copy_(float64(rows))
    return module


# Activations


def test_relu_cuts_off_what_is_below_zero():
    assert relu(float64([-2.0, -0.5, 0.0, 0.5, 2.0])).tolist() == [0.0, 0.0, 0.0, 0.5, 2.0]


@given(x=numbers)
def test_gelu_is_x_times_the_chance_of_a_normal_number_below_it(x):
    close(gelu(float64(x)), float64(x * NormalDist().cdf(x)))


@given(x=numbers)
def test_silu_is_x_over_one_plus_an_exponential(x):
    close(silu(float64(x)), float64(x / (1 + math.exp(-x))))


def test_gelu_by_tanh_at_one_by_hand():
    """sqrt(2 / pi) = 0.7978845608, times 1.044715 is 0.8335622644, whose tanh is 0.6823839..: half of 1.6823839."""
    want = 0.5 * (1 + math.tanh(math.sqrt(2 / math.pi) * 1.044715))
    close(gelu_tanh(float64(1.0)), float64(want))
    assert round(want, 4) == 0.8412


def test_gelu_by_tanh_is_off_by_less_than_five_in_ten_thousand_and_by_more_than_four():
    x = torch.linspace(-10, 10, 20_001, dtype=torch.float64)
    assert 4e-4 < (gelu_tanh(x) - gelu(x)).abs().max() < 5e-4


@given(x=numbers)
def test_what_a_smooth_activation_takes_from_a_number_it_takes_from_its_opposite(x):
    """x f(x) with f(x) + f(-x) = 1: the outputs at x and -x differ by x."""
    for function in (relu, gelu, gelu_tanh, silu):
        close(function(float64(x)) - function(float64(-x)), float64(x))


@each_activation
def test_far_from_zero_an_activation_is_relu(function):
    x = float64([-50.0, 50.0])
    close(function(x), relu(x))


@each_activation
def test_nan_is_not_hidden(function):
    x = float64([1.0, math.nan, -1.0])
    assert function(x).isnan().tolist() == [False, True, False]


@pytest.mark.parametrize("name", NAMES)
def test_nan_shows_in_its_own_token_after_a_network(name, randn):
    x = randn(BATCH, T, D_MODEL)
    x[1, 2, 3] = math.nan
    y = filled(feed_forward(D_MODEL, D_FF, activation=name), randn)(x)
    assert y[1, 2].isnan().all()
    assert y.isnan().sum() == D_MODEL


@each_activation
def test_the_gradient_of_an_activation_is_that_of_finite_differences(function, randn):
    x = randn(T, D_MODEL)
    x = (x + x.sign() * 1e-3).requires_grad_()  # away from the corner of relu
    assert torch.autograd.gradcheck(function, (x,))


@each_activation
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_an_activation_works_in_low_precision(function, dtype):
    x = torch.linspace(-100, 100, 401).to(dtype)  # the cube of 100 is beyond float16
    got = function(x)
    assert got.dtype == dtype
    # About four roundings, the largest that of 1 + erf or 1 + tanh, each of a unit in the last place of x.
    torch.testing.assert_close(got.double(), function(x.double()), rtol=4 * torch.finfo(dtype).eps, atol=2e-2)


@each_activation
def test_an_activation_does_not_write_to_its_argument(function, randn):
    x = randn(T, D_MODEL)
    before = x.clone()
    function(x)
    assert torch.equal(x, before)


# FeedForward


def test_a_network_by_hand():
    """Hidden (1, 2) W_1 + b_1 = (1, -3), relu gives (1, 0), and W_2, b_2 give (5 + 10, 7 + 20)."""
    network = with_weights(
        FeedForward(2, 2),
        w_1=[[1.0, 0.0], [0.0, -1.0]],
        w_1_b=[0.0, -1.0],
        w_2=[[5.0, 3.0], [7.0, 4.0]],
        w_2_b=[10, 20],
    )
    assert network(float64([[1.0, 2.0]])).tolist() == [[15.0, 27.0]]


@pytest.mark.parametrize("name", FORMULAS)
def test_a_network_is_its_readable_formula(name, randn):
    network, x = filled(FeedForward(D_MODEL, D_FF, activation=name), randn), randn(BATCH, T, D_MODEL)
    hidden = FORMULAS[name](x @ network.w_1.weight.T + network.w_1.bias)
    close(network(x), hidden @ network.w_2.weight.T + network.w_2.bias)


def test_the_named_activations_are_the_formulas():
    assert set(ACTIVATIONS) == set(FORMULAS)


@pytest.mark.parametrize("name", NAMES)
def test_each_position_is_transformed_on_its_own(name, randn):
    network, x = filled(feed_forward(D_MODEL, D_FF, activation=name), randn), randn(BATCH, T, D_MODEL)
    close(network(x)[1, 3], network(x[1, 3]))
    close(network(x.flip(1)), network(x).flip(1))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bias", [True, False])
def test_the_gradient_of_a_network_is_that_of_finite_differences(name, bias, randn):
    network = filled(feed_forward(3, 5, activation=name, bias=bias), randn)
    x, names = randn(2, 3, requires_grad=True), [name for name, _ in network.named_parameters()]

    def run(x, *parameters):
        return torch.func.functional_call(network, dict(zip(names, parameters, strict=True)), (x,))

    assert torch.autograd.gradcheck(run, (x, *network.parameters()))


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("bias", [True, False])
def test_a_network_has_two_matrices_and_two_biases(name, bias):
    shapes = {
        key: tuple(value.shape) for key, value in FeedForward(7, 11, activation=name, bias=bias).state_dict().items()
    }
    biases = {"w_1.bias": (11,), "w_2.bias": (7,)} if bias else {}
    assert shapes == {"w_1.weight": (11, 7), "w_2.weight": (7, 11), **biases}


def test_a_network_names_its_activation():
    assert "activation=gelu-tanh" in repr(FeedForward(2, 3, activation="gelu-tanh"))


# SwiGLU


def test_a_gated_network_by_hand():
    """Gate (0, ln 3) gives SiLU (0, 3/4 ln 3); up is (8, 4); the products (0, 3 ln 3) are summed."""
    log3 = math.log(3)
    network = with_weights(SwiGLU(1, 2), w_gate=[[0.0], [log3]], w_up=[[8.0], [4.0]], w_down=[[1.0, 1.0]])
    close(network(float64([[1.0]])), float64([[3 * log3]]))


def test_a_gated_network_is_its_readable_formula(randn):
    network, x = filled(SwiGLU(D_MODEL, D_FF, bias=True), randn), randn(BATCH, T, D_MODEL)
    gate, up, down = network.w_gate, network.w_up, network.w_down
    hidden = silu(x @ gate.weight.T + gate.bias) * (x @ up.weight.T + up.bias)
    close(network(x), hidden @ down.weight.T + down.bias)


def test_a_gated_network_has_no_bias_unless_asked():
    shapes = {key: tuple(value.shape) for key, value in SwiGLU(7, 11).state_dict().items()}
    assert shapes == {"w_gate.weight": (11, 7), "w_up.weight": (11, 7), "w_down.weight": (7, 11)}
    assert {"w_gate.bias", "w_up.bias", "w_down.bias"} < set(SwiGLU(7, 11, bias=True).state_dict())


def test_three_matrices_two_thirds_as_wide_have_as_many_weights_as_two():
    def weights(module):
        return sum(parameter.numel() for parameter in module.parameters())

    assert weights(SwiGLU(6, 16)) == weights(FeedForward(6, 24, bias=False)) == 288


# Dropout, and the choice by name


@pytest.mark.parametrize("name", NAMES)
def test_dropout_acts_on_the_hidden_layer_and_in_training_alone(name):
    """With one hidden unit a token's output is either that of an empty hidden layer or as if the unit were doubled."""
    network = feed_forward(1, 1, activation=name, dropout=0.5, bias=name != "swiglu").double()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.fill_(3.0)
    x = torch.ones(1, 64, 1, dtype=torch.float64)
    empty = 0.0 if name == "swiglu" else 3.0
    whole = network.eval()(x)[0, 0, 0].item()
    assert (network(x) == whole).all()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)  # dropout draws from torch's own generator; fork_rng puts it back
        outputs = network.train()(x).flatten().tolist()
    assert {round(output, 9) for output in outputs} == {empty, round(empty + 2 * (whole - empty), 9)}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bias", [True, False])
def test_the_choice_by_name_hands_every_argument_on(name, bias):
    network = feed_forward(7, 11, activation=name, bias=bias, dropout=0.25)
    assert type(network) is (SwiGLU if name == "swiglu" else FeedForward)
    assert network.dropout.p == 0.25
    first, last = (network.w_gate, network.w_down) if name == "swiglu" else (network.w_1, network.w_2)
    assert (first.in_features, first.out_features, last.out_features) == (7, 11, 7)
    assert [layer.bias is not None for layer in (first, last)] == [bias, bias]
    assert getattr(network, "activation", "swiglu") == name


def test_without_a_name_it_is_the_network_of_2017():
    network = feed_forward(7, 11)
    assert (network.activation, network.dropout.p, network.w_2.bias is not None) == ("relu", 0.0, True)
    assert FeedForward(7, 11).activation == "relu"
    assert FeedForward(7, 11).dropout.p == SwiGLU(7, 11).dropout.p == 0.0


# Refusals


@shape_checks_off
@each_activation
@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.complex64])
def test_an_activation_of_other_than_floating_point_is_refused(function, dtype):
    with pytest.raises(ValueError, match=f"an activation takes floating-point numbers: got {dtype}"):
        function(torch.zeros(3, dtype=dtype))


NETWORKS = pytest.mark.parametrize("network", [FeedForward(3, 5), SwiGLU(3, 5)], ids=["plain", "gated"])


@shape_checks_off
@NETWORKS
@pytest.mark.parametrize("shape", [(2, 5, 4), (2, 5, 1), (2, 3, 5), (2, 0, 3), (0, 5, 3), ()], ids=str)
def test_an_input_of_another_width_or_without_numbers_is_refused(network, shape):
    with pytest.raises(ValueError, match=re.escape(f"d_model=3 and no empty axis: got {shape}")):
        network(torch.zeros(shape))


@shape_checks_off
@NETWORKS
def test_an_input_of_whole_numbers_is_refused(network):
    with pytest.raises(ValueError, match=r"takes floating-point numbers: got torch\.int64"):
        network(torch.zeros(2, 5, 3, dtype=torch.int64))


@pytest.mark.parametrize("network", [FeedForward, SwiGLU, feed_forward])
@pytest.mark.parametrize(("d_model", "d_ff", "got"), [(0, 5, "d_model=0"), (3, 0, "d_ff=0"), (-3, 5, "d_model=-3")])
def test_a_size_below_one_is_refused(network, d_model, d_ff, got):
    with pytest.raises(ValueError, match=f"at least 1: got {got}"):
        network(d_model, d_ff)


@pytest.mark.parametrize("network", [FeedForward, SwiGLU, feed_forward])
@pytest.mark.parametrize("dropout", [-0.1, 1.0, math.nan])
def test_a_dropout_outside_its_range_is_refused(network, dropout):
    with pytest.raises(ValueError, match=f"dropout is a share, at least 0 and below 1: got {dropout}"):
        network(3, 5, dropout=dropout)


def test_an_unknown_activation_is_refused_with_those_that_exist():
    with pytest.raises(ValueError, match=r"one of relu, gelu, gelu-tanh, swiglu: got 'tanh'"):
        feed_forward(3, 5, activation="tanh")
    with pytest.raises(
        ValueError, match=r"one of relu, gelu, gelu-tanh: got 'swiglu'\. For a gated network use SwiGLU"
    ):
        FeedForward(3, 5, activation="swiglu")
