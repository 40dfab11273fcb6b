"""The ledger at run time: a cell measures a claim, or cites a source for it, and fails where the ledger disagrees.

The ledger has an entry for each claim with its verdict (``companion.book.claims``); book/ledger.md lists them all.
"""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches

from companion.book.cases import EXPECTED, ClaimError, Result, Row, rows
from companion.book.claims import read_ledger
from companion.book.model import Claim

__all__ = ["ClaimError", "check_claim", "cite_claim"]


def check_claim(
    claim_id: str,
    measure: Callable[[object], object],
    says: Callable[[object], object],
    *,
    inside: Mapping[str, object] | None = None,
    outside: Mapping[str, object] | None = None,
    evidence: str = "",
    within: float | int | Mapping[str, float | int] | None = None,
) -> None:
    """Measure cases of a claim, compare what is found with the ledger's verdict, and show both.

    One statement is asked of all cases. A claim that ``holds`` is true in all of them, one that is ``wrong`` or
    ``outdated`` in none. One that ``holds-with-conditions`` is true in all cases inside its conditions and in none
    outside them. A case that decides nothing, as a tie, is shown and does not count; each side has one that decides.

    Args:
        claim_id: the entry's id in the ledger, or ``claim/part`` for a part of one.
        measure: takes a case and returns what decides: a number, a few of them in a list, or by their names.
        says: takes what was measured and tells whether the statement is true of it, or ``"undecided"``.
        inside: the cases that the claim speaks of, by name; for ``holds-with-conditions`` those inside its conditions.
        outside: cases outside the conditions; only for ``holds-with-conditions``.
        evidence: what a reader should know about the measurement, in a line.
        within: how far the values may lie from these on another machine; one number, or one for each name of a value.

    Raises:
        ClaimError: a case disagrees with the verdict.
        ValueError: the id is unknown, the verdict cannot be measured, or an argument is not what it must be.
    """
    claim = _entry(claim_id)
    if claim.verdict not in EXPECTED or claim.basis == "cited":
        raise ValueError(
            f"what is unsupported, disputed or cited cannot be measured: got {claim_id!r}, verdict {claim.verdict!r}. "
            "Use cite_claim."
        )
    for name, function in (("measure", measure), ("says", says)):
        if not callable(function):
            raise ValueError(
                f"{name} is a function, of a case or of what was measured: got {type(function).__name__} for "
                f"{claim_id!r}. Give measure, says and the cases inside and outside."
            )
    sides = {"inside": inside} if outside is None else {"inside": inside, "outside": outside}
    wanted = EXPECTED[claim.verdict]
    if sides.keys() != wanted.keys() or not all(isinstance(cases, Mapping) and cases for cases in sides.values()):
        raise ValueError(
            f"verdict {claim.verdict!r} needs cases, by their names, {' and '.join(wanted)}: got {claim_id!r} with "
            f"inside={inside!r}, outside={outside!r}."
        )
    if names := [name for name in inside if name in (outside or {})]:
        raise ValueError(
            f"{claim_id!r}: a case lies on one side: got {', '.join(names)} on both. Rename or remove one."
        )
    found = [row for side, cases in sides.items() for row in rows(side, cases, measure, says, within)]
    if any(list(row.values) != list(found[0].values) for row in found):
        raise ValueError(f"{claim_id!r}: all cases have values of the same names: got {'; '.join(map(str, found))}.")
    _compare(claim, found)
    _show(Result.of(claim, found, evidence, within))


def _compare(claim: Claim, found: Sequence[Row]) -> None:
    wanted = EXPECTED[claim.verdict]
    decided = [row for row in found if row.true is not None]
    if any(row.true != wanted[row.side] for row in decided) or {row.side for row in decided} != wanted.keys():
        needed = " and ".join(f"{truth} {side}" for side, truth in wanted.items())
        raise ClaimError(
            f"{claim.id}: the ledger says {claim.verdict!r}, for which the statement must be {needed}, but the cell "
            f"found {', '.join(map(str, found))}. Look for the mistake in the cell first, then in the ledger."
        )
    if unclear := [str(row) for row in found if not row.clear]:
        raise ValueError(
            f"{claim.id}: it found {', '.join(unclear)}, but not so of all values within the tolerance. Measure more, "
            "or choose a case that is clear."
        )


def cite_claim(claim_id: str, bibkey: str, says: str) -> None:
    """Settle by a source what no cell can: an unsupported or disputed claim, or somebody else's numbers or words.

    Args:
        claim_id: the entry's id in the ledger, or ``claim/part`` for a part of one.
        bibkey: the source's key in ``book/references.bib``.
        says: what the source says, in our words.

    Raises:
        ValueError: the id is unknown, a cell can measure the claim, or a text is empty.
    """
    claim = _entry(claim_id)
    _check_text("bibkey", bibkey)
    _check_text("says", says)
    if claim.basis != "cited":
        raise ValueError(f"a source settles what is cited: got {claim_id!r}, basis {claim.basis!r}. Use check_claim.")
    _show(Result.of(claim, evidence=f"{bibkey}: {says}"))


def _show(result: Result) -> None:
    from IPython.display import display  # a notebook has it; the site does without

    display(result)


def _entry(claim_id: str) -> Claim:
    claims = {claim.id: claim for claim in read_ledger().claims}
    entries = {piece.id: piece for claim in claims.values() for piece in claim.pieces}
    if claim_id in entries and not entries[claim_id].dropped:
        return entries[claim_id]
    if claim_id in entries:
        raise ValueError(f"a dropped claim stands in the ledger and nowhere else: got {claim_id!r}. Remove this call.")
    if claim_id in claims:
        parts = ", ".join(part.id for part in claims[claim_id].parts)
        raise ValueError(f"a claim with parts is settled part by part: got {claim_id!r}. Settle {parts}.")
    near = get_close_matches(claim_id, entries, n=3)
    hint = f"Did you mean {', '.join(near)}?" if near else "Add an entry to the claims.yml of its chapter first."
    raise ValueError(f"a claim has an entry in the ledger: got {claim_id!r}. {hint}")


def _check_text(name: str, text: object) -> None:
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"{name} is a text that a reader can check: got {text!r}. Say it in a line.")
