"""Answers that are written in other ways than those of the package.

They are found: each ``right_answers*.py`` in ``tests/chapters/CHAPTER/`` has the right ones as ``ALTERNATIVES``, by the
name of the exercise, and may have wrong ones as ``AS_WRITTEN``, each with the name of the mistake that it makes.
"""

import importlib
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "tests" / "chapters").glob("*/right_answers*.py"))
MODULES = [importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts)) for path in FILES]
ALTERNATIVES = {name: answers for module in MODULES for name, answers in module.ALTERNATIVES.items()}
AS_WRITTEN = [row for module in MODULES for row in getattr(module, "AS_WRITTEN", [])]
