"""The explorers of the chapter training."""
