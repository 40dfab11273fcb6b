"""The explorers of the chapter positional-encoding."""
