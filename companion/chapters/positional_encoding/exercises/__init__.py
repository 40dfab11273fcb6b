"""The exercises of the chapter positional-encoding."""
