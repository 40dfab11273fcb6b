"""The chapters of the book: what each one has beside its pages, in a folder of its name."""
