"""Faults of `companion.encoder`."""

from faults import Fault

ENCODER = "companion/encoder.py"
POST = "x = self.norm_1(x + self.dropout(self.attention(x, mask=mask)))"
PRE = "x = x + self.dropout(self.attention(self.norm_1(x), mask=mask))"


def encoder(*tests: str) -> tuple[str, ...]:
    return tuple(f"tests/unit/test_encoder.py::test_{test}" for test in tests)


def parity(test: str = "a_layer_equals_that_of_torch") -> tuple[str, ...]:
    return (f"tests/parity/test_encoder.py::test_{test}",)


FAULTS = [
    Fault("the orders are exchanged", ENCODER, 'self.order == "post"', 'self.order == "pre"', parity()),
    Fault(
        "pre-norm adds the normalised input in place of the input",
        ENCODER,
        PRE,
        "x = self.norm_1(x)\n        x = x + self.dropout(self.attention(x, mask=mask))",
        encoder("a_pre_norm_layer_whose_sub_layers_answer_nothing_returns_its_input"),
    ),
    Fault(
        "pre-norm uses the first norm twice",
        ENCODER,
        "self.dropout(self.feed_forward(self.norm_2(x)))",
        "self.dropout(self.feed_forward(self.norm_1(x)))",
        parity(),
    ),
    Fault(
        "pre-norm forgets the mask",
        ENCODER,
        PRE,
        "x = x + self.dropout(self.attention(self.norm_1(x)))",
        encoder("padding_has_no_influence"),
    ),
    Fault(
        "dropout falls on the residual sum",
        ENCODER,
        "return x + self.dropout(self.feed_forward(self.norm_2(x)))",
        "return self.dropout(x + self.feed_forward(self.norm_2(x)))",
        encoder("dropout_falls_on_what_a_sub_layer_adds_and_not_on_the_sum"),
    ),
    Fault(
        "attention weights are dropped too",
        ENCODER,
        "bias=bias, kernel=kernel, position=position",
        "bias=bias, kernel=kernel, position=position, dropout=dropout",
        encoder("attention_weights_and_hidden_units_are_not_dropped"),
    ),
    Fault(
        "eps stays the default",
        ENCODER,
        "self.norm_2 = norm_layer(d_model, norm=norm, eps=eps, bias=bias)",
        "self.norm_2 = norm_layer(d_model, norm=norm, bias=bias)",
        parity(),
    ),
    Fault(
        "only the first layer gets the mask",
        ENCODER,
        "x = layer(x, mask)",
        "x, mask = layer(x, mask), None",
        encoder("every_layer_gets_the_mask"),
    ),
    Fault(
        "the final norm is forgotten",
        ENCODER,
        "return x if self.final_norm is None else self.final_norm(x)",
        "return x",
        parity("a_stack_equals_that_of_torch"),
    ),
    Fault(
        "an encoder may have no layer",
        ENCODER,
        "if not layers:",
        "if layers is None:",
        encoder("an_encoder_without_layers_is_refused"),
    ),
]
