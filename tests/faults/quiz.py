"""Faults of the quiz: in what reads its items, in the items, in their page, and in the scripts of the built page."""

from faults import Fault

READER = "book/extensions/quiz.py"
PAGE = "book/extensions/quiz_page.py"
ATTENTION = "book/quiz/attention.yml"
SCRIPTS = "_build/html/_static/js/"
STYLE = "_build/html/_static/css/quiz.css"


def items(test: str) -> tuple[str, ...]:
    return (f"tests/notebooks/test_quiz.py::test_{test}",)


def page(test: str) -> tuple[str, ...]:
    return (f"tests/notebooks/test_extensions.py::test_{test}",)


def browser(test: str) -> tuple[str, ...]:
    return (f"tests/site/test_quiz.py::test_{test}",)


def progress(test: str) -> tuple[str, ...]:
    return (f"tests/site/test_progress.py::test_{test}",)


FAULTS = [
    Fault(
        "an item of the quiz may have two right options",
        READER,
        "if not several and marked != 1:",
        "if not several and marked < 1:",
        items("what_breaks_a_rule_is_refused_with_its_place"),
    ),
    Fault(
        "a key that stands twice in an item is dropped",
        READER,
        "if keys.count(key.value) > 1:",
        "if keys.count(key.value) > 2:",
        items("what_breaks_a_rule_is_refused_with_its_place"),
    ),
    Fault(
        "a known wrong number may count as right",
        READER,
        "rel_tol=max(2 * within, 1e-9)",
        "rel_tol=1e-9",
        items("what_breaks_a_rule_is_refused_with_its_place"),
    ),
    Fault(
        "a repair may mend a line that is not at fault",
        READER,
        'if repair["line"] != right:',
        'if repair["line"] is None:',
        items("what_breaks_a_rule_is_refused_with_its_place"),
    ),
    Fault(
        "two items may have one id",
        READER,
        "if item.id in seen:",
        "if item.id in {}:",
        items("what_breaks_a_rule_is_refused_with_its_place"),
    ),
    Fault(
        "an item may link to an equation, whose link is a bare number",
        READER,
        'r"(?!eq-)[A-Za-z0-9]',
        'r"[A-Za-z0-9]',
        items("what_breaks_a_rule_is_refused_with_its_place"),
    ),
    Fault(
        "the repaired listing keeps the line at fault",
        READER,
        "*lines[number:]]",
        "*lines[number - 1 :]]",
        items("a_repair_takes_the_place_of_the_line_at_fault"),
    ),
    Fault(
        "the topics of the quiz stand in the order of the alphabet",
        READER,
        "(order.get(path.stem, len(order)), path.stem)",
        "path.stem",
        items("topics_come_in_the_order_of_the_book"),
    ),
    Fault(
        "the key of an item is not what its expression gives",
        ATTENTION,
        "key: 96\n",
        "key: 97\n",
        items("each_number_is_what_its_expression_gives"),
    ),
    Fault(
        "a wrong number is not what its error gives",
        ATTENTION,
        "key: 2980.96\n",
        "key: 2890.96\n",
        items("each_number_is_what_its_expression_gives"),
    ),
    Fault(
        "a repair does not repair the listing",
        ATTENTION,
        'repair: {line: 6, text: "    weights = scores.softmax(dim=-1)"}',
        'repair: {line: 6, text: "    weights = scores.softmax(dim=1)"}',
        items("a_listing_shows_its_fault_and_the_repair_removes_it"),
    ),
    Fault(
        "a listing has no fault to find",
        ATTENTION,
        "tril(diagonal=1)",
        "tril(diagonal=0)",
        items("a_listing_shows_its_fault_and_the_repair_removes_it"),
    ),
    Fault(
        "an item links to a label that is not there",
        ATTENTION,
        "link: sec-attention-masks\n",
        "link: sec-attention-mask\n",
        items("each_link_names_a_label_of_the_book"),
    ),
    Fault(
        "two items give one reason",
        ATTENTION,
        "This is the weight itself.",
        "You divided by $d_k$, not by its square root.",
        items("no_reason_stands_twice"),
    ),
    Fault(
        "the folded answer marks the wrong options as right",
        PAGE,
        '"Right." if right else "Not right."',
        '"Not right." if right else "Right."',
        page("the_quiz_is_a_list_with_folded_answers"),
    ),
    Fault(
        "a link to a claim that is wrong reads as a fact",
        PAGE,
        "text = self.claims.get(item.link)",
        "text = None",
        page("the_quiz_is_a_list_with_folded_answers"),
    ),
    Fault(
        "every page loads the scripts of the quiz",
        PAGE,
        'if doctree is not None and any("quiz-desk"',
        'if doctree is None or True or any("quiz-desk"',
        page("the_quiz_is_a_list_with_folded_answers"),
    ),
    Fault(
        "the static list of steps is in the right order",
        PAGE,
        "return mixed if mixed != placed else",
        "return placed if mixed != placed else",
        page("the_quiz_is_a_list_with_folded_answers"),
    ),
    Fault(
        "some orders of the options are likelier than others",
        SCRIPTS + "quiz-logic.js",
        "below(draw, last + 1)",
        "below(draw, mixed.length)",
        browser("every_order_is_as_likely_and_a_seed_gives_one"),
    ),
    Fault(
        "a decimal comma is not read",
        SCRIPTS + "quiz-logic.js",
        '.replace(/(\\d),(\\d)/g, "$1.$2")',
        "",
        browser("numbers_are_read_as_readers_write_them"),
    ),
    Fault(
        "a number is right within twice its tolerance",
        SCRIPTS + "quiz-logic.js",
        "Math.max(within, 1e-9) * Math.abs(key)",
        "Math.max(2 * within, 1e-9) * Math.abs(key)",
        browser("a_key_is_met_within_its_tolerance_and_no_further"),
    ),
    Fault(
        "a wrong number is not traced to its error",
        SCRIPTS + "quiz-item.js",
        "quiz.isNear(typed.value, one.key, within)",
        "quiz.isNear(typed.value, key, within)",
        browser("a_wrong_number_is_met_with_its_error"),
    ),
    Fault(
        "a step that moves takes the focus with it into nowhere",
        SCRIPTS + "quiz-item.js",
        "(delta < 0 ? row.up : row.down).focus();",
        "document.activeElement.blur();",
        browser("steps_move_by_keyboard_and_are_announced"),
    ),
    Fault(
        "a step moves in silence",
        SCRIPTS + "quiz-item.js",
        "item.say(`${row.text} is now ${to + 1} of ${now.length}.`);",
        "",
        browser("steps_move_by_keyboard_and_are_announced"),
    ),
    Fault(
        "the exam lets the reader check an item",
        SCRIPTS + "quiz-item.js",
        'buttons.hidden = mode !== "practice";',
        "buttons.hidden = false;",
        browser("an_exam_keeps_quiet_and_gives_a_result_by_topic"),
    ),
    Fault(
        "the clock speaks every second",
        SCRIPTS + "quiz-exam.js",
        "if (passed) said.textContent = `${minutesText(passed)} left.`;",
        "said.textContent = `${now} seconds left.`;",
        browser("the_clock_can_be_hidden_and_speaks_twice"),
    ),
    Fault(
        "a reload gives an exam other orders of options",
        SCRIPTS + "quiz-exam.js",
        "item.reset(exam.seed);",
        "item.reset(quiz.freshSeed());",
        browser("a_reload_goes_on_with_the_same_exam"),
    ),
    Fault(
        "a reload of a result counts as another try",
        SCRIPTS + "quiz-exam.js",
        "if (exam.ended) {",
        "if (!exam) {",
        browser("a_reload_goes_on_with_the_same_exam"),
    ),
    Fault(
        "a damaged file is imported in part",
        SCRIPTS + "store.js",
        "if (!NAME.test(name) || !plain(value)) {",
        "if (!NAME.test(name) || !plain(value)) continue;\n      if (false) {",
        progress("a_file_that_is_not_ours_changes_nothing"),
    ),
    Fault(
        "what was erased is still stored",
        SCRIPTS + "store.js",
        "window.localStorage.removeItem(KEY);",
        "",
        progress("progress_goes_out_to_a_file_and_comes_back"),
    ),
    Fault(
        "a refused store counts as one that works",
        SCRIPTS + "store.js",
        "let available = works();",
        "let available = true;",
        browser("it_works_where_storage_is_refused_and_says_so"),
    ),
    Fault(
        "what an item's reader did before is too pale to read",
        STYLE,
        ".quiz-past { color: var(--pst-color-text-muted);",
        ".quiz-past { color: #bbb;",
        browser("axe_finds_nothing_and_nothing_sticks_out_in_any_state[light-360]"),
    ),
    Fault(
        "an option that was rightly left is marked as an error",
        SCRIPTS + "quiz-item.js",
        "(value ? taken === row.right : row.right)",
        "row.right",
        browser("the_feedback_judges_each_decision_in_words_sign_and_colour"),
    ),
    Fault(
        "a rounded number counts as an error that nobody knows",
        SCRIPTS + "quiz-item.js",
        "if (digits) return",
        "if (false) return",
        browser("a_number_with_too_few_digits_is_told_so_and_is_no_try"),
    ),
    Fault(
        "an import puts an older entry in the place of a newer one",
        SCRIPTS + "store.js",
        "value.at > own.at && alike(own, value)",
        "alike(own, value)",
        progress("an_import_keeps_the_newer_of_two_entries_and_counts_both"),
    ),
    Fault(
        "the focus is lost when a result is closed",
        SCRIPTS + "quiz.js",
        "tabs.exam.focus();",
        "",
        browser("an_exam_keeps_quiet_and_gives_a_result_by_topic"),
    ),
    Fault(
        "a closed result is gone",
        SCRIPTS + "quiz-exam.js",
        "quiz.writeLast(exam);",
        "",
        browser("the_last_result_stays_until_the_next_exam_or_erase"),
        reason=r"^(AssertionError|assert |.*TimeoutError)",
    ),
    Fault(
        "a topic taken away and put back leaves an exam of one item",
        SCRIPTS + "quiz-exam.js",
        "Math.min(Number(wanted), most)",
        "Math.min(Number(number.value), 1)",
        browser("all_topics_or_none_are_chosen_by_keyboard"),
    ),
    Fault(
        "a button lies on the options of a narrow screen",
        STYLE,
        "#pst-back-to-top { display: none !important; }",
        "#pst-back-to-top { opacity: 1; }",
        browser("nothing_lies_on_the_options_of_a_narrow_screen"),
    ),
]
