"""Answers that are written in other ways than those of the package; a module a chapter.

``ALTERNATIVES`` has the right ones by the name of the exercise; ``AS_WRITTEN`` lists wrong ones, each with the name of
the mistake that it makes.
"""

import importlib
from pathlib import Path

CHAPTERS = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
MODULES = [importlib.import_module(f"{__name__}.{chapter}") for chapter in CHAPTERS]
ALTERNATIVES = {name: answers for module in MODULES for name, answers in module.ALTERNATIVES.items()}
AS_WRITTEN = [row for module in MODULES for row in getattr(module, "AS_WRITTEN", [])]
