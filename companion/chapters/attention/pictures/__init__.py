"""The pictures of the chapter attention."""
