"""A measurement is computed: no call of `check_claim` compares what is written down with what is written down."""

import ast
import builtins
import math
from pathlib import Path

import nbformat
import pytest
import torch

from companion.book import claims

BOOK = Path(__file__).parents[2] / "book"
FOLDED = {"bool", "all", "any", "abs", "min", "max", "sum", "len", "int", "float", "round", "tensor", "bool_", "array"}
ROOTS = ("sympy", "torch", "numpy", "companion")
# What holds, converts or folds numbers: of literals it makes literals.
HOLDS = {*FOLDED, "as_tensor", "asarray", "from_numpy", "stack", "cat", "full", "zeros", "ones", "eye", "arange"}
HOLDS |= {"linspace", "item", "tolist", "numpy", "double", "half", "long", "to", "mean", "median", "prod", "clone"}
HOLDS |= {"reshape", "view", "flatten", "unsqueeze", "squeeze", "expand", "equal", "allclose", "isclose", "Generator"}
HOLDS |= {"manual_seed", "set_num_threads", "set_printoptions", *dir(math), *dir(builtins)}


def code_sources(page):
    notebook = nbformat.reads((BOOK / f"{page}.ipynb").read_text("utf8"), as_version=4)
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def parsed(source):
    return ast.parse(
        "\n".join("pass" if line.lstrip().startswith(("%", "!")) else line for line in source.splitlines())
    )


def check_calls(source):
    return [call for call in claims.calls(source) if called(call) == "check_claim"]


def called(call):
    return getattr(call.func, "id", getattr(call.func, "attr", ""))


def test_measurements_are_computed(chapter):
    assert idle_measurements(code_sources(chapter)) == []


# --- a measurement of cases ------------------------------------------------------------------------------------------


