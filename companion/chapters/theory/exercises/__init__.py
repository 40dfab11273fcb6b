"""The exercises of the chapter theory."""
