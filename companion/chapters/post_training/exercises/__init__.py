"""The exercises of the chapter post-training."""
