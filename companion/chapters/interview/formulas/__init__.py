"""The formula sheet: formulas that are evaluated as they are shown, and compared with a second way to the same value.

The formulas stand in ``book/formulas.yml``. Chapter: book/interview/formulas.ipynb.
"""

from companion.chapters.interview.formulas.latex import evaluate
from companion.chapters.interview.formulas.sheet import FormulaError, check_formula, statements

__all__ = ["FormulaError", "check_formula", "evaluate", "statements"]
