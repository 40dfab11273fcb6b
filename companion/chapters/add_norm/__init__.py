"""The chapter add-norm: its exercises, explorers, quiz items and claims."""

TITLE = "Residuals, norms, feed-forward"
