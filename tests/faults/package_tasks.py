"""Faults of `companion/tasks.py`."""

from faults import Fault

TASKS = "companion/tasks.py"


def tasks(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_tasks.py::test_{test}",)


FAULTS = [
    Fault(
        "training and test share a sentence",
        TASKS,
        "order[train : train + test]",
        "order[train - 1 : train + test - 1]",
        tasks("the_split_covers_the_grammar_without_overlap"),
    ),
    Fault(
        "the seed of a task is ignored",
        TASKS,
        "manual_seed(seed)",
        "manual_seed(0)",
        tasks("the_seed_decides_the_draw"),
    ),
    Fault(
        "an article does not agree with its noun",
        TASKS,
        "ARTICLES[article][gender]",
        "ARTICLES[article][0]",
        tasks("articles_and_adjectives_agree_with_their_noun"),
    ),
    Fault(
        "the adjective's place is not that of French in the alignment",
        TASKS,
        "return [start, end - 1, *range(start + 1, end - 1)]",
        "return [*range(start, end)]",
        tasks("the_alignment_names_the_translated_word"),
    ),
    Fault(
        "short sentences are padded at the front",
        TASKS,
        "[number[word] for word in sentence] + [0] * (length - len(sentence)) for",
        "[0] * (length - len(sentence)) + [number[word] for word in sentence] for",
        tasks("encoding_pads_with_zero_and_can_be_read_back"),
    ),
    Fault(
        "an unknown word is dropped without a word",
        TASKS,
        "    if unknown:\n",
        "    if False:\n",
        tasks("an_unknown_word_is_named"),
        reason=r"KeyError|AssertionError|Failed: DID NOT RAISE",
    ),
]
