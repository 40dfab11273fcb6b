"""Faults of the interview questions: numbers filled in, the index and its filter, what an answer must hold."""

import re

from faults import Fault

FILL = "scripts/answer_numbers.py"
ANSWERS = "companion/answers.py"
INDEX = "book/extensions/questions_index.py"
RULES = "book/extensions/questions.py"
FILTER = "_build/html/_static/js/questions.js*"
INFERENCE = "book/questions-inference.ipynb"
VARIANTS = "book/questions-variants.ipynb"


def unit(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_answers.py::test_{test}",)


def fill(test: str) -> tuple[str, ...]:
    return (f"tests/notebooks/test_answer_numbers.py::test_{test}",)


def index(test: str) -> tuple[str, ...]:
    return (f"tests/notebooks/test_question_index.py::test_{test}",)


def covered(test: str) -> tuple[str, ...]:
    return (f"tests/notebooks/test_question_coverage.py::test_{test}",)


def site(test: str) -> tuple[str, ...]:
    return (f"tests/site/test_question_index.py::test_{test}",)


def other_number(text: str) -> str:
    """Change a filled-in number in the answers, and leave the output that it came from."""
    return re.sub(r"(?<!= )130 MiB", "131 MiB", text)


FAULTS = [
    Fault(
        "a number of an answer is printed without its form",
        ANSWERS,
        'print(f"{name} = {text}")',
        'print(f"{name} = {value}")',
        unit("a_number_is_printed_under_its_name"),
    ),
    Fault(
        "a number that is not finite is let through",
        ANSWERS,
        " or not math.isfinite(value)",
        "",
        unit("what_is_no_number_of_an_answer_is_refused"),
    ),
    Fault(
        "a form that does not show the number is let through",
        ANSWERS,
        "if text == form or ",
        "if ",
        unit("what_is_no_number_of_an_answer_is_refused"),
    ),
    Fault(
        "a place that names no number is left as it is",
        FILL,
        "    if unknown:\n",
        "    if unknown and False:\n",
        fill("a_name_without_a_number_and_a_number_without_a_place_are_refused"),
    ),
    Fault(
        "a number that no text uses is let through",
        FILL,
        "    if idle:\n",
        "    if idle and False:\n",
        fill("a_name_without_a_number_and_a_number_without_a_place_are_refused"),
    ),
    Fault(
        "of two numbers with one name the last is taken",
        FILL,
        "    if twice:\n",
        "    if twice and False:\n",
        fill("a_name_without_a_number_and_a_number_without_a_place_are_refused"),
    ),
    Fault(
        "every printed equation is taken for a number of an answer",
        FILL,
        'cell["cell_type"] == "code" and _CALL in cell["source"]',
        'cell["cell_type"] == "code"',
        fill("only_cells_that_print_numbers_of_answers_are_read"),
    ),
    Fault(
        "the braces of code are filled in too",
        FILL,
        'if cell["cell_type"] == "markdown":',
        'if cell["cell_type"] in ("markdown", "code"):',
        fill("the_braces_of_code_are_left_alone"),
        reason=r"^(AssertionError|assert |.*ChapterError)",
    ),
    Fault(
        "questions are counted that have any of the words said",
        RULES,
        tests=index("questions_are_counted_by_all_words_said"),
        edit=lambda text: text.replace("return sum(wanted <= {", "return sum(bool(wanted & {").replace(
            "str(item.level)} for item in", "str(item.level)}) for item in"
        ),
    ),
    Fault(
        "the words of questions are counted as reading",
        RULES,
        'text = text.replace("\\n".join(lines), "", 1)',
        'text = text.replace("\\n".join(lines), "\\n".join(lines), 1)',
        index("words_are_counted_without_questions_and_code"),
    ),
    Fault(
        "a name that stands on two pages is let through",
        INDEX,
        "if item.name in names:",
        "if False:",
        index("what_cannot_be_counted_is_an_error_of_the_build"),
    ),
    Fault(
        "an unknown topic is let through",
        INDEX,
        "if item.topic not in TOPICS:",
        "if False:",
        index("what_cannot_be_counted_is_an_error_of_the_build"),
    ),
    Fault(
        "the hard questions of a topic stand first",
        INDEX,
        "key=lambda pair: pair[1].level)",
        "key=lambda pair: -pair[1].level)",
        index("each_question_is_an_entry_under_its_topic_the_basic_ones_first"),
    ),
    Fault(
        "the index does not depend on the chapters",
        INDEX,
        "        env.note_dependency(str(path))\n",
        "",
        index("the_index_is_made_again_when_a_chapter_changes"),
    ),
    Fault(
        "the filter is loaded on every page",
        INDEX,
        "in SCRIPTS.items() if name in boxes]",
        "in SCRIPTS.items()]",
        index("the_filter_is_loaded_on_the_page_of_the_index_only"),
    ),
    Fault(
        "minutes are rounded to the next lower five",
        INDEX,
        "5 * max(1, round(",
        "5 * max(1, int(",
        index("roles_count_questions_and_estimate_minutes"),
    ),
    Fault(
        "the time of some levels counts all of them",
        INDEX,
        'for level in levels or [""]',
        'for level in [""]',
        index("roles_count_questions_and_estimate_minutes"),
    ),
    Fault(
        "an answer holds a number that no cell printed",
        INFERENCE,
        edit=other_number,
        tests=covered("numbers_in_answers_were_computed_or_are_cited[questions-inference]"),
    ),
    Fault(
        "the stored answer is not what its source gives",
        INFERENCE,
        edit=other_number,
        tests=(
            "tests/notebooks/test_questions.py::test_source_and_notebook_hold_the_same_questions[questions-inference]",
        ),
    ),
    Fault(
        "the answer on limits does not say what is not specific to the architecture",
        VARIANTS,
        edit=lambda text: text.replace("hallucination,", "invention,"),
        tests=covered("each_question_of_the_documents_is_answered_with_all_its_points"),
    ),
    Fault(
        "a question stands twice in other words",
        INFERENCE,
        tests=covered("no_two_questions_are_nearly_the_same"),
        edit=lambda text: text.replace(
            "Write top-p filtering for a batch of logits. Where do implementations go wrong?",
            "What does activation checkpointing save, and what does it cost, for a 7B model on a text of 4,096?",
        ),
    ),
    Fault(
        "the filter leaves the entries that do not fit",
        FILTER,
        "one.entry.hidden = !fits;",
        "one.entry.hidden = false;",
        site("the_filter_works_by_keyboard_alone"),
    ),
    Fault(
        "the heading of an empty topic stays",
        FILTER,
        "group.box.hidden = here === 0;",
        "",
        site("the_filter_works_by_keyboard_alone"),
    ),
    Fault(
        "after all are shown the focus is lost",
        FILTER,
        "menus.topic.menu.focus();",
        "",
        site("the_filter_works_by_keyboard_alone"),
    ),
    Fault(
        "the number of questions shown is not announced",
        FILTER,
        'class: "question-said", role: "status"',
        'class: "question-said"',
        site("the_filter_has_names_and_announces_what_it_shows"),
    ),
    Fault(
        "kinds stand in another order than in the table",
        FILTER,
        '"concept", "derive", "compute", "code", "debug"',
        '"code", "compute", "concept", "debug", "derive"',
        site("levels_stand_in_their_order_and_an_empty_choice_says_so"),
    ),
    Fault(
        "levels stand in the order of the alphabet",
        FILTER,
        'level: ["Level", same(values("level"))]',
        'level: ["Level", same(values("level").sort())]',
        site("levels_stand_in_their_order_and_an_empty_choice_says_so"),
    ),
]
