"""The explorers of the chapter attention."""
