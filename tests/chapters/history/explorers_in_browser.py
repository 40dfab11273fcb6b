"""The explorers on recurrent networks: what the browser shows is what the package gives."""

import itertools
import math
import re

from companion.chapters.history.explorers.history import KINDS, LAGS, POINTS, STEPS
from companion.explorers import AlignmentView, GradientProduct, MemoryCell
from tests.site.browser import number, put

DOTS = """root => [...root.querySelectorAll('.ex-point')].map(p => { tools.look(p);
  return [p.getAttribute('aria-label'), root.querySelector('.ex-digits').textContent,
    Number(p.getAttribute('cx')), Number(p.getAttribute('cy'))]; })"""
TICKS = "root => [...root.querySelectorAll('.ex-plot text')].map(t => [t.textContent, Number(t.getAttribute('y')) - 4])"
LOW = 1e-8
PLAIN = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def amount(text):
    """Read a number as the figure writes it, plain or with a power of ten; None where it is below the smallest."""
    if text.startswith("below"):
        return None
    digits, _, power = text.partition(" × 10")
    return float(digits) * 10.0 ** int(power.translate(PLAIN) or 0)


def assert_amount(text, value, where):
    shown = amount(text)
    assert (value < LOW) if shown is None else math.isclose(shown, value, rel_tol=0.055), (where, text, value)


def check_gradient(root, values):
    names = ("gradient", "largest singular values", "eigenvalues")
    for kind, scale, inputs in itertools.product(KINDS, (0.5, 0.9, 1.0, 1.5), (0.0, 0.7, 2.0)):
        model = GradientProduct(kind=kind, scale=scale, inputs=inputs)
        put(root, kind=kind, scale=scale, inputs=inputs)
        where = f"{kind}, scale {scale}, inputs {inputs}"
        lines = model.lines()
        want = [value for name in ("gradient", "singular", "eigenvalue") for value in lines[name]]
        found = root.evaluate(DOTS)
        assert len(found) == len(want) == 3 * STEPS, where
        for place, ((label, digits, _, _), value) in enumerate(zip(found, want, strict=True)):
            line, step = divmod(place, STEPS)
            start = f"{names[line]}, {step + 1} step{'s' * (step > 0)}: "
            assert label.startswith(start), (where, label)
            assert_amount(label.removeprefix(start), value, where)
            assert digits == f"{label}. ", (where, digits)
        ticks = [
            (int(text[2:].translate(PLAIN)), y) for text, y in root.evaluate(TICKS) if re.match("10[⁻⁰¹²³⁴-⁹]", text)
        ]
        (low, y_low), (high, y_high) = ticks[0], ticks[-1]
        assert y_high < y_low, where
        for (label, _, _, y), value in zip(found, want, strict=True):
            level = low + (y - y_low) / (y_high - y_low) * (high - low)
            assert abs(level - math.log10(max(value, LOW))) < 0.01 * (high - low) + 0.01, (where, label)
        words = root.query_selector(".ex-readout").text_content()
        gradient = lines["gradient"]
        way = "grows" if gradient[-1] > 1.01 else "shrinks" if gradient[-1] < 0.99 else "stays"
        told = re.search(r"the gradient (\w+): (.+) at the end, at most (.+) on the way", words)
        assert told[1] == way, (where, words)
        assert_amount(told[2], gradient[-1], where)
        assert_amount(told[3], max(gradient), where)


def share_of(text):
    return None if text.startswith("less") else number(text.removesuffix("%")) / 100


def check_memory(root, values):
    for bias, lag, spread in itertools.product((-2.0, 0.0, 5.0, 10.0), (5, 25, 1000), (0.0, 3.0)):
        model, equal = MemoryCell(bias=bias, lag=lag, spread=spread), MemoryCell(bias=bias, lag=lag)
        put(root, bias=bias, lag=LAGS.index(lag), spread=spread)
        where = f"bias {bias}, lag {lag}, spread {spread}"
        steps = sorted({math.floor(k * lag / POINTS + 0.5) for k in range(POINTS + 1)})
        found = root.evaluate(DOTS)
        assert len(found) == 2 * len(steps), where
        for place, (label, digits, _, y) in enumerate(found):
            line, k = divmod(place, len(steps))
            left = [1.0, *(model, equal)[line].left()][steps[k]]
            start = f"{('these gates', 'equal gates')[line]}, {steps[k]} step{'s' * (steps[k] != 1)}: "
            assert label.startswith(start), (where, label)
            shown = share_of(label.removeprefix(start).removesuffix(" left"))
            assert left < 1e-5 if shown is None else abs(shown - left) < 6e-4, (where, label, left)
            assert digits == f"{label}. ", where
            assert abs(y - (10 + (1 - left) * 146)) < 0.06, (where, label)
        words = root.query_selector(".ex-readout").text_content()
        assert f"half is left after {model.half_life():.1f} steps" in words, (where, words)
        shown = share_of(re.search(rf"After {lag} steps (.+?%) of the memory is left", words)[1])
        assert model.left()[-1] < 1e-5 if shown is None else abs(shown - model.left()[-1]) < 6e-4, (where, words)
        told = re.search(r"The gates lie between ([\d.]+) and ([\d.]+)\.", words)
        assert (told is not None) == (spread > 0), (where, words)
        if told:
            gates = model.gates()
            assert abs(float(told[1]) - gates.min()) < 6e-5, where
            assert abs(float(told[2]) - gates.max()) < 6e-5, where


