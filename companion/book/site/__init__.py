"""The Sphinx extension of the book: everything that the site adds to Jupyter Book, registered by one name."""

from sphinx.application import Sphinx

PARTS = (
    "citations",
    "mathjax",
    "launch",
    "theme",
    "sidebar",
    "chapter_pages",
    "claims_page",
    "questions_page",
    "quiz_page",
    "explorers",
    "weights",
    "pictures",
    "plots",
    "book_map",
    "sharing",
    "tables",
    "source_pages",
    "live_lab",
    "exercises_here",
    "mock_page",
    "drills_page",
    "cards_page",
    "progress_page",
    "formulas_page",
    "search",
    "terms_page",
    "glossary",
    "indices",
    "letters",
    "previews",
    "question_sheet",
    "lean_styles",
    "whole_chapter",
    "keep",
)


def setup(app: Sphinx) -> dict[str, object]:
    """Register every part with Sphinx."""
    for part in PARTS:
        app.setup_extension(f"{__name__}.{part}")
    return {"version": "2", "parallel_read_safe": True, "parallel_write_safe": True}
