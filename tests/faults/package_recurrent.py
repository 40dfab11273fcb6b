"""Faults of `companion.recurrent`."""

from faults import Fault

CELLS = "companion/recurrent/cells.py"
GATED = "companion/recurrent/gated.py"
LAYERS = "companion/recurrent/layers.py"
CHECKS = "companion/recurrent/checks.py"
SCAN = "companion/recurrent/scan.py"
CONVOLUTION = "companion/recurrent/convolution.py"
ATTENTION = "companion/recurrent/attention.py"
CORES = "companion/recurrent/cores.py"
SEQ2SEQ = "companion/recurrent/seq2seq.py"
TOKENS = "companion/recurrent/tokens.py"


def unit(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_recurrent.py::test_{test}",)


def models(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_recurrent_seq2seq.py::test_{test}",)


def layers(test: str = "one_direction_equals_torch") -> tuple[str, ...]:
    return (f"tests/parity/test_recurrent_layers.py::test_{test}",)


def parity(test: str) -> tuple[str, ...]:
    return (f"tests/parity/test_recurrent_seq2seq.py::test_{test}",)


BAHDANAU = parity("the_model_of_bahdanau_is_torchs_layers_and_a_loop")
LUONG = parity("the_model_of_luong_is_torchs_layers_and_one_attention")
PADDING = unit("what_stands_in_the_padding_has_no_influence_not_even_nan")
ENDED = models("a_finished_row_repeats_the_end_until_all_have_ended")

FAULTS = [
    # Cells
    Fault("no gradient reaches the state before", CELLS, "self.w_h(state)", "self.w_h(state.detach())", layers()),
    Fault(
        "the Jacobian of a step lacks the slope of tanh",
        CELLS,
        "return total.tanh() if",
        "return total + (total.tanh() - total).detach() if",
        unit("the_gradient_of_an_elman_network_is_the_product_of_its_jacobians"),
    ),
    Fault("ReLU cells are leaky", CELLS, "total.relu()", "total.maximum(0.01 * total)", layers()),
    Fault(
        "the weights start within the root of the inputs",
        CELLS,
        "draw_uniform(self, d_hidden**-0.5)",
        "draw_uniform(self, d_in**-0.5)",
        unit("weights_start_uniform_within_one_over_the_root_of_the_width"),
    ),
    Fault("input and forget gate are swapped", GATED, "i, f, g, o = total", "f, i, g, o = total", layers()),
    Fault(
        "the forget gate of 1997 is not fully open",
        GATED,
        "torch.ones_like(c)",
        "torch.ones_like(c) * 0.999",
        unit("along_the_memory_the_gradient_is_the_product_of_the_forget_gates"),
    ),
    Fault(
        "the cell of 1997 couples what it keeps to what it takes in",
        GATED,
        "torch.ones_like(c)",
        "1 - i.sigmoid()",
        layers("the_cell_of_1997_is_torchs_with_a_forget_gate_held_open"),
    ),
    Fault(
        "an LSTM puts out its memory without tanh", GATED, "gates.output * c.tanh(), c", "gates.output * c, c", layers()
    ),
    Fault(
        "the forget bias goes to the candidate",
        GATED,
        "self.w_x.bias[d_hidden : 2 * d_hidden]",
        "self.w_x.bias[2 * d_hidden : 3 * d_hidden]",
        unit("a_forget_bias_opens_the_forget_gate_and_no_other"),
    ),
    Fault(
        "a forget bias of zero counts as none",
        GATED,
        "        if forget_bias is not None:\n",
        "        if forget_bias:\n",
        unit("a_forget_bias_opens_the_forget_gate_and_no_other"),
    ),
    Fault(
        "h and c begin as one tensor",
        GATED,
        "return h, h.clone()",
        "return h, h",
        unit("the_two_zeros_of_an_lstm_are_two_tensors"),
    ),
    Fault(
        "the update gate is the share of the new",
        GATED,
        "z * state + (1 - z) * candidate",
        "(1 - z) * state + z * candidate",
        unit("a_gru_step_by_hand"),
    ),
    Fault(
        "the bias of the candidate escapes the reset gate",
        GATED,
        "r * (h_candidate + self.b_h)",
        "r * h_candidate + self.b_h",
        layers(),
    ),
    Fault(
        "the two forms of the GRU are one",
        GATED,
        "(r * h) @ w_candidate.mT",
        "r * (h @ w_candidate.mT)",
        unit("the_reset_gate_acts_after_or_before_the_product"),
    ),
    Fault(
        "the memory of an LSTM is not checked",
        GATED,
        "h=h, c=c)",
        "h=h)",
        unit("a_state_that_does_not_fit_is_refused"),
        "DID NOT RAISE|RuntimeError: The size of tensor",
    ),
    # Layers
    Fault(
        "a state runs on through the padding",
        LAYERS,
        "new if real is None else _held(real[:, i, None], new, state)",
        "new",
        unit("a_padded_batch_equals_single_runs"),
    ),
    Fault(
        "the memory of an LSTM runs on through the padding",
        LAYERS,
        "torch.where(real, new[1], old[1])",
        "new[1]",
        layers(),
    ),
    Fault(
        "padding reaches the gradient of the weights",
        LAYERS,
        "x = x.masked_fill(~real[..., None], 0.0)",
        "x = x.clone()",
        PADDING,
    ),
    Fault(
        "the outputs in the padding repeat the last state",
        LAYERS,
        "output = output.masked_fill(",
        "output.masked_fill(",
        layers(),
    ),
    Fault(
        "a layer that reads back hands out its states in reading order",
        LAYERS,
        "found[::-1] if",
        "found if",
        unit("a_layer_is_its_cell_step_after_step"),
    ),
    Fault(
        "the last state of a layer that reads back is that at the end",
        LAYERS,
        "states[0 if self.reverse else -1]",
        "states[-1]",
        layers("both_directions_equal_torch"),
    ),
    Fault(
        "both directions read ahead",
        LAYERS,
        "RNN(backward_cell, reverse=True)",
        "RNN(backward_cell)",
        layers("both_directions_equal_torch"),
    ),
    Fault(
        "the given state is forgotten",
        LAYERS,
        "self.cell.zeros(projected[0]) if state is None else state",
        "self.cell.zeros(projected[0])",
        unit("a_state_handed_on_continues_the_sequence"),
    ),
    Fault(
        "a sequence of no tokens passes",
        LAYERS,
        "(lengths >= 1)",
        "(lengths >= 0)",
        unit("lengths_that_do_not_fit_are_refused"),
    ),
    Fault(
        "fractions pass for lengths",
        LAYERS,
        "or not whole ",
        "",
        unit("lengths_that_do_not_fit_are_refused"),
    ),
    Fault(
        "an empty batch passes",
        CHECKS,
        "if x.numel() == 0:",
        "if 0 in x.shape[1:]:",
        unit("an_input_that_does_not_fit_its_cell_is_refused"),
    ),
    # Scan and convolution
    Fault(
        "a pass joins the later step first",
        SCAN,
        "ahead * value[..., :-distance, :] + value[..., distance:, :]",
        "value[..., :-distance, :] + ahead * value[..., distance:, :]",
        unit("a_linear_recurrence_by_hand"),
    ),
    Fault(
        "the gates are not joined",
        SCAN,
        "ahead * gate[..., :-distance, :]]",
        "ahead]",
        unit("a_scan_equals_the_loop_in_as_many_passes_as_the_length_has_doublings"),
    ),
    Fault(
        "a scan makes a pass too many",
        SCAN,
        "while distance < steps:",
        "while distance < 2 * steps:",
        unit("a_scan_equals_the_loop_in_as_many_passes_as_the_length_has_doublings"),
        "AssertionError|assert |RuntimeError",
    ),
    Fault(
        "a convolution sees the future",
        CONVOLUTION,
        "F.pad(x, (0, 0, reach, 0))",
        "F.pad(x, (0, 0, reach // 2, reach - reach // 2))",
        unit("the_last_output_depends_on_exactly_the_receptive_field"),
    ),
    Fault(
        "the taps of a convolution are in reverse",
        CONVOLUTION,
        "weight[:, :, j].mT",
        "weight[:, :, -1 - j].mT",
        layers("a_causal_convolution_equals_torch_padded_on_the_left"),
    ),
    Fault(
        "the receptive field is short of one position",
        CONVOLUTION,
        "return 1 + (kernel - 1) * sum",
        "return (kernel - 1) * sum",
        unit("receptive_fields_by_hand"),
    ),
    Fault(
        "signal and gate of a block are swapped",
        CONVOLUTION,
        "signal, gate = convolution(x)",
        "gate, signal = convolution(x)",
        layers("the_stack_is_gated_residual_blocks_of_torchs_convolutions"),
    ),
    Fault(
        "a block drops what came in",
        CONVOLUTION,
        "x = x + w_r(",
        "x = w_r(",
        layers("the_stack_is_gated_residual_blocks_of_torchs_convolutions"),
    ),
    # Attention
    Fault(
        "additive scores have no tanh",
        ATTENTION,
        "key[:, None]).tanh() @ v",
        "key[:, None]) @ v",
        parity("additive_attention_equals_loops_over_the_pairs"),
    ),
    Fault(
        "dot scores are scaled",
        ATTENTION,
        "return query @ projected.mT",
        "return query @ projected.mT / self.d_query**0.5",
        models("dot_scores_are_not_scaled"),
    ),
    Fault(
        "softmax of a recurrent attention runs over the queries",
        ATTENTION,
        "return scores.softmax(dim=-1)",
        "return scores.softmax(dim=-2)",
        parity("general_attention_equals_loops_over_the_pairs"),
    ),
    Fault(
        "hidden keys get -1e3",
        ATTENTION,
        "-torch.inf)",
        "-1e3)",
        models("weights_are_a_distribution_over_the_keys_that_are_allowed"),
    ),
    Fault(
        "a mask of batch by key passes",
        ATTENTION,
        "zip(reversed(mask.shape), (t_k, t_q, batch), strict=False)",
        "zip(reversed(mask.shape), (t_k, t_q if mask.ndim > 2 else mask.shape[0], batch), strict=False)",
        models("a_mask_that_is_not_legal_is_refused"),
        "DID NOT RAISE|RuntimeError: The size of tensor",
    ),
    Fault(
        "one query with a key is enough",
        ATTENTION,
        "mask.any(dim=-1).all()",
        "mask.any()",
        models("a_mask_without_a_key_for_some_query_is_refused"),
    ),
    Fault(
        "keys of one sequence serve a whole batch",
        ATTENTION,
        "query.shape[0] != key.shape[0] or ",
        "",
        models("queries_and_keys_that_do_not_fit_are_refused"),
    ),
    # Encoder-decoders
    Fault(
        "the decoder of Bahdanau attends with the state after the step before last",
        CORES,
        "self.attention.scores(state[:, None], memory.keys)",
        "self.attention.scores((states[-2] if len(states) > 1 else state)[:, None], memory.keys)",
        BAHDANAU,
    ),
    Fault(
        "the context does not enter the recurrence",
        CORES,
        "projected + self.w_context(contexts[-1])",
        "projected + 0 * self.w_context(contexts[-1])",
        BAHDANAU,
    ),
    Fault(
        "the decoder of Bahdanau begins with the direction that reads ahead",
        CORES,
        "states, (_, first) =",
        "states, (first, _) =",
        BAHDANAU,
    ),
    Fault(
        "attention looks at the padding",
        CORES,
        "return None if lengths is None else",
        "return None if x.ndim == 3 else",
        models("a_padded_batch_equals_single_runs"),
    ),
    Fault(
        "context and state are in the other order",
        CORES,
        "torch.cat([weights @ memory.states, h], dim=-1)",
        "torch.cat([h, weights @ memory.states], dim=-1)",
        LUONG,
    ),
    Fault(
        "the context comes from the projected keys",
        CORES,
        "torch.cat([weights @ memory.states, h], dim=-1)",
        "torch.cat([weights @ memory.keys, h], dim=-1)",
        LUONG,
    ),
    Fault(
        "the fixed vector ignores the lengths",
        SEQ2SEQ,
        ', "source"), lengths=source_lengths)[1]',
        ', "source"))[1]',
        parity("the_fixed_vector_model_is_two_of_torchs_layers"),
    ),
    Fault(
        "a source that should be reversed is not",
        SEQ2SEQ,
        ", reverse=reverse_source)",
        ")",
        parity("a_reversed_source_is_read_from_its_last_real_token"),
    ),
    Fault(
        "decoding begins anew at each token",
        SEQ2SEQ,
        "return decoded.logits, decoded.state",
        "return decoded.logits, memory.start",
        models("decoding_takes_the_likeliest_token_at_each_step"),
    ),
    Fault(
        "a target without its source passes",
        SEQ2SEQ,
        "if len(target) != len(memory.states):",
        "if len(target) > len(memory.states):",
        models("sources_and_targets_of_two_batches_are_refused"),
        "DID NOT RAISE|RuntimeError: Sizes of tensors",
    ),
    Fault("a finished row writes on", TOKENS, ".masked_fill(ended, end)", "", ENDED),
    Fault("decoding stops when the first row ends", TOKENS, "if ended.all():", "if ended.any():", ENDED),
    Fault(
        "decoding takes a NaN for the likeliest",
        TOKENS,
        "if logits.isnan().any():",
        "if logits.isnan().all() and False:",
        models("a_nan_is_not_hidden_behind_a_token"),
    ),
    Fault(
        "negative tokens pass",
        TOKENS,
        "low < 0 or ",
        "",
        models("tokens_that_do_not_fit_are_refused_with_their_side"),
        "DID NOT RAISE|IndexError",
    ),
    Fault(
        "a bias of a convolution is broadcast",
        "companion/recurrent/convolution.py",
        "bias.shape != weight.shape[:1]",
        "False",
        ("tests/unit/test_recurrent.py::test_a_bias_that_would_be_broadcast_is_refused",),
    ),
]
