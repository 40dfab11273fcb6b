"""What the unit tests share: the right answers to the exercises in `right_answers/`, wrong ones in `mistakes.py`."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
pytest.register_assert_rewrite("right_answers")
