"""The planter of mutants does not flatter: only a test that failed for the right reason counts as a catch."""

import json
import re
import time
from pathlib import Path

import pytest

from tests.mutants import Edit, Mutant, operators, planting, read, stale, turns
from tests.mutants.__main__ import NOT_CLEAN, Run, sample

PAGE = "<img src='a.svg' alt='two bars'>\n"
TEST = """
import os, pathlib, pytest
from companion.module import LIMIT, double

def test_double():
    assert double(3) == 6

def test_alt():
    page = pathlib.Path(os.environ["BOOK_SITE"]) / "page.abc123.html"
    assert "alt=" in page.read_text()

def test_that_fails():
    assert LIMIT == 11
"""


@pytest.fixture
def root(monkeypatch, tmp_path):
    """Let the planter stand in a small tree of one module, one page and three tests."""
    root = tmp_path / "root"
    for folder in ("companion", "tests/library", "_build/html"):
        (root / folder).mkdir(parents=True)
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\naddopts = ['-p', 'no:cacheprovider']\n")
    (root / "companion/__init__.py").touch()
    (root / "companion/module.py").write_text("def double(x):\n    return x * 2\n\n\nLIMIT = 10\n")
    (root / "_build/html/page.abc123.html").write_text(PAGE)
    (root / "tests/library/test_module.py").write_text(TEST)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # starts in a third of the time
    monkeypatch.setattr(planting, "ROOT", root)
    return root


@pytest.fixture
def copy(root, tmp_path):
    return planting.Copy(planting.snapshot(tmp_path), tmp_path)


def mutant(old, new, test="tests/library/test_module.py::test_double", *, file="companion/module.py", **more):
    return Mutant("area", more.pop("name", f"{old} is {new}"), file, (Edit(old, new),), (test,), **more)


def plant(copy, *given, **more):
    return planting.plant(planting.warm_processes(), mutant(*given, **more), copy)


def test_a_fault_that_a_test_fails_on_is_caught_and_both_trees_stay_whole(copy, root):
    outcome = plant(copy, "x * 2", "x * 3")
    assert (outcome.verdict, outcome.detail) == ("caught", "test_double")
    assert all("x * 2" in (tree / "companion/module.py").read_text() for tree in (root, copy.tree))


def test_a_fault_that_no_test_sees_survives(copy):
    assert plant(copy, "LIMIT = 10", "LIMIT = 11").verdict == "survived"


@pytest.mark.parametrize("new", ["x * 2)", "x * 2\n\n\nraise ImportError"])
def test_an_error_while_tests_are_collected_is_no_catch(copy, new):
    assert plant(copy, "x * 2", new).verdict.startswith("no test failed (exit status ")


def test_an_error_of_another_kind_is_no_catch_unless_it_is_named_or_any_will_do(copy):
    assert plant(copy, "x * 2", "x / 0").verdict == "failed for another reason"
    assert plant(copy, "x * 2", "x / 0", reason="ZeroDivisionError").verdict == "caught"
    assert plant(copy, "x * 2", "x * 2)", reason="").verdict == "caught"


def test_a_test_that_does_not_end_is_stopped(copy, monkeypatch):
    monkeypatch.setattr(planting.run_tests, "__kwdefaults__", {"stop": True, "timeout": 3})
    outcome = plant(copy, "return x * 2", "while True:\n        pass")
    assert (outcome.verdict, outcome.detail) == ("no test failed (exit status -1)", "no answer within 3 s")


def test_what_a_test_leaves_behind_is_gone_before_the_next_one(copy):
    plant(copy, "return x * 2", "return open('left.txt', 'w').write('x') and x * 2")
    assert not (copy.tree / "left.txt").exists()
    plant(copy, "return x * 2", "return open('companion/__init__.py', 'w').write('x') and x * 2")
    assert (copy.tree / "companion/__init__.py").read_text() == ""


