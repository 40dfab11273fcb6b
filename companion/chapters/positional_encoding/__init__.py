"""The chapter positional-encoding: its exercises, explorers, quiz items and claims."""

TITLE = "Positional encoding"
