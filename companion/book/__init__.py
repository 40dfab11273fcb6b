"""The tools that make the book, without torch: claims, questions, quiz items, cards, notebooks and the site.

A notebook takes :func:`check_claim` and :func:`cite_claim` from here, and :func:`glue_number` for the numbers of its
answers.
"""

from companion.book.check import ClaimError, check_claim, cite_claim
from companion.book.glue import glue_number

__all__ = ["ClaimError", "check_claim", "cite_claim", "glue_number"]
