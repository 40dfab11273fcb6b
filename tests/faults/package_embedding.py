"""Faults of `companion.embedding`."""

from faults import Fault

EMBEDDING = "companion/embedding.py"


def embedding(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_embedding.py::test_{test}",)


SHARED = embedding("values_and_gradients_equal_those_of_torch_with_one_matrix_for_both")

FAULTS = [
    Fault(
        "the embedding is multiplied by the width without the root",
        EMBEDDING,
        "vectors * math.sqrt(self.weight.shape[1])",
        "vectors * self.weight.shape[1]",
        embedding("a_token_gets_its_row_times_the_root_of_the_width"),
    ),
    Fault(
        "the output is scaled too",
        EMBEDDING,
        "return F.linear(x, self.weight)",
        "return F.linear(x, self.weight) * math.sqrt(d_model)",
        embedding("the_output_scores_each_row_by_its_product_and_does_not_scale"),
    ),
    Fault(
        "the output trains no embedding",
        EMBEDDING,
        "return F.linear(x, self.weight)",
        "return F.linear(x, self.weight.detach())",
        SHARED,
    ),
    Fault(
        "an entry is taken for padding and not trained",
        EMBEDDING,
        "F.embedding(tokens, self.weight)",
        "F.embedding(tokens, self.weight, padding_idx=1)",
        embedding("only_the_rows_that_were_looked_up_get_a_gradient"),
    ),
    Fault(
        "the table is drawn with standard deviation one",
        EMBEDDING,
        "std=1 / math.sqrt(d_model)",
        "std=1.0",
        embedding("a_draw_gives_embeddings_and_logits_of_unit_size"),
    ),
    Fault(
        "a negative id counts from the end",
        EMBEDDING,
        "if low < 0 or high >= vocab:",
        "tokens.remainder_(vocab)\n    if high >= vocab:",
        embedding("an_id_outside_the_table_is_refused_with_the_range_that_came"),
    ),
    Fault(
        "an id one beyond the table passes the check",
        EMBEDDING,
        "high >= vocab:",
        "high > vocab:",
        embedding("an_id_outside_the_table_is_refused_with_the_range_that_came"),
        "IndexError: index out of range",
    ),
    Fault(
        "shapes without numbers are asked for their ids",
        EMBEDDING,
        "if tokens.is_meta:",
        "if False:",
        embedding("shapes_without_numbers_pass_through"),
        "NotImplementedError|RuntimeError",
    ),
]
