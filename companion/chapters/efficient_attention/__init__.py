"""The chapter efficient-attention: its exercises, explorers, quiz items and claims."""

TITLE = "Long contexts"
