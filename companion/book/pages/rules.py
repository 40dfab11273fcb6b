"""The rules that the pages of a chapter with an index keep: each breach of one is a line."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from companion.book import toc
from companion.book.pages import READ, Page, prose

MOST = {"words": 2500, "cells": 30, "minutes": 18, "screens": 14}
"""Of a page that is read. A screen is 900 pixels high and 1440 wide, with code open and answers folded."""
ASKED = 17_500
"""Words of a page of questions, with all answers: a chapter with more has several, ``questions-serving`` beside
``questions``."""
SECONDS = {"read": 30, "worked": 90}
"""That all cells of a page may run, by what a reader does with it."""
MEGABYTES = 1500
"""The peak of memory of a page that is worked through: questions, exercises, claims."""
CHAPTERS = (
    *("history", "attention", "multi-head", "positional-encoding"),
    *("add-norm", "architecture", "training", "complexity"),
)
"""The chapters on the Transformer itself, whose words are bounded together; what comes after them is not counted."""
BOOK = {"core": 36_000, "core and deeper": 46_000}
"""Words of those chapters together; the pages ``index`` are core pages here."""
MEASURED = {"seconds": 1, "megabytes": 0, "screens": 1}
"""What runs leave in ``_build/pages``, with the decimals that a table shows."""
ENDING = ("In short", "Quick questions", "Where to go next")
"""The last sections of a core page."""
REVISION = "Ten sentences for revision"
"""The last section of the index of a chapter."""
DOCUMENTS = r"documents?"
PRIVATE = {
    r"join(?:s|ed|ing)?": "concatenate",
    r"cuts?|cutting": "split",
    r"writing": "generating, decoding",
    r"as drawn": "at initialisation",
    r"made tasks?": "synthetic task",
    r"places?": "position",
    r"gaps?": "difference, distance",
    r"texts": "sequences, sentences",
    r"dear": "expensive",
}
"""Words that stood for a standard term, which is named beside them: pages that everybody reads use the term."""
ORDINARY = (
    r"(?:packed|retrieved|training|web) documents?",
    r"documents? (?:boundar\w+|masks?|in (?:a|one|the) (?:batch|context|corpus|sequence))",
    r"cut(?:s|ting)? (?:down|off|short)",
    r"writing (?:down|it out|them out)",
    r"(?:at the time of|in) writing",
    r"(?:take|takes|taking|took) place|in place(?: of)?|decimal places?|in the first place|in \w+ places",
    r"generali[sz]ation gaps?",
)
"""Where such a word has its ordinary sense. Add a phrase here when a page needs it."""
_HEADING = re.compile(r"^## +(.+?)\s*$", re.MULTILINE)
_BOX = re.compile(r"^(:{3,}|`{3,})\{admonition\}.*?^\1\s*$", re.MULTILINE | re.DOTALL)
_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_TERM = re.compile(r"^(?! |```|:::)(\S.*)$", re.MULTILINE)
_SENTENCE_END = re.compile(r"[.?!](?:[)”*]*)(?:\s|$)")


def breaches(page: Page, root: Path = toc.CHECKOUT) -> list[str]:
    """List what a page breaks of the rules for its kind."""
    found = ["it prints source by inspect.getsource: show plain code, and link to that of the package"] * any(
        "getsource" in code for code in page.code
    )
    if page.kind == "questions" and page.lines:
        found.append("its cells stand open: fold the evidence of an answer by the tag hide-cell")
    if page.kind == "questions" and page.words > ASKED:
        found.append(f"{page.words} words with the answers, at most {ASKED}: divide the page by subject")
    if page.kind not in READ:
        return found
    sizes = {"words": page.words, "cells": len(page.code), "minutes": page.minutes}
    found += [f"{sizes[what]} {what}, at most {MOST[what]}" for what in sizes if sizes[what] > MOST[what]]
    found += [f"**{term}** is in bold, and not in the glossary" for term in unknown_terms(page.text, root)]
    if page.kind == "deeper":
        return found
    if not page.pictures:
        found.append("it has no picture")
    if "?" not in prose(page.text.split("\n## ")[0]):
        found.append("it does not open with the question that it answers")
    found += private_words(prose(page.text))
    return found + (ending(page.text) if page.kind == "core" else overview(page.text))


def unknown_terms(text: str, root: Path = toc.CHECKOUT) -> list[str]:
    """List the terms in bold that the glossary lacks: all in bold but in boxes, and but the lead of a paragraph."""
    known = glossary(root / "book" / "glossary.md")
    bold = [" ".join(term.split()) for term in _BOLD.findall(_BOX.sub("", text))]
    return [term for term in dict.fromkeys(bold) if term[-1] not in ".:?!" and not _forms(term) & known]


@cache
def glossary(path: Path) -> frozenset[str]:
    """Read the terms of the glossary, each in the forms in which it may stand."""
    text = path.read_text("utf8").partition("{glossary}")[2]
    return frozenset(form for term in _TERM.findall(text) for form in _forms(term))


def _forms(term: str) -> frozenset[str]:
    """Give a term in small letters, and as a singular."""
    term = term.lower().strip("` ")
    return frozenset({term, re.sub(r"ies$", "y", term), re.sub(r"s$", "", term), re.sub(r"es$", "", term)})


def private_words(words: str) -> list[str]:
    """List the words that are not for a page that everybody reads: private ones, and talk of the source documents."""
    words = re.sub("|".join(ORDINARY), "", words, flags=re.IGNORECASE)
    found = []
    for pattern, standard in {**PRIVATE, DOCUMENTS: ""}.items():
        hint = f": say {standard}" if standard else ": the page is about the thing, and not about what was read"
        for match in re.finditer(rf"(\S+ ){{0,3}}\b({pattern})\b( \S+){{0,2}}", words, re.IGNORECASE):
            found.append(f"“{match[0]}” has {match[2].lower()}{hint}")
    return found


def ending(text: str) -> list[str]:
    """Check the last sections of a core page."""
    sections = _HEADING.split(text)[1:]
    names, bodies = sections[::2], sections[1::2]
    if tuple(names[-len(ENDING) :]) != ENDING:
        return [f"its last sections are {', '.join(names[-3:]) or 'none'}, not {', '.join(ENDING)}"]
    found = []
    sentences = len(_SENTENCE_END.findall(prose(bodies[-3])))
    if not 3 <= sentences <= 5:
        found.append(f"{ENDING[0]} has {sentences} sentences, not three to five")
    questions = len(re.findall(r"^(?::{3,}|`{3,})\{(?:dropdown|quiz-item)\}", bodies[-2], re.MULTILINE))
    if not 2 <= questions <= 3:
        found.append(f"{ENDING[1]} has {questions}, not two or three")
    if not re.search(r"\{doc\}|\{ref\}", bodies[-1]):
        found.append(f"{ENDING[2]} links to no page")
    return found


def overview(text: str) -> list[str]:
    """Check the page ``index`` of a chapter: its pages with their minutes, and at its end ten sentences."""
    found = [] if "{chapter-pages}" in text else ["it lists no pages: use {chapter-pages}"]
    sections = _HEADING.split(text)[1:]
    if sections[-2:-1] != [REVISION]:
        return [*found, f"its last section is not {REVISION}: a newcomer meets its terms too early"]
    count = len(re.findall(r"^\d+\. ", sections[-1], re.MULTILINE))
    return found + ([] if count == 10 else [f"{REVISION} has {count}"])


def run_breaches(kind: str, seconds: float, megabytes: float) -> list[str]:
    """List what the run of a page of a kind breaks; 0 megabytes are unknown."""
    most = SECONDS["read" if kind in READ else "worked"]
    found = [f"its cells ran {seconds:.0f} s, at most {most}"] if seconds > most else []
    if kind not in READ and megabytes > MEGABYTES:
        found.append(f"its kernel needed {megabytes:.0f} MB, at most {MEGABYTES}")
    return found


def core_and_deeper(pages: Iterable[Page]) -> tuple[list[Page], list[Page]]:
    """Pick the pages of the path through a chapter, its index among them, and those beside it."""
    pages = [*pages]
    return [one for one in pages if one.kind in ("index", "core")], [one for one in pages if one.kind == "deeper"]


def book_breaches(pages: Iterable[Page]) -> list[str]:
    """List what the pages of ``CHAPTERS`` break together."""
    core, deeper = core_and_deeper(page for page in pages if toc.chapter(page.name) in CHAPTERS)
    words = {"core": sum(page.words for page in core)}
    words["core and deeper"] = words["core"] + sum(page.words for page in deeper)
    return [f"{words[of]} words on {of} pages, at most {most}" for of, most in BOOK.items() if words[of] > most]
