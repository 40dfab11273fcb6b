"""The chapter multi-head: its exercises, explorers, quiz items and claims."""

TITLE = "Multi-head attention"
