"""The tests themselves: each one can fail, and the records of mutants fit the code that they break."""

import ast
from pathlib import Path

import pytest

from tests.mutants import load, stale

TESTS = Path(__file__).parent
FILES = sorted(TESTS.rglob("test_*.py"))
ASSERTING_CALLS = ("assert_", "expect", "pytest.raises", "pytest.warns", "pytest.fail")
ASSERTING_METHODS = ("assert_", "wait_for")  # the browser's wait_for raises when its time is up
# An answer of yes or no that nobody reads: `np.array_equal(a, b)` on a line of its own proves nothing.
COMPARISONS = ("equal", "array_equal", "allclose", "isclose", "gradcheck", "all", "any", "is_visible", "startswith")


def called(node):
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def functions(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def can_fail(function, helpers):
    """Say whether a function asserts: itself, or through a helper or a fixture that does.

    `helpers` maps a name to the functions of that name in the same file, in the files of tests that it imports from,
    and in the conftest files above it.
    """
    seen, todo = set(), [function]
    while todo:
        current = todo.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        for node in ast.walk(current):
            if isinstance(node, ast.Assert) and not isinstance(node.test, ast.Constant):
                return True
            name = called(node)
            if name.startswith(ASSERTING_CALLS) or name.split(".")[-1].startswith(ASSERTING_METHODS):
                return True
            if name in helpers:
                todo += helpers[name]
    return False


def comparisons_that_nobody_reads(tree):
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        and (isinstance(node.value, ast.Compare) or called(node.value).split(".")[-1] in COMPARISONS)
    ]


def clocks_that_others_share(tree):
    """Name the tests that stop the clock of the fixture `page`: its context is that of all tests after them, too."""
    return [
        function.name
        for function in functions(tree)
        if "page" in [argument.arg for argument in function.args.args]
        and any(called(node) == "page.clock.install" for node in ast.walk(function))
    ]


def by_name(*trees):
    found = {}
    for tree in trees:
        for function in functions(tree):
            found.setdefault(function.name, []).append(function)
    return found


def parse(path):
    return ast.parse(path.read_text("utf-8"))


def conftests(path):
    return [
        folder / "conftest.py"
        for folder in path.parents
        if (folder / "conftest.py").exists() and folder.is_relative_to(TESTS)
    ]


def imported(tree):
    """The files of tests that a file imports names from."""
    names = [node.module for node in tree.body if isinstance(node, ast.ImportFrom)]
    files = [TESTS.parent.joinpath(*name.split(".")).with_suffix(".py") for name in names if name.startswith("tests.")]
    return [file for file in files if file.exists()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(TESTS).as_posix())
def test_each_test_asserts_something(path):
    tree = parse(path)
    helpers = by_name(tree, *map(parse, [*imported(tree), *conftests(path)]))
    tests = [function for function in functions(tree) if function.name.startswith("test_")]
    assert tests, "a test file without a test"
    assert [test.name for test in tests if not can_fail(test, helpers)] == []
    assert comparisons_that_nobody_reads(tree) == []
    assert clocks_that_others_share(tree) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(TESTS).as_posix())
def test_no_name_of_a_test_is_used_twice(path):
    """The second function of one name replaces the first, which then never runs."""
    tree = parse(path)
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize(
    "body",
    [
        "x.shape == (2, 3)",  # a comparison without assert
        "np.array_equal(a, b)",  # an answer dropped
        "attention(q, k, v)",  # runs, and proves nothing
        "assert True",
        "helper()",  # a helper that asserts nothing
    ],
)
def test_a_test_that_cannot_fail_is_found(body):
    tree = ast.parse(f"def helper():\n    return 1\n\ndef test_a_fact():\n    {body}\n")
    assert not can_fail(tree.body[1], by_name(tree))


@pytest.mark.parametrize(
    "body",
    [
        "assert x == 1",
        "torch.testing.assert_close(a, b)",
        "with pytest.raises(ValueError, match='x'):\n        f()",
        "expect(page.locator('h1')).to_have_text('x')",
        "helper()",
    ],
)
def test_a_test_that_can_fail_is_let_through(body):
    tree = ast.parse(f"def helper():\n    assert f() == 1\n\ndef test_a_fact():\n    {body}\n")
    assert can_fail(tree.body[1], by_name(tree))


@pytest.mark.parametrize("line", ["x.shape == (2, 3)", "np.array_equal(a, b)", "page.locator('p').is_visible()"])
def test_a_comparison_that_nobody_reads_is_found(line):
    assert comparisons_that_nobody_reads(ast.parse(line)) == [1]
    assert comparisons_that_nobody_reads(ast.parse(f"assert {line}")) == []


@pytest.mark.parametrize(("fixture", "found"), [("page", ["test_a_fact"]), ("browser", [])])
def test_a_clock_that_others_share_is_found(fixture, found):
    assert clocks_that_others_share(ast.parse(f"def test_a_fact({fixture}):\n    page.clock.install()\n")) == found


def test_the_records_of_mutants_fit_the_code():
    """Each old text occurs exactly once, each name is used once, and each named test exists."""
    mutants = load()
    assert len(mutants) >= 1000
    assert [message for mutant in mutants for message in stale(mutant, TESTS.parent, built=False)] == []
    assert len({mutant.name for mutant in mutants}) == len(mutants)