FUNCTIONS = ast.FunctionDef | ast.ClassDef
SCOPES = ast.FunctionDef | ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def names(node, context):
    """Name what some code reads from the page or binds on it, without what is local to its functions."""
    found = {node.id} if isinstance(node, ast.Name) and isinstance(node.ctx, context) else set()
    for child in ast.iter_child_nodes(node):
        found |= names(child, context)
    if isinstance(node, SCOPES):
        local = {argument.arg for argument in ast.walk(node) if isinstance(argument, ast.arg)}
        local |= {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        return found - local
    return found


class Page:
    """The code of a page up to a call: what its names are bound to, and which of them torch or the package owns."""

    def __init__(self, trees):
        self.bound, self.owned = {}, set()
        for statement in [node for tree in trees for node in tree.body]:
            if isinstance(statement, ast.Import | ast.ImportFrom):
                module = getattr(statement, "module", None)
                for alias in statement.names:
                    path = f"{module}.{alias.name}" if module else alias.name
                    if path.split(".")[0] in ROOTS and not path.startswith("companion.book"):
                        self.owned.add((alias.asname or alias.name).split(".")[0])
                continue
            for name in [statement.name] if isinstance(statement, FUNCTIONS) else names(statement, ast.Store):
                self.bound.setdefault(name, []).append(statement)

    def closure(self, *nodes):
        """Yield all that some code is made of: its own nodes, and those of what its names are bound to on the page."""
        todo, seen = [*nodes], set()
        while todo:
            node = todo.pop()
            yield from ast.walk(node)
            new = names(node, ast.Load) - seen
            seen |= new
            todo += [one for name in new for one in self.bound.get(name, [])]

    def computes(self, *nodes):
        """Whether some code calls torch or the package for more than to hold, to convert or to fold numbers."""
        return any(self._computes(node) for node in self.closure(*nodes))

    def _computes(self, node):
        if isinstance(node, ast.BinOp):
            return isinstance(node.op, ast.MatMult)
        if not isinstance(node, ast.Call) or called(node) in HOLDS:
            return False
        root = node.func
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id in self.owned:
            return True
        plain = any(hasattr(kind, called(node)) for kind in (list, dict, str, set, tuple))
        return isinstance(node.func, ast.Attribute) and hasattr(torch.Tensor, called(node)) and not plain

    def function(self, node):
        """Find the function behind a name, as far as the page defines it."""
        if isinstance(node, ast.Name):
            found = [one for one in self.bound.get(node.id, []) if isinstance(one, ast.FunctionDef)]
            named = [one.value for one in self.bound.get(node.id, []) if isinstance(one, ast.Assign)]
            return found[-1] if found else named[-1] if named else node
        return node


def uses_its_argument(function):
    """Whether a function of one argument looks at it; one that the page does not define is taken to do so."""
    if not isinstance(function, ast.Lambda | ast.FunctionDef):
        return True
    names = {argument.arg for argument in function.args.args}
    body = function.body if isinstance(function.body, list) else [function.body]
    return any(isinstance(node, ast.Name) and node.id in names for part in body for node in ast.walk(part))


def is_constant(node):
    """Whether an expression has a value that no computation of the cell can change.

    Literals, what Python folds out of literals alone, a comparison of an expression with itself, and `and` or `or` with
    such an operand.
    """
    parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
    match node:
        case ast.Constant():
            return True
        case ast.BoolOp():
            return any(is_constant(part) for part in parts)
        case ast.Compare(left=left, comparators=[right]) if ast.dump(left) == ast.dump(right):
            return True
        case ast.IfExp(body=body, orelse=orelse) if ast.dump(body) == ast.dump(orelse):
            return True
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in FOLDED:
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            method = owner is not None and not (isinstance(owner, ast.Name) and owner.id in ("np", "numpy", "torch"))
            return all(is_constant(part) for part in [*node.args, *([owner] if method else [])])
        case ast.UnaryOp() | ast.BinOp() | ast.Compare() | ast.IfExp() | ast.NamedExpr() | ast.Tuple() | ast.List():
            names = [part for part in parts if not isinstance(getattr(part, "ctx", None), ast.Store)]
            return all(is_constant(part) for part in names)
    return False


def idle_measurements(sources):
    """List the calls of `check_claim` whose values no computation gives, or whose statement does not ask for them."""
    found, trees = [], []
    for index, source in enumerate(sources):
        trees.append(parsed(source))
        page = Page(trees)
        for call in check_calls(source):
            given = {name: claims.argument(call, place, name) for place, name in ((1, "measure"), (2, "says"))}
            cases = [claims.argument(call, 99, side) for side in ("inside", "outside")]
            measure, says = (page.function(node) for node in given.values())
            for name, function in (("measure", measure), ("says", says)):
                if not uses_its_argument(function):
                    found.append(f"cell {index}: {name} does not look at what it is given")
            if isinstance(says, ast.Lambda) and is_constant(says.body):
                found.append(f"cell {index}: says is {ast.unparse(says.body)}, which no value can change")
            owned = isinstance(measure, ast.Name) and measure.id in page.owned
            if not owned and not page.computes(measure, *(side for side in cases if side is not None)):
                found.append(f"cell {index}: measure and its cases are written down, not computed")
    return found


SETUP = """
import math
import torch
from companion import cost
from companion.attention import attention as attend
from companion.book import check_claim
table = {"a": 1.0, "b": [2, 3]}
low, high = 0.5, 2
width = cost.LLAMA_7B.d_model

def typed(case):
    return table[case] / low

def elsewhere(model):
    case = torch.randn(3)  # not the case of another function
    return [model(value) for value in case]

case = torch.randn(3)

def scored(case):
    return torch.randn(case).softmax(0)
"""


def settled(measure, inside="{'a': 'a'}", says="lambda value: value > 1", outside=""):
    more = f", outside={outside}" if outside else ""
    return [SETUP, f'check_claim("x", {measure}, {says}, inside={inside}{more})']


@pytest.mark.parametrize(
    "measure",
    [
        "lambda case: 3 * case",
        "lambda case: table[case]",  # a dict
        "lambda case: [1, 2, 3][case]",  # a list
        "lambda case: case * high / low",  # a tuple on both sides of an assignment
        "lambda case: math.exp(case / 8)",
        "lambda case: torch.tensor([1.0, case]).mean().item()",
        "lambda case: torch.log(torch.tensor(case)).item()",
        "lambda case: width / case",  # a constant of the package
        "lambda case: round(sum(sorted([case, 2])), 2)",
        "typed",  # a function of the page that computes nothing
        "float",
        "lambda case: table.get(case)",
        "lambda model: [value for value in [model]][0]",
    ],
)
def test_values_that_are_written_down_are_seen(measure):
    message = "cell 1: measure and its cases are written down, not computed"
    assert idle_measurements(settled(measure)) == [message]
    assert idle_measurements(settled(measure, "{'a': low}", outside="{'b': table['b']}")) == [message]
    named = [*settled("m")[:1], f"m = {measure}\nc = {{'a': 1}}", settled("m", "c")[1]]
    assert idle_measurements(named) == [message.replace("cell 1", "cell 2")]


@pytest.mark.parametrize(
    ("measure", "inside"),
    [
        ("lambda case: torch.randn(case).var()", "{'a': 8}"),
        ("lambda case: attend(case, case, case)", "{'a': 8}"),
        ("attend", "{'a': 8}"),
        ("scored", "{'a': 8}"),
        ("lambda case: scored(case) / 2", "{'a': 8}"),
        ("lambda case: torch.tensor([20.0, case]).softmax(0)", "{'a': 8}"),
        ("lambda case: (table['b'] @ case)", "{'a': 8}"),
        ("lambda case: 3 * case", "{'a': scored(3)[0].item()}"),
        ("typed", "{'a': torch.rand(1)}"),
    ],
)
def test_values_that_are_computed_are_let_through(measure, inside):
    assert idle_measurements(settled(measure, inside)) == []


def test_a_measurement_that_ignores_its_case_is_seen():
    for measure in ("lambda case: torch.randn(3).var()", "same"):
        cells = settled(measure)
        cells[0] += "\ndef same(case):\n    return torch.randn(3).var()\n"
        assert idle_measurements(cells) == ["cell 1: measure does not look at what it is given"]


@pytest.mark.parametrize(
    "says",
    [
        "lambda value: value > 1 or True",
        "lambda value: value == value",
        "lambda value: not False",
        "lambda value: 1 + 1 < 3",
        "lambda value: bool(1)",
        "lambda value: all([True, True])",
        "lambda value: torch.tensor(True).all()",
        "lambda value: True if value > 1 else True",
    ],
)
def test_a_statement_that_no_value_changes_is_seen(says):
    body = says.removeprefix("lambda value: ")
    message = f"cell 1: says is {body}, which no value can change"
    assert message in idle_measurements(settled("scored", says=says))


def test_a_statement_that_ignores_its_value_is_seen():
    message = "cell 1: says does not look at what it is given"
    assert idle_measurements(settled("scored", says="lambda value: low < high")) == [message]
    assert len(idle_measurements(settled("scored", says="lambda value: True"))) == 2
