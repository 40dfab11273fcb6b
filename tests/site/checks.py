"""The checks of the explorers, found in ``tests/chapters/CHAPTER/*_in_browser.py``.

Each module has ``made()``, one explorer of each of its classes in a state that the site need not have, and ``CHECKS``,
by the name of a class the function that compares what the browser shows with what the package gives.
"""

import importlib
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "tests" / "chapters").glob("*/*_in_browser.py"))
MODULES = {
    f"{path.parent.name}/{path.stem}": importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    for path in FILES
}
CHECKS = {name: check for module in MODULES.values() for name, check in module.CHECKS.items()}
