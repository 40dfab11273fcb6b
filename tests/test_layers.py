"""The order of the package: one module imports only from layers below its own, and a plain import stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "companion"
LAYERS = [
    {"config", "seeding", "topics"},
    {"masks", "norm", "positional", "embedding", "feedforward", "recurrent", "cost"},
    {"attention", "efficient", "cache"},
    {"multihead"},
    {"encoder", "decoder"},
    {"transformer"},
    {"pretrained", "tasks", "training", "generate", "interpret", "measure", "exercises"}
    | {"claims", "answers", "formulas"},
    {"plots"},
    {"widgets"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
HOME = {"matplotlib": {"plots"}, "anywidget": {"widgets"}, "ipywidgets": {"widgets"}, "traitlets": {"widgets"}}


def imported_names(tree, module):
    """Yield the dotted name of everything that a module imports, at any depth, relative imports resolved.

    `module` is the dotted name of the package that holds the file.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(module.split(".")[: len(module.split(".")) - node.level + 1]) if node.level else ""
            stem = ".".join(part for part in (base, node.module) if part)
            yield from (f"{stem}.{alias.name}" for alias in node.names)


def breaches(package):
    """List every import that breaks the order, as 'file: what is wrong'."""
    found = []
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        if parts == ("__init__",):
            continue
        name, where = parts[0], path.relative_to(package).as_posix()
        if name not in LEVEL:
            found.append(f"{where}: {name} has no layer")
            continue
        for imported in imported_names(ast.parse(path.read_text("utf-8")), ".".join(["companion", *parts[:-1]])):
            root, *rest = imported.split(".")
            if name not in HOME.get(root, {name}):
                found.append(f"{where}: imports {root}, which only {', '.join(HOME[root])} may")
            if root != "companion":
                continue
            target = rest[0] if rest else ""
            if target not in LEVEL:
                found.append(f"{where}: imports {imported}, which is no module of a layer")
            elif target != name and LEVEL[target] >= LEVEL[name]:
                found.append(f"{where}: {name} imports {target}, which is not below it")
    return found


def test_a_module_imports_only_from_the_layers_below_it():
    assert breaches(PACKAGE) == []


@pytest.mark.parametrize(
    ("file", "text", "breach"),
    [
        ("masks.py", "from companion.attention import attention", "masks imports attention, which is not below it"),
        ("masks.py", "from companion import plots", "masks imports plots, which is not below it"),
        ("masks.py", "import companion.explorers.base", "masks imports widgets, which is not below it"),
        ("masks.py", "def late():\n    from .attention import attention", "masks imports attention, which is not"),
        ("masks.py", "from . import plots", "masks imports plots, which is not below it"),
        ("masks.py", "from companion import norm", "masks imports norm, which is not below it"),
        ("widgets/hover.py", "from .. import surprise", "imports companion.surprise, which is no module of a layer"),
        ("exercises/draw.py", "from ..plots import axes", "exercises imports plots, which is not below it"),
        ("surprise.py", "", "surprise has no layer"),
        ("attention.py", "import matplotlib.pyplot as plt", "imports matplotlib, which only plots may"),
        ("plots.py", "from ipywidgets import Box", "imports ipywidgets, which only widgets may"),
        ("masks.py", "import companion", "imports companion, which is no module of a layer"),
    ],
)
def test_an_import_against_the_order_is_found(tmp_path, file, text, breach):
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(text, "utf-8")
    (found,) = breaches(tmp_path)
    assert breach in found
    assert found.startswith(f"{file}: ")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("attention.py", "import torch\nfrom companion.masks import causal"),
        (
            "widgets/walk.py",
            "from companion.explorers.base import Explorer\nfrom . import explorer\nimport anywidget",
        ),
        ("plots.py", "import matplotlib\nfrom .exercises.checker import check"),
    ],
)
def test_an_import_in_order_passes(tmp_path, file, text):
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(text, "utf-8")
    assert breaches(tmp_path) == []


def test_a_plain_import_loads_torch_and_nothing_to_draw_with():
    heavy = ["matplotlib", "ipywidgets", "anywidget", "IPython", "yaml"]
    code = f"import sys, companion; print('torch' in sys.modules, [m for m in {heavy} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=PACKAGE.parent)
    assert run.stderr == ""
    assert run.stdout == "True []\n"
