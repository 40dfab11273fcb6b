"""Faults of `companion.interpret`."""

from faults import Fault

INTERPRET = "companion/interpret.py"


def interpret(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_interpret.py::test_{test}",)


SLOPE = interpret("importance_is_the_slope_at_an_open_gate")
ABLATED = interpret("an_ablated_head_adds_nothing")

FAULTS = [
    Fault(
        "the recorded weights know no mask",
        INTERPRET,
        "layer.weights(*inputs, **options)",
        "layer.weights(inputs[0])",
        interpret("masks_are_in_the_recorded_weights"),
    ),
    Fault(
        "recording keeps the graph",
        INTERPRET,
        "            with torch.no_grad():\n                weights[name]",
        "            if True:\n                weights[name]",
        interpret("recording_changes_nothing_and_ends_with_its_block"),
    ),
    Fault(
        "a recording goes on after its block",
        INTERPRET,
        "    finally:\n        handle.remove()",
        "    finally:\n        pass",
        interpret("recording_changes_nothing_and_ends_with_its_block"),
    ),
    Fault(
        "an error leaves the hooks behind",
        INTERPRET,
        "    try:\n        yield\n    finally:\n        handle.remove()",
        "    yield\n    handle.remove()",
        interpret("a_call_with_a_cache_is_not_recorded"),
    ),
    Fault(
        "a call with a cache is recorded without it",
        INTERPRET,
        'if options.pop("cache", None) is not None:',
        'if options.pop("cache", None) is not None and not options:',
        interpret("a_call_with_a_cache_is_not_recorded"),
        reason="DID NOT RAISE",
    ),
    Fault(
        "the first call stays recorded",
        INTERPRET,
        "weights[name] = layer.weights(*inputs, **options)",
        "weights.setdefault(name, layer.weights(*inputs, **options))",
        interpret("a_later_call_takes_the_place_of_an_earlier_one"),
    ),
    Fault(
        "the other heads are silenced",
        INTERPRET,
        "torch.ones(1, layer.n_heads)\n            gate[:, list(numbers)] = 0",
        "torch.zeros(1, layer.n_heads)\n            gate[:, list(numbers)] = 1",
        ABLATED,
    ),
    Fault(
        "heads are cut across the features",
        INTERPRET,
        "heads = inputs[0].unflatten(-1, (layer.n_heads, layer.d_v))  # (batch, t_q, n_heads, d_v)",
        "heads = inputs[0].unflatten(-1, (layer.d_v, layer.n_heads)).mT",
        ABLATED,
    ),
    Fault(
        "every layer is ablated",
        INTERPRET,
        "hooks.enter_context(_gated(layer, gate))",
        "[hooks.enter_context(_gated(each, gate)) for each in layers.values()]",
        interpret("only_the_named_layer_is_ablated"),
    ),
    Fault(
        "a head counts from the end",
        INTERPRET,
        "not 0 <= number < layer.n_heads",
        "number >= layer.n_heads",
        interpret("a_head_or_layer_that_is_not_there_cannot_be_ablated"),
        reason="DID NOT RAISE",
    ),
    Fault(
        "slopes of different sign cancel",
        INTERPRET,
        "slope.abs().mean(0)",
        "slope.mean(0).abs()",
        interpret("the_slopes_of_single_examples_do_not_cancel"),
    ),
    Fault("importance sums over the examples", INTERPRET, "slope.abs().mean(0)", "slope.abs().sum(0)", SLOPE),
    Fault(
        "the gate is squared",
        INTERPRET,
        "heads * used.to(heads)[:, None, :, None]",
        "heads * used.to(heads).square()[:, None, :, None]",
        SLOPE,
    ),
    Fault(
        "importance fills the parameters' gradients",
        INTERPRET,
        "slopes = torch.autograd.grad(loss.sum(), list(gates.values()))",
        "loss.sum().backward()\n        slopes = [gate.grad for gate in gates.values()]",
        interpret("importance_leaves_no_gradient_and_no_gate_behind"),
    ),
    Fault(
        "a layer that was not called has no importance and no error",
        INTERPRET,
        "if called[name] != 1",
        "if called[name] > 1",
        interpret("importance_needs_one_loss_an_example_and_every_layer"),
        reason="DID NOT RAISE",
    ),
    Fault(
        "rollout goes from the top down",
        INTERPRET,
        "+ residual * identity) @ total",
        "+ residual * identity).mT @ total",
        interpret("without_a_residual_rollout_multiplies_the_averaged_weights"),
    ),
    Fault(
        "rollout multiplies in the wrong order",
        INTERPRET,
        "total = ((1 - residual) * layer.mean(1) + residual * identity) @ total",
        "total = total @ ((1 - residual) * layer.mean(1) + residual * identity)",
        interpret("without_a_residual_rollout_multiplies_the_averaged_weights"),
    ),
    Fault(
        "the residual is added on top",
        INTERPRET,
        "(1 - residual) * layer.mean(1)",
        "layer.mean(1)",
        interpret("rollout_gives_a_distribution_over_the_input"),
    ),
    Fault(
        "query heads share keys in the wrong order",
        INTERPRET,
        "repeat_heads(split_heads(layer.w_v(x if memory is None else memory), layer.n_kv_heads), layer.n_heads)",
        "split_heads(layer.w_v(x if memory is None else memory), layer.n_kv_heads).repeat("
        "1, layer.n_heads // layer.n_kv_heads, 1, 1)",
        interpret("what_the_keys_bring_sums_to_the_output"),
    ),
    Fault(
        "values of the query's side",
        INTERPRET,
        "layer.w_v(x if memory is None else memory)",
        "layer.w_v(x)",
        interpret("what_the_keys_bring_sums_to_the_output"),
        reason="Error",
    ),
    Fault(
        "the norms of the heads are summed",
        INTERPRET,
        ".sum(1).norm(dim=-1)",
        ".norm(dim=-1).sum(1)",
        interpret("the_norm_is_that_of_the_heads_sum_and_not_the_sum_of_norms"),
    ),
    Fault(
        "the weights alone are taken for the norm",
        INTERPRET,
        "head_contributions(layer, x, memory, mask, causal=causal).sum(1).norm(dim=-1)",
        "layer.weights(x, memory, mask, causal=causal).mean(1)",
        interpret("a_key_with_a_tiny_value_counts_for_little_whatever_its_weight"),
    ),
    Fault(
        "of two calls the importance counts the last",
        INTERPRET,
        "if called[name] != 1",
        "if called[name] < 1",
        interpret("importance_needs_one_loss_an_example_and_every_layer"),
    ),
    Fault(
        "rollout broadcasts a batch of one",
        INTERPRET,
        "(len(layer), *layer.shape[2:]) != (len(weights[0]), *weights[0].shape[2:])",
        "layer.shape[2:] != weights[0].shape[2:]",
        interpret("rollout_refuses_what_it_cannot_follow"),
    ),
]
