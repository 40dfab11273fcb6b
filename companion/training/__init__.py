"""Training: schedules, losses, batches, the loop, checkpoints, and several processes.

Vaswani et al. (2017), section 5. Each part is a small module of its own; this one names them all.

Chapter: book/training.
"""

from companion.training.checkpoint import load_checkpoint, random_state, save_checkpoint, set_random_state
from companion.training.data import Batches, Pairs, pad, pairs_batch, texts_batch, to_device
from companion.training.distributed import process_group, rank, world_size
from companion.training.evaluation import decoding_accuracy, evaluating, mean_loss
from companion.training.history import History
from companion.training.loop import Trainer
from companion.training.loss import Loss, not_padding, smoothed_targets, summed_loss, token_losses
from companion.training.objective import language_model_loss, seq2seq_loss
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
    "language_model_loss",
    "load_checkpoint",
    "mean_loss",
    "not_padding",
    "pad",
    "pairs_batch",
    "paper_adam",
    "process_group",
    "random_state",
    "rank",
    "save_checkpoint",
    "scale_gradients",
    "seq2seq_loss",
    "set_random_state",
    "smoothed_targets",
    "summed_loss",
    "texts_batch",
    "to_device",
    "token_losses",
    "warmup_schedule",
    "world_size",
]
