"""What the chapter's pages read from measurements/scaling."""

from companion.chapters.scaling.experiments_moe import MIXTURES
from companion.chapters.scaling.laws import LAWS
from companion.chapters.scaling.stability import STABILITY

EXPERIMENTS = [*LAWS, *STABILITY, *MIXTURES]
"""Small GPTs for a scaling law and on repeated text; runs at high rates and after bad batches; mixtures of experts."""
