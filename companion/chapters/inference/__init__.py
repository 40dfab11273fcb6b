"""The chapter inference: its exercises, explorers, quiz items and claims."""

TITLE = "Inference"
