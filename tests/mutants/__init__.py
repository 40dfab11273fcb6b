"""Mutants: copies of the project with one planted fault, and the tests that must fail because of it.

The records stand in the YAML files beside this one, a file an area; README.md says how to write one. The area `claims`
stands in the ledger: the turn of each measured claim. `python -m tests.mutants` plants them.
"""

import ast
import functools
import json
import re
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import yaml

from companion.book.claims import read_ledger

FOLDER = Path(__file__).parent
# What a test that did its work reports: a failed assertion, or a refusal that did not come.
FAILED_ASSERTION = r"^(AssertionError|assert |Failed: DID NOT RAISE|.*ClaimError|.*NbCellError| *cause: AssertionError)"
NODE_TEST = ".test.js"  # a file of tests that Node runs, and not pytest

NO_HOOK = "--jaxtyping-packages="  # a plugin that imports the package comes before the hook that checks its shapes

_TEXT = {"type": "string", "minLength": 1}
_TESTS = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}]}
_EDIT = {
    "old": _TEXT,
    "new": {"type": "string"},
    "pattern": _TEXT,
    "after": _TEXT,
    "every": {"const": True},
    "cell": _TEXT,
    "set": {"type": "object", "minProperties": 1},
}
_WAYS = [{"required": ["old", "new"]}, {"required": ["pattern", "new"]}, {"required": ["cell", "set"]}]
_EDITS = {"type": "array", "items": {"properties": _EDIT, "additionalProperties": False, "oneOf": _WAYS}}
_RECORD = {
    "type": "object",
    "properties": {"name": _TEXT, "by": _TESTS, "reason": _TEXT, "edits": _EDITS, **_EDIT},
    "required": ["name"],
    "additionalProperties": False,
    "oneOf": [*_WAYS, {"required": ["edits"]}],
}
_GROUP = {
    "type": "object",
    "properties": {
        "file": _TEXT,
        "tests": _TEXT,
        "by": _TESTS,
        "reason": _TEXT,
        "mutants": {"type": "array", "items": _RECORD, "minItems": 1},
    },
    "required": ["file", "tests", "mutants"],
    "additionalProperties": False,
}
SCHEMA = {"type": "array", "items": _GROUP, "minItems": 1}


@dataclass(frozen=True)
class Edit:
    """A change of a text: of the one place where `old` stands or `pattern` fits, or of a notebook's cell."""

    old: str = ""
    new: str = ""  # with `pattern`, a template: \1 is the first group
    pattern: str = ""  # a regular expression, in place of `old`
    after: str = ""  # the first place behind this text is meant
    every: bool = False  # all places are meant
    cell: str = ""  # the first code cell whose source holds this text
    set: dict | None = None  # what the cell gets; a mapping such as `metadata` is merged

    def _places(self) -> re.Pattern[str]:
        return re.compile(self.pattern or re.escape(self.old))

    def problem(self, text: str) -> str | None:
        """Say why the edit does not fit the text, if it does not."""
        if self.cell:
            return None if self._found(json.loads(text)) else f"no code cell holds {self.cell!r}"
        if self.after and text.count(self.after) != 1:
            return f"{text.count(self.after)} places with {self.after!r}"
        found = sum(1 for _ in self._places().finditer(text[self._start(text) :]))
        if found == 0 or (found > 1 and not self.after and not self.every):
            return f"{found} places with {self.pattern or self.old!r}"
        return None

    def _start(self, text: str) -> int:
        return text.index(self.after) + len(self.after) if self.after else 0

    def _found(self, notebook: dict) -> dict | None:
        cells = (cell for cell in notebook["cells"] if cell["cell_type"] == "code")
        return next((cell for cell in cells if self.cell in "".join(cell["source"])), None)

    def apply(self, text: str) -> str:
        if self.cell:
            notebook = json.loads(text)
            cell = self._found(notebook)
            for key, value in self.set.items():
                cell[key] = cell[key] | value if isinstance(value, dict) else value
            return json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
        start = self._start(text)
        new = self.new if self.pattern else lambda _: self.new
        return text[:start] + self._places().sub(new, text[start:], count=0 if self.every else 1)


