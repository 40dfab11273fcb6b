"""What the pages on biases and on heads read from measurements/theory."""

from companion.chapters.theory.digits import DIGITS
from companion.chapters.theory.induction_runs import INDUCTION
from companion.chapters.theory.languages import SEQUENCES
from companion.chapters.theory.parity import PARITY

EXPERIMENTS = [*INDUCTION, *PARITY, *SEQUENCES, *DIGITS]
"""Induction heads by step; parity and brackets by length; sequences and digits by number of examples."""
