"""All questions of the book: enough of each topic, kind and level, all different, their numbers computed."""

import json
import re
from collections import Counter
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path

import pytest

from companion.book import pages, questions, toc
from companion.book.model import LEVELS, QUESTION_KINDS, Question
from companion.book.questions import read_questions
from companion.book.topics import TOPICS

BOOK = Path(__file__).parents[2] / "book"
LEAST = 210
LEAST_OF_A_TOPIC = 10
LEAST_OF_A_KIND = 15
LEAST_OF_A_LEVEL = 35
MOST_ALIKE = 0.7  # share of equal characters in the words of two questions
# What the source documents ask, in our words, and the question that answers it: (page, name).
ASKED = {
    "derive scaled dot-product attention, and say why it is scaled": ("attention/questions", "q-derive-sdpa"),
    "why several heads work, and whether one could replace them": ("multi-head/questions", "q-why-multi-head"),
    "what is better than in an RNN or LSTM, distant tokens above all": ("history/questions", "q-vs-rnn"),
    "why it should suit long sequences better than an RNN": ("history/questions", "q-long-sequences"),
    "what self-attention costs": ("complexity/questions", "q-attention-complexity"),
    "what the heads learn": ("multi-head/questions", "q-what-heads-learn"),
    "why positions are encoded by sines and cosines": ("positional-encoding/questions", "q-why-sines"),
    "how gradients are kept from vanishing": ("add-norm/questions", "q-vanishing-all"),
    "what attention means": ("attention/questions", "q-what-is-attention"),
    "on which tasks it does well": ("variants/questions", "q-where-good"),
    "what it cannot do": ("theory/questions", "q-limits"),
}
# Words that an answer in full must hold, with its follow-ups: one pattern for each point of the list of points.
POINTS = {
    "q-derive-sdpa": [r"t_k, d_v", r"independent with mean 0 and variance 1", r"diag", r"1/9", r"no ablation", r"T5"],
    "q-why-multi-head": [
        r"same number of parameters",
        r"h\$ times the memory",
        r"partition",
        r"24\.9",
        r"38 of 48",
        r"low",
    ],
    "q-vs-rnn": [r"sequential in both", r"forget", r"1/n", r"cache", r"kaplan2020scaling", r"1,000"],
    "q-long-sequences": [r"[Qq]uality", r"total work", r"generation", r"FlashAttention", r"state-space"],
    "q-attention-complexity": [r"8 n d\^2 \+ 4 n\^2 d", r"6d", r"h\\,n\^2", r"low-rank", r"with a cache"],
    "q-what-heads-learn": [r"clark2019bert", r"38 of 48", r"michel2019sixteen", r"layer, seed or model", r"removing"],
    "q-why-sines": [r"block rotation", r"60,611", r"25\.7", r"press2022train", r"ALiBi", r"even in the distance"],
    "q-vanishing-all": [r"[Rr]esidual", r"xiong2020layer", r"Admin", r"rank", r"1/\\sqrt\{d_k\}"],
    "q-what-is-attention": [r"convex hull", r"not importance", r"kobayashi", r"jain", r"analogy"],
    "q-where-good": [r"pre-training", r"AlphaFold", r"ViT", r"zeng2023", r"yan2019", r"CLIP"],
    "q-limits": [r"n\^2", r"cache", r"pre-training", r"beyond", r"TC", r"hallucination", r"Interpretability"],
}
_UNIT = r"GiB|MiB|KiB|TB|GB|MB|ms|bytes|FLOPs|%|days|million|billion|trillion"
_NUMBER = re.compile(rf"(?<![\w.])(?P<number>\d+(?:\.\d+)?)(?!\w)(?P<unit>\s*\\?(?:{_UNIT}))?")
# "in 2 bytes" names a format, as "in float16" does; a size that something fits or is packed in was computed.
_FORMAT = re.compile(r"(?<!fits )(?<!fit )(?<!packed )(?<!stored )(?<!held )\b[Ii]n [1248] bytes?\b(?! a\b| in all)")


def without_separators(text):
    return re.sub(r"(?<=\d)(?:\{,\}|,|_)(?=\d{3}(?!\d))", "", text.replace("\\,", " "))


def numbers(text):
    """List the numbers with three or more significant digits, or with a unit; no years, none with a cited source."""
    own = " ".join(one for one in re.split(r"(?<=[.?!])\s+", text) if "{cite" not in one)
    text = without_separators(re.sub(r"\{[a-z:]+\}`[^`]*`", "", own))
    text = _FORMAT.sub("", " ".join(text.split()))
    found = []
    for match in _NUMBER.finditer(text):
        digits = match["number"].replace(".", "").lstrip("0")
        year = re.fullmatch("(19|20)[0-9]{2}", match["number"]) and not match["unit"]
        if (len(digits) >= 3 and not year) or match["unit"]:
            found.append((match["number"], bool(match["unit"])))
    return found


