"""The exercises of the chapter training."""
