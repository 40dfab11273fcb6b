"""The exercises of the chapter architecture."""
