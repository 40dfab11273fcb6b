"""Faults of `companion.efficient`."""

from faults import Fault

HERE = "companion/efficient"


def unit(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_efficient.py::test_{test}",)


def parity(test: str) -> tuple[str, ...]:
    return (f"tests/parity/test_efficient.py::test_{test}",)


CUT = unit("the_online_softmax_is_the_softmax_however_the_keys_are_cut")
TILED = parity("tiled_attention_equals_the_plain_one_under_every_mask")
LENGTHS = parity("tiled_attention_equals_the_plain_one_for_all_lengths")
WINDOW = parity("window_attention_equals_the_plain_one_with_that_mask")
LINEAR = parity("linear_attention_equals_its_quadratic_form")
CAUSAL_LINEAR = parity("causal_linear_attention_equals_its_quadratic_form")

FAULTS = [
    # The online softmax
    Fault(
        "the online sum is not rescaled when a larger score comes",
        f"{HERE}/online.py",
        "total = total * shrink +",
        "total = total +",
        CUT,
    ),
    Fault(
        "the online output is not rescaled when a larger score comes",
        f"{HERE}/online.py",
        "output = output * shrink +",
        "output = output +",
        unit("the_online_softmax_by_hand"),
    ),
    Fault(
        "the online peak is that of the last block",
        f"{HERE}/online.py",
        "torch.maximum(peak, scores.amax(dim=-1, keepdim=True))",
        "scores.amax(dim=-1, keepdim=True)",
        unit("the_online_softmax_finds_the_first_key_after_a_hidden_block"),
    ),
    Fault(
        "the online peak starts at minus infinity",
        f"{HERE}/online.py",
        "torch.finfo(scores.dtype).min",
        "-torch.inf",
        unit("the_online_softmax_of_hidden_keys_alone_is_zero_and_their_log_sum_minus_infinity"),
    ),
    Fault(
        "the online softmax subtracts no peak",
        f"{HERE}/online.py",
        "new_peak = torch.maximum(peak, scores.amax(dim=-1, keepdim=True))",
        "new_peak = torch.zeros_like(peak)",
        CUT,
    ),
    Fault(
        "the log-sum-exp leaves the peak out",
        f"{HERE}/online.py",
        "(peak + total.log())",
        "total.log()",
        CUT,
    ),
    Fault(
        "a row without a key divides by zero",
        f"{HERE}/online.py",
        "output / total.masked_fill(total == 0, 1.0)",
        "output / total",
        TILED,
    ),
    # Tiled attention
    Fault(
        "the last block of keys is dropped where it is shorter",
        f"{HERE}/tiled.py",
        "for start in range(0, length, block))",
        "for start in range(0, max(1, length - block + 1), block))",
        LENGTHS,
    ),
    Fault(
        "the diagonal of a causal tile is left open",
        f"{HERE}/tiled.py",
        "columns.stop > rows.start + past + 1",
        "columns.stop > rows.stop + past",
        LENGTHS,
    ),
    Fault(
        "the first query of tiled attention stands at the first key",
        f"{HERE}/tiled.py",
        "past = t_k - query.shape[-2]",
        "past = 0",
        LENGTHS,
    ),
    Fault(
        "a tile takes the first rows of the mask",
        f"{HERE}/tiled.py",
        "mask[..., rows if mask.shape[-2] > 1 else slice(None), columns]",
        "mask[..., : rows.stop - rows.start, columns]",
        TILED,
    ),
    Fault(
        "the causal limit replaces the mask",
        f"{HERE}/tiled.py",
        "earlier if allowed is None else allowed & earlier",
        "earlier",
        TILED,
    ),
    Fault(
        "tiles of the future are computed and hidden",
        f"{HERE}/tiled.py",
        "_blocks(rows.stop + past if causal else t_k, block)",
        "_blocks(t_k, block)",
        unit("causal_tiles_cost_half_and_the_diagonal"),
    ),
    Fault(
        "the backward pass forgets how the weights of a row compete",
        f"{HERE}/tiled.py",
        "(up @ v.mT).sub_(along).mul_(weights)",
        "(up @ v.mT).mul_(weights)",
        TILED,
    ),
    Fault(
        "the gradient of the query is not scaled",
        f"{HERE}/tiled.py",
        "score_grad @ k * scale",
        "score_grad @ k",
        TILED,
    ),
    Fault(
        "the gradient of the key has the weights in place of the scores' gradient",
        f"{HERE}/tiled.py",
        "score_grad.mT @ q",
        "weights.mT @ q",
        unit("each_input_alone_gets_its_gradient"),
    ),
    Fault(
        "the gradient of the values holds the last block of queries only",
        f"{HERE}/tiled.py",
        "value_grad[..., columns, :] += weights.mT @ up",
        "value_grad[..., columns, :] = weights.mT @ up",
        TILED,
    ),
    Fault(
        "a row without a key sends not a number",
        f"{HERE}/tiled.py",
        "log_sum.masked_fill(log_sum == -torch.inf, torch.inf)",
        "log_sum",
        unit("a_row_with_no_key_gives_zeros_and_sends_finite_gradients"),
    ),
    Fault(
        "the forward pass keeps a copy of the values",
        f"{HERE}/tiled.py",
        "ctx.save_for_backward(query, key, value, mask, output, log_sum)",
        "ctx.save_for_backward(query, key, value.clone(), mask, output, log_sum)",
        unit("the_forward_pass_keeps_the_output_and_one_number_a_query"),
    ),
    Fault(
        "tiles are summed in half precision",
        f"{HERE}/tiled.py",
        "torch.promote_types(query.dtype, torch.float32)",
        "query.dtype",
        unit("sums_in_half_precision_lose_no_keys"),
    ),
    Fault(
        "a second derivative is taken for zero",
        f"{HERE}/tiled.py",
        "if torch.is_grad_enabled():",
        "if False:",
        unit("a_second_derivative_is_refused_where_torch_would_take_it_for_zero"),
    ),
    Fault(
        "the default tile holds everything",
        f"{HERE}/tiled.py",
        "block: int = 512",
        "block: int = 1 << 30",
        unit("at_16384_tokens_tiled_attention_takes_a_fiftieth_of_a_single_matrix_of_weights"),
    ),
    # A window
    Fault(
        "a window reaches one position too far back",
        f"{HERE}/window.py",
        "(distance >= 0) & (distance < size)",
        "(distance >= 0) & (distance <= size)",
        WINDOW,
    ),
    Fault(
        "the zeros before the first key take part in a window",
        f"{HERE}/window.py",
        "near & ((key >= 0) & (key < t_k))[:, None]",
        "near & (key < t_k)[:, None]",
        unit("window_attention_by_hand"),
    ),
    Fault(
        "the zeros behind the last key take part in a window",
        f"{HERE}/window.py",
        "near & ((key >= 0) & (key < t_k))[:, None]",
        "near & (key >= 0)[:, None]",
        unit("window_attention_by_hand"),
    ),
    Fault(
        "a window takes no account of a past without queries",
        f"{HERE}/window.py",
        "before = size - (t_k - t_q)",
        "before = size",
        WINDOW,
    ),
    Fault(
        "a window is as wide as the sequence",
        f"{HERE}/window.py",
        "size = min(size, t_k)",
        "size, reach = t_k, size",
        unit("window_attention_takes_memory_linear_in_the_length_and_in_the_window"),
    ),
    # Linear attention
    Fault(
        "small features are swallowed by a one",
        f"{HERE}/linear.py",
        "return x.clamp(max=0).exp() + x.relu()",
        "return F.elu(x) + 1",
        unit("the_feature_map_is_elu_plus_one_and_keeps_small_numbers"),
    ),
    Fault(
        "linear attention is not normalised",
        f"{HERE}/linear.py",
        "return sums[..., :-1] / sums[..., -1:]",
        "return sums[..., :-1]",
        LINEAR,
    ),
    Fault(
        "a chunk sees its own sum twice",
        f"{HERE}/linear.py",
        "state = F.pad(state, (0, 0, 0, 0, 1, -1))",
        "state = F.pad(state, (0, 0, 0, 0, 0, 0))",
        CAUSAL_LINEAR,
    ),
    Fault(
        "a chunk sees its own future",
        f"{HERE}/linear.py",
        "(query @ key.mT).tril() @ value",
        "(query @ key.mT) @ value",
        CAUSAL_LINEAR,
    ),
    Fault(
        "a step writes into the state that it was given",
        f"{HERE}/linear.py",
        "state = added if state is None else state + added",
        "state = added if state is None else state.add_(added)",
        unit("a_step_leaves_the_state_before_it_as_it_was"),
    ),
    Fault(
        "the keys of linear attention have no feature map",
        f"{HERE}/linear.py",
        "feature_map(_wide(query)), feature_map(_wide(key)), _with_one",
        "feature_map(_wide(query)), _wide(key).abs(), _with_one",
        unit("linear_attention_by_hand"),
    ),
    Fault(
        "linear attention sums in half precision",
        f"{HERE}/linear.py",
        "return x.to(torch.promote_types(x.dtype, torch.float32))",
        "return x",
        unit("linear_attention_in_half_precision_does_not_overflow"),
    ),
    Fault(
        "tiles are computed in half precision under autocast",
        f"{HERE}/tiled.py",
        "    with _without_autocast(query.device):\n        return _TiledAttention",
        "    if True:\n        return _TiledAttention",
        unit("autocast_does_not_change_the_tiles"),
    ),
    Fault(
        "tiles of the backward pass are computed in half precision under autocast",
        f"{HERE}/tiled.py",
        "with _without_autocast(upstream.device):",
        "if True:",
        unit("autocast_does_not_change_the_tiles"),
    ),
    # Refusals
    Fault(
        "a state of another batch is broadcast",
        f"{HERE}/linear.py",
        "(state is not None and state.shape != held)",
        "(state is not None and state.shape[-2:] != held[-2:])",
        unit("a_step_with_shapes_that_do_not_fit_is_refused"),
    ),
    Fault(
        "values of other leading axes are broadcast",
        f"{HERE}/shapes.py",
        "query.shape[:-2] == key.shape[:-2] == value.shape[:-2]",
        "query.shape[:-2] == key.shape[:-2]",
        unit("shapes_that_do_not_fit_are_refused_with_all_three"),
    ),
    Fault(
        "tiled attention takes any mask that broadcasts",
        f"{HERE}/tiled.py",
        "check_mask(mask, (*query.shape[:-1], key.shape[-2]))",
        "check_mask(mask, mask.shape)",
        unit("a_mask_that_is_not_legal_is_refused"),
    ),
]