def is_printed(number, printed):
    """Whether a number stands in the outputs as it is written, or rounds to it."""
    places = len(number.partition(".")[2])
    return any(text == number or f"{float(text):.{places}f}" == number for text in printed)


def answers(item):
    """Yield each part of a question's answer: its name, its text, and what was asked there."""
    yield "short", item.short, item.question
    yield "full", item.full, item.question
    for number, (further, answer) in enumerate(item.follow_ups, 1):
        yield f"follow-up {number}", answer, f"{item.question} {further}"
    yield "common mistake", item.common_mistake, item.question


def number_problems(items, cells):
    """Name the numbers in answers which no cell prints, which are no given sizes, and for which no source is cited."""
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    outputs = ("".join(o.get("text") or o.get("data", {}).get("text/plain", "")) for c in code for o in c["outputs"])
    printed = set(re.findall(r"\d+(?:\.\d+)?", without_separators(" ".join(outputs))))
    given = set(re.findall(r"\d+(?:\.\d+)?", without_separators("\n".join("".join(cell["source"]) for cell in code))))
    found = []
    for item in items:
        for part, text, asked in answers(item):
            inputs = {number for number, _ in numbers(asked)}
            for number, unit in numbers(text):
                input_ = number in inputs or (number in given and not unit)
                if not input_ and not is_printed(number, printed):
                    found.append(f"{item.name}, {part}: {number}")
    return found


def falls(text):
    """Name the questions that are easier than the one before them in a section of a page."""
    found = []
    for section in re.split(r"^## ", text, flags=re.MULTILINE):
        pairs = pairwise(read_questions(section))
        found += [item.name for before, item in pairs if item.level < before.level]
    return found


def everything(chapters):
    return [item for chapter in chapters for item in read_questions(BOOK / f"{chapter}.ipynb")]


def plain(item):
    return re.sub(r"[^a-z0-9 ]", "", item.question.lower())


def alike(items):
    """Pair the questions whose words are nearly the same; the quick ratios are upper bounds, which spare most pairs."""
    match, found = SequenceMatcher(autojunk=False), []
    for number, two in enumerate(items):
        match.set_seq2(plain(two))
        for one in items[:number]:
            match.set_seq1(plain(one))
            if all(ratio() > MOST_ALIKE for ratio in (match.real_quick_ratio, match.quick_ratio, match.ratio)):
                found.append((one.name, two.name))
    return found


def shortages(items):
    """Say of which topic, kind or level there are too few."""
    topics = [topic for topic in TOPICS if topic != "history" or any(i.topic == "history" for i in items)]
    bars = dict.fromkeys(topics, LEAST_OF_A_TOPIC) | dict.fromkeys(QUESTION_KINDS, LEAST_OF_A_KIND)
    bars |= dict.fromkeys(map(str, LEVELS), LEAST_OF_A_LEVEL) | {"total": LEAST}
    counts = {word: questions.count(items, word) for word in bars}
    return [f"{word}: {counts[word]}, fewer than {bar}" for word, bar in bars.items() if counts[word] < bar]


def test_there_are_enough_of_each_topic_kind_and_level(chapters, capsys):
    items = everything(chapters)
    with capsys.disabled():
        for name, values in (("topic", "topic"), ("kind", "kind"), ("level", "level")):
            print(f"\nquestions by {name}:", dict(Counter(getattr(item, values) for item in items)), end="")
        print(f"\nquestions in all: {len(items)}")
    assert shortages(items) == []


def test_every_topic_is_known_and_is_that_of_its_chapter_or_of_the_pages_of_questions(chapters):
    for item in everything(chapters):
        assert item.topic in TOPICS, item.name
        of_questions = pages.kind(item.page) == "questions"
        assert of_questions or toc.chapter(item.page) in ("interview", item.topic), item.name


def test_each_section_of_questions_begins_with_the_basic_ones(chapter):
    assert falls((BOOK / f"{chapter}.md").read_text("utf8")) == []


def test_a_question_that_is_easier_than_the_one_before_it_is_named():
    question = (
        "::::{{interview-question}} Why?\n:name: q-{}\n:kind: code\n:level: {}\n:topic: attention\n:evidence: x\n"
    )
    parts = (f":::{{{part}}}\nText.\n:::\n" for part in ("short", "full", "common-mistake"))
    body = "".join(parts) + ":::{follow-ups}\n1. **And?** So it is.\n:::\n::::\n"
    text = "".join(question.format(name, level) + body for name, level in (("a", 1), ("b", 3), ("c", 2)))
    assert falls(text) == ["q-c"]
    before, after = text.rsplit("::::{interview-question}", 1)
    assert falls(f"{before}## New\n\n::::{{interview-question}}{after}") == []


