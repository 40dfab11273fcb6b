"""Faults of `companion.seeding`."""

from faults import Fault

SEEDING = "companion/seeding.py"


def seeding(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_seeding.py::test_{test}",)


FAULTS = [
    Fault(
        "a seed changes the global state",
        SEEDING,
        "enabled=seed is not None",
        "enabled=False",
        seeding("the_global_generator_goes_on_as_if_nothing_had_been_drawn"),
    ),
    Fault(
        "every seed is the same seed",
        SEEDING,
        "torch.Generator().manual_seed(seed).get_state()",
        "torch.Generator().manual_seed(0).get_state()",
        seeding("one_seed_gives_one_sequence_of_draws_and_another_seed_another"),
    ),
    Fault(
        "draws without a seed leave no trace",
        SEEDING,
        "enabled=seed is not None",
        "enabled=True",
        seeding("no_seed_draws_from_the_global_generator"),
    ),
]
