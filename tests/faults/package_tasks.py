"""Faults of `companion.tasks`."""

from faults import Fault

SPLIT = "companion/tasks/split.py"
TEXT = "companion/tasks/text.py"
FRENCH = "companion/tasks/french.py"
SEQUENCE = "companion/tasks/sequence.py"
NUMBER = "companion/tasks/number.py"
DATE = "companion/tasks/date.py"
CHINESE = "companion/tasks/chinese.py"
GRAMMAR = "companion/tasks/grammar.py"
LEXICON = "companion/tasks/lexicon.py"
SUBWORD = "companion/tasks/subword.py"


def tasks(test: str, part: str = "") -> tuple[str, ...]:
    return (f"tests/unit/test_tasks{part and '_' + part}.py::test_{test}",)


def splits(test: str) -> tuple[str, ...]:
    return tasks(test, "splits")


def text(test: str) -> tuple[str, ...]:
    return tasks(test, "text")


def numbers(test: str) -> tuple[str, ...]:
    return tasks(test, "numbers")


def dates(test: str) -> tuple[str, ...]:
    return tasks(test, "dates")


def chinese(test: str) -> tuple[str, ...]:
    return tasks(test, "chinese")


ROUND_TRIP = text("what_is_encoded_is_decoded")
BY_HAND = numbers("a_number_is_written_as_in_the_table")
ONE_READING = dates("every_form_of_a_date_is_read_as_that_date_and_no_other")
LINKED = chinese("each_chinese_word_is_linked_to_the_words_that_it_translates")

