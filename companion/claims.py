"""The ledger at run time: a cell measures a claim, or cites a source for it, and fails where the ledger disagrees.

The ledger is ``book/claims.yml``, one entry a claim with its verdict. Chapter: book/ledger.md lists every claim.
"""

import textwrap
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path

import numpy as np
import torch
import yaml

__all__ = ["ClaimError", "check_claim", "cite_claim", "ledger"]

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
        claim_id: the entry's id in ``book/claims.yml``.
        measured: the truth of the claim as stated: one bool of Python, NumPy or PyTorch, computed in the cell.
        evidence: the numbers behind it, in a line.
        outside: the truth of the claim outside its conditions; only for ``holds-with-conditions``.

    Raises:
        ClaimError: the measurement disagrees with the verdict.
        ValueError: the id is unknown, the verdict cannot be measured, or an argument is not what it must be.
    """
    entry = _entry(claim_id)
    verdict = entry["verdict"]
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
    _print(Claim=f"{claim_id}: {entry['claim']}", Verdict=verdict, Measured=_words(found), Evidence=evidence)


def cite_claim(claim_id: str, bibkey: str, says: str) -> None:
    """Settle by a source what no cell can: an unsupported or disputed claim, or a fact of history.

    Args:
        claim_id: the entry's id in ``book/claims.yml``.
        bibkey: the source's key in ``book/references.bib``.
        says: what the source says, in our words.

    Raises:
        ValueError: the id is unknown, a cell can measure the claim, or a text is empty.
    """
    entry = _entry(claim_id)
    if entry["verdict"] in EXPECTED and entry["kind"] != "history-fact":
        raise ValueError(
            f"a source settles an unsupported or disputed claim or a fact of history: got {claim_id!r}, "
            f"kind {entry['kind']!r}, verdict {entry['verdict']!r}. Measure it with check_claim."
        )
    _check_text("bibkey", bibkey)
    _check_text("says", says)
    _print(Claim=f"{claim_id}: {entry['claim']}", Verdict=entry["verdict"], Source=f"{bibkey}: {says}")


def ledger(path: Path | None = None) -> dict[str, dict]:
    """Read the ledger.

    Args:
        path: a ledger file; ``None`` means ``book/claims.yml`` in a checkout, else the copy in the installed package.

    Returns:
        The entries by id, in the order of the file.
    """
    if path is None:
        checkout = Path(__file__).parent.parent / "book" / "claims.yml"
        path = checkout if checkout.exists() else files("companion") / "claims.yml"
    entries = yaml.load(path.read_text("utf8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))["claims"]
    return {entry["id"]: entry for entry in entries}


def _entry(claim_id: str) -> dict:
    entries = ledger()
    if claim_id not in entries:
        near = get_close_matches(claim_id, entries, n=3)
        hint = f"Did you mean {', '.join(near)}?" if near else "Add an entry to book/claims.yml first."
        raise ValueError(f"a claim has an entry in the ledger: got {claim_id!r}. {hint}")
    if "dropped" in entries[claim_id]:
        raise ValueError(f"a dropped claim stands in the ledger and nowhere else: got {claim_id!r}. Remove this call.")
    return entries[claim_id]


def _truth(name: str, value: object) -> bool:
    """Take one bool of Python, NumPy or PyTorch; a number or an array is an oversight, not a measurement."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, torch.Tensor) and value.ndim == 0 and value.dtype == torch.bool:
        return bool(value)
    shape = f" of shape {tuple(value.shape)}" if isinstance(value, torch.Tensor | np.ndarray) else ""
    raise ValueError(
        f"{name} is one truth value: got {type(value).__name__}{shape}. Compare, then reduce with .all() or .any()."
    )


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
