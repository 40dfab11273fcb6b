"""The chapter training: its exercises, explorers, quiz items and claims."""

TITLE = "Training"
