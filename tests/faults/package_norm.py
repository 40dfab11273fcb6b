"""Faults of `companion.norm`."""

from faults import Fault

NORM = "companion/norm.py"
VARIANCE = "variance = centred.square().mean(dim=-1, keepdim=True)  # (*batch, 1)"
UNBIASED = "unbiased = variance.detach() * len(tokens) / (len(tokens) - 1)"


def norm(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_norm.py::test_{test}",)


def parity(test: str) -> tuple[str, ...]:
    return (f"tests/parity/test_norm.py::test_{test}",)


FAULTS = [
    # LayerNorm and RMSNorm
    Fault(
        "layer norm takes the unbiased variance",
        NORM,
        VARIANCE,
        "variance = wide.var(dim=-1, keepdim=True)",
        parity("layer_norm_equals_that_of_torch"),
    ),
    Fault(
        "layer norm adds eps to the standard deviation",
        NORM,
        "centred / (variance + eps).sqrt()",
        "centred / (variance.sqrt() + eps)",
        norm("eps_stands_under_the_root_and_the_variance_is_biased"),
    ),
    Fault(
        "layer norm takes the variance in one pass",
        NORM,
        VARIANCE,
        "variance = wide.square().mean(dim=-1, keepdim=True) - wide.mean(dim=-1, keepdim=True).square()",
        norm("a_large_mean_does_no_harm"),
    ),
    Fault(
        "layer norm averages over the positions",
        NORM,
        "centred = wide - wide.mean(dim=-1, keepdim=True)",
        "centred = wide - wide.mean(dim=-2 if wide.ndim > 1 else -1, keepdim=True)",
        norm("a_vector_is_normalised_on_its_own"),
    ),
    Fault(
        "no gradient flows through the variance",
        NORM,
        "centred / (variance + eps).sqrt()",
        "centred / (variance.detach() + eps).sqrt()",
        parity("a_module_equals_its_formula"),
    ),
    Fault(
        "rms norm subtracts the mean",
        NORM,
        "mean_square = wide.square()",
        "mean_square = (wide - wide.mean(dim=-1, keepdim=True)).square()",
        norm("the_root_mean_square_keeps_the_mean_and_has_eps_under_the_root"),
    ),
    Fault(
        "float16 is squared in float16",
        NORM,
        "x.to(torch.promote_types(x.dtype, torch.float32))",
        "x",
        norm("squares_that_float16_cannot_hold_do_no_harm"),
    ),
    Fault(
        "a vector of one number is broadcast",
        NORM,
        "vector.shape != x.shape[-1:]",
        "vector.shape not in ((1,), x.shape[-1:])",
        norm("a_vector_that_would_be_broadcast_is_refused"),
    ),
    Fault(
        "the module forgets its eps",
        NORM,
        "self.weight, self.bias, self.eps)",
        "self.weight, self.bias)",
        parity("the_layer_norm_module_equals_that_of_torch"),
    ),
    Fault(
        "the module of rms norm leaves eps to torch",
        NORM,
        "return F.rms_norm(x, self.weight.shape, self.weight, self.eps)",
        "return F.rms_norm(x, self.weight.shape, self.weight)",
        parity("the_rms_norm_module_equals_that_of_torch"),
    ),
    Fault(
        "autocast makes torch's rms norm warn",
        NORM,
        "if x.dtype != self.weight.dtype:",
        "if False:",
        norm("autocast_gives_a_module_in_float32_an_input_of_half_its_precision"),
        "UserWarning: Mismatch dtype",
    ),
    # BatchNorm
    Fault(
        "the running variance is the biased one",
        NORM,
        UNBIASED,
        "unbiased = variance.detach()",
        parity("a_batch_norm_over_sequences_equals_that_of_torch"),
    ),
    Fault(
        "a batch is normalised by the unbiased variance",
        NORM,
        "        return mean, variance\n",
        "        return mean, unbiased\n",
        norm("statistics_are_taken_over_batch_and_positions"),
    ),
    Fault(
        "the momentum is the share of the old average",
        NORM,
        "self.running_mean.lerp_(mean.detach().to(self.running_mean.dtype), self.momentum)",
        "self.running_mean.lerp_(mean.detach().to(self.running_mean.dtype), 1 - self.momentum)",
        norm("training_moves_the_running_averages_by_the_momentum"),
    ),
    Fault(
        "the padding counts as tokens",
        NORM,
        "self._statistics(wide[real])",
        "self._statistics(wide.flatten(0, 1))",
        parity("a_masked_batch_norm_equals_that_of_torch_over_the_real_tokens"),
    ),
    Fault(
        "eval mode takes the statistics of the batch",
        NORM,
        "        if self.training:\n            mean, variance",
        "        if True:\n            mean, variance",
        norm("in_eval_mode_a_token_does_not_depend_on_the_others"),
    ),
    Fault(
        "what stands in the padding reaches the gradients",
        NORM,
        "wide = _widened(x).masked_fill(~real[..., None], 0.0)",
        "wide = _widened(x)",
        norm("whatever_stands_in_the_padding_has_no_influence"),
    ),
    Fault(
        "padding comes out as numbers",
        NORM,
        "return normal.masked_fill(~real[..., None], 0.0).to(x.dtype)",
        "return normal.to(x.dtype)",
        norm("only_real_tokens_count"),
    ),
    Fault(
        "the running averages are not saved",
        NORM,
        'self.register_buffer("running_var", torch.ones(d_model))',
        'self.register_buffer("running_var", torch.ones(d_model), persistent=False)',
        norm("the_running_averages_carry_no_graph_and_are_saved"),
    ),
    Fault(
        "a variance of a single token passes",
        NORM,
        "2 if self.training else 1",
        "1",
        norm("a_single_token_is_refused_in_training_and_served_afterwards"),
        "DID NOT RAISE|ZeroDivisionError",
    ),
    Fault(
        "a mask of batch by positions passes",
        NORM,
        "mask.shape != (len(x), 1, x.shape[1]):",
        "mask.numel() != len(x) * x.shape[1]:",
        norm("a_mask_of_another_shape_is_refused"),
        "DID NOT RAISE|RuntimeError: The size of tensor",
    ),
]
