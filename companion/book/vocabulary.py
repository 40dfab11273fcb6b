"""The words that pages and scripts share, as a script for the browser: levels, kinds, tiers, topics, ratings and times.

A page may not fetch a file when it is opened from a folder, so the words are a script, ``_static/js/vocabulary.js``,
which every page that uses them loads first.
"""

import json

from companion.book.model import FOLLOW_UP, LEVELS, QUESTION_KINDS, RATINGS, TARGETS, TIERS, WEAK
from companion.book.topics import TOPICS


def vocabulary_script() -> str:
    """Return the script that defines ``vocabulary``."""
    words = {"levels": LEVELS, "kinds": QUESTION_KINDS, "tiers": TIERS, "topics": TOPICS}
    words |= {"ratings": RATINGS, "weak": WEAK, "targets": TARGETS, "followUp": FOLLOW_UP}
    return f"const vocabulary = Object.freeze({json.dumps(words, ensure_ascii=False, indent=2)});\n"
