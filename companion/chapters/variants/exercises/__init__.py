"""The exercises of the chapter variants."""
