"""The chapter variants: its exercises, explorers, quiz items and claims."""

TITLE = "Variants and uses"
