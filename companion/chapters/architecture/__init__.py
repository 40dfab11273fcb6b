"""The chapter architecture: its exercises, explorers, quiz items and claims."""

TITLE = "The whole model"
