"""The reader of LaTeX behind the formula sheet: closed forms, what it refuses, and what a check asks for."""

import math

import pytest
import torch

from companion.chapters.interview.formulas import FormulaError, check_formula, evaluate, sheet, statements

MATRIX = torch.tensor([[1.0, 2.0], [3.0, 5.0]], dtype=torch.float64)
ROW = torch.tensor([[7.0, 11.0]], dtype=torch.float64)


@pytest.mark.parametrize(
    ("latex", "names", "value"),
    [
        (r"2 + 3 \cdot 5 - 7", {}, 10),
        (r"-3^2 + 1", {}, -8),
        (r"2 n d^2 / 3", {"n": 5, "d": 3}, 30),
        (r"\frac{n - 1}{2 n}", {"n": 5}, 0.4),
        (r"2^{-8 h / n}", {"h": 3, "n": 4}, 2.0**-6),
        (r"d_{\text{model}}^{-0.5}", {"d_model": 16}, 0.25),
        (r"\hat m_{t} - m_t", {"hatm_t": 5, "m_t": 2}, 3),
        (r"h_{t-1} h_t", {"h_t-1": 5, "h_t": 2}, 10),
        (r"\sum_{i=1}^{3} i^2 + 1", {}, 15),
        (r"\sum_{i=1}^{2} \sum_{j=1}^{i} j", {}, 4),
        (r"\sum_i x_i", {"i": range(1, 3), "x": torch.tensor([5.0, 7.0, 11.0])}, 12),
        (r"\prod_{k=0}^{2} (k + 1)", {}, 6),
        (r"\ln \frac{8}{2} - \ln 2", {}, math.log(2)),
        (r"\log_2 8 + e^0", {}, 4),
        (r"\sin a \cos b", {"a": 0.5, "b": 2.0}, math.sin(0.5) * math.cos(2)),
        (r"\cos 2 a", {"a": 0.5}, math.cos(1)),
        (r"\max(2, n) - \min(2, n)", {"n": 7}, 5),
        (r"\left\lfloor \frac{7}{2} \right\rfloor + \lceil 0.5 \rceil", {}, 4),
        (r"\lVert x \rVert \lvert -2 \rvert", {"x": torch.tensor([3.0, 4.0])}, 10),
        (r"[2 = n] + [2 \le n] + [2 < n]", {"n": 2}, 2),
        (r"\langle x, y \rangle", {"x": torch.tensor([2.0, 3.0]), "y": torch.tensor([5.0, 7.0])}, 31),
        (r"f(2, 3) f(1, 1)", {"f": lambda a, b: a + 10 * b}, 352),
        (r"a_{ij}", {"a": MATRIX, "i": 1, "j": 2}, 2),
        (r"x A x^\top", {"x": ROW, "A": MATRIX}, 49 + 5 * 77 + 5 * 121),
        (r"\operatorname{mean}(x)", {"x": torch.tensor([2.0, 6.0])}, 4),
    ],
)
def test_an_expression_has_its_value(latex, names, value):
    assert float(evaluate(latex, names)) == pytest.approx(value, rel=1e-14)


def test_names_side_by_side_are_multiplied_as_matrices_and_odot_entry_by_entry():
    assert evaluate(r"x A", {"x": ROW, "A": MATRIX}).tolist() == [[40.0, 69.0]]
    assert evaluate(r"A \odot A", {"A": MATRIX}).tolist() == [[1.0, 4.0], [9.0, 25.0]]
    assert evaluate(r"\begin{pmatrix} a & 2 \\ -a & b \end{pmatrix}", {"a": 3, "b": 5}).tolist() == [[3, 2], [-3, 5]]
    powers = torch.stack([MATRIX, MATRIX.mT])
    assert torch.equal(evaluate(r"\prod_{k=0}^{1} J_{2-k}", {"J": powers}), MATRIX.mT @ MATRIX)


def test_a_softmax_runs_over_the_last_axis_and_knows_minus_infinity():
    rows = evaluate(r"\operatorname{softmax}(S)", {"S": torch.tensor([[0.0, -torch.inf, 0.0], [1e4, 0.0, 0.0]])})
    assert rows.tolist() == [[0.5, 0.0, 0.5], [1.0, 0.0, 0.0]]


