"""The explorers of the chapter generation."""