def test_a_fault_of_the_built_site_is_planted_in_a_copy_that_the_tests_look_at(copy, root):
    built = {"test": "tests/library/test_module.py::test_alt", "file": "_build/html/page.*.html"}
    assert plant(copy, " alt='two bars'", "", **built).verdict == "caught"
    assert plant(copy, "two bars", "three bars", **built).verdict == "survived"
    assert (root / "_build/html/page.abc123.html").read_text() == PAGE


@pytest.mark.parametrize(
    ("new", "verdict"),
    [
        ("x * 3", "caught"),
        ("2 * x", "survived"),
        ("x.y.z", "failed for another reason"),
        ("x *", "failed for another reason"),  # the test cannot be loaded
    ],
)
def test_a_fault_of_a_script_is_looked_for_by_node(root, tmp_path, new, verdict):
    (root / "double.mjs").write_text("export const double = (x) => x * 2;\n")
    (root / "tests/double.test.js").write_text(
        'import assert from "node:assert/strict";\nimport { test } from "node:test";\n'
        'import { double } from "../double.mjs";\ntest("double", () => assert.equal(double(3), 6));\n'
    )
    (root / "package.json").write_text('{"type": "module"}')
    copy = planting.Copy(planting.snapshot(tmp_path), tmp_path)
    assert plant(copy, "x * 2", new, "tests/double.test.js", file="double.mjs").verdict == verdict


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"old": "x * 9", "new": "x"}, "0 places with 'x \\* 9'"),
        ({"old": "x", "new": "y"}, "2 places with 'x'"),
        ({"old": "x * 2", "new": "x * 2"}, "changes nothing"),
        ({"old": "    return x * 2", "new": ""}, "leaves no Python in companion/module.py: expected an indented block"),
        ({"old": "x * 2", "new": "x", "file": "gone.py"}, "not exactly one file gone.py"),
        ({"old": "x * 2", "new": "x", "test": "tests/test_gone.py"}, "no test file"),
        ({"old": "x * 2", "new": "x", "test": "tests/library/test_module.py::test_gone"}, "no test tests/library"),
    ],
)
def test_a_mutant_that_no_longer_fits_the_tree_is_named(root, given, problem):
    (message,) = stale(mutant(**given, name="old news"), root)
    assert message.startswith("area, old news: ")
    assert re.search(problem, message)


CLAIMS = """
- id: whole
  claim: C.
  verdict: holds-with-conditions
  conditions: A.
  documents: 1
  evidence: E.
  parts:
  - {id: left, text: L., verdict: holds, basis: measured, turn: {name: the data are even, old: x = 1, new: x = 2}}
  - {id: right, text: R., verdict: unsupported, basis: cited}
- {id: code, claim: D., verdict: holds, basis: measured, documents: 1, evidence: E.,
   turn: {name: it triples, old: x * 2, new: x * 3, file: companion/module.py, after: def double}}
"""
PAGE_OF_CLAIMS = 'x = 1\ncheck_claim("whole/left", f, g)\ncheck_claim("code", f, g)\n'


@pytest.fixture
def with_claims(root):
    """Give the small tree a chapter with a page of claims."""
    toc = "parts:\n- chapters:\n  - file: book/one/claims.ipynb\n"
    texts = {"_toc.yml": toc, "book/one/claims.md": PAGE_OF_CLAIMS, "companion/chapters/one/claims.yml": CLAIMS}
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_the_turn_of_each_measured_claim_is_a_mutant(with_claims):
    left, code = turns(with_claims)
    assert (left.area, left.name, left.file) == ("claims", "whole/left: the data are even", "book/one/claims.md")
    assert left.broken(PAGE_OF_CLAIMS).startswith("x = 2\n")
    assert left.tests == ("--jaxtyping-packages=", "-ptests.tools.claim_pages", "book/one/claims.md::whole/left")
    assert re.search(left.reason, "companion.book.cases.ClaimError: whole/left: the ledger says 'holds'")
    assert not re.search(left.reason, "ClaimError: whole/lefty: the ledger says")
    assert code.broken("x * 2 def double x * 2") == "x * 2 def double x * 3"
    assert code.file == "companion/module.py"


