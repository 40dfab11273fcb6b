"""What the chapter's pages read from measurements/variants."""

from companion.chapters.variants.experiments_images import IMAGES
from companion.chapters.variants.folding import FOLDING
from companion.chapters.variants.masked_model import MASKED

EXPERIMENTS = [*MASKED, *FOLDING, *IMAGES]
"""Masked words of a known language; missing distances, filled in by updates of pairs; digits named and found."""
