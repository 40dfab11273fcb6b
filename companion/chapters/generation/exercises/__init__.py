"""The exercises of the chapter generation."""
