"""What the pages that prepare for an interview have: exercises that no chapter holds, and the formula sheet."""
