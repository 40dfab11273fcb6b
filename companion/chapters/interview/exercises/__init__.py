"""Exercises that no chapter holds, in the order of their two pages: to write, then code to repair."""

from companion.chapters.interview.exercises.blocks import ENCODER_BLOCK
from companion.chapters.interview.exercises.bpe import BPE_ENCODE, BPE_MERGE
from companion.chapters.interview.exercises.checkpoints import CHECKPOINTED_BACKWARD
from companion.chapters.interview.exercises.generation import CACHED_DECODER, CACHED_STEP
from companion.chapters.interview.exercises.layers import CROSS_ATTENTION, GROUPED_QUERY
from companion.chapters.interview.exercises.lora_adamw import ADAMW_STEP, LORA
from companion.chapters.interview.exercises.memory import TRAINING_MEMORY
from companion.chapters.interview.exercises.objectives import MASK_TOKENS, PERPLEXITY
from companion.chapters.interview.exercises.online_softmax import LINEAR_RECURRENT, STREAM_SOFTMAX
from companion.chapters.interview.exercises.repair_decoding import DEBUG_CACHE, DEBUG_LEFT_PADDING
from companion.chapters.interview.exercises.repair_layers import DEBUG_HEADS, DEBUG_LAYER_NORM
from companion.chapters.interview.exercises.repair_sampling import DEBUG_TOP_P
from companion.chapters.interview.exercises.repair_training import DEBUG_LABEL_SHIFT, DEBUG_TRAINING_STEP
from companion.chapters.interview.exercises.sampling import TEMPERATURE_TOP_K, TOP_P
from companion.chapters.interview.exercises.search import BEAM_STEP, SPECULATIVE_STEP
from companion.chapters.interview.exercises.tiles import TILED_ATTENTION, WINDOW_ATTENTION

EXERCISES = (
    GROUPED_QUERY,
    CROSS_ATTENTION,
    ENCODER_BLOCK,
    TEMPERATURE_TOP_K,
    TOP_P,
    BEAM_STEP,
    SPECULATIVE_STEP,
    CACHED_STEP,
    CACHED_DECODER,
    STREAM_SOFTMAX,
    TILED_ATTENTION,
    WINDOW_ATTENTION,
    LINEAR_RECURRENT,
    BPE_MERGE,
    BPE_ENCODE,
    PERPLEXITY,
    MASK_TOKENS,
    LORA,
    ADAMW_STEP,
    TRAINING_MEMORY,
    CHECKPOINTED_BACKWARD,
    DEBUG_LAYER_NORM,
    DEBUG_HEADS,
    DEBUG_LABEL_SHIFT,
    DEBUG_TRAINING_STEP,
    DEBUG_TOP_P,
    DEBUG_CACHE,
    DEBUG_LEFT_PADDING,
)

__all__ = ["EXERCISES"]
