"""The chapter efficient-attention: its exercises, explorers, quiz items and claims."""

TITLE = "Efficient attention, long context"
