"""The chapter theory: its exercises, explorers, quiz items and claims."""

TITLE = "What it can and cannot compute"
