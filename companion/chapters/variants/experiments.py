"""What the chapter's pages read from measurements/variants."""

from companion.chapters.variants.folding import FOLDING
from companion.chapters.variants.masked_model import MASKED

EXPERIMENTS = [*MASKED, *FOLDING]
"""Masked words of a known language; missing distances, filled in by updates of pairs."""
