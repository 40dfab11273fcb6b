"""What the chapter's pages read from measurements/efficient-attention."""

from companion.chapters.efficient_attention.long_inputs import LONG_INPUTS
from companion.chapters.efficient_attention.stretching import STRETCHING
from companion.chapters.efficient_attention.which_one import WHICH_ONE

EXPERIMENTS = [*LONG_INPUTS, *STRETCHING, *WHICH_ONE]
"""Time and memory of one head on long inputs; rotary models on longer sequences; one task for each kind of mixing."""
