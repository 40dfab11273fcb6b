"""The chapter theory: its exercises, explorers, quiz items and claims."""

TITLE = "Theory and limits"
