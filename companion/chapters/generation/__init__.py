"""The chapter generation: its exercises, pictures, quiz items and claims."""

TITLE = "Generation and serving"
