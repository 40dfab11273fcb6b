"""The exercises of the chapter complexity."""
