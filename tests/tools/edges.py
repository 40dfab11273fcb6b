"""Wrong answers that are right on most inputs, each refused by the one case that was made for it.

They are found: each ``nearly_right.py`` in ``tests/chapters/CHAPTER/`` has them as ``NEARLY_RIGHT``, rows of the name
of the exercise, words of the refusal, most often those of the case, and the answer.
"""

import importlib

from tests.tools.right_answers import ROOT

FILES = sorted((ROOT / "tests" / "chapters").glob("*/nearly_right.py"))


def nearly_right():
    modules = [importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts)) for path in FILES]
    return [row for module in modules for row in module.NEARLY_RIGHT]
