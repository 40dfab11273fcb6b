"""Faults of `companion.positional`."""

from faults import Fault

ABSOLUTE = "companion/positional/absolute.py"
BIASES = "companion/positional/biases.py"
RELATIVE = "companion/positional/relative.py"
ROTARY = "companion/positional/rotary.py"
TABLE = "companion/positional/table.py"
REBUILT = (
    "        self.table = sinusoidal(self.max_len, self.d_model, dtype=self.table.dtype, device=self.table.device)\n"
)


def absolute(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_positional.py::test_{test}",)


def relative(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_positional_relative.py::test_{test}",)


def rotary(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_positional_rotary.py::test_{test}",)


def parity(test: str) -> tuple[str, ...]:
    return (f"tests/parity/test_positional.py::test_{test}",)


FORMULA = absolute("each_channel_is_the_sine_or_cosine_of_the_papers_formula")
BEYOND = absolute("positions_beyond_the_table_are_refused")
LAST_ROWS = absolute("the_bias_of_the_last_queries_is_the_last_rows_of_the_full_bias")
SHIFT = relative("the_relative_shift_gives_each_pair_the_number_of_its_distance")
SHIFT_LAYOUT = relative("the_layout_in_memory_does_not_matter_to_the_shift")
TERMS = relative("the_bias_of_transformer_xl_is_its_three_terms_for_each_pair")
T5 = parity("the_buckets_are_those_of_t5")
SLOPES = relative("the_slopes_are_those_of_the_paper")
ALIBI = relative("alibi_subtracts_the_slope_times_the_distance")
COMPLEX = rotary("each_pair_is_multiplied_by_a_complex_number_of_length_one")
FROM_START = rotary("the_module_turns_by_the_positions_from_its_start_on")

FAULTS = [
    # Absolute positions
    Fault(
        "each channel of a sinusoidal pair has a frequency of its own",
        ABSOLUTE,
        "torch.arange(0, d_model, 2, dtype=torch.float64",
        "torch.arange(0, d_model // 2, dtype=torch.float64",
        FORMULA,
    ),
    Fault(
        "all sines come before all cosines",
        ABSOLUTE,
        "torch.stack((turned.sin(), turned.cos()), dim=-1).flatten(-2)",
        "torch.cat((turned.sin(), turned.cos()), dim=-1)",
        FORMULA,
    ),
    Fault(
        "sine and cosine change places",
        ABSOLUTE,
        "(turned.sin(), turned.cos())",
        "(turned.cos(), turned.sin())",
        absolute("the_first_positions_of_width_four_are_those_of_a_table_of_sines"),
    ),
    Fault(
        "angles are computed in float32",
        ABSOLUTE,
        "base ** (-torch.arange(0, d_model, 2, dtype=torch.float64, device=",
        "base ** (-torch.arange(0, d_model, 2, dtype=torch.float32, device=",
        absolute("a_long_position_has_the_value_of_fifty_digits"),
    ),
    Fault(
        "the start of a sinusoidal encoding is ignored",
        ABSOLUTE,
        "torch.arange(start, start + length,",
        "torch.arange(0, length,",
        FORMULA,
    ),
    Fault(
        "the matrix moves encodings back",
        ABSOLUTE,
        "(cos, -sin, sin, cos)",
        "(cos, sin, -sin, cos)",
        absolute("the_matrix_moves_every_encoding_on_by_its_offset"),
    ),
    Fault(
        "the table of a module is cast rather than computed anew",
        ABSOLUTE,
        REBUILT,
        "",
        absolute("a_module_moved_to_float64_has_the_accuracy_of_float64"),
    ),
    Fault(
        "the sinusoidal table is saved with the model",
        ABSOLUTE,
        "persistent=False",
        "persistent=True",
        absolute("the_module_gives_the_encoding_and_has_nothing_to_learn_or_to_save"),
    ),
    Fault(
        "a table is read from its beginning whatever the start",
        ABSOLUTE,
        "return table[start : start + t]",
        "return table[:t]",
        absolute("positions_from_a_start_are_rows_of_the_whole"),
    ),
    Fault("a table gives the rows that it has", ABSOLUTE, "start + t > len(table)", "start >= len(table)", BEYOND),
    Fault("a negative start counts from the end", ABSOLUTE, "start < 0 or ", "", BEYOND),
    Fault(
        "an odd number of channels passes",
        ABSOLUTE,
        "d_model < 2 or d_model % 2:",
        "d_model < 2:",
        absolute("sizes_without_a_meaning_are_refused"),
    ),
    Fault(
        "learned positions are as large as embeddings",
        ABSOLUTE,
        "std=0.02",
        "std=1.0",
        absolute("learned_vectors_begin_with_the_spread_of_bert"),
    ),
    # The table that grows
    Fault(
        "a table made in inference mode is kept for training",
        TABLE,
        "torch.inference_mode(False), torch.no_grad()",
        "torch.no_grad()",
        absolute("a_scheme_can_train_after_an_evaluation_in_inference_mode"),
        "RuntimeError: Inference tensors",
    ),
    Fault(
        "a table in another dtype is cast",
        TABLE,
        "self._grow(self._first, end, dtype, device)",
        "self._table = self._table.to(dtype).to(device)",
        absolute("a_table_in_another_dtype_is_computed_anew_rather_than_cast"),
    ),
    Fault(
        "a table grows by what is asked for",
        TABLE,
        "1 << (abs(number) - 1).bit_length()",
        "abs(number)",
        absolute("a_table_that_grows_by_single_rows_is_computed_a_few_times"),
    ),
    Fault(
        "a table that has grown forgets its beginning",
        TABLE,
        "self._first, self._table = first, table.to",
        "self._table = table.to",
        absolute("a_table_holds_the_function_wherever_it_has_grown_to"),
    ),
    # From distances to query by key
    Fault(
        "the relative shift begins with the last query",
        RELATIVE,
        "x.storage_offset() + t_q - 1)",
        "x.storage_offset())",
        SHIFT,
    ),
    Fault(
        "the relative shift does not shift",
        RELATIVE,
        "x.stride()[:-2], count - 1, 1)",
        "x.stride()[:-2], count, 1)",
        SHIFT,
    ),
    Fault("the shift forgets where a slice begins", RELATIVE, "x.storage_offset() + ", "", SHIFT_LAYOUT),
    Fault(
        "the shift takes any memory for packed",
        RELATIVE,
        "x = by_distance.contiguous()",
        "x = by_distance",
        SHIFT_LAYOUT,
    ),
    Fault(
        "the first query has the longest past",
        RELATIVE,
        "by_distance.unfold(-1, t_k, 1).flip(-2)",
        "by_distance.unfold(-1, t_k, 1)",
        relative("spread_gives_each_pair_the_number_of_its_distance"),
    ),
    # Transformer-XL
    Fault("past and future of Transformer-XL change places", RELATIVE, "rows.flip(0).mT", "rows.mT", TERMS),
    Fault("the terms of Transformer-XL are not scaled", RELATIVE, "1 / math.sqrt(self.d_k)", "1.0", TERMS),
    Fault(
        "the score of a key alone is not scaled",
        RELATIVE,
        "(self.u * scale)",
        "self.u",
        relative("the_weights_are_the_softmax_of_all_four_terms"),
    ),
    Fault(
        "the score of a key alone is missing",
        RELATIVE,
        "relative_shift(by_distance) + by_key",
        "relative_shift(by_distance) + 0 * by_key",
        TERMS,
    ),
    Fault(
        "the score of a distance alone is missing",
        RELATIVE,
        "(query + self.v[:, None])",
        "(query + 0 * self.v[:, None])",
        TERMS,
    ),
    Fault(
        "u stands for v",
        RELATIVE,
        "(query + self.v[:, None])",
        "(query + self.u[:, None])",
        parity("the_attention_and_its_gradients_are_those_of_xlnet"),
        "AssertionError|RuntimeError: One of the differentiated",
    ),
    Fault(
        "a single query forgets the bias of its distance",
        RELATIVE,
        "(either @ w_r) @ encodings",
        "(query * scale @ w_r) @ encodings",
        LAST_ROWS,
    ),
    Fault(
        "heads that the scheme does not have pass",
        RELATIVE,
        "query.shape[1] != n_heads or ",
        "",
        relative("other_heads_than_those_of_the_scheme_are_refused"),
        "DID NOT RAISE|RuntimeError: The size",
    ),
    Fault(
        "more queries than keys pass",
        RELATIVE,
        "if not 1 <= t_q <= t_k:",
        "if not 1 <= t_q:",
        relative("fewer_keys_than_queries_or_no_query_are_refused"),
        "DID NOT RAISE|AssertionError: Regex",
    ),
    # T5 and ALiBi
    Fault("past and future of T5 change places", BIASES, "(distance < 0)", "(distance > 0)", T5),
    Fault("a causal T5 has half of its buckets", BIASES, "buckets if causal else buckets // 2", "buckets // 2", T5),
    Fault(
        "later keys of a causal T5 count as earlier ones",
        BIASES,
        "distance.clamp(min=0) if causal",
        "distance.abs() if causal",
        T5,
    ),
    Fault(
        "the buckets of T5 reach max_distance too early",
        BIASES,
        "math.log(max_distance / exact)",
        "math.log(max_distance)",
        T5,
    ),
    Fault(
        "the edges of T5 are computed in float64",
        BIASES,
        "away.clamp(min=1).float() / exact",
        "away.clamp(min=1).double() / exact",
        T5,
    ),
    Fault(
        "the bias of T5 has the dtype of its weights",
        BIASES,
        "self.weight[buckets].to(query.dtype)",
        "self.weight[buckets]",
        absolute("the_bias_under_automatic_mixed_precision_fits_the_scores"),
    ),
    Fault("the first slope of ALiBi is 1", BIASES, "for h in range(1, below + 1)", "for h in range(below)", SLOPES),
    Fault(
        "the extra slopes of ALiBi are not every second one",
        BIASES,
        "range(1, 2 * below, 2)",
        "range(1, 2 * below)",
        SLOPES,
    ),
    Fault("ALiBi favours what is far", BIASES, "-distance.abs()[:, None]", "distance.abs()[:, None]", ALIBI),
    Fault("ALiBi rewards later keys", BIASES, "-distance.abs()[:, None]", "-distance[:, None]", ALIBI),
    Fault(
        "a float16 distance of ALiBi overflows",
        BIASES,
        "-distance.abs()[:, None] * slopes",
        "-distance.abs()[:, None].half().double() * slopes",
        relative("alibi_rounds_once_where_a_float16_cannot_hold_the_distance"),
    ),
    # RoPE
    Fault(
        "RoPE turns the other way",
        ROTARY,
        "torch.cat((a * cos - b * sin, b * cos + a * sin)",
        "torch.cat((a * cos + b * sin, b * cos - a * sin)",
        COMPLEX,
    ),
    Fault(
        "the interleaved layout leaves its pairs apart",
        ROTARY,
        "torch.stack((a * cos - b * sin, b * cos + a * sin), dim=-1).flatten(-2)",
        "torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)",
        COMPLEX,
    ),
    Fault(
        "RoPE begins at position 0 whatever the start",
        ROTARY,
        "rows(start, start + t - 1,",
        "rows(0, t - 1,",
        FROM_START,
    ),
    Fault(
        "RoPE ignores its base",
        ROTARY,
        "partial(_turns, d_k=d_k, base=base)",
        "partial(_turns, d_k=d_k, base=10000.0)",
        FROM_START,
    ),
    Fault(
        "RoPE ignores its layout",
        ROTARY,
        "*turns.unbind(dim=1), self.layout)",
        '*turns.unbind(dim=1), "half")',
        FROM_START,
    ),
    Fault(
        "a negative start of RoPE passes",
        ROTARY,
        "if start < 0:",
        "if False:",
        rotary("a_negative_start_is_refused"),
    ),
    Fault(
        "key heads that cannot be shared evenly pass",
        RELATIVE,
        " or n_heads % key.shape[1]:",
        ":",
        relative("other_heads_than_those_of_the_scheme_are_refused"),
        "DID NOT RAISE|RuntimeError",
    ),
    Fault(
        "key heads of Transformer-XL are shared by every second query",
        "companion/positional/relative.py",
        "(u @ key.mT).flatten(1, 2)",
        "(u @ key.mT).transpose(1, 2).flatten(1, 2)",
        ("tests/unit/test_positional_relative.py::test_key_heads_that_queries_share_need_not_be_repeated",),
    ),
]
