"""What the unit tests share: answers to the exercises, right and wrong, in `right_answers/`, and `practice.py`."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
pytest.register_assert_rewrite("right_answers")


@pytest.fixture
def fresh(monkeypatch):
    """Give a test a progress of its own in the exercises."""
    from companion.exercises import progress

    monkeypatch.setattr(progress, "PROGRESS", progress.Progress())
    return progress.PROGRESS
