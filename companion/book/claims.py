"""The ledger of claims, and the cells that settle them.

A claim has an entry in ``companion/chapters/CHAPTER/claims.yml``. A cell settles it by ``check_claim("id", …)`` or
``cite_claim("id", …)`` (``companion.book.check``); this module finds those calls in the stored notebooks.
``companion.book.site.claims_page`` shows the ledger on the site.
"""

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from companion.book import toc
from companion.book.entries import cells, entries, read_once
from companion.book.model import DOCUMENTS, VERDICTS, Claim
from companion.book.schemas import CLAIM, check, refuse_doubles

TOTAL = 222
"""The claims that the source documents make; chapters that are not finished have theirs still to come."""

_MAGIC = re.compile(r"^\s*[%!]")


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


def read_ledger(root: Path | None = None) -> Ledger:
    """Read the claims of every chapter, in the order of the book.

    Raises:
        ValueError: an entry breaks a rule, or the ledger does.
    """
    return ledger(claim for path in ledger_files(root).values() for claim in _claims(path))


@read_once
def _claims(path: Path) -> tuple[Claim, ...]:
    return parse_claims(path.read_text("utf8"), path.parent.name.replace("_", "-"))


def ledger(claims: Iterable[Claim], total: int = TOTAL) -> Ledger:
    """Make a ledger of claims.

    Raises:
        ValueError: there are more than ``total``, or two have one id.
    """
    claims = tuple(claims)
    refuse_doubles((claim.id for claim in claims), "the ledger")
    if len(claims) > total:
        raise ValueError(f"the ledger has at most total={total} entries: got {len(claims)}. Correct one of them.")
    return Ledger(claims, total)


def parse_claims(text: str, chapter: str) -> tuple[Claim, ...]:
    """Read the claims of a chapter and refuse those that are not complete.

    Raises:
        ValueError: a field is missing, unknown, or not what it must be; the message names the entry.
    """
    found = []
    for line, entry in entries(text, f"claims of {chapter}"):
        named = f"entry {entry['id']}" if isinstance(entry, dict) and "id" in entry else f"line {line}"
        where = f"claims of {chapter}, {named}"
        check(entry, CLAIM, where)
        claim = Claim(chapter=chapter, **entry)
        for field, verdicts in (("conditions", ["holds-with-conditions"]), ("correct", ["wrong", "outdated"])):
            if (claim.verdict in verdicts) != bool(getattr(claim, field)):
                needed = "needs" if claim.verdict in verdicts else "has no"
                raise ValueError(f"{where}: verdict {claim.verdict}, which {needed} {field}.")
        found.append(claim)
    return tuple(found)


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


def settlements(notebook: Iterable[Mapping]) -> list[Settlement]:
    """List what the code cells of a notebook settle; an id that is not a literal text comes back empty."""
    found = []
    for index, cell in enumerate(notebook):
        if cell["cell_type"] == "code":
            for call in calls("".join(cell["source"])):
                bibkey = _text(argument(call, 1, "bibkey")) if _name(call) == "cite_claim" else ""
                found.append(Settlement(_text(argument(call, 0, "claim_id")), _name(call), index, bibkey))
    return found


@read_once
def settled_in(notebook: Path) -> tuple[Settlement, ...]:
    """List what the cells of a stored notebook settle."""
    return tuple(settlements(cells(notebook)))


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
