"""The drawn pictures of the chapter."""
