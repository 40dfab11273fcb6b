"""Faults of `companion.generate`."""

from faults import Fault

DECODING = "companion/generate/decoding.py"
SAMPLING = "companion/generate/sampling.py"
SEARCH = "companion/generate/search.py"


def generate(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_generate.py::test_{test}",)


EXHAUSTIVE = generate("a_beam_wide_enough_finds_the_best_of_all_texts")
ALONE = generate("a_beam_translates_each_source_as_if_it_were_alone")
OFTEN = generate("tokens_come_as_often_as_the_tempered_distribution_says")
NUCLEUS = generate("top_p_keeps_the_smallest_set_that_reaches_p")

FAULTS = [
    Fault(
        "greedy takes the least probable token",
        DECODING,
        "lambda logits: logits.argmax(-1)",
        "lambda logits: logits.argmin(-1)",
        generate("greedy_takes_the_most_probable_token_each_time"),
    ),
    Fault(
        "the prediction after the first token of the prompt",
        DECODING,
        "self.model(tokens, cache=self.cache)[:, -1]",
        "self.model(tokens, cache=self.cache)[:, 0]",
        generate("greedy_takes_the_most_probable_token_each_time"),
    ),
    Fault(
        "the padding of a source is read",
        DECODING,
        "self.memory = model.encode(source, self.lengths)",
        "self.memory = model.encode(source)",
        generate("greedy_translates_each_source_as_if_it_were_alone"),
    ),
    Fault(
        "the memory of padding is read",
        DECODING,
        "self.memory, source_lengths=self.lengths, cache=self.cache",
        "self.memory, cache=self.cache",
        generate("greedy_translates_each_source_as_if_it_were_alone"),
    ),
    Fault(
        "a finished row goes on writing",
        DECODING,
        "chosen = chosen.masked_fill(ended, end)",
        "chosen = chosen",
        generate("a_finished_row_is_filled_with_the_end_symbol_and_the_others_go_on"),
    ),
    Fault(
        "writing stops at the first row that ends",
        DECODING,
        "bool(ended.all())",
        "bool(ended.any())",
        generate("a_finished_row_is_filled_with_the_end_symbol_and_the_others_go_on"),
    ),
    Fault(
        "writing goes on after the last row has ended",
        DECODING,
        "if end is not None and bool(ended.all()):",
        "if False:",
        generate("writing_stops_when_every_row_has_ended"),
    ),
    Fault(
        "a model in training mode writes",
        DECODING,
        "if model.training:",
        "if False:",
        generate("a_model_that_is_training_or_no_decoder_does_not_write"),
    ),
    Fault(
        "NaN is a token",
        DECODING,
        "if logits.isnan().any():",
        "if False:",
        generate("a_model_that_predicts_nan_does_not_choose"),
        reason="DID NOT RAISE",
    ),
    Fault("the temperature multiplies", SAMPLING, ") / temperature", ") * temperature", OFTEN),
    Fault(
        "draws come from the logits, not from their softmax",
        SAMPLING,
        "logits.softmax(-1).cpu()",
        "(logits - logits.min() + 1e-9).cpu()",
        OFTEN,
    ),
    Fault(
        "the nucleus is taken before the temperature",
        SAMPLING,
        "        logits = logits.double()\n",
        "        logits = logits.double() if top_p is None else keep_top_p(logits.double(), top_p)\n",
        generate("the_nucleus_is_that_of_the_tempered_distribution"),
    ),
    Fault(
        "top-k keeps one too many",
        SAMPLING,
        "order[..., k:]",
        "order[..., k + 1 :]",
        generate("top_k_keeps_the_k_largest_as_they_are"),
    ),
    Fault("the nucleus leaves out the token that reaches p", SAMPLING, "- probabilities", "- 0", NUCLEUS),
    Fault(
        "the nucleus is cut in the order of the vocabulary",
        SAMPLING,
        "scatter(-1, order, before",
        "copy_(before",
        NUCLEUS,
    ),
    Fault(
        "a p of one cuts what rounds to nothing",
        SAMPLING,
        "    if p == 1:\n        return logits\n",
        "",
        generate("a_p_of_one_keeps_even_what_rounds_to_nothing"),
    ),
    Fault(
        "the penalty counts from zero",
        SEARCH,
        "((5 + length) / 6) ** alpha",
        "((6 + length) / 6) ** alpha",
        generate("the_length_penalty_is_that_of_the_paper"),
    ),
    Fault("the search ranks by the plain probability", SEARCH, "score / penalty", "score", EXHAUSTIVE),
    Fault(
        "ended beginnings go on",
        SEARCH,
        "best = best.masked_fill(token == end, -torch.inf)",
        "best = best + 0",
        EXHAUSTIVE,
    ),
    Fault(
        "unfinished texts are dropped at the last step",
        SEARCH,
        "(token == end) | (length == max_new)",
        "(token == end)",
        EXHAUSTIVE,
    ),
    Fault("the cache is not reordered", SEARCH, "decoding.reorder(rows, ", "dict(", ALONE, reason="Error"),
    Fault(
        "the rows of the first prompt serve all",
        SEARCH,
        "parent + alive * torch.arange(batch, device=parent.device)[:, None]",
        "parent + 0 * torch.arange(batch, device=parent.device)[:, None]",
        ALONE,
    ),
    Fault(
        "the memory is copied at each step",
        SEARCH,
        "same_sources=kept.shape[1] == alive",
        "same_sources=False",
        generate("a_beam_moves_the_memory_only_when_it_widens"),
    ),
    Fault(
        "the lengths are not reordered",
        DECODING,
        "self.lengths[rows]",
        "self.lengths[:1].expand(len(rows))",
        ALONE,
    ),
    Fault(
        "the search stops before a longer text could win",
        SEARCH,
        "best.max(1).values / length_penalty(max_new, alpha)",
        "best.max(1).values / length_penalty(length, alpha)",
        generate("stopping_early_loses_nothing_and_saves_steps"),
    ),
    Fault(
        "the best comes last",
        SEARCH,
        "-hypothesis.score",
        "hypothesis.score",
        generate("a_beam_gives_at_most_its_width_the_best_first"),
    ),
    Fault(
        "more hypotheses than the width",
        SEARCH,
        "        del found[width:]\n",
        "",
        generate("a_beam_gives_at_most_its_width_the_best_first"),
    ),
    Fault(
        "log-probabilities are added up in half precision",
        DECODING,
        "logits.to(torch.promote_types(logits.dtype, torch.float32))",
        "logits",
        generate("probabilities_of_half_precision_are_added_up_in_float32"),
    ),
    Fault(
        "lengths without a source are dropped",
        DECODING,
        "if source is None and lengths is not None:",
        "if False:",
        generate("lengths_without_a_source_are_refused"),
    ),
    Fault(
        "logits over a tiny temperature overflow",
        SAMPLING,
        "(logits - logits.amax(-1, keepdim=True)) / temperature",
        "logits / temperature",
        generate("however_cold_the_likeliest_token_is_drawn"),
        reason="RuntimeError: probability tensor contains",
    ),
]
