"""Right answers that are written in other ways than the references, by the name of the exercise; a module a chapter."""

import importlib
from pathlib import Path

CHAPTERS = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
MODULES = [importlib.import_module(f"{__name__}.{chapter}") for chapter in CHAPTERS]
ALTERNATIVES = {name: answers for module in MODULES for name, answers in module.ALTERNATIVES.items()}
