"""The terms of interviewers: complete, each word once, and each leads to a place that uses it."""

import re

import pytest

from companion.book import toc
from companion.book.drills import read_drills
from companion.book.questions import read_book
from companion.book.terms import is_looked_up, parse_terms, related, terms

ROOT = toc.CHECKOUT
LABEL = re.compile(r"^\((?P<label>[\w.-]+)\)=\n+(?P<mark>#+) ", re.MULTILINE)
LEAST = 150
TERM = """
- name: {name}
  aliases: [{alias}]
  label: {label}
  questions: [{question}]
"""


def sections():
    """The text under each label of the book, up to the next heading of its level or a higher one."""
    found = {}
    for path in sorted((ROOT / "book").rglob("*.md")):
        text = path.read_text("utf8")
        for match in LABEL.finditer(text):
            end = re.compile(rf"^#{{1,{len(match['mark'])}}} ", re.MULTILINE).search(text, match.end())
            found[match["label"]] = text[match.start() : end.start() if end else None]
    return found


def spoken(item):
    parts = [item.question, item.short, item.full, item.common_mistake, *map(" ".join, item.follow_ups)]
    return " ".join(parts)


def words(text):
    """The letters and digits alone, so that neither hyphens nor a line's end part a term."""
    return f" {' '.join(re.findall('[a-z0-9]+', text.casefold().replace('$', '')))} "


def unanswered(found, texts):
    """Name the terms of which neither the name nor an alias stands in what they lead to."""
    missing = []
    for term in found:
        to = words(" ".join(texts[name] for name in (term.label, *term.questions, *term.exercises) if name))
        if not any(re.search(rf" {words(word).strip()}e?s? ", to) for word in (term.name, *term.aliases)):
            missing.append(term.name)
    return missing


@pytest.fixture(scope="module")
def texts():
    return sections() | {item.name: spoken(item) for item in read_book(ROOT)}


def test_every_term_leads_to_what_the_book_has(texts):
    drills = {f"exr-{drill.name}" for drill in read_drills(ROOT)}
    found = terms(ROOT)
    assert len(found) >= LEAST
    assert [(term.name, term.label) for term in found if term.label and term.label not in texts] == []
    assert [(t.name, name) for t in found for name in t.questions if name not in texts] == []
    assert [(t.name, name) for t in found for name in t.exercises if name not in drills] == []


def test_every_exercise_stands_under_a_term():
    listed = {name for term in terms(ROOT) for name in term.exercises}
    assert [drill.name for drill in read_drills(ROOT) if f"exr-{drill.name}" not in listed] == []


def test_a_question_that_names_an_abbreviation_stands_under_its_term():
    short = [term for term in terms(ROOT) if re.fullmatch(r"\w*[A-Z]\w*[A-Z]\w*", term.name)]
    assert {"LoRA", "GPT"} <= {term.name for term in short}
    missing = [
        (term.name, item.name)
        for term in short
        for item in read_book(ROOT)
        if re.search(rf"(?<![\w-]){term.name}s?(?![\w-])", item.question) and item.name not in term.questions
    ]
    assert missing == []


def test_every_term_or_one_of_its_other_names_stands_where_it_leads(texts):
    assert unanswered(terms(ROOT), texts) == []


def test_a_term_that_nothing_uses_is_named():
    found = parse_terms(term() + term(name="Gate", alias="valve", question="q-two"))
    texts = {"sec-one": "", "q-one": "All\nK-V caches.", "q-two": "Gated investments."}
    assert unanswered(found, texts) == ["Gate"]


def term(**changes):
    return TERM.format(**{"name": "KV cache", "alias": "K V cache", "label": "sec-one", "question": "q-one"} | changes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("one: two", "terms.yml: the file is a list of entries"),
        (term() + term(name="kv Cache", alias="past"), "a name of its own: got kv cache twice"),
        (term() + term(name="Gate", alias="KV CACHE"), "a name of its own: got kv cache twice"),
        (term(alias=""), "terms.yml, KV cache: aliases is a list of at least 1"),
        (term(question="cache"), "terms.yml, KV cache: questions, number 1 is q- and lower-case words"),
        (term() + "  see: [Gate]\n", "KV cache: see has the names of other terms: got Gate. Write each as its"),
        (term() + "  see: [KV cache]\n", "KV cache: see has the names of other terms: got KV cache"),
        ("- {name: A, aliases: [a b], see: [A]}", "A: a term has a label, questions or exercises"),
        (term() + "  more: x\n", "a term has .*: this one has an unknown more"),
        ("- {name: KV cache, aliases: [cache]}", "KV cache: a term has a label, questions or exercises"),
    ],
)
def test_a_term_that_is_not_complete_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        parse_terms(text)


def test_terms_of_one_subject_lead_to_each_other():
    one, two, three = parse_terms(
        term(name="A", alias="aa")
        + "  see: [C]\n"
        + term(name="B", alias="bb")
        + "  see: [A]\n"
        + term(name="C", alias="cc")
    )
    assert [[other.name for other in related(this, (one, two, three))] for this in (one, two, three)] == [
        ["C", "B"],
        ["A"],
        ["A"],
    ]
    rotary = next(term for term in terms(ROOT) if term.name == "Rotary position embedding")
    assert {"RoPE base", "RoPE layout"} <= {other.name for other in related(rotary, terms(ROOT))}


@pytest.mark.parametrize(
    ("alias", "name", "has"),
    [
        ("RoPE", "Rotary position embedding", True),
        ("vLLM", "PagedAttention", True),
        ("GPTQ", "GPTQ and AWQ", False),
        ("AWQ", "GPTQ and AWQ", True),
        ("LN", "Layer normalisation", True),
        ("rotary", "Rotary position embedding", False),
        ("RoPE in bfloat16", "Sequence packing", False),
    ],
)
def test_an_abbreviation_has_a_place_of_its_own_in_the_index(alias, name, has):
    (found,) = parse_terms(term(name=name, alias=alias))
    assert is_looked_up(alias, found) is has
