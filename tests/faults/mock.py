"""Faults of the mock interview, on the page and in the notebook, and of live labs."""

from faults import Fault

WIDGET = "companion/widgets/mock_interview.py"
LISTS = "book/extensions/mock_page.py"
LAB = "book/extensions/live_lab.py"
NOTEBOOKS = "scripts/make_notebooks.py"
BUILT = "_build/html/_static/js/mock.js"
PARTS = "_build/html/_static/js/mock-parts.js"
KEPT = "_build/html/_static/js/mock-kept.js"
HISTORY = "_build/html/_static/js/mock-history.js"
HOLD = "_build/html/_static/js/mock-hold.js"
REPORT = "_build/html/_static/js/mock-report.js"
CODING = "_build/html/_static/js/mock-coding.js"
LATE = r"^(AssertionError|assert |Failed: DID NOT RAISE|.*Error)"


def unit(*names: str) -> tuple[str, ...]:
    return tuple(f"tests/unit/test_mock_interview.py::test_{name}" for name in names)


def page(*names: str) -> tuple[str, ...]:
    return tuple(f"tests/notebooks/test_practice_pages.py::test_{name}" for name in names)


def site(*names: str) -> tuple[str, ...]:
    return tuple(f"tests/site/test_mock_interview.py::test_{name}" for name in names)


def rounds(*names: str) -> tuple[str, ...]:
    return tuple(f"tests/site/test_mock_rounds.py::test_{name}" for name in names)