def test_statements_are_cut_at_relations_outside_brackets():
    assert statements(r"k = [i = j] \quad t \ge \max(a, b)") == [
        ("k", "=", "[i = j]"),
        ("t", r"\ge", r"\max(a, b)"),
    ]


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize(
    ("latex", "names", "message"),
    [
        (r"2 q", {}, "'q' has no value"),
        (r"2 + ", {}, "something was expected: got 'the end'"),
        (r"(2 + 3", {}, r"\) was expected: got 'the end'"),
        (r"2 )", {}, r"'\)' was not expected"),
        (r"\log 2", {}, "has no value"),
        (r"\sum_i 2", {"i": 1}, "the sum over i has no limits, and i has no range"),
        (r"x_4", {"x": torch.ones(3)}, r"there is no entry \[4\] in a tensor of shape \(3,\)"),
        (r"x_0", {"x": torch.ones(3)}, r"there is no entry \[0\]"),
        (r"2 f", {"f": abs}, "'f' is a function|something was expected"),
        (r"A B", {"A": MATRIX, "B": torch.ones(3, 2)}, "cannot evaluate 'A B'"),
    ],
)
def test_what_has_no_value_is_refused(latex, names, message):
    with pytest.raises(ValueError, match=message):
        evaluate(latex, names)


@pytest.mark.usefixtures("shape_checks_off")
def test_a_statement_without_a_relation_is_refused():
    with pytest.raises(ValueError, match="a statement has one relation, such as =: got 'a \\+ b'"):
        statements(r"a + b")
    with pytest.raises(ValueError, match="a statement has one relation"):
        statements(r"a = b = c")


@pytest.fixture
def lines(monkeypatch):
    sheet_of_two = {"two": r"m = a + 1 \quad y = 2 m", "bound": r"t \ge 2 a", "whole": r"f(a) = 2 f(b)"}
    monkeypatch.setattr(sheet, "_sheet", lambda: sheet_of_two)


@pytest.mark.usefixtures("lines")
def test_a_check_prints_what_it_found(capsys):
    check_formula("two", 8, a=3)
    check_formula("two", {"m": 4.0, "y": 8.0 + 1e-9}, a=3, within=1e-6)
    check_formula("bound", 6, observed=6.5, a=3)
    check_formula("whole", 6, f=lambda x: 3 * x, a=2, b=1)
    printed = capsys.readouterr().out
    assert printed == (
        "two: error < 1e-12: True\ntwo: error < 1e-06: True\nbound: error < 1e-12: True\nwhole: error < 1e-12: True\n"
    )


@pytest.mark.usefixtures("lines", "shape_checks_off")
@pytest.mark.parametrize(
    ("name", "wanted", "options", "kind", "message"),
    [
        ("two", 8 + 2e-9, {"a": 3}, FormulaError, "two, y by 2 m: the error is 2.5e-10, and must be smaller"),
        ("two", torch.ones(2), {"a": 3}, FormulaError, r"has shape \(\), and the second way \(2,\)"),
        ("two", math.nan, {"a": 3}, FormulaError, "the error is nan"),
        ("bound", 6, {"a": 3, "observed": 5.5}, FormulaError, "bound: 5.5 is not"),
        ("whole", 6, {"f": lambda x: 3 * x, "a": 3, "b": 1}, FormulaError, r"whole, f\(a\) by f\(a\)"),
        ("three", 6, {}, ValueError, "no formula 'three' stands in formulas.yml"),
        ("two", {"m": 4}, {"a": 3}, ValueError, "nothing checks y"),
        ("two", {"y": 8, "z": 1}, {"a": 3}, ValueError, "nothing has a left side z"),
        ("two", 8, {"a": 3, "b": 3}, ValueError, "nothing contains b"),
        ("bound", 6, {"a": 3}, ValueError, "is a bound, and nothing was observed"),
        ("two", 8, {}, ValueError, r"cannot evaluate 'a \+ 1'"),
    ],
)
def test_a_check_fails_or_refuses(name, wanted, options, kind, message):
    with pytest.raises(kind, match=message):
        check_formula(name, wanted, **options)
