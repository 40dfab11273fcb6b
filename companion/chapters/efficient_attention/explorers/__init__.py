"""The explorers of the chapter efficient-attention."""
