"""Right answers that are written in other ways than the references, by the name of the exercise.

They are found: each ``right_answers*.py`` in ``tests/chapters/CHAPTER/`` has its own as ``ALTERNATIVES``.
"""

import importlib
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "tests" / "chapters").glob("*/right_answers*.py"))
MODULES = [importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts)) for path in FILES]
ALTERNATIVES = {name: answers for module in MODULES for name, answers in module.ALTERNATIVES.items()}
