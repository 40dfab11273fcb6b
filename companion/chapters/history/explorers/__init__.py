"""The explorers of the chapter history."""
