"""Faults of what is still missing: names of topics, ratings under questions, counts, advice, files, plans."""

from faults import Fault

BUILT = "_build/html/_static/js/"
EXTENSION = "book/extensions/practice_progress.py"
TOPICS = "companion/topics.py"


def names(test: str) -> tuple[str, ...]:
    return (f"tests/notebooks/test_topics.py::test_{test}",)


def built(test: str) -> tuple[str, ...]:
    return (f"tests/notebooks/test_practice_progress.py::test_{test}",)


def site(test: str) -> tuple[str, ...]:
    return (f"tests/site/test_progress.py::test_{test}",)


RATED = site("a_question_is_rated_by_keyboard_and_the_mock_interview_and_the_index_know_it")
COUNTED = site("the_page_counts_advises_and_lists_what_is_missing")
BACK = site("after_coming_back_controls_and_content_agree")
DRILLS = site("drills_come_from_the_file_of_the_notebooks_and_stay_solved")

FAULTS = [
    # names
    Fault(
        "two topics have one name",
        TOPICS,
        '"training": "Training",',
        '"training": "Inference",',
        names("names_differ_and_a_topic_that_the_book_does_not_have_is_named_by_its_key"),
    ),
    Fault(
        "the list of drills shows keys",
        "book/exercises.ipynb",
        tests=names("the_list_of_drills_shows_names"),
        edit=lambda text: text.replace("| Residuals, norms, feed-forward |", "| add norm |"),
    ),
    Fault(
        "the interview in a notebook asks under a key",
        "companion/widgets/mock_interview.py",
        "about = f\"{topic_title(question['topic'])}, ",
        "about = f\"{question['topic']}, ",
        names("the_interview_in_a_notebook_offers_asks_and_reports_by_name"),
    ),
    Fault(
        "a card shows the key of its topic",
        "book/extensions/cards.py",
        "{topic_title(question.topic)} ·",
        "{question.topic} ·",
        names("cards_show_the_name_and_are_tagged_with_the_key"),
    ),
    # the page as it is built
    Fault(
        "the hard pieces come first",
        EXTENSION,
        "kinds.index(one.kind), one.order)",
        "kinds.index(one.kind), -one.order)",
        built("the_lists_hold_each_piece_once_the_easy_ones_first_and_no_link_in_a_link"),
    ),
    Fault(
        "a link stands in a link",
        "book/extensions/questions_index.py",
        "        link.replace_self(link.children)\n",
        "        pass\n",
        built("the_lists_hold_each_piece_once_the_easy_ones_first_and_no_link_in_a_link"),
        reason=r"NotImplementedError|assert",
    ),
    Fault(
        "the table counts the pieces of all topics in each row",
        EXTENSION,
        "if (one.topic, one.kind) == (topic, kind)]",
        "if one.kind == kind]",
        built("the_table_counts_each_kind_of_each_topic_and_links_to_it"),
    ),
    Fault(
        "a drill of an unknown topic is let through",
        "book/extensions/drills.py",
        'if row["topic"] not in TOPICS or row["tier"] not in TIERS:',
        'if row["tier"] not in TIERS:',
        built("a_file_of_drills_that_breaks_a_rule_is_refused"),
        reason=r"Failed: DID NOT RAISE|assert|ValueError",
    ),
    Fault(
        "a drill may stand twice",
        "book/extensions/drills.py",
        "    if doubled:\n",
        "    if doubled and not names:\n",
        built("a_file_of_drills_that_breaks_a_rule_is_refused"),
        reason=r"Failed: DID NOT RAISE",
    ),
    Fault(
        "the hard drills of a topic stand first",
        "book/extensions/drills.py",
        "(order.index(drill.topic), drill.tier)",
        "(order.index(drill.topic), -drill.tier)",
        built("drills_come_by_topic_and_in_a_topic_by_tier"),
    ),
    Fault(
        "the file of drills is stale",
        "book/drills.json",
        '{"name": "rnn-steps", ',
        '{"name": "rnn-step", ',
        built("the_file_of_drills_is_that_of_the_package"),
    ),
    # the scripts
    Fault(
        "a rating under a question forgets those of the follow-ups",
        BUILT + "practice.js",
        "...(ratings().get(name)?.row.slice(1) ?? [])",
        "...[]",
        RATED,
    ),
    Fault(
        "a rating under a question forgets what else the mock interview keeps",
        BUILT + "practice.js",
        "{ ...section, ratings: Object.fromEntries(all) }",
        "{ ratings: Object.fromEntries(all) }",
        RATED,
    ),
    Fault(
        "a bad follow-up leaves a question good",
        BUILT + "practice.js",
        'return entry.row.some(isWeak) ? "weak" : "good";',
        'return isWeak(entry.row[0]) ? "weak" : "good";',
        COUNTED,
    ),
    Fault(
        "a mark stays when another tab erased everything",
        BUILT + "practice.js",
        'addEventListener("storage", call);',
        "",
        RATED,
    ),
    Fault(
        "a rating that is taken back takes the focus along",
        BUILT + "question-rating.js",
        "inputs[0].focus();",
        "",
        RATED,
    ),
    Fault(
        "the index does not filter by rating",
        BUILT + "questions.js",
        " && (!rating || state(entry) === rating)",
        "",
        RATED,
    ),
    Fault(
        "a question at random is the first",
        BUILT + "questions.js",
        "shown[Math.floor(Math.random() * shown.length)]",
        "shown[0]",
        site("a_question_at_random_may_be_any_of_those_that_fit"),
    ),
    Fault(
        "the next topic is the one with most done",
        BUILT + "progress.js",
        "share(topic) < share(least)",
        "share(topic) > share(least)",
        COUNTED,
    ),
    Fault(
        "what went wrong waits for what was not tried",
        BUILT + "progress.js",
        "topic.pieces.find((one) => one.wrong) ?? topic",
        "topic",
        COUNTED,
    ),
    Fault(
        "what is done stays in the list",
        BUILT + "progress.js",
        "one.row.hidden = one.done && !all.checked;",
        "one.row.hidden = false;",
        COUNTED,
    ),
    Fault(
        "an import takes back a drill that was solved",
        BUILT + "practice.js",
        'for (const name of entries(solved, dated).keys()) found.set(name, "solved");',
        'for (const name of entries(solved, dated).keys()) if (!found.has(name)) found.set(name, "solved");',
        DRILLS,
    ),
    Fault(
        "a file of drills with an unknown state is taken",
        BUILT + "progress-file.js",
        " || !Object.values(states).every((state) => STATES.includes(state))",
        "",
        DRILLS,
    ),
    Fault(
        "a drill that the book does not have is kept",
        BUILT + "progress-file.js",
        "if (!known(name)) {",
        "if (false) {",
        DRILLS,
    ),
    Fault(
        "a step that is ticked still counts as time left",
        BUILT + "plans.js",
        "const minutes = open.reduce(",
        "const minutes = steps.reduce(",
        site("steps_of_a_plan_are_ticked_and_what_is_left_is_counted"),
    ),
    Fault(
        "after coming back a step that was erased is still ticked",
        BUILT + "practice.js",
        'addEventListener("pageshow", () => call());',
        "",
        BACK,
    ),
    Fault(
        "after coming back the quiz shows other items than its menus say",
        BUILT + "quiz.js",
        "if (!persisted && !practice.hidden",
        "if (persisted && !practice.hidden",
        BACK,
    ),
    Fault(
        "after coming back the form of the mock interview counts other questions than it would draw",
        BUILT + "mock.js",
        "addEventListener(event, () => recount());",
        "void event;",
        BACK,
    ),
    Fault(
        "the last coding round is not told",
        BUILT + "progress.js",
        ', ...lastOf(coding, "coding round", "drills", "drill")',
        "",
        COUNTED,
    ),
    Fault(
        "the topics of the count table scroll away",
        "_build/html/_static/css/questions.css",
        "position: sticky;",
        "",
        site("axe_finds_nothing_and_nothing_sticks_out"),
    ),
]
