"""What the chapter's pages read from measurements/post-training."""

from companion.chapters.post_training.experiments_evaluation import EVALUATION
from companion.chapters.post_training.experiments_reasoning import REASONING
from companion.chapters.post_training.experiments_retrieval import RETRIEVAL
from companion.chapters.post_training.experiments_rl import REWARDS
from companion.chapters.post_training.experiments_tuning import TUNING

EXPERIMENTS = [*TUNING, *REWARDS, *EVALUATION, *RETRIEVAL, *REASONING]
"""Fine-tuning, with adapters and without; a reward model, and policies trained on its score, on pairs, on a checker;
what a score says; answers from passages; and thoughts, samples and their lengths."""