@dataclass(frozen=True)
class Mutant:
    """One fault: a change of one file, and the tests that must fail because of it."""

    area: str  # the name of the file of records
    name: str  # a fact about the broken copy, for example "the scores are not scaled"
    file: str  # path from the root; a pattern with * that fits one file is allowed (built files have a hash)
    edits: tuple[Edit, ...]  # one after the other
    tests: tuple[str, ...]  # arguments of pytest, or files that Node runs
    reason: str = FAILED_ASSERTION  # pattern that the message of the failure must match

    @property
    def built(self) -> bool:
        """Whether the fault is one of the built site."""
        return self.file.startswith("_build/")

    def broken(self, text: str) -> str:
        """Return the text of the file with the fault in it."""
        return functools.reduce(lambda changed, edit: edit.apply(changed), self.edits, text)


def load(folder: Path = FOLDER) -> list[Mutant]:
    """Read the records of every area.

    Raises:
        ValueError: a file breaks the schema.
    """
    return [*(mutant for path in sorted(folder.glob("[a-z]*.yml")) for mutant in read(path)), *turns()]


def turns(root: Path | None = None) -> list[Mutant]:
    """Make a mutant of the turn of each measured claim: its cells must raise for this very claim.

    Args:
        root: of a book; None means this one.
    """
    pieces = [piece for claim in read_ledger(root).claims for piece in claim.pieces]
    return [
        Mutant(
            area="claims",
            name=f"{piece.id}: {piece.turn.name}",
            file=piece.turn.file or f"book/{piece.chapter}/claims.md",
            edits=(Edit(piece.turn.old, piece.turn.new, after=piece.turn.after),),
            tests=_tests(f"book/{piece.chapter}/claims.md", piece.id),
            reason=rf"ClaimError: {re.escape(piece.id)}: ",
        )
        for piece in pieces
        if piece.turn
    ]


def read(path: Path) -> list[Mutant]:
    groups = yaml.load(path.read_text("utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    if error := jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(SCHEMA).iter_errors(groups)):
        where = "/".join(map(str, error.absolute_path))
        raise ValueError(f"{path.name}, {where}: {error.message}. See tests/mutants/README.md.")
    return [_mutant(path.stem, group, record) for group in groups for record in group["mutants"]]


def _mutant(area: str, group: dict, record: dict) -> Mutant:
    given = {"reason": FAILED_ASSERTION} | group | record
    edits = record.get("edits") or [{key: record[key] for key in _EDIT if key in record}]
    tests = _tests(group["tests"], given.get("by", []))
    return Mutant(area, record["name"], group["file"], tuple(Edit(**edit) for edit in edits), tests, given["reason"])


def _tests(file: str, by: str | list[str]) -> tuple[str, ...]:
    """Return the arguments of pytest: a bare name is a test of the group's file, a path stands for itself."""
    names = [by] if isinstance(by, str) else by
    if file.endswith("/claims.md"):
        return (NO_HOOK, "-ptests.tools.claim_pages", *(f"{file}::{name}" for name in names))
    if file.endswith(".ipynb"):
        return (NO_HOOK, "--nbval", "-ptests.tools.fresh_run", file)
    return tuple(name if name.startswith("tests/") else f"{file}::{name}" for name in names) or (file,)


def target(mutant: Mutant, root: Path) -> Path | None:
    found = sorted(root.glob(mutant.file))
    return found[0] if len(found) == 1 else None


def stale(mutant: Mutant, root: Path, *, built: bool = True) -> list[str]:
    """Say why a mutant no longer fits the tree: then it would test nothing.

    Args:
        mutant: which one.
        root: of the tree.
        built: whether to look at files of the built site too.
    """
    problems = [problem for test in mutant.tests if (problem := _missing(test, root))]
    if not mutant.built or built:
        problems += [problem for problem in [_misfit(mutant, target(mutant, root))] if problem]
    return [f"{mutant.area}, {mutant.name}: {problem}" for problem in problems]


def _missing(test: str, root: Path) -> str | None:
    file, _, name = test.partition("::")
    if not file.startswith("-") and not (root / file).exists():
        return f"no test file {file}"
    wanted = f'"{name}"' if file.endswith(".md") else f"def {name.split('[')[0]}("
    if name and wanted not in (root / file).read_text("utf-8"):
        return f"no test {test}"
    return None


def _misfit(mutant: Mutant, path: Path | None) -> str | None:
    if path is None:
        return f"not exactly one file {mutant.file}"
    text = path.read_text("utf-8")
    changed = text
    for edit in mutant.edits:
        if problem := edit.problem(changed):
            return f"{problem} in {mutant.file}"
        changed = edit.apply(changed)
    if changed == text:
        return f"changes nothing in {mutant.file}"
    if path.suffix == ".py":
        try:
            ast.parse(changed)
        except SyntaxError as error:
            return f"leaves no Python in {mutant.file}: {error.msg}, line {error.lineno}"
    return None
