"""The tools that make the book, without torch: claims, questions, quiz items, cards, notebooks and the site.

A notebook takes :func:`check_claim` and :func:`cite_claim` from here, :func:`glue_number` for the numbers of its
answers, :class:`Table` for a table of what it computes, and :func:`show_measured` for numbers that differ between
machines.
"""

from companion.book.check import ClaimError, check_claim, cite_claim
from companion.book.glue import glue_number
from companion.book.measured import show_measured
from companion.book.table import Table

__all__ = ["ClaimError", "Table", "check_claim", "cite_claim", "glue_number", "show_measured"]
