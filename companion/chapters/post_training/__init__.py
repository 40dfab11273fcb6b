"""The chapter post-training: its exercises, explorers, quiz items and claims."""

TITLE = "After pre-training"
