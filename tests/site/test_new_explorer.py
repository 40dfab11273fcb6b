"""What `make new` writes for an explorer passes the checks of explorers in a browser, before anybody edits it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from companion.book import new

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns("__pycache__", "_build", ".venv", ".git", "node_modules", "*.ipynb")


def test_a_new_explorer_passes_the_checks_in_a_browser(tmp_path):
    root = tmp_path / "house"
    shutil.copytree(ROOT, root, ignore=LEFT_OUT)
    new.create("explorer", "attention/row-sums", root)
    command = [sys.executable, "-m", "pytest", "-q", "tests/site/test_explorers.py", "-k", "row_sums"]
    variables = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(command, cwd=root, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