def test_a_turn_that_no_longer_fits_its_page_is_named(with_claims):
    assert [problem for turn in turns(with_claims) for problem in stale(turn, with_claims)] == []
    (with_claims / "book/one/claims.md").write_text(
        "x = 1\nx = 1\n" + PAGE_OF_CLAIMS.replace("whole/left", "whole/right")
    )
    assert stale(turns(with_claims)[0], with_claims) == [
        "claims, whole/left: the data are even: no test book/one/claims.md::whole/left",
        "claims, whole/left: the data are even: 3 places with 'x = 1' in book/one/claims.md",
    ]


def test_a_turn_depends_on_its_page_and_the_package_only(with_claims):
    def states():
        found = planting.States(with_claims)
        return [found.of_mutant(turn) for turn in turns(with_claims)] + [
            found.of_clean(turns(with_claims)[0].tests[-1], site=False)
        ]

    before = states()
    (with_claims / "book/one/index.md").write_text("Another page.")
    assert states() == before
    for file in ("book/one/claims.md", "companion/module.py"):
        (with_claims / file).write_text((with_claims / file).read_text() + "\n")
        after = states()
        assert all(one != other for one, other in zip(before, after, strict=True))
        before = after


def test_an_edit_changes_one_place_unless_it_says_every():
    assert Edit("x", "y", after="c").problem("a x b") == "0 places with 'c'"
    assert Edit("x", "y", after="a").apply("x a x x") == "x a y x"
    assert Edit("x", "y", every=True).apply("x a x") == "y a y"
    assert Edit(pattern="(x+) a", new=r"\1").apply("xx a x") == "xx x"
    assert Edit(pattern="x", new="y").problem("x x") == "2 places with 'x'"


def test_a_cell_of_a_notebook_gets_what_the_edit_says():
    cells = [{"cell_type": kind, "metadata": {"a": 1}, "source": ["x = 1\n", "y"]} for kind in ("markdown", "code")]
    edit = Edit(cell="y", set={"source": "z", "metadata": {"tags": []}})
    changed = json.loads(edit.apply(json.dumps({"cells": cells})))["cells"]
    assert changed == [cells[0], {"cell_type": "code", "metadata": {"a": 1, "tags": []}, "source": "z"}]
    assert Edit(cell="w", set={"source": ""}).problem(json.dumps({"cells": cells})) == "no code cell holds 'w'"


def test_a_record_takes_what_it_does_not_say_from_its_group(tmp_path):
    (tmp_path / "area.yml").write_text(
        "- {file: a.py, tests: tests/test_a.py, by: test_b, reason: E, mutants: [{name: n, old: x, new: y},"
        " {name: m, edits: [{old: x, new: y}], by: [test_c, tests/test_d.py], reason: F}]}\n"
        "- {file: a.py, tests: book/a.ipynb, mutants: [{name: o, pattern: x, new: ''}]}\n"
    )
    edit = Edit("x", "y")
    assert read(tmp_path / "area.yml") == [
        Mutant("area", "n", "a.py", (edit,), ("tests/test_a.py::test_b",), "E"),
        Mutant("area", "m", "a.py", (edit,), ("tests/test_a.py::test_c", "tests/test_d.py"), "F"),
        Mutant(
            "area",
            "o",
            "a.py",
            (Edit(pattern="x"),),
            ("--jaxtyping-packages=", "--nbval", "-ptests.tools.fresh_run", "book/a.ipynb"),
        ),
    ]


@pytest.mark.parametrize(
    ("record", "message"),
    [("{name: n}", "is not valid"), ("{old: x, new: y}", "'name' is a required"), ("{name: n, odl: x}", "'odl' was")],
)
def test_a_record_that_breaks_the_schema_is_refused_with_its_place(tmp_path, record, message):
    (tmp_path / "area.yml").write_text(f"- {{file: a.py, tests: tests/test_a.py, mutants: [{record}]}}\n")
    with pytest.raises(ValueError, match=f"area.yml, 0/mutants/0: .*{message}"):
        read(tmp_path / "area.yml")


