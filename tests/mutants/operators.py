"""Random operator faults in the library: what nobody thought of when the records were written.

A fault that survives is either a test that is missing or a change that no test can see. Those of the second kind that
have been looked at stand with their reason in `_equivalent.yml`, and are not drawn again.
"""

import ast
import random
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from tests.mutants import FOLDER, Edit, Mutant

NOT_LIBRARY = ("book", "chapters", "explorers", "practice")  # folders of the package
SWAPPED = {
    **{"+": "-", "-": "+", "*": "/", "/": "*", "//": "/", "%": "*", "**": "*", "&": "|", "|": "&"},
    **{"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "and": "or", "or": "and"},
    **{"<<": ">>", ">>": "<<", "is not": "is", "is": "is not", "not in": "in", "in": "not in"},
}
OPERATOR = re.compile("|".join(rf"\b{key}\b" if key.isalpha() else re.escape(key) for key in sorted(SWAPPED)[::-1]))


def arithmetic(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what stands below a node, without annotations, decorators, docstrings and the text of refusals."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment") or isinstance(node, ast.Raise):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from arithmetic(child)


class Source:
    """The text of a module in bytes, in which the columns of `ast` count."""

    def __init__(self, path: Path) -> None:
        self.bytes = path.read_bytes()
        self.tree = ast.parse(self.bytes)
        self.starts = [0]
        for line in self.bytes.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def span(self, node: ast.AST) -> tuple[int, int]:
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1] + node.end_col_offset

    def text(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.bytes[start:end].decode()

    def between(self, left: ast.AST, right: ast.AST) -> Iterator[tuple[int, int, str]]:
        """Yield the swap of the operator between two nodes."""
        start, end = self.span(left)[1], self.span(right)[0]
        if found := OPERATOR.search(self.bytes[start:end].decode()):
            yield start + found.start(), start + found.end(), SWAPPED[found[0]]

    def changes(self, node: ast.AST) -> Iterator[tuple[int, int, str]]:
        """Yield the faults of a node: where the text to replace begins and ends, and what stands there instead."""
        match node:
            case ast.BinOp(op=ast.MatMult()) | ast.BinOp(left=ast.Constant(value=str()) | ast.JoinedStr()):
                return
            case ast.BinOp(left=left, right=right) | ast.Compare(left=left, comparators=[right]):
                yield from self.between(left, right)
            case ast.BoolOp(values=[left, right, *_]):
                yield from self.between(left, right)
            case ast.UnaryOp(operand=operand):
                yield *self.span(node), self.text(operand)
            case ast.Constant(value=bool() as value):
                yield *self.span(node), str(not value)
            case ast.Constant(value=int() as value):
                yield *self.span(node), str(value + 1)
                yield *self.span(node), str(value - 1) if value else "(-1)"
            case ast.Constant(value=float() as value):
                yield *self.span(node), str(value * 2 or 1.0)
            case ast.Call(args=[left, right, *_]) if ast.Starred not in (type(left), type(right)):
                yield self.span(left)[0], self.span(right)[1], f"{self.text(right)}, {self.text(left)}"
            case ast.Call(args=[*_, before], keywords=[keyword, *_]) if keyword.arg:
                yield self.span(before)[1], self.span(keyword)[1], ""

    def mutants(self, file: str, tests: tuple[str, ...]) -> Iterator[Mutant]:
        lines = self.bytes.decode().split("\n")
        for node in arithmetic(self.tree):
            for start, end, new in self.changes(node):
                first, last = self.bytes[:start].count(b"\n"), self.bytes[:end].count(b"\n")
                changed = (self.bytes[:start] + new.encode() + self.bytes[end:]).decode().split("\n")
                size = last + 1 + len(changed) - len(lines)  # the line behind the fault in the changed text
                name = f"{file}:{first + 1}: {lines[first].strip()} -> {changed[first].strip()}"
                while "\n".join(lines).count("\n".join(lines[first : last + 1])) > 1:
                    first -= 1  # a longer text, until it stands in one place
                old, new = "\n".join(lines[first : last + 1]), "\n".join(changed[first:size])
                if old != new:
                    yield Mutant("operators", name, file, (Edit(old, new),), tests, reason="")


def imports(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    found = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    froms = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    found |= {f"{node.module}.{alias.name}" for node in froms for alias in node.names}
    return found | {node.module for node in froms if node.module != "companion"}


def equivalent() -> list[dict[str, str]]:
    return yaml.safe_load((FOLDER / "_equivalent.yml").read_text("utf-8"))


def sample(root: Path, number: int, seed: int) -> list[Mutant]:
    """Draw operator faults from all modules of the library that a test imports, each with those tests."""
    files = sorted((root / "tests" / "library").rglob("test_*.py"))
    imported = {path.relative_to(root).as_posix(): imports(path) for path in files}
    left_out = {(one["file"], one["change"]) for one in equivalent()}
    found = []
    for path in sorted((root / "companion").rglob("*.py")):
        file = path.relative_to(root).as_posix()
        module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        near = {module, module.rsplit(".", 1)[0]} - {"companion"}  # a package hands on what its modules define
        tests = [test for test, names in imported.items() if names & near]
        tests.sort(key=lambda test: Path(file).stem not in test)  # first those that are about it
        if tests and file.split("/")[1] not in NOT_LIBRARY:
            found += Source(path).mutants(file, tuple(tests))
    fresh = {one.name: one for one in found if (one.file, one.name.split(": ", 1)[1]) not in left_out}
    return random.Random(seed).sample(list(fresh.values()), min(number, len(fresh)))