def test_no_two_questions_are_nearly_the_same(chapters):
    assert alike(everything(chapters)) == []


def test_a_question_that_stands_twice_is_seen():
    def ask(name, text):
        return Question(name, text, "concept", 1, "attention", ("x",), "", "", (), "", "attention")

    items = [
        ask("q-one", "Why are the scores divided by $\\sqrt{d_k}$?"),
        ask("q-two", "Why are scores divided by $\\sqrt{d_k}$?"),
        ask("q-three", "What is a mask?"),
    ]
    assert alike(items) == [("q-one", "q-two")]
    assert f"total: 3, fewer than {LEAST}" in shortages(items)
    assert f"attention: 3, fewer than {LEAST_OF_A_TOPIC}" in shortages(items)
    assert f"debug: 0, fewer than {LEAST_OF_A_KIND}" in shortages(items)
    assert not any(problem.startswith("history") for problem in shortages(items))


@pytest.mark.parametrize("asked", ASKED)
def test_each_question_of_the_documents_is_answered_with_all_its_points(asked, chapters):
    page, name = ASKED[asked]
    found = {item.name: item for item in everything(chapters)}
    assert page in chapters
    item = found[name]
    answers = [text for pair in item.follow_ups for text in pair]
    text = " ".join("\n".join([item.short, item.full, item.common_mistake, *answers]).split())
    assert [point for point in POINTS[name] if not re.search(point, text)] == []


def test_the_documents_ask_eleven_questions_and_each_has_its_points():
    names = [name for _, name in ASKED.values()]
    assert len(set(names)) == 11
    assert set(POINTS) == set(names)
    assert all(len(points) >= 5 for points in POINTS.values())


def test_numbers_in_answers_were_computed_or_are_cited(chapter):
    path = BOOK / f"{chapter}.ipynb"  # its chapter's other pages, if it has a chapter to itself, may compute them too
    files = sorted(path.parent.glob("*.ipynb")) if pages.kind(chapter) == "questions" else [path]
    cells = [cell for file in files for cell in json.loads(file.read_text("utf8"))["cells"]]
    assert number_problems(read_questions(BOOK / f"{chapter}.ipynb"), cells) == []


@pytest.mark.parametrize(
    ("answer", "problems"),
    [
        ("It takes 1,024 MiB, or $1{,}024$ of them, about 0.12.", []),
        ("It takes 1024, that is 12% of it.", ["12"]),
        ("With $d = 4{,}096$ it takes 1,025.", ["1025"]),
        ("With 4,096 bytes.", ["4096"]),
        ("12 heads, 99 layers, {cite:p}`someone2017` and {ref}`x <q-123>`.", []),
        ("Of 768 asked for.", []),
        ("0.125 is not what was printed.", ["0.125"]),
        ("0.1235 was printed so.", []),
        ("It had 4.67 in 2017 {cite:p}`someone2017`. Now it has 4.92.", ["4.92"]),
        ("Keys in 2 bytes,\nvalues in 1 byte.", []),
        ("It takes 2 bytes. It fits in 4 bytes. It is held in 8 bytes. In 2 bytes a token.", ["2", "4", "8", "2"]),
        ("In 12 bytes, in 512 bytes, in 2 MiB.", ["12", "512", "2"]),
    ],
)
def test_a_number_that_no_cell_prints_is_seen(answer, problems):
    assert found_in(short=answer) == [f"q-x, short: {number}" for number in problems]


def found_in(*, short="", full="", follow_ups=(), mistake=""):
    item = Question("q-x", "And 768?", "compute", 1, "attention", ("x",), short, full, follow_ups, mistake, "x")
    stream = {"output_type": "stream", "text": ["it-is = 1,024 MiB\n", "0.1235\n"]}
    cells = [{"cell_type": "code", "source": ["d = 4_096"], "outputs": [stream]}]
    return number_problems([item], cells)


def test_every_part_of_an_answer_is_held_to_its_numbers():
    further = (("And for 640?", "For 640 it takes 641."), ("Then?", "Then 642."), ("So?", "1,024 MiB for 768."))
    assert found_in(short="643.", full="644.", follow_ups=further, mistake='"It is 1,024." No, 645 MiB.') == [
        "q-x, short: 643",
        "q-x, full: 644",
        "q-x, follow-up 1: 641",
        "q-x, follow-up 2: 642",
        "q-x, common mistake: 645",
    ]


def test_a_wrong_number_that_is_quoted_must_be_printed_too():
    assert found_in(mistake='"It takes 92 MiB." It does not.') == ["q-x, common mistake: 92"]
    assert found_in(mistake='"It takes 1,024 MiB." It does not.') == []