def test_a_sample_has_something_of_every_area_and_its_seed_repeats_it():
    mutants = [Mutant(area, f"{area}{n}", "f", (), ()) for area, size in (("a", 30), ("b", 10)) for n in range(size)]
    drawn = [sample(mutants, 8, seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert [sum(one.area == area for one in drawn[0]) for area in "ab"] == [6, 2]


def run(tmp_path, mutants, *, limit=600.0):
    folder = tmp_path / f"run-{time.monotonic_ns()}"
    folder.mkdir()
    run = Run(folder, tmp_path / "mutants.json", time.monotonic() + limit)
    run.plant(run.left(mutants), workers=1)
    return {name: outcome.verdict for name, outcome in run.outcomes.items()}


def test_what_was_caught_is_planted_again_only_when_something_it_depends_on_changed(root, tmp_path):
    both = [mutant("x * 2", "x * 3", name="seen"), mutant("LIMIT = 10", "LIMIT = 12", name="unseen")]
    assert run(tmp_path, both, limit=0.0) == {}
    assert run(tmp_path, both) == {"seen": "caught", "unseen": "survived"}
    (root / "tests/library/test_other.py").touch()
    (root / "book.md").touch()
    assert run(tmp_path, both) == {"unseen": "survived"}
    (root / "companion/other.py").touch()
    assert run(tmp_path, both[:1]) == {"seen": "caught"}


def test_a_test_that_fails_without_the_fault_catches_nothing(root, tmp_path):
    assert run(tmp_path, [mutant("10", "9", "tests/library/test_module.py::test_that_fails")]) == {"10 is 9": NOT_CLEAN}


@pytest.mark.parametrize(
    ("code", "faults"),
    [
        ("a + b", ["a - b"]),
        ("a < b", ["a <= b"]),
        ("a is not b", ["a is b"]),
        ("a and b", ["a or b"]),
        ("not a", ["a"]),
        ("f(a, b)", ["f(b, a)"]),
        ("f(a, k=b)", ["f(a)"]),
        ("3", ["4", "2"]),
        ("True", ["False"]),
        ("é << b", ["é >> b"]),
        ("'a' + b", []),
        ("raise E(a + b)", []),
        ("a: int | str", []),
        ("a @ b", []),
    ],
)
def test_operators_arguments_and_constants_are_changed_and_nothing_else(tmp_path, code, faults):
    path = tmp_path / "module.py"
    path.write_text(f"def g(a):\n    {code}\n")
    found = list(operators.Source(path).mutants("module.py", ()))
    assert [one.broken(path.read_text()) for one in found] == [f"def g(a):\n    {fault}\n" for fault in faults]
    assert all(name.startswith(f"module.py:2: {code} -> ") for name in (one.name for one in found))


def test_random_faults_are_those_of_modules_that_a_test_imports(root, monkeypatch, tmp_path):
    monkeypatch.setattr(operators, "FOLDER", tmp_path)
    (root / "companion/unseen.py").write_text("A = 1 + 2\n")
    (tmp_path / "_equivalent.yml").write_text(
        "- {file: companion/module.py, change: LIMIT = 10 -> LIMIT = 11, why: nobody reads it}\n"
    )
    drawn = operators.sample(root, 99, seed=1)
    assert {one.name for one in drawn} == {
        "companion/module.py:2: return x * 2 -> return x / 2",
        "companion/module.py:2: return x * 2 -> return x * 3",
        "companion/module.py:2: return x * 2 -> return x * 1",
        "companion/module.py:5: LIMIT = 10 -> LIMIT = 9",
    }
    assert {one.tests for one in drawn} == {("tests/library/test_module.py",)}
    assert [stale(one, root) for one in drawn] == [[]] * 4
    assert operators.sample(root, 2, seed=3) == operators.sample(root, 2, seed=3)


def test_each_known_equivalent_fault_still_exists_and_says_why_no_test_can_see_it():
    root = Path(__file__).parents[1]
    known = operators.equivalent()
    for one in known:
        assert one["why"]
        assert one["change"].split(" -> ")[0] in (root / one["file"]).read_text("utf-8")
