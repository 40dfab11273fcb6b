"""What the make commands run, as ``python -m scripts.NAME`` from the project's folder."""
