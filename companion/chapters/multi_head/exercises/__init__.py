"""The exercises of the chapter multi-head."""
