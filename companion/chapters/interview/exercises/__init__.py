"""The exercises that no chapter holds: to write, and code to repair."""
