"""``check_claim`` with a truth value, and ``cite_claim`` in plain text: for chapters without a page of claims.

This module goes with the last of them, and with it go ``kind`` in ``model.Claim``, ``schemas.CLAIM`` and
``claims._refuse``, the two branches of ``check`` that call this module, and what is said of truth values in
tests/tools/test_ledger.py.
"""

import textwrap

from companion.book.cases import EXPECTED, ClaimError, truth
from companion.book.claims import converted
from companion.book.model import Claim

WIDTH, INDENT = 88, 11


def check(claim: Claim, measured: object, evidence: str, outside: object) -> None:
    """Compare one truth value with a verdict, and where the claim holds with conditions a second one outside them.

    Args:
        claim: its entry in the ledger.
        measured: the truth of the claim as stated: one bool of Python, NumPy or PyTorch, computed in the cell.
        evidence: the numbers behind it, in a line.
        outside: the truth of the claim outside its conditions; only for ``holds-with-conditions``.

    Raises:
        ClaimError: the measurement disagrees with the verdict.
        ValueError: the chapter has a page of claims, or an argument is not what it must be.
    """
    if claim.chapter in converted():
        raise ValueError(
            f"the chapter {claim.chapter} has a page of claims, where measure is a function of a case: got a "
            f"{type(measured).__name__} for {claim.id!r}. Give measure, says and the cases inside and outside."
        )
    found, wanted = {"measured": truth("measured", measured)}, {"measured": EXPECTED[claim.verdict]["inside"]}
    if claim.verdict == "holds-with-conditions":
        if outside is None:
            raise ValueError(
                f"{claim.id!r} holds with conditions, so it needs a case outside them too: got outside=None. "
                "Measure one where the claim fails."
            )
        found = {"inside": found["measured"], "outside": truth("outside", outside)}
        wanted = {"inside": True, "outside": False}
    elif outside is not None:
        raise ValueError(
            f"outside= is only for a claim that holds with conditions: got it for {claim.id!r}, "
            f"whose verdict is {claim.verdict!r}. Leave it out."
        )
    if found != wanted:
        raise ClaimError(
            f"{claim.id}: the ledger says {claim.verdict!r}, which needs {_words(wanted)}, but the cell measured "
            f"{_words(found)}. Evidence: {evidence} Look for the mistake in the cell first, then in the ledger."
        )
    _print(claim, Measured=_words(found), Evidence=evidence)


def cite(claim: Claim, bibkey: str, says: str) -> None:
    """Print the source of what no cell can settle: an unsupported or disputed claim, or a fact of history.

    Raises:
        ValueError: a cell can measure the claim.
    """
    if claim.verdict in EXPECTED and claim.kind != "history-fact":
        raise ValueError(
            f"a source settles an unsupported or disputed claim or a fact of history: got {claim.id!r}, "
            f"kind {claim.kind!r}, verdict {claim.verdict!r}. Measure it with check_claim."
        )
    _print(claim, Source=f"{bibkey}: {says}")


def _words(truths: dict[str, bool]) -> str:
    if "inside" in truths:
        return f"inside: {truths['inside']}, outside: {truths['outside']}"
    return str(truths["measured"])


def _print(claim: Claim, **lines: str) -> None:
    for label, text in {"Claim": f"{claim.id}: {claim.claim}", "Verdict": claim.verdict, **lines}.items():
        wrapped = textwrap.fill(
            text,
            WIDTH,
            initial_indent=label.ljust(INDENT),
            subsequent_indent=" " * INDENT,
            break_long_words=False,
            break_on_hyphens=False,
        )
        print(wrapped)
