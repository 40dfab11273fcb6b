"""Faults of the file of questions and of the flash cards made from it."""

from faults import Fault

QUESTIONS = "book/extensions/questions.py"
PLAIN = "book/extensions/plain_text.py"
HTML = "book/extensions/card_html.py"
CARDS = "book/extensions/cards.py"
PAGE = "book/extensions/cards_page.py"
LATE = r"^(AssertionError|assert |Failed: DID NOT RAISE|.*Error)"


def file(*names: str) -> tuple[str, ...]:
    return tuple(f"tests/notebooks/test_question_file.py::test_{name}" for name in names)


def cards(*names: str) -> tuple[str, ...]:
    return tuple(f"tests/notebooks/test_cards.py::test_{name}" for name in names)


def page(*names: str) -> tuple[str, ...]:
    return tuple(f"tests/notebooks/test_practice_pages.py::test_{name}" for name in names)


FAULTS = [
    # the file of questions
    Fault(
        "the book is read in the order of the alphabet",
        QUESTIONS,
        'for match in _NOTEBOOK.finditer(toc.read_text("utf8")):',
        'for match in sorted(_NOTEBOOK.finditer(toc.read_text("utf8")), key=lambda found: found["path"]):',
        file("a_book_is_read_in_the_order_of_its_table_of_contents"),
    ),
    Fault(
        "two chapters may have a question of one name",
        QUESTIONS,
        "if question.name in homes:",
        "if question.name in homes and question.chapter == homes[question.name]:",
        file("two_chapters_with_a_question_of_one_name_are_refused"),
    ),
    Fault(
        "a question in the file is not that of its notebook",
        "book/questions.json",
        '"name": "q-derive-sdpa",\n   "question": "Derive',
        '"name": "q-derive-sdpa",\n   "question": "Derive  ',
        file("the_file_is_what_the_notebooks_give"),
    ),
    Fault(
        "citations of three authors name the first two",
        PLAIN,
        tests=file(
            "the_file_is_what_the_notebooks_give", "citations_and_references_become_the_words_that_the_page_shows"
        ),
        edit=lambda text: text.replace("if len(people) > 2 else", "if len(people) > 3 else"),
    ),
    Fault(
        "a role in a block of code becomes words",
        PLAIN,
        "for code in _CODE.finditer(text):",
        'for code in _CODE.finditer(""):',
        file("a_role_becomes_words_and_code_and_formulas_stay"),
    ),
    Fault(
        "check writes the file",
        "scripts/make_questions.py",
        "    if check:\n        raise",
        "    if check and not path.exists():\n        raise",
        file("a_file_that_is_not_fresh_is_refused_by_check_and_left_alone"),
    ),
    Fault(
        "the wheel lacks the questions",
        "pyproject.toml",
        '"book/questions.json" = "companion/questions.json"\n',
        "",
        file("the_wheel_carries_the_file"),
        reason=LATE,
    ),
    # the cards
    Fault(
        "the deck has the time at which it was made",
        CARDS,
        "edition, itertools.count(FIRST_ID)",
        "__import__('time').time(), itertools.count(FIRST_ID)",
        cards("a_later_edition_says_so_in_each_note"),
    ),
    Fault(
        "the zip file has the time at which it was made",
        CARDS,
        tests=cards("two_runs_give_the_same_bytes"),
        edit=lambda text: text.replace(
            "entry = zipfile.ZipInfo(name)", "entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 2 * next(_CLOCK)))"
        ).replace("_STYLE =", "_CLOCK = itertools.count()\n_STYLE =", 1),
    ),
    Fault(
        "a note is known by its text",
        CARDS,
        "return genanki.guid_for(NAME, self.name)",
        "return genanki.guid_for(NAME, self.name, *self.fields)",
        cards("the_name_of_a_question_decides_its_guid_and_nothing_else"),
    ),
    Fault(
        "the last follow-up has no card",
        CARDS,
        "for number, (further, answer) in enumerate(question.follow_ups, 1)",
        "for number, (further, answer) in enumerate(question.follow_ups[:-1], 1)",
        cards("the_deck_holds_each_question_and_each_follow_up_as_a_note_with_one_card"),
    ),
    Fault(
        "follow-ups lie in the main deck",
        CARDS,
        "(_FOLLOW_UP, decks[1])",
        "(_FOLLOW_UP, decks[0])",
        cards("the_deck_holds_each_question_and_each_follow_up_as_a_note_with_one_card"),
    ),
    Fault(
        "the front shows the short answer",
        CARDS,
        '\'<div class="asked">{{Question}}</div>\',\n            "afmt": \'{{FrontSide}}\\n<hr id="answer">\\n<h2',
        '\'{{Question}}{{Short}}\',\n            "afmt": \'{{FrontSide}}\\n<hr id="answer">\\n<h2',
        cards("the_front_does_not_give_the_answer_away_and_the_back_has_every_field"),
    ),
    Fault(
        "the back leaves out the common wrong answer",
        CARDS,
        '<h2>Common wrong answer</h2>\\n{{Mistake}}",',
        '",',
        cards("the_front_does_not_give_the_answer_away_and_the_back_has_every_field"),
    ),
    Fault(
        "a card has no tag for its level",
        CARDS,
        'f"level::{self.level}-{LEVELS[self.level]}", ',
        "",
        cards("tags_are_kind_level_and_topic"),
    ),
    Fault(
        "the table has another back than the deck",
        CARDS,
        '"Common wrong answer": mistake}',
        '"Common wrong answer": short}',
        cards("the_table_holds_the_cards_of_the_deck"),
    ),
    Fault(
        "a formula is not escaped",
        HTML,
        "return escapeHtml(token.content.strip())",
        "return token.content.strip()",
        cards("markdown_becomes_what_anki_shows"),
    ),
    Fault(
        "a formula in a line stays between dollars",
        HTML,
        r'lambda token: rf"\({_escaped(token)}\)"',
        r'lambda token: f"${_escaped(token)}$"',
        cards("every_formula_of_a_question_arrives_balanced"),
    ),
    Fault(
        "a directive of the site gets onto a card",
        HTML,
        'if info.startswith("{") and not block:',
        "if False:",
        cards("what_a_card_cannot_show_is_refused"),
    ),
    Fault(
        "a role gets onto a card",
        HTML,
        "    if left:\n",
        '    if left and left[0].endswith(":::"):\n',
        cards("what_a_card_cannot_show_is_refused"),
    ),
    Fault(
        "the page counts follow-ups as questions",
        CARDS,
        '"questions": len(made) - further',
        '"questions": len(made)',
        page("the_page_of_the_cards_counts_them_and_offers_both_files"),
    ),
    Fault(
        "the links of the page lead nowhere",
        PAGE,
        'up = "../" * self.env.docname.count("/")',
        'up = ""',
        page("the_page_of_the_cards_counts_them_and_offers_both_files"),
        reason=LATE,
    ),
    Fault(
        "the table is not written beside the pages",
        PAGE,
        "        (folder / name).write_bytes(data)\n",
        '        (folder / name).write_bytes(data if name.endswith("apkg") else b"")\n',
        page("the_page_of_the_cards_counts_them_and_offers_both_files"),
    ),
    Fault(
        "a card answers in one word",
        CARDS,
        "    if short:\n",
        "    if short and not questions:\n",
        cards("answers_of_a_few_words_are_refused_all_in_one_message"),
    ),
    Fault(
        "the answers of follow-ups may be short",
        CARDS,
        "answers |= {f",
        "dict() | {f",
        cards("answers_of_a_few_words_are_refused_all_in_one_message"),
    ),
    Fault(
        "the topic on a card is the name of its file",
        CARDS,
        'card_line(f"{topic_title(question.topic)} ·',
        'card_line(f"{question.topic} ·',
        cards("the_topic_on_a_card_has_the_title_of_the_index"),
    ),
]
