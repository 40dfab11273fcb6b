"""The explorers of the chapter architecture."""
