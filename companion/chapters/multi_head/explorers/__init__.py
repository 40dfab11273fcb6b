"""The explorers of the chapter multi-head."""