CELLS = """root => [...root.querySelectorAll('[data-matrix="weights"] .ex-cell')].map(cell => { tools.look(cell);
  return [cell.getAttribute('aria-label'), root.querySelector('.ex-digits').textContent,
    root.querySelector('.ex-readout').textContent, cell.classList.contains('ex-from')]; })"""
ANSWERS = """root => [...root.querySelectorAll('.ex-answer')].map(row => [row.firstChild.textContent,
  [...row.querySelectorAll('.ex-symbols > span')].map(s => s.textContent),
  [...row.querySelectorAll('.ex-symbols > span')].map(s => s.classList.contains('ex-wrongsymbol'))])"""


def check_alignment(root, values):
    for example, given in enumerate(values["examples"]):
        rows = values["weights"][example]
        rows = [[float(w) for w in row.split()] if isinstance(row, str) else row for row in rows]
        shares, target = values["accuracy"][example], given["source"][::-1]
        full = [
            {"weights": [[float(j == i) for j in g["source"]] for i in g["source"]], **g} for g in values["examples"]
        ]
        for other in full:
            n = len(other["source"])
            other["weights"] = [[1.0 / n] * n] * n
        errors = AlignmentView(full, values["accuracy"], example=example).errors()
        for outline in (True, False):
            put(root, example=example, outline=outline)
            n = len(target)
            found = root.evaluate(CELLS)
            assert len(found) == n * n, example
            for place, (label, digits, words, outlined) in enumerate(found):
                i, j = divmod(place, n)
                assert label == f"{target[i]} to symbol {j + 1}, {given['source'][j]}: {rows[i][j]:.2f}", example
                assert digits.startswith(
                    f"Writing symbol {i + 1}, {target[i]}: weight {rows[i][j]:.2f} on symbol {j + 1}"
                )
                elsewhere = f"The symbol to copy is symbol {n - i}, with weight {rows[i][n - 1 - i]:.2f}."
                assert ("That is the symbol to copy." if j == n - 1 - i else elsewhere) in words
                assert f"fixed vector {errors[0]}, attention {errors[1]}, of {n}." in words
                told = [float(x) for x in re.findall(r"(?:vector|attention) (\d+)%", words)]
                assert all(abs(a - 100 * b) <= 0.51 for a, b in zip(told, shares, strict=True)), (told, shares)
                assert outlined == (outline and j == n - 1 - i), (example, place)
            answers = root.evaluate(ANSWERS)
            assert [row[0] for row in answers] == ["source", "wanted", "fixed vector", "attention"]
            assert [row[1] for row in answers] == [given["source"], target, given["fixed"], given["attention"]]
            for _, wrote, wrong in answers[2:]:
                same = [k < n and symbol == target[k] for k, symbol in enumerate(wrote)]
                assert wrong == [not s for s in same], example
            assert not any(answers[0][2] + answers[1][2])


def made():
    examples = [
        {"source": ["3", "1"], "fixed": ["1", "3"], "attention": ["1"], "weights": [[0.25, 0.75], [1.0, 0.0]]},
        {
            "source": ["2", "0", "1"],
            "fixed": ["1", "2", "2", "0"],
            "attention": ["1", "0", "2"],
            "weights": [[0.0, 0.5, 0.5], [0.2, 0.7, 0.1], [1.0, 0.0, 0.0]],
        },
    ]
    return [
        GradientProduct(kind="turn", scale=1.2, inputs=1.0),
        MemoryCell(bias=3.0, lag=50, spread=2.0),
        AlignmentView(examples, [[1.0, 0.5], [0.25, 0.875]], example=1),
    ]


CHECKS = {"GradientProduct": check_gradient, "MemoryCell": check_memory, "AlignmentView": check_alignment}
