"""The chapter scaling: its exercises, explorers, quiz items and claims."""

TITLE = "Scaling"
