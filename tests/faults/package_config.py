"""Faults of `companion.config`."""

from faults import Fault

CONFIG = "companion/config.py"


def config(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_config.py::test_{test}",)


FAULTS = [
    Fault(
        "the base model drops half of its activations",
        CONFIG,
        "dropout: float | int = 0.1",
        "dropout: float | int = 0.5",
        config("a_named_size_is_a_row_of_the_paper"),
    ),
    Fault(
        "the big model keeps the dropout of the base model",
        CONFIG,
        "n_heads=16, dropout=0.3",
        "n_heads=16",
        config("a_named_size_is_a_row_of_the_paper"),
    ),
    Fault(
        "a named size forgets its changes",
        CONFIG,
        "return replace(ModelConfig(vocab=vocab), **changes)",
        "return ModelConfig(vocab=vocab)",
        config("a_change_reaches_its_field_and_no_other"),
    ),
    Fault(
        "a config can be changed afterwards",
        CONFIG,
        "@dataclass(frozen=True, kw_only=True)",
        "@dataclass(kw_only=True)",
        config("a_config_cannot_be_changed_afterwards"),
    ),
    Fault(
        "heads of keys need not divide those of queries",
        CONFIG,
        "self.n_heads % self.n_kv_heads:",
        "False:",
        config("heads_of_keys_that_do_not_divide_those_of_queries_are_refused"),
    ),
    Fault(
        "rope looks at the width of the model and not of a head",
        CONFIG,
        '"rope": self.d_k}',
        '"rope": self.d_model}',
        config("a_scheme_that_pairs_features_needs_an_even_number"),
    ),
    Fault(
        "an eps that is not a number at all passes",
        CONFIG,
        "not 0 < self.eps < math.inf",
        "self.eps <= 0 or self.eps == math.inf",
        config("an_eps_outside_its_range_is_refused"),
    ),
    Fault(
        "True counts as the number one",
        CONFIG,
        "isinstance(value, int | float) and not isinstance(value, bool)",
        "isinstance(value, int | float)",
        config("a_size_is_a_whole_number_from_one_up"),
    ),
]
