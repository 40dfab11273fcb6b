"""The ledger of claims, and the cells that settle them.

A claim has an entry in ``companion/chapters/CHAPTER/claims.yml``. A cell settles it, or each part of it, by
``check_claim("id", …)`` or ``cite_claim("id/part", …)`` (``companion.book.check``); this module finds those calls in
the stored notebooks. ``companion.book.site.claims_page`` shows the ledger on the site.
"""

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from companion.book import toc
from companion.book.entries import cells, entries, read_once
from companion.book.model import BASES, DOCUMENTS, VERDICTS, Claim, Turn
from companion.book.schemas import CLAIM, check, refuse_doubles

TOTAL = 222
"""The claims that the source documents make."""

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
        found.append(_claim(entry, chapter, where))
    return tuple(found)


def _claim(entry: Mapping, chapter: str, where: str) -> Claim:
    """Make a claim of an entry that keeps the schema, and refuse what the schema cannot say."""
    shared = {"chapter": chapter, "documents": entry["documents"], "evidence": entry["evidence"]}
    fields = {"parts": (), "turn": None} | entry
    parts = []
    for part in fields["parts"]:
        own = {key: value for key, value in part.items() if key not in ("id", "text", "turn")}
        turn = Turn(**part["turn"]) if "turn" in part else None
        parts.append(Claim(id=f"{entry['id']}/{part['id']}", claim=part["text"], turn=turn, **own, **shared))
        _refuse(parts[-1], f"{where}, part {part['id']}")
    refuse_doubles((part.id for part in parts), where)
    fields |= {"parts": tuple(parts), "turn": fields["turn"] and Turn(**fields["turn"])}
    claim = Claim(**fields | shared)
    _refuse(claim, where)
    follows = verdict_of(part.verdict for part in parts) if parts else claim.verdict
    if claim.verdict != follows:
        raise ValueError(
            f"{where}: verdict {claim.verdict}, but from its parts follows {follows}. Correct one of them."
        )
    return claim


def _refuse(claim: Claim, where: str) -> None:
    """Refuse a claim or a part with a field that its verdict or its basis forbids, or without one that it needs."""
    rests = [name for name in ("basis", "parts") if getattr(claim, name)]
    if len(rests) != 1 and not claim.dropped:
        raise ValueError(f"{where}: a claim has a basis or parts: got {' and '.join(rests) or 'none of them'}.")
    for field, reason, needed in (
        ("conditions", f"verdict {claim.verdict}", claim.verdict == "holds-with-conditions"),
        ("correct", f"verdict {claim.verdict}", claim.verdict in ("wrong", "outdated")),
        ("turn", f"basis {claim.basis or 'none'}", claim.basis == "measured"),
    ):
        if needed != bool(getattr(claim, field)):
            raise ValueError(f"{where}: {reason}, which {'needs' if needed else 'has no'} {field}.")
    if claim.basis in ("measured", "derived") and claim.verdict in ("unsupported", "disputed"):
        raise ValueError(f"{where}: verdict {claim.verdict}, which only a source settles: got basis {claim.basis}.")


def verdict_of(parts: Iterable[str]) -> str:
    """Say what verdict follows from those of the parts of a claim.

    Parts of one verdict pass it on. Where some hold and others do not, the claim holds with conditions. Where none
    holds, the clearest counts: one that is wrong makes the claim wrong.
    """
    found = set(parts)
    if len(found) == 1:
        return found.pop()
    if found & {"holds", "holds-with-conditions"}:
        return "holds-with-conditions"
    return next(verdict for verdict in ("wrong", "outdated", "disputed", "unsupported") if verdict in found)


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


def problems(claims: Iterable[Claim], settled: Mapping[str, Sequence[Settlement]]) -> list[str]:
    """Say what is wrong between the ledger and the calls on the pages of finished chapters.

    Args:
        claims: the ledger's entries.
        settled: the settlements of each page of a finished chapter, ``attention/claims``.
    """
    pieces = {piece.id: piece for claim in claims for piece in claim.pieces}
    chapters = {toc.chapter(page) for page in settled}
    places: dict[str, list[str]] = {}
    found = []
    for page, items in settled.items():
        own = f"{toc.chapter(page)}/claims"
        for item in items:
            place = f"{page}, cell {item.cell}"
            places.setdefault(item.claim_id, []).append(place)
            if not item.claim_id:
                found.append(f"{place}: {item.function} takes the claim's id as a literal text")
            elif item.claim_id not in pieces:
                found.append(f"{place}: {item.function} names {item.claim_id}, which is not in the ledger")
            elif problem := _misplaced(pieces[item.claim_id], item, own if own in settled else page, page):
                found.append(f"{place}: {item.claim_id} {problem}")
    for piece in pieces.values():
        where = places.get(piece.id, [])
        if piece.dropped and where:
            found.append(f"{piece.id} is dropped, but settled in {'; '.join(where)}")
        elif len(where) > 1:
            found.append(f"{piece.id} is settled more than once: {'; '.join(where)}")
        elif not where and not piece.dropped and piece.chapter in chapters:
            found.append(f"{piece.id} is not settled, though its chapter {piece.chapter} is finished")
    return found


def _misplaced(piece: Claim, item: Settlement, own: str, page: str) -> str:
    """Say why a claim is not to be settled by this function or on this page; ``own`` is where its chapter does it."""
    fitting = "cite_claim" if piece.basis == "cited" else "check_claim"
    if page != own:
        return f"is settled beside the page {own}"
    if item.function != fitting:
        return f"has basis {piece.basis}, which needs {fitting}: got {item.function}"
    return ""


def count(ledger: Ledger, words: str) -> int:
    """Count entries by chapter, verdict or basis, or by several of these, or return ``total`` or ``documents``.

    A claim with parts counts under the strongest basis of its parts: measured, derived, cited. One that was
    dropped does not count.

    Raises:
        ValueError: a word is none of these.
    """
    if words in ("total", "documents"):
        return getattr(ledger, words)
    matching = [claim for claim in ledger.claims if not claim.dropped]
    chapters = {claim.chapter for claim in ledger.claims}
    for word in words.split():
        if word in VERDICTS:
            matching = [claim for claim in matching if claim.verdict == word]
        elif word in BASES:
            matching = [claim for claim in matching if claim.bases[:1] == (word,)]
        elif word in chapters:
            matching = [claim for claim in matching if claim.chapter == word]
        elif word != "all":
            raise ValueError(
                f"a count is of all, total, documents, a chapter ({', '.join(sorted(chapters))}), a verdict "
                f"({', '.join(VERDICTS)}), a basis ({', '.join(BASES)}): got {word!r}."
            )
    return len(matching)
