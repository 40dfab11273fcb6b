"""Training: schedules, losses, batches, the loop, checkpoints, and several processes.

Vaswani et al. (2017), section 5. Each part is a small module of its own; this one names them all.

Chapter: book/training.
"""

from companion.training.checkpoint import load_checkpoint, random_state, save_checkpoint, set_random_state
from companion.training.data import Batches, Pairs, moved, pad, pairs_batch, texts_batch
from companion.training.distributed import process, process_group, processes
from companion.training.evaluation import decoding_accuracy, evaluating, mean_loss
from companion.training.history import History
from companion.training.loop import Trainer
from companion.training.loss import Loss, real_tokens, smoothed_targets, summed_loss, token_losses
from companion.training.objective import pairs_loss, texts_loss
from companion.training.optimizer import clip_gradients, paper_adam, scale_gradients
from companion.training.schedule import cosine_schedule, lambda_lr, warmup_schedule

__all__ = [
    "Batches",
    "History",
    "Loss",
    "Pairs",
    "Trainer",
    "clip_gradients",
    "cosine_schedule",
    "decoding_accuracy",
    "evaluating",
    "lambda_lr",
    "load_checkpoint",
    "mean_loss",
    "moved",
    "pad",
    "pairs_batch",
    "pairs_loss",
    "paper_adam",
    "process",
    "process_group",
    "processes",
    "random_state",
    "real_tokens",
    "save_checkpoint",
    "scale_gradients",
    "set_random_state",
    "smoothed_targets",
    "summed_loss",
    "texts_batch",
    "texts_loss",
    "token_losses",
    "warmup_schedule",
]
