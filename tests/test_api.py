"""What every public name owes its reader: a header, a docstring that matches the signature, shapes, small files."""

import ast
import doctest
import importlib
import inspect
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest
from torch import Tensor

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "companion").rglob("*.py"))
MODULES = [".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in FILES]
APART = ("book", "practice", "explorers", "pictures", "chapters")  # what is not the library
LIBRARY = [name for name in MODULES if name != "companion" and name.split(".")[1] not in APART]
HOOKS = {"validate"}  # a method that a library calls by this name, with arguments that the library documents
UNTYPED = {"companion.masks.check_mask"}  # takes whatever came, in order to refuse it


def public_functions(name_of_module):
    """Yield (dotted name, function) for each public function and each public method that the module defines."""
    module = importlib.import_module(name_of_module)
    for name, value in sorted(vars(module).items()):
        if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isfunction(value):
            yield f"{module.__name__}.{name}", value
        elif inspect.isclass(value):
            for attribute, member in sorted(vars(value).items()):
                function = getattr(member, "fget", getattr(member, "__func__", member))
                if attribute.startswith("_") or attribute in HOOKS or not inspect.isfunction(function):
                    continue
                if function.__module__ == module.__name__:  # matplotlib writes a `set` into what inherits from it
                    yield f"{module.__name__}.{name}.{attribute}", function


def public_classes(name_of_module):
    module = importlib.import_module(name_of_module)
    for name, value in sorted(vars(module).items()):
        if inspect.isclass(value) and not name.startswith("_") and value.__module__ == module.__name__:
            yield f"{module.__name__}.{name}", value


each_module = pytest.mark.parametrize("module", MODULES)
# The tools are called by Sphinx and by the commands, with arguments that Sphinx documents.
each_for_readers = pytest.mark.parametrize("module", [one for one in MODULES if not one.startswith("companion.book.")])


def section(docstring, title):
    """Return the lines of a Google-style section, dedented, or None where there is none."""
    lines = inspect.cleandoc(docstring).splitlines()
    if f"{title}:" not in lines:
        return None
    body = []
    for line in lines[lines.index(f"{title}:") + 1 :]:
        if line and not line.startswith(" "):
            break
        body.append(line[4:])
    return [line for line in body if line]


def entries(docstring, title):
    """Return the names that a section explains, in order."""
    lines = section(docstring, title) or []
    return [line.split(":")[0].strip("*` ") for line in lines if not line.startswith(" ")]


def parameters(function):
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]


def documentation_gaps(function):
    """List where the docstring of a function falls short of its signature and its body."""
    docstring = function.__doc__ or ""
    first = docstring.strip().split("\n\n")[0].strip()
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    raised = {
        getattr(node.exc.func, "id", "")
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)
    }
    gaps = []
    if not first or not first[0].isupper() or not first.split("\n")[-1].endswith("."):
        gaps.append("it does not begin with a sentence")
    names = parameters(function)
    if section(docstring, "Args") is None and len(names) > 1:
        gaps.append("it has no Args for its two or more parameters")
    elif section(docstring, "Args") is not None and entries(docstring, "Args") != names:
        gaps.append(f"Args explains {entries(docstring, 'Args')}, the signature has {names}")
    returns = inspect.signature(function).return_annotation
    documented = section(docstring, "Returns") is not None
    if returns in (None, inspect.Signature.empty) and documented:
        gaps.append("Returns stands where nothing is returned")
    if returns not in (None, inspect.Signature.empty) and len(names) > 1 and not documented:
        gaps.append("it has no Returns")
    if missing := raised - {"NotImplementedError"} - set(entries(docstring, "Raises")):
        gaps.append(f"Raises does not name {sorted(missing)}")
    return gaps


@each_for_readers
def test_the_docstring_says_what_the_signature_asks_for(module):
    assert [
        f"{name}: {gap}" for name, function in public_functions(module) for gap in documentation_gaps(function)
    ] == []


def complete(first, second=1, *rest):
    """Do a thing.

    Args:
        first: one.
        second: two,
            at length: over two lines.
        *rest: more.

    Raises:
        ValueError: never.
    """
    raise ValueError(f"{first}")


def misnamed(first, second):
    """Do a thing.

    Args:
        second: two.
        first: one.
    """


def silent(first, second) -> int:
    """Do a thing."""
    raise ValueError(f"{first}")


