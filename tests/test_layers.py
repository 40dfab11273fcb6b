"""The order of the house: a module imports only from layers below its own, in no circle, and by no trick."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "companion"
LAYERS = [
    {"checks", "seeding", "quantise"},
    {"config", "lora", "normal_float", "retrieval", "scoring"},
    {"masks", "norm", "positional", "embedding", "feedforward", "recurrent", "cost"},
    {"attention", "efficient", "cache", "experts", "parallel", "triangles", "corruption", "matching", "contrastive"},
    {"multihead"},
    {"encoder", "decoder"},
    {"transformer", "vision"},
    {"pretrained", "packed", "tasks", "training", "generate", "interpret", "measure"},
    {"plot_data"},
    {"plot_svg"},
    {"plots"},
    {"book"},  # the tools: they import nothing of the library
    {"practice", "explorers", "pictures"},
    {"chapters"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
GIVEN = ("companion.chapters.training.small_gpt",)
"""What a chapter gives to the others: a model whose weights are shipped, so that none trains it again."""
HOME = {
    "matplotlib": {"plot_data", "plot_svg", "plots"},
    "anywidget": {"explorers"},
    "ipywidgets": {"chapters"},
    "traitlets": {"explorers"},
    "sphinx": {"book"},
    "docutils": {"book"},
}
LIBRARY_ONLY = ("torch", "numpy", "jaxtyping")  # the tools do without
PLANTER = ROOT / "tests" / "mutants" / "planting.py"  # its processes import a broken copy in place of this tree
TRICKS = ("sys.path", "runpy", "spec_from_file_location", "syspath_prepend")


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
                found.append(f"{where}: imports {root}, which only {', '.join(sorted(HOME[root]))} may")
            if name == "book" and root in LIBRARY_ONLY:
                found.append(f"{where}: imports {root}, which the tools do without")
            if root != "companion":
                continue
            target = rest[0] if rest else ""
            if target not in LEVEL:
                found.append(f"{where}: imports {imported}, which is no module of a layer")
            elif target != name and (LEVEL[target] >= LEVEL[name] or name == "book"):
                found.append(f"{where}: {name} imports {target}, which is not below it")
            elif imported.startswith(GIVEN):
                continue
            elif name == target == "chapters" and len(rest) > 1 and len(parts) > 2 and rest[1] != parts[1]:
                found.append(f"{where}: the chapter {parts[1]} imports {rest[1]}, another one")
    return found


def test_a_module_imports_only_from_the_layers_below_it():
    assert breaches(PACKAGE) == []


@pytest.mark.parametrize(
    ("file", "text", "breach"),
    [
        ("masks.py", "from companion.attention import attention", "masks imports attention, which is not below it"),
        ("masks.py", "from companion import plots", "masks imports plots, which is not below it"),
        ("masks.py", "import companion.explorers.base", "masks imports explorers, which is not below it"),
        ("masks.py", "def late():\n    from .attention import attention", "masks imports attention, which is not"),
        ("masks.py", "from . import plots", "masks imports plots, which is not below it"),
        ("masks.py", "from companion import norm", "masks imports norm, which is not below it"),
        ("explorers/hover.py", "from .. import surprise", "imports companion.surprise, which is no module of a layer"),
        ("book/draw.py", "from ..plots import axes", "book imports plots, which is not below it"),
        ("book/draw.py", "import torch", "imports torch, which the tools do without"),
        (
            "book/draw.py",
            "def late():\n    from companion.practice import plan",
            "book imports practice, which is not below",
        ),
        (
            "chapters/history/x.py",
            "from companion.chapters.attention import explorers",
            "the chapter history imports attention, another one",
        ),
        ("surprise.py", "", "surprise has no layer"),
        ("attention.py", "import matplotlib.pyplot as plt", "imports matplotlib, which only plot"),
        ("plots.py", "from ipywidgets import Box", "imports ipywidgets, which only chapters may"),
        ("masks.py", "import companion", "imports companion, which is no module of a layer"),
    ],
)
def test_an_import_against_the_order_is_found(tmp_path, file, text, breach):
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(text, "utf-8")
    (found,) = breaches(tmp_path)
    assert breach in found
    assert found.startswith(f"{file}: ")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("attention.py", "import torch\nfrom companion.masks import causal"),
        ("explorers/walk.py", "from companion.explorers.base import Explorer\nfrom . import base\nimport anywidget"),
        ("practice/checker.py", "from .compare import same\nfrom ..book import toc\nfrom companion.plots import draw"),
        ("chapters/history/x.py", "from companion.practice.definition import Case\nimport ipywidgets"),
    ],
)
def test_an_import_in_order_passes(tmp_path, file, text):
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(text, "utf-8")
    assert breaches(tmp_path) == []


def circles(package):
    """List the circles of imports between modules, each as the modules on the way."""
    files = {
        ".".join(["companion", *path.relative_to(package).with_suffix("").parts]).removesuffix(".__init__"): path
        for path in package.rglob("*.py")
    }
    below = {}
    for name, path in files.items():
        parent = name if path.stem == "__init__" else name.rpartition(".")[0]
        at_once = [
            node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.Import | ast.ImportFrom)
        ]
        named = imported_names(ast.Module(at_once, []), parent)
        targets = (one if one in files else one.rpartition(".")[0] for one in named)
        below[name] = sorted({one for one in targets if one in files and one != name})
    found, done = [], set()

    def walk(name, way):
        if name in way:
            found.append(" > ".join([*way[way.index(name) :], name]))
        elif name not in done:
            for target in below[name]:
                walk(target, [*way, name])
            done.add(name)

    for name in sorted(files):
        walk(name, [])
    return found


def test_no_module_imports_itself_in_a_circle():
    assert circles(PACKAGE) == []


def test_a_circle_is_found(tmp_path):
    for name, text in (("a", "from companion.b import x"), ("b", "from . import c"), ("c", "import companion.a")):
        (tmp_path / f"{name}.py").write_text(text, "utf-8")
    assert circles(tmp_path) == ["companion.a > companion.b > companion.c > companion.a"]


def test_no_file_finds_another_by_a_trick():
    """Everything is a package: nothing changes the search path, and nothing is loaded by the name of its file."""
    files = [path for name in ("companion", "scripts", "tests") for path in (ROOT / name).rglob("*.py")]
    assert len(files) > 300
    found = [
        f"{path.relative_to(ROOT).as_posix()}: {trick}"
        for path in files
        for trick in TRICKS
        if path not in (Path(__file__), PLANTER) and trick in path.read_text("utf-8")
    ]
    assert found == []


@pytest.mark.parametrize(
    ("module", "loaded"),
    [
        ("companion", "[]"),
        ("companion.attention", "['torch']"),
        ("companion.book", "['yaml']"),
        ("companion.book.notebooks", "['yaml']"),
        ("companion.pictures", "['yaml']"),
        ("companion.chapters.attention.pictures.flow", "['yaml']"),
    ],
)
def test_an_import_loads_what_it_needs_and_nothing_else(module, loaded):
    heavy = ["torch", "matplotlib", "ipywidgets", "anywidget", "sphinx", "yaml"]
    code = f"import sys, {module}; print([m for m in {heavy} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (run.stdout.strip(), run.stderr) == (loaded, "")
