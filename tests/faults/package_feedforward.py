"""Faults of `companion.feedforward`."""

from faults import Fault

FEEDFORWARD = "companion/feedforward.py"


def unit(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_feedforward.py::test_{test}",)


def parity(test: str) -> tuple[str, ...]:
    return (f"tests/parity/test_feedforward.py::test_{test}",)


FAULTS = [
    Fault(
        "relu hides a NaN",
        FEEDFORWARD,
        "torch.where(_floating(x) <= 0, 0.0, x)",
        "torch.where(_floating(x) > 0, x, 0.0)",
        unit("nan_is_not_hidden"),
    ),
    Fault(
        "relu has a slope of one at zero",
        FEEDFORWARD,
        "torch.where(_floating(x) <= 0, 0.0, x)",
        "_floating(x).clamp(min=0)",
        parity("at_zero_the_slope_is_that_of_torch"),
    ),
    Fault(
        "gelu forgets the root of two",
        FEEDFORWARD,
        "torch.erf(x / math.sqrt(2))",
        "torch.erf(x)",
        unit("gelu_is_x_times_the_chance_of_a_normal_number_below_it"),
    ),
    Fault(
        "gelu by tanh loses a digit of its constant",
        FEEDFORWARD,
        "(x + 0.044715 * x**3)",
        "(x + 0.04472 * x**3)",
        unit("gelu_by_tanh_at_one_by_hand"),
    ),
    Fault(
        "the module of BERT runs the approximation",
        FEEDFORWARD,
        '"gelu": F.gelu,',
        '"gelu": partial(F.gelu, approximate="tanh"),',
        unit("a_network_is_its_readable_formula"),
    ),
    Fault(
        "dropout acts on the output of the network",
        FEEDFORWARD,
        "self.w_2(self.dropout(ACTIVATIONS[self.activation](self.w_1(x))))",
        "self.dropout(self.w_2(ACTIVATIONS[self.activation](self.w_1(x))))",
        unit("dropout_acts_on_the_hidden_layer_and_in_training_alone"),
    ),
    Fault(
        "a gated network activates the wrong branch",
        FEEDFORWARD,
        "F.silu(self.w_gate(x)) * self.w_up(x)",
        "self.w_gate(x) * F.silu(self.w_up(x))",
        parity("a_gated_network_equals_that_of_llama"),
    ),
    Fault(
        "a gated network has biases unless told",
        FEEDFORWARD,
        "bias: bool = False, dropout: float | int = 0.0) -> None",
        "bias: bool = True, dropout: float | int = 0.0) -> None",
        unit("a_gated_network_has_no_bias_unless_asked"),
    ),
    Fault(
        "the choice by name drops the dropout",
        FEEDFORWARD,
        "return FeedForward(d_model, d_ff, activation=activation, bias=bias, dropout=dropout)",
        "return FeedForward(d_model, d_ff, activation=activation, bias=bias)",
        unit("the_choice_by_name_hands_every_argument_on"),
    ),
    Fault(
        "whole numbers pass for activations",
        FEEDFORWARD,
        "if not x.is_floating_point():",
        "if x.dtype == torch.bool:",
        unit("an_activation_of_other_than_floating_point_is_refused"),
        "DID NOT RAISE|RuntimeError",
    ),
]
