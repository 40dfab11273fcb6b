"""The exercises of the chapter attention."""
