"""The chapter scaling: its exercises, explorers, quiz items and claims."""

TITLE = "Tokens, scale, fine-tuning"