def bare(): ...


def test_the_check_of_docstrings_finds_what_is_missing():
    assert documentation_gaps(complete) == []
    assert documentation_gaps(misnamed) == ["Args explains ['second', 'first'], the signature has ['first', 'second']"]
    assert documentation_gaps(bare) == ["it does not begin with a sentence"]
    assert documentation_gaps(silent) == [
        "it has no Args for its two or more parameters",
        "it has no Returns",
        "Raises does not name ['ValueError']",
    ]


@each_module
def test_each_class_says_what_it_is(module):
    for name, thing in public_classes(module):
        docstring = vars(thing).get("__doc__") or ""
        assert docstring.strip(), f"{name} has no docstring"
        assert not docstring.startswith(f"{thing.__name__}("), f"{name} has the docstring that dataclass made up"


@each_module
def test_each_tensor_in_a_signature_has_its_shape(module):
    """jaxtyping's annotations carry dimensions; a bare Tensor carries none."""
    bare = [name for name, function in public_functions(module) if Tensor in function.__annotations__.values()]
    assert [name for name in bare if name not in UNTYPED] == []


@each_module
def test_each_header_begins_with_a_sentence(module):
    header = importlib.import_module(module).__doc__ or ""
    assert re.match(r"[A-Z`].*?[.]( |\n|$)", header, re.DOTALL)


@pytest.mark.parametrize("module", LIBRARY)
def test_each_module_of_the_library_names_its_source_and_its_chapter(module):
    header = importlib.import_module(module).__doc__ or ""
    assert re.search(r"\(\d{4}\)|\b\d{4}\)|Made for this book", header), "it names no source"
    chapters = re.findall(r"\bbook/([a-z-]+)", header)
    assert chapters or "Every chapter" in header, "it names no chapter"
    assert [name for name in chapters if not (ROOT / "book" / name).is_dir()] == []


@each_module
def test_what_a_module_exports_exists_and_is_public(module):
    loaded = importlib.import_module(module)
    exported = getattr(loaded, "__all__", [])
    assert [name for name in exported if not hasattr(loaded, name)] == []
    assert [name for name in exported if name.startswith("_")] == []
    assert list(exported) == sorted(set(exported), key=lambda name: (not name.isupper(), name[0].islower(), name))


@each_module
def test_the_examples_in_docstrings_are_true(module):
    failed, _ = doctest.testmod(importlib.import_module(module))
    assert failed == 0


def test_no_file_has_more_than_300_lines():
    lengths = {str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines()) for path in FILES}
    assert {file: length for file, length in lengths.items() if length > 300} == {}


def test_nine_functions_in_ten_have_at_most_40_lines():
    lengths = sorted(
        node.end_lineno - node.lineno + 1
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    assert lengths[int(0.9 * len(lengths))] <= 40


def test_no_module_uses_print_assert_or_a_global_seed():
    """The library says what is wrong by raising; the tools, the engines and the chapters are there to print."""
    found = []
    for path in FILES:
        talks = path.relative_to(ROOT / "companion").parts[0] in APART
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if isinstance(node, ast.Assert) or (name.endswith("manual_seed") and "Generator" not in name):
                found.append(f"{path.name}:{node.lineno}")
            if name == "print" and not talks:
                found.append(f"{path.name}:{node.lineno}")
    assert found == []


def test_a_swapped_axis_is_caught_by_the_shape_hook():
    """The suite runs with this hook on: the shapes in the signatures are checked by a machine."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["pytest"]["ini_options"]
    assert "--jaxtyping-packages=companion,beartype.beartype" in settings["addopts"]
    code = (
        "import jaxtyping\n"
        "with jaxtyping.install_import_hook('companion', 'beartype.beartype'):\n"
        "    from companion.attention import attention\n"
        "import torch\n"
        "q, k, v = torch.zeros(2, 5, 3), torch.zeros(2, 7, 3), torch.zeros(2, 6, 4)\n"
        "try:\n"
        "    attention(q, k, v)\n"
        "except jaxtyping.TypeCheckError as refusal:\n"
        "    print('value' in str(refusal))\n"
    )
    environment = {"PYTHONPATH": str(ROOT), "JAXTYPING_DISABLE": "0"}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert (run.stdout, run.stderr) == ("True\n", "")
