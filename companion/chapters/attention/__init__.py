"""The chapter attention: its exercises, explorers, quiz items and claims."""

TITLE = "Attention"
