"""Faults of the text of the questions: numbers that nobody computed, and words that point at the page."""

from faults import Fault

COVERAGE = "tests/notebooks/test_question_coverage.py"
TEXTS = "tests/notebooks/test_question_texts.py"


def numbers(chapter: str) -> tuple[str, ...]:
    return (f"{COVERAGE}::test_numbers_in_answers_were_computed_or_are_cited[{chapter}]",)


def pointing(chapter: str) -> tuple[str, ...]:
    return (f"{TEXTS}::test_no_question_points_at_what_only_its_page_shows[{chapter}]",)


def reasons(chapter: str) -> tuple[str, ...]:
    return (f"{TEXTS}::test_an_answer_to_a_follow_up_gives_a_reason[{chapter}]",)


FAULTS = [
    Fault(
        "a follow-up holds a number that no cell prints",
        "book/architecture.ipynb",
        "18.9 of the",
        "19.8 of the",
        numbers("architecture"),
    ),
    Fault(
        "a common mistake holds a number that no cell prints",
        "book/questions-variants.ipynb",
        "would be 50,176 tokens",
        "would be 50,167 tokens",
        numbers("questions-variants"),
    ),
    Fault(
        "a number of a follow-up loses its source",
        "book/multi-head.ipynb",
        "of {cite:t}`vaswani2017attention`: 24.9 BLEU",
        "of the paper: 24.9 BLEU",
        numbers("multi-head"),
    ),
    Fault(
        "a size that was computed stands where a format stood",
        "book/questions-inference.ipynb",
        "in 2 bytes. Tiled",
        "in 517 bytes. Tiled",
        numbers("questions-inference"),
    ),
    Fault(
        "an answer points at its chapter",
        "book/attention.ipynb",
        "Measured, with random queries",
        "Measured in this chapter, with random queries",
        pointing("attention"),
    ),
    Fault(
        "an answer points at the cell above it",
        "book/questions-inference.ipynb",
        "Run in float64, the merge agrees",
        "The cell above agrees",
        pointing("questions-inference"),
    ),
    Fault(
        "a follow-up points at the next question",
        "book/architecture.ipynb",
        "Then source padding: a mask",
        "Then source padding, see the next question: a mask",
        pointing("architecture"),
    ),
    Fault(
        "a follow-up is answered without a reason",
        "book/multi-head.ipynb",
        "No: both cuts give $(b, h, t, d_k)$.",
        "No.",
        reasons("multi-head"),
    ),
]
