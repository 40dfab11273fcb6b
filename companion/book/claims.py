"""The ledger of claims, and the cells that settle them.

A claim has an entry in ``companion/chapters/CHAPTER/claims.yml``. A cell settles it by ``check_claim("id", …)`` or
``cite_claim("id", …)`` (``companion.book.check``); this module finds those calls in the stored notebooks.
``companion.book.site.claims_page`` shows the ledger on the site.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

import yaml

from companion.book import toc

TOTAL = 222
"""The claims that the source documents make; chapters that are not finished have theirs still to come."""
DOCUMENTS = 5

VERDICTS = {
    "holds": "True as stated.",
    "holds-with-conditions": "True under conditions that the documents leave out, and false without them.",
    "wrong": "False. The entry says what is right.",
    "unsupported": "No evidence is given for it, and none was found.",
    "outdated": "It was true once.",
    "disputed": "The documents, or the sources, contradict each other.",
}
KINDS = ("math", "measurement", "code", "history-fact", "opinion")
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_MAGIC = re.compile(r"^\s*[%!]")


@dataclass(frozen=True)
class Claim:
    """One entry of the ledger."""

    id: str
    chapter: str
    claim: str
    verdict: str
    kind: str
    documents: int
    evidence: str
    conditions: str = ""
    correct: str = ""
    dropped: str = ""


@dataclass(frozen=True)
class Ledger:
    """The claims of all chapters, of ``total`` that stand in ``documents`` source documents."""

    claims: tuple[Claim, ...]
    total: int = TOTAL
    documents: int = DOCUMENTS


@dataclass(frozen=True)
class Settlement:
    """A call that settles a claim: in which cell, by which function, and by which source if it cites one."""

    claim_id: str
    function: str
    cell: int
    bibkey: str = ""


def ledger_files(root: Path | None = None) -> dict[str, Path]:
    """Find the file of each chapter that has claims: ``companion/chapters/CHAPTER/claims.yml``."""
    return toc.chapter_files("claims.yml", root)


@cache
def read_ledger(root: Path | None = None) -> Ledger:
    """Read the claims of every chapter, in the order of the book."""
    return parse_ledger({name: path.read_text("utf8") for name, path in ledger_files(root).items()})


def parse_ledger(texts: Mapping[str, str], total: int = TOTAL) -> Ledger:
    """Read claims and refuse those that are not complete.

    Args:
        texts: a YAML list of entries for each chapter.
        total: how many claims there are to settle.

    Raises:
        ValueError: a field is missing, unknown, or not what it must be; the message names the entry.
    """
    claims = tuple(_claim(chapter, entry) for chapter, text in texts.items() for entry in _entries(chapter, text))
    twice = [claim_id for claim_id, count in Counter(claim.id for claim in claims).items() if count > 1]
    if twice:
        raise ValueError(f"a claim has one entry in the ledger: got two of {', '.join(twice)}. Remove one.")
    if len(claims) > total:
        raise ValueError(f"the ledger has at most total={total} entries: got {len(claims)}. Correct one of them.")
    return Ledger(claims, total)


def _entries(chapter: str, text: str) -> list[dict]:
    entries = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError(f"the claims of {chapter} are a list of entries: got something else. See claims.yml.")
    return entries


def _claim(chapter: str, entry: dict) -> Claim:
    known = {field.name for field in fields(Claim)} - {"chapter"}
    name = entry.get("id", "?")
    optional = {"conditions", "correct", "dropped"}
    wrong = [f"no field {field}" for field in sorted(known - optional - set(entry))]
    wrong += [f"an unknown field {field}" for field in sorted(set(entry) - known)]
    texts = known - {"documents"}
    wrong += [f"an empty {field}" for field in sorted(texts & set(entry)) if not str(entry[field] or "").strip()]
    if wrong:
        raise ValueError(f"entry {name} of the ledger has {', '.join(wrong)}. CONTRIBUTING.md lists the fields.")
    claim = Claim(chapter=chapter, **entry)
    if not _ID.fullmatch(claim.id):
        wrong.append(f"id {claim.id!r}, which is not lower-case words joined by hyphens")
    if claim.verdict not in VERDICTS:
        wrong.append(f"verdict {claim.verdict!r}, which is none of {', '.join(VERDICTS)}")
    if claim.kind not in KINDS:
        wrong.append(f"kind {claim.kind!r}, which is none of {', '.join(KINDS)}")
    if type(claim.documents) is not int or not 1 <= claim.documents <= DOCUMENTS:
        wrong.append(f"documents {claim.documents!r}, which is not a number from 1 to {DOCUMENTS}")
    for field, verdicts in (("conditions", ["holds-with-conditions"]), ("correct", ["wrong", "outdated"])):
        if (claim.verdict in verdicts) != bool(getattr(claim, field)):
            needed = "needs" if claim.verdict in verdicts else "has no"
            wrong.append(f"verdict {claim.verdict}, which {needed} {field}")
    if wrong:
        raise ValueError(f"entry {name} of the ledger has {'; '.join(wrong)}.")
    return claim


def calls(source: str) -> list[ast.Call]:
    """Find the calls of ``check_claim`` and ``cite_claim`` in a cell's source, in order."""
    plain = "\n".join("pass" if _MAGIC.match(line) else line for line in source.splitlines())
    if "_claim" not in plain:
        return []
    found = [node for node in ast.walk(ast.parse(plain)) if isinstance(node, ast.Call)]
    found = [node for node in found if _name(node) in ("check_claim", "cite_claim")]
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))


