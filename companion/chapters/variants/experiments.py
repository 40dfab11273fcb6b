"""What the chapter's pages read from measurements/variants."""

from companion.chapters.variants.experiments_images import IMAGES
from companion.chapters.variants.folding import FOLDING
from companion.chapters.variants.in_context import IN_CONTEXT
from companion.chapters.variants.masked_model import MASKED
from companion.chapters.variants.series import FORECASTS
from companion.chapters.variants.text_to_text import SPANS_FIRST

EXPERIMENTS = [*MASKED, *SPANS_FIRST, *IN_CONTEXT, *FORECASTS, *FOLDING, *IMAGES]
"""Masked words and tasks; functions learned in context; forecasts; missing distances; digits named and found."""
