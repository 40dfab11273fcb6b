"""The pictures of the chapter add-norm."""
