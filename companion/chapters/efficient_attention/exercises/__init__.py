"""The exercises of the chapter efficient-attention."""
