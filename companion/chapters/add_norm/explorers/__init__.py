"""The explorers of the chapter add-norm."""
