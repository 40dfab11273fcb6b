"""The exercises of the chapter add-norm."""
