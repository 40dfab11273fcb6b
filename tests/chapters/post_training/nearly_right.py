"""Answers to the exercises on post-training that are right on most inputs."""

from companion.chapters.post_training.exercises.groups import _grpo_loss


def zeros_not_said(log_p, old, rewards, said, clip):
    return _grpo_loss(log_p, old, rewards, said & (log_p != 0), clip)


NEARLY_RIGHT = [("grpo-loss", "tokens that the policy is sure of", zeros_not_said)]
