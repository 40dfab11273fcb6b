"""The checks of the explorers, a module a chapter. Each module has `made()`, one explorer of each of its classes in a
state that the site need not have, and `CHECKS`, by the name of a class the function that compares what the browser
shows with what the package gives.
"""

import importlib
from pathlib import Path

CHAPTERS = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py") if path.stem != "browser")
MODULES = {name: importlib.import_module(f"{__name__}.{name}") for name in CHAPTERS}
CHECKS = {name: check for module in MODULES.values() for name, check in module.CHECKS.items()}