def _name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    """Return an argument of a call, given by position or by name."""
    if len(call.args) > position:
        return call.args[position]
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _text(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def settlements(cells: Iterable[Mapping]) -> list[Settlement]:
    """List what the code cells of a notebook settle; an id that is not a literal text comes back empty."""
    found = []
    for index, cell in enumerate(cells):
        if cell["cell_type"] == "code":
            source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
            for call in calls(source):
                bibkey = _text(argument(call, 1, "bibkey")) if _name(call) == "cite_claim" else ""
                found.append(Settlement(_text(argument(call, 0, "claim_id")), _name(call), index, bibkey))
    return found


def problems(claims: Iterable[Claim], settled: Mapping[str, list[Settlement]]) -> list[str]:
    """Say what is wrong between the ledger and the calls in the finished chapters.

    Args:
        claims: the ledger's entries.
        settled: the settlements of each finished chapter.
    """
    entries = {claim.id: claim for claim in claims}
    places: dict[str, list[str]] = {}
    found = []
    for chapter, items in settled.items():
        for item in items:
            place = f"{chapter}, cell {item.cell}"
            if not item.claim_id:
                found.append(f"{place}: {item.function} takes the claim's id as a literal text")
            elif item.claim_id not in entries:
                found.append(f"{place}: {item.function} names {item.claim_id}, which is not in the ledger")
            places.setdefault(item.claim_id, []).append(place)
    for claim in entries.values():
        where = places.get(claim.id, [])
        if claim.dropped and where:
            found.append(f"{claim.id} is dropped, but settled in {'; '.join(where)}")
        elif len(where) > 1:
            found.append(f"{claim.id} is settled more than once: {'; '.join(where)}")
        elif not where and not claim.dropped and claim.chapter in settled:
            found.append(f"{claim.id} is not settled, though its chapter {claim.chapter} is finished")
    return found


def count(ledger: Ledger, words: str) -> int:
    """Count entries by chapter, verdict or both, or return ``total`` or ``documents``.

    Raises:
        ValueError: a word is none of these.
    """
    if words in ("total", "documents"):
        return getattr(ledger, words)
    matching = list(ledger.claims)
    for word in words.split():
        chapters = {claim.chapter for claim in ledger.claims}
        if word in VERDICTS:
            matching = [claim for claim in matching if claim.verdict == word]
        elif word in chapters:
            matching = [claim for claim in matching if claim.chapter == word]
        elif word != "all":
            raise ValueError(
                f"a count is of all, total, documents, a chapter ({', '.join(sorted(chapters))}) or a verdict "
                f"({', '.join(VERDICTS)}): got {word!r}."
            )
    return len(matching)
