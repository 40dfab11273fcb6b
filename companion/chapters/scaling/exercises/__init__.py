"""The exercises of the chapter scaling."""