FAULTS = [
    # The split
    Fault(
        "training and test share a sentence",
        SPLIT,
        "[items[i] for i in order[train : train + test]]",
        "[items[i] for i in order[train - 1 : train + test - 1]]",
        tasks("the_split_covers_the_grammar_without_overlap"),
    ),
    Fault(
        "the seed of a task is ignored",
        SPLIT,
        "generator=torch.Generator().manual_seed(seed)).tolist()",
        "generator=torch.Generator().manual_seed(0)).tolist()",
        tasks("the_seed_decides_the_draw"),
    ),
    Fault(
        "the same sequence is drawn twice",
        SPLIT,
        "rows: dict[Row, None] = {}  # a set that keeps the order\n    while len(rows) < count:\n",
        "return [tuple(int(torch.randint(r, (), generator=generator)) for r in radices) for _ in range(count)]\n"
        "    rows: dict[Row, None] = {}\n    while len(rows) < count:\n",
        splits("a_test_item_is_never_a_training_item"),
    ),
    Fault(
        "more items are given than exist",
        SPLIT,
        "if min(train, test) < 1 or train + test > existing:",
        "if min(train, test) < 1:",
        splits("all_that_exists_is_given_and_not_one_item_more"),
    ),
    Fault(
        "a short length gives as many sequences as a long one, though they run out",
        SPLIT,
        "given[family] = min(sizes[family], (total - sum(given)) // (len(sizes) - rank))",
        "given[family] = (total - sum(given)) // (len(sizes) - rank)",
        splits("shares_add_up_and_no_family_gives_more_than_it_has"),
    ),
    Fault(
        "the short sequences are all in the training part",
        SPLIT,
        "order = torch.randperm(len(items), generator=generator).tolist()",
        "order = list(range(len(items)))",
        splits("training_and_test_are_drawn_from_each_family_alike"),
    ),
    # English to French
    Fault(
        "an article does not agree with its noun",
        FRENCH,
        "ARTICLES[article][gender]",
        "ARTICLES[article][0]",
        tasks("articles_and_adjectives_agree_with_their_noun"),
    ),
    Fault(
        "the adjective's place is not that of French in the alignment",
        FRENCH,
        "return [start, end - 1, *range(start + 1, end - 1)]",
        "return [*range(start, end)]",
        tasks("the_alignment_names_the_translated_word"),
    ),
    # Tensors
    Fault(
        "short sentences are padded at the front",
        TEXT,
        "[number[word] for word in sentence] + [0] * (length - len(sentence)) for",
        "[0] * (length - len(sentence)) + [number[word] for word in sentence] for",
        tasks("encoding_pads_with_zero_and_can_be_read_back"),
    ),
    Fault(
        "an unknown word is dropped without a word",
        TEXT,
        "    if unknown:\n",
        "    if False:\n",
        tasks("an_unknown_word_is_named"),
        reason=r"KeyError|AssertionError|Failed: DID NOT RAISE",
    ),
    Fault(
        "a decoded sentence goes on behind its end",
        TEXT,
        "row = row[: row.index(END)] if END in row else row",
        "row = [word for word in row if word != END]",
        text("a_row_is_read_up_to_its_first_end"),
    ),
    Fault(
        "padding between words is overlooked",
        TEXT,
        "    while row and row[-1] == PAD:\n        row = row[:-1]\n",
        "    row = [word for word in row if word != PAD]\n",
        text("a_row_is_read_up_to_its_first_end"),
    ),
    Fault(
        "the length of a target leaves out START and END",
        TEXT,
        "torch.tensor([len(target) + 2 for",
        "torch.tensor([len(target) for",
        text("encoded_pairs_carry_their_lengths"),
    ),
    Fault(
        "a sentence matches if it has the right words in any order",
        TEXT,
        "right = sum(list(one) == list(other)",
        "right = sum(set(one) == set(other)",
        text("a_sentence_matches_only_if_every_word_does"),
    ),
    # Symbols
    Fault(
        "symbols are sorted as text",
        SEQUENCE,
        'return f"{i:0{len(str(count - 1))}}"',
        "return str(i)",
        tasks("a_sorted_sequence_rises_as_numbers_and_keeps_each_symbol", "sequences"),
    ),
    Fault(
        "a key stands twice in a list",
        SEQUENCE,
        "[letters.pop(place) for place in row[:pairs]]",
        "[letters[place] for place in row[:pairs]]",
        tasks("the_value_recalled_is_that_of_the_key_asked_for", "sequences"),
    ),
    Fault(
        "the value recalled is always the last",
        SEQUENCE,
        "[own[row[-1]]]",
        "[own[-1]]",
        tasks("the_value_recalled_is_that_of_the_key_asked_for", "sequences"),
    ),
    # Numbers
    Fault(
        "a gap before the last four digits has no zero word",
        NUMBER,
        '["零"] * (high > 0 and low < 1000) + _section(low)',
        "_section(low)",
        BY_HAND,
    ),
    Fault(
        "a gap within four digits has no zero word",
        NUMBER,
        '["零"] * gap + [DIGITS[digit]]',
        "[DIGITS[digit]]",
        numbers("chinese_words_are_those_of_the_second_way"),
    ),
    Fault(
        "ten inside a number loses its one",
        NUMBER,
        'if words[:2] == ["一", "十"]:\n        return words[1:]',
        'if "十" in words and words[words.index("十") - 1] == "一":\n        words.remove("一")',
        BY_HAND,
    ),
    Fault(
        "two before a hundred is liang",
        NUMBER,
        '(["二", "千"], ["二", "万"])',
        '(["二", "百"], ["二", "千"], ["二", "万"])',
        BY_HAND,
    ),
    Fault(
        "a test number may have been seen in the other language",
        NUMBER,
        "numbers = [starts[family] + row[0] for family, row in items]",
        "numbers = [(starts[family] + row[0]) // 2 for family, row in items]",
        splits("a_date_or_number_occurs_once_in_whichever_form"),
    ),
    # Dates
    Fault(
        "day and month stand in digits where they can be exchanged",
        DATE,
        "if day.day > 12 or day.day == day.month:",
        "if day.day > 11 or day.day == day.month:",
        ONE_READING,
    ),
    Fault(
        "a year of two digits can be a day",
        DATE,
        "if short_years and day.year % 100 > 31:",
        "if short_years:",
        dates("a_year_of_two_digits_leaves_no_doubt_within_a_century"),
    ),
    Fault(
        "a year of two digits can be of two centuries",
        DATE,
        "short_years=last - first < 100",
        "short_years=last - first <= 100",
        dates("short_years_come_only_where_the_years_span_a_century_at_most"),
    ),
    Fault(
        "eleven ends in st",
        DATE,
        "number % 10 if number // 10 != 1 else 0",
        "number % 10",
        ONE_READING,
    ),
    Fault("the Chinese week begins on Sunday", DATE, '"一二三四五六日"', '"日一二三四五六"', ONE_READING),
    Fault(
        "the last day of the years is never drawn",
        DATE,
        "(date(last, 12, 31) - start).days + 1",
        "(date(last, 12, 31) - start).days",
        dates("the_first_and_the_last_day_of_the_years_can_be_drawn"),
        reason="ValueError: train and test are at least 1 and together at most 365",
    ),
    # English to Chinese
    Fault(
        "the place stands before the time",
        CHINESE,
        '"S did not V O P T .": "S T 没=did+not P V O 。=."',
        '"S did not V O P T .": "S P T 没=did+not V O 。=."',
        chinese("subject_time_negation_place_and_verb_stand_in_this_order"),
    ),
    Fault(
        "the past is negated like the present",
        CHINESE,
        "没=did+not",
        "不=did+not",
        chinese("the_past_has_le_after_the_verb_and_mei_for_not"),
    ),
    Fault(
        "an object is counted after a negation",
        CHINESE,
        'objects[1:] if " not " in english else objects',
        "objects",
        chinese("a_negation_has_no_counted_object"),
    ),
    Fault(
        "an adjective of two syllables stands without its particle",
        CHINESE,
        'particle = "的" if len(quality) > 1 else ""',
        'particle = ""',
        chinese("an_adjective_of_two_syllables_has_de_and_one_of_one_syllable_has_not"),
    ),
    Fault(
        "a relative clause stands behind the pointer",
        CHINESE,
        'f"C 那=the {classifier} N"',
        'f"那=the {classifier} C N"',
        chinese("a_relative_clause_stands_before_its_noun"),
    ),
    Fault(
        "a horse is counted like a cat",
        LEXICON,
        '("匹", "马"',
        '("只", "马"',
        chinese("each_noun_has_its_own_classifier"),
    ),
    Fault(
        "links count from the start of the part",
        GRAMMAR,
        "tuple(place[token] + i for i in links)",
        "tuple(i for i in links)",
        LINKED,
    ),
    Fault(
        "the word for last night is linked to night alone",
        GRAMMAR,
        'for source in sources.split("+") if source)',
        'for source in sources.split("+")[-1:] if source)',
        LINKED,
    ),
    Fault(
        "English verbs take no s",
        CHINESE,
        'Phrase((verb + "s" if third else verb,)',
        "Phrase((verb,)",
        chinese("an_english_verb_of_the_present_agrees_with_its_subject"),
    ),
    # Sub-words
    Fault(
        "a space is put in front of every text",
        SUBWORD,
        "add_prefix_space=False",
        "add_prefix_space=True",
        tasks("every_text_comes_back_as_it_was", "subwords"),
    ),
    Fault(
        "bytes that the texts lack are unknown",
        SUBWORD,
        "initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),",
        "",
        tasks("every_text_comes_back_as_it_was", "subwords"),
    ),
    Fault(
        "the tokenizers library is loaded with every task",
        SUBWORD,
        "from companion.tasks.text import END, PAD, START\n",
        "import tokenizers\nfrom companion.tasks.text import END, PAD, START\n",
        splits("only_sub_words_load_the_tokenizers_library"),
    ),
]
