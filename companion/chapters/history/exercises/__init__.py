"""The exercises of the chapter history."""