FAULTS = [
    # the widget
    Fault(
        "the seed does not decide the draw",
        WIDGET,
        "random.Random(seed).sample",
        "random.Random(0).sample",
        unit("the_same_seed_draws_the_same_questions_and_none_twice"),
    ),
    Fault(
        "a filter is passed over",
        WIDGET,
        '("level", levels), ("kind", kinds)):',
        '("level", levels), ("kind", None)):',
        unit("filters_leave_only_what_fits"),
    ),
    Fault(
        "an unknown topic draws nothing and does not say so",
        WIDGET,
        "        if unknown:\n",
        '        if unknown and field == "level":\n',
        unit("a_draw_that_cannot_be_made_is_refused"),
    ),
    Fault(
        "the follow-ups come before their question",
        WIDGET,
        'for at in range(-1, len(question["follow_ups"]))]',
        'for at in (*range(len(question["follow_ups"])), -1)]',
        unit("each_question_is_followed_by_its_follow_ups_in_order"),
    ),
    Fault(
        "the whiteboard answer replaces the short one",
        WIDGET,
        ", after=self.answers.outputs)",
        ")",
        unit("the_answer_is_shown_step_by_step_and_then_can_be_rated"),
    ),
    Fault(
        "a question can be rated before its answer is shown",
        WIDGET,
        'control.layout.display = None if self.shown else "none"',
        "control.layout.display = None",
        unit("the_answer_is_shown_step_by_step_and_then_can_be_rated"),
    ),
    Fault(
        "the rating of the question before is still chosen",
        WIDGET,
        "self.shown, self.rating.value, self.message.value = 0, None, ",
        "self.shown, _, self.message.value = 0, None, ",
        unit("the_answer_is_shown_step_by_step_and_then_can_be_rated"),
    ),
    Fault(
        "a rating of one counts as known in the notebook",
        WIDGET,
        "WEAK = 1  #",
        "WEAK = 0  #",
        unit("a_rating_of_one_is_to_be_repeated_and_a_rating_of_two_is_not"),
    ),
    Fault(
        "the average counts skipped ratings",
        WIDGET,
        "for _, rating in found) / len(found)",
        "for _, rating in found) / (len(found) + 1)",
        unit("the_report_averages_by_topic_and_kind_and_names_what_to_repeat"),
    ),
    Fault(
        "a second interview keeps the ratings of the first",
        WIDGET,
        "self.ratings, self.position = [], 0\n",
        "self.position = 0\n",
        unit("a_second_interview_begins_with_an_empty_report"),
    ),
    Fault(
        "a topic is shown as HTML",
        WIDGET,
        "({html.escape(about)})",
        "({about})",
        unit("what_a_question_holds_is_shown_as_text"),
    ),
    # live labs
    Fault(
        "the models of a live lab are stored",
        NOTEBOOKS,
        'output.get("data", {}).pop(WIDGET_VIEW, None)',
        "pass",
        page("of_a_live_lab_the_text_is_stored_and_no_model"),
    ),
    Fault(
        "a figure beside a live lab loses its models",
        NOTEBOOKS,
        "    if kept:\n",
        "    if False:\n",
        page("a_figure_beside_a_live_lab_keeps_its_models"),
        reason=LATE,
    ),
    Fault(
        "a live lab may stay on the page",
        LAB,
        'if any("cell_output" in part',
        'if False and any("cell_output" in part',
        page("a_live_lab_that_would_be_dead_on_the_page_is_a_warning"),
    ),
    Fault(
        "a live lab needs no text in its place",
        LAB,
        "if len(cells) != len(boxes):",
        "if len(cells) < len(boxes):",
        page("a_live_lab_that_would_be_dead_on_the_page_is_a_warning"),
    ),
    Fault(
        "the link to Colab leads to the page and not to the notebook",
        LAB,
        "blob/{branch}/{page}.ipynb",
        "blob/{branch}/{page}",
        page("a_live_lab_links_to_binder_and_colab_where_the_address_is_known"),
    ),
    # the lists
    Fault(
        "formulas are set when the page opens",
        LISTS,
        "re.sub(re.escape(_FORMULA), _WAITING, lists)",
        "lists",
        page("formulas_in_the_lists_wait_and_others_do_not"),
    ),
    Fault(
        "every page loads the script of the interview",
        LISTS,
        tests=page("only_the_page_of_the_interview_loads_its_scripts"),
        edit=lambda text: text.replace(
            '        return\n    before, lists, after = context["body"].split(MARK)\n',
            '        return app.add_js_file("js/mock.js", loading_method="defer") or '
            'app.add_js_file("js/store.js", loading_method="defer")\n'
            '    before, lists, after = context["body"].split(MARK)\n',
        ),
    ),
    Fault(
        "the whiteboard answer is left out of the lists",
        LISTS,
        '        box += self._titled("full", "On the whiteboard", question.full, where)\n',
        "",
        page("the_lists_hold_each_question_by_topic_in_the_order_of_the_index_the_easier_first"),
    ),
    Fault(
        "a question in the lists does not link to its chapter",
        LISTS,
        "for label in (question.name, *question.evidence):",
        "for label in question.evidence:",
        page("links_and_citations_in_the_lists_lead_to_their_pages"),
    ),
    # the built page
    Fault(
        "the timer runs on behind the answer",
        PARTS,
        "      stopped ||= performance.now();\n      clearInterval(running);\n",
        "",
        site("the_timer_can_be_hidden_and_stays_hidden"),
    ),
    Fault(
        "the follow-ups are asked in reverse",
        KEPT,
        "[-1, ...question.followUps.keys()]",
        "[-1, ...[...question.followUps.keys()].reverse()]",
        site("an_interview_asks_each_drawn_question_and_then_its_follow_ups_in_order"),
    ),
    Fault(
        "an answer that is not rated counts as 0",
        PARTS,
        "    if (chosen) return Number(chosen.value);\n",
        "    return Number(chosen?.value ?? 0);\n",
        site("without_a_rating_the_interview_asks_for_one"),
        reason=LATE,
    ),
    Fault(
        "a rating of one counts as known on the page",
        PARTS,
        "mock.WEAK = 1;",
        "mock.WEAK = 0;",
        site("ratings_are_kept_and_the_weak_ones_can_be_asked_again"),
    ),
    Fault(
        "what was kept is trusted",
        KEPT,
        "Array.isArray(row) && row.every(fits)",
        "Array.isArray(row)",
        site("what_was_kept_is_not_trusted"),
    ),
    Fault(
        "the focus stays on a button that is gone",
        PARTS,
        "    if (title) title.focus();\n",
        "",
        site("an_interview_works_by_keyboard_alone_and_fits"),
        reason=LATE,
    ),
    Fault(
        "formulas of an opened question stay as they were written",
        BUILT,
        'if (event.target.matches(".mock-question")) mock.typeset(event.target);',
        'if (event.target.matches(".mock-question")) return;',
        site("the_page_is_small_and_no_formula_is_set_before_its_question_is_shown"),
        reason=LATE,
    ),
    Fault(
        "the average is that of the last answers",
        PARTS,
        "rows.reduce((sum, row) => sum + row.rating, 0) / rows.length;",
        "rows.at(-1).rating;",
        site("the_report_counts_and_averages_by_topic_and_kind_and_names_what_to_repeat"),
    ),
    Fault(
        "an emptied number gives an interview of one question",
        BUILT,
        "const wanted = Number(number.value);",
        "const wanted = Number(number.value) || 1;",
        site("an_emptied_number_is_refused_with_a_sentence"),
        reason=LATE,
    ),
    Fault(
        "the button that takes all topics away says nothing",
        PARTS,
        'set.dispatchEvent(new Event("input", { bubbles: true }));',
        "",
        site("all_topics_or_none_are_chosen_by_keyboard"),
    ),
    Fault(
        "an interview that goes on has lost its ratings",
        BUILT,
        "hold(list, { pool, target }, index, done)",
        "hold(list, { pool, target }, index)",
        site("an_interview_survives_a_reload_and_can_be_discarded"),
    ),
    # target times, past interviews, the coding round
    Fault(
        "the time is told at every tick",
        PARTS,
        "      if (told >= part) return;\n",
        "",
        rounds("the_target_time_is_told_by_half_and_in_full_once_each_and_compared_in_the_report"),
    ),
    Fault(
        "a follow-up gets the time of its question",
        HOLD,
        "const FOLLOW_UP = 0.5;",
        "const FOLLOW_UP = 1;",
        rounds("the_target_time_is_told_by_half_and_in_full_once_each_and_compared_in_the_report"),
    ),
    Fault(
        "any target time is taken",
        BUILT,
        "if (bad) return { field };",
        "",
        rounds("the_target_time_is_told_by_half_and_in_full_once_each_and_compared_in_the_report"),
        reason=LATE,
    ),
    Fault(
        "three averages that rise are called a rise",
        HISTORY,
        "const RARE = 0.05;",
        "const RARE = 0.5;",
        rounds("a_rise_is_said_only_where_few_orders_are_as_one_sided"),
    ),
    Fault(
        "only orders that rise are counted",
        HISTORY,
        "asClear += Math.abs(sum) >= bound;",
        "asClear += sum >= bound;",
        rounds("a_rise_is_said_only_where_few_orders_are_as_one_sided"),
    ),
    Fault(
        "past interviews pile up",
        KEPT,
        ".slice(-MOST)",
        "",
        rounds("past_interviews_are_listed_the_newest_first_capped_and_merged_without_doubles"),
    ),
    Fault(
        "interviews on questions that are repeated are compared",
        HISTORY,
        'pool === "weak" || pool === "again"',
        'pool === "weak"',
        rounds("past_interviews_are_listed_the_newest_first_capped_and_merged_without_doubles"),
    ),
    Fault(
        "an interview without a rating is entered",
        REPORT,
        "    if (done.length) {\n      enter(done, given);\n",
        "    enter(done, given);\n    if (done.length) {\n",
        rounds("an_interview_without_a_rating_leaves_no_entry"),
        reason=LATE,
    ),
    Fault(
        "what is drawn is asked in the order of the draw",
        PARTS,
        ".sort((one, other) => one - other)",
        "",
        rounds("drawn_questions_keep_the_order_of_the_lists"),
    ),
    Fault(
        "the clock of a drill stops while the reader is away",
        CODING,
        "used + (Date.now() - Date.parse(at)) / 1000",
        "used",
        rounds("a_coding_round_is_drawn_timed_rated_resumed_and_reported_by_keyboard"),
    ),
    Fault(
        "a damaged coding round is offered",
        KEPT,
        "round: opened(kept.round) ? kept.round : null",
        "round: kept.round ?? null",
        rounds("what_was_kept_of_a_coding_round_is_not_trusted"),
        reason=LATE,
    ),
    Fault(
        "the questions of a topic are not put in the order of their levels",
        LISTS,
        "(order.index(question.topic), question.level)",
        "order.index(question.topic)",
        page("the_lists_hold_each_question_by_topic_in_the_order_of_the_index_the_easier_first"),
    ),
    Fault(
        "the widget asks in the order of the draw",
        WIDGET,
        'return sorted(drawn, key=lambda question: (topics.index(question["topic"]), question["level"]))',
        "return drawn",
        unit("what_is_drawn_keeps_the_order_of_topics_and_then_of_levels"),
    ),
    Fault(
        "the focus of the notebook is lost with the button",
        WIDGET,
        "        self.more_button.focus()  #",
        "        #",
        unit("the_focus_goes_to_the_button_that_comes_next"),
    ),
    Fault(
        "the report of the notebook names no page",
        WIDGET,
        "(book/{q['chapter']}.ipynb, {q['name']})",
        "({q['name']})",
        unit("the_report_averages_by_topic_and_kind_and_names_what_to_repeat"),
    ),
]
