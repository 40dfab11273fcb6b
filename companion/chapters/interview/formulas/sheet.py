"""The formulas of ``formulas.yml``, and the check that a cell of the sheet makes. Page: book/interview/formulas."""

import re
from collections.abc import Mapping
from pathlib import Path

import torch

from companion.book.formulas import read_formulas
from companion.chapters.interview.formulas.latex import RELATIONS, plain, tokens, trace
from companion.chapters.interview.formulas.values import Value, tensor

__all__ = ["FormulaError", "check_formula", "statements"]


BOUNDS = {r"\le": torch.le, r"\ge": torch.ge}
_PARTS = re.compile(r"\\[a-zA-Z]+|\\.|.", re.DOTALL)


class FormulaError(AssertionError):
    """A formula that is not what the second way gives."""


def statements(latex: str) -> list[tuple[str, str, str]]:
    r"""Split a formula at each ``\quad`` into statements: left side, relation, right side.

    >>> statements(r"a = b + 1 \quad c \ge a")
    [('a', '=', 'b + 1'), ('c', '\\ge', 'a')]

    Args:
        latex: the formula as it is shown.

    Raises:
        ValueError: a statement has not exactly one relation outside its brackets.
    """
    result = []
    for text in re.split(r"\\quad\b", latex):
        parts, depth = [""], 0
        for token in _PARTS.findall(text):
            depth += (token in "{[(") - (token in ")]}")
            if depth == 0 and token in RELATIONS:
                parts += [token, ""]
            else:
                parts[-1] += token
        if len(parts) != 3:
            raise ValueError(f"a statement has one relation, such as =: got {text.strip()!r}.")
        left, relation, right = (part.strip() for part in parts)
        result.append((left, relation, right))
    return result


def _sheet() -> dict[str, str]:
    """Read the formulas by id."""
    return {formula.id: formula.latex for formula in read_formulas(Path(__file__).with_name("formulas.yml"))}


def check_formula(
    formula_id: str,
    wanted: Value | Mapping[str, Value],
    *,
    within: float = 1e-12,
    observed: Value | None = None,
    **names: Value,
) -> None:
    """Evaluate a formula of the sheet as it is shown, compare it with a second way to the same value, and print that.

    The statements are evaluated in order; the left side of each is a name for those after it. Every right side is
    compared, or used by a statement behind it. A left side that can be evaluated is compared too.

    Args:
        formula_id: its id in ``book/formulas.yml``.
        wanted: the value of the last statement by another way, or the values of several by their left sides.
        within: largest error, relative to the largest entry of what is wanted.
        observed: for a bound, a value that must lie on its right side, apart from the one wanted, where it is reached.
        **names: the value of each name, written without braces and backslashes; ``_`` and ``^`` stay, so that names
            with ``^`` come as ``**{"W^Q": w}``.

    Raises:
        FormulaError: an error is not smaller than ``within``, or a bound does not hold.
        ValueError: the id is unknown, a formula cannot be evaluated, a shape differs, a statement is not checked, a
            name stands nowhere in the formula, or a bound has nothing observed.
    """
    if formula_id not in _sheet():
        raise ValueError(f"no formula {formula_id!r} stands in formulas.yml. Correct the id.")
    lines = statements(_sheet()[formula_id])
    if not isinstance(wanted, Mapping):
        wanted = {plain(tokens(lines[-1][0])): wanted}
    values, used, pending = dict(names), set(), set()
    for left, relation, right in lines:
        name = plain(tokens(left))
        value, inside = trace(right, values)
        used |= inside
        pending -= inside
        if name in wanted:
            sides = {right: value} | _left(left, values, used)
            for side, found in sides.items():
                _compare(f"{formula_id}, {left} by {side}", tensor(found), tensor(wanted[name]), within)
        else:
            pending.add(name)
        if relation in BOUNDS:
            _check_bound(formula_id, relation, observed, tensor(value))
        values[name] = value
    lost = set(wanted) - {plain(tokens(left)) for left, _, _ in lines}
    for what, rest in (("checks", pending), ("has a left side", lost), ("contains", set(names) - used)):
        if rest:
            raise ValueError(f"formula {formula_id}: nothing {what} {', '.join(sorted(rest))}. Correct the call.")
    print(f"{formula_id}: error < {within:g}: True")


def _left(left: str, values: Mapping[str, Value], used: set[str]) -> dict[str, Value]:
    """Evaluate a left side that is more than a new name, such as ``f(P X)``; others have no value yet."""
    try:
        value, inside = trace(left, values)
    except ValueError:
        return {}
    used |= inside
    return {left: value}


def _check_bound(formula_id: str, relation: str, observed: Value | None, bound: torch.Tensor) -> None:
    if observed is None:
        raise ValueError(f"formula {formula_id} is a bound, and nothing was observed. Give a value as observed.")
    if not bool(BOUNDS[relation](tensor(observed), bound).all()):
        raise FormulaError(f"{formula_id}: {tensor(observed).tolist()} is not {relation} {bound.tolist()}.")


def _compare(what: str, value: torch.Tensor, wanted: torch.Tensor, within: float) -> None:
    if value.shape != wanted.shape:
        raise FormulaError(f"{what} has shape {tuple(value.shape)}, and the second way {tuple(wanted.shape)}.")
    apart = (value - wanted).abs().masked_fill(value == wanted, 0.0)  # minus infinity may stand in both
    largest = torch.where(wanted.isfinite(), wanted, 0.0).abs().max().clamp(min=1e-300)
    error = (apart.max() / largest).item()
    if not error < within:
        raise FormulaError(f"{what}: the error is {error:.2g}, and must be smaller than {within:g}.")
