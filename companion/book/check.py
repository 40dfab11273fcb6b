"""The ledger at run time: a cell measures a claim, or cites a source for it, and fails where the ledger disagrees.

The ledger has an entry for each claim with its verdict (``companion.book.claims``); book/ledger.md lists them all.
"""

import textwrap
from difflib import get_close_matches

from companion.book.claims import read_ledger
from companion.book.model import Claim

EXPECTED = {"holds": True, "holds-with-conditions": True, "wrong": False, "outdated": False}
"""What a measurement must give, by verdict. ``unsupported`` and ``disputed`` claims cannot be measured."""

WIDTH, INDENT = 88, 11


class ClaimError(AssertionError):
    """A measurement that disagrees with the ledger's verdict."""


def check_claim(claim_id: str, measured: object, evidence: str, *, outside: object = None) -> None:
    """Compare what a cell measured with the ledger's verdict on a claim, and print both.

    ``holds`` needs True, ``wrong`` and ``outdated`` need False. ``holds-with-conditions`` needs one case inside the
    conditions where the claim is True (``measured``) and one outside them where it is False (``outside``).

    Args:
        claim_id: the entry's id in the ledger.
        measured: the truth of the claim as stated: one bool of Python, NumPy or PyTorch, computed in the cell.
        evidence: the numbers behind it, in a line.
        outside: the truth of the claim outside its conditions; only for ``holds-with-conditions``.

    Raises:
        ClaimError: the measurement disagrees with the verdict.
        ValueError: the id is unknown, the verdict cannot be measured, or an argument is not what it must be.
    """
    entry = _entry(claim_id)
    verdict = entry.verdict
    if verdict not in EXPECTED:
        raise ValueError(f"a claim with verdict {verdict!r} cannot be measured: got {claim_id!r}. Use cite_claim.")
    _check_text("evidence", evidence)
    found = {"measured": _truth("measured", measured)}
    wanted = {"measured": EXPECTED[verdict]}
    if verdict == "holds-with-conditions":
        if outside is None:
            raise ValueError(
                f"{claim_id!r} holds with conditions, so it needs a case outside them too: got outside=None. "
                "Measure one where the claim fails."
            )
        found = {"inside": found["measured"], "outside": _truth("outside", outside)}
        wanted = {"inside": True, "outside": False}
    elif outside is not None:
        raise ValueError(
            f"outside= is only for a claim that holds with conditions: got it for {claim_id!r}, "
            f"whose verdict is {verdict!r}. Leave it out."
        )
    if found != wanted:
        raise ClaimError(
            f"{claim_id}: the ledger says {verdict!r}, which needs {_words(wanted)}, but the cell measured "
            f"{_words(found)}. Evidence: {evidence} Look for the mistake in the cell first, then in the ledger."
        )
    _print(Claim=f"{claim_id}: {entry.claim}", Verdict=verdict, Measured=_words(found), Evidence=evidence)


def cite_claim(claim_id: str, bibkey: str, says: str) -> None:
    """Settle by a source what no cell can: an unsupported or disputed claim, or a fact of history.

    Args:
        claim_id: the entry's id in the ledger.
        bibkey: the source's key in ``book/references.bib``.
        says: what the source says, in our words.

    Raises:
        ValueError: the id is unknown, a cell can measure the claim, or a text is empty.
    """
    entry = _entry(claim_id)
    if entry.verdict in EXPECTED and entry.kind != "history-fact":
        raise ValueError(
            f"a source settles an unsupported or disputed claim or a fact of history: got {claim_id!r}, "
            f"kind {entry.kind!r}, verdict {entry.verdict!r}. Measure it with check_claim."
        )
    _check_text("bibkey", bibkey)
    _check_text("says", says)
    _print(Claim=f"{claim_id}: {entry.claim}", Verdict=entry.verdict, Source=f"{bibkey}: {says}")


def _entry(claim_id: str) -> Claim:
    entries = {claim.id: claim for claim in read_ledger().claims}
    if claim_id not in entries:
        near = get_close_matches(claim_id, entries, n=3)
        hint = f"Did you mean {', '.join(near)}?" if near else "Add an entry to the claims.yml of its chapter first."
        raise ValueError(f"a claim has an entry in the ledger: got {claim_id!r}. {hint}")
    if entries[claim_id].dropped:
        raise ValueError(f"a dropped claim stands in the ledger and nowhere else: got {claim_id!r}. Remove this call.")
    return entries[claim_id]


def _truth(name: str, value: object) -> bool:
    """Take one bool of Python, NumPy or PyTorch; a number or an array is an oversight, not a measurement."""
    shape = getattr(value, "shape", ())
    if isinstance(value, bool) or (shape == () and str(getattr(value, "dtype", "")) in ("bool", "torch.bool")):
        return bool(value)
    got = type(value).__name__ + (f" of shape {tuple(shape)}" if hasattr(value, "shape") else "")
    raise ValueError(f"{name} is one truth value: got {got}. Compare, then reduce with .all() or .any().")


def _check_text(name: str, text: str) -> None:
    if not text.strip():
        raise ValueError(f"{name} is a text that a reader can check: got an empty one. Say it in a line.")


def _words(truths: dict[str, bool]) -> str:
    if "inside" in truths:
        return f"inside: {truths['inside']}, outside: {truths['outside']}"
    return str(truths["measured"])


def _print(**lines: str) -> None:
    for label, text in lines.items():
        wrapped = textwrap.fill(
            text,
            WIDTH,
            initial_indent=label.ljust(INDENT),
            subsequent_indent=" " * INDENT,
            break_long_words=False,
            break_on_hyphens=False,
        )
        print(wrapped)
