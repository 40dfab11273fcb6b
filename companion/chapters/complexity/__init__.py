"""The chapter complexity: its exercises, explorers, quiz items and claims."""

TITLE = "Complexity"
