"""The chapter history: its exercises, explorers, quiz items and claims."""

TITLE = "Before attention"
