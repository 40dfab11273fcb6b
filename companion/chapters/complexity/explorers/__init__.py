"""The explorers of the chapter complexity."""
