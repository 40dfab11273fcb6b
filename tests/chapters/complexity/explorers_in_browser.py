"""The explorers of the chapter on complexity: what the browser shows is what the package gives."""

import re

import pytest

from companion import cost
from companion.chapters.complexity.explorers.cost import (
    BATCHES,
    D_MODELS,
    GROUPS,
    HEAD_WIDTHS,
    KINDS,
    LAYERS,
    LENGTHS,
    POSITIONS,
    PUBLISHED,
    QUANTITIES,
    SIZES,
    VOCABULARIES,
    WIDTHS,
)
from companion.explorers import CostCalculator, PathExplorer
from tests.site.browser import CELLS, number, put, value_of

STATES = (
    {"d_model": 128, "n_layers": 1, "head_width": 128, "group": 8, "vocab": 256, "t": 64, "batch": 1},
    {"d_model": 768, "n_layers": 12, "head_width": 64, "group": 1, "vocab": 50_257, "t": 1024, "batch": 1},
    {"d_model": 4096, "n_layers": 32, "head_width": 128, "group": 4, "vocab": 128_000, "t": 65_536, "batch": 16},
)
OFFERED = {
    "d_model": D_MODELS,
    "n_layers": LAYERS,
    "head_width": HEAD_WIDTHS,
    "group": GROUPS,
    "vocab": VOCABULARIES,
    "t": LENGTHS,
    "batch": BATCHES,
}
BRIEF = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
BYTES = {name: 1000**power for power, name in enumerate(("B", "kB", "MB", "GB", "TB", "PB"))}
TEXTS = "root => [...root.querySelectorAll('[data-matrix=\"costs\"] .ex-cell')].map(cell => cell.textContent)"
WAY = """root => [...root.querySelectorAll('.ex-ways line')].map(n =>
  ["x1", "y1", "x2", "y2"].map(name => Number(n.getAttribute(name))))"""


def check_calculator(root, values):
    for state in STATES:
        for dtype, gated in (("float32", False), ("int8", True)):
            model = CostCalculator(**state, dtype=dtype, gated=gated)
            places = {name: OFFERED[name].index(value) for name, value in state.items()}
            put(root, **places, dtype=dtype, gated=gated)
            where, wanted = repr(model), model.numbers()
            shown = zip(root.evaluate(CELLS, "costs"), root.evaluate(TEXTS), QUANTITIES, strict=True)
            for (label, worked, words, _), text, name in shown:
                want = wanted[name]
                made, _, printed = worked.rpartition(" = ")
                value = value_of(made.replace(",", ""))
                assert value == (want if isinstance(want, int) else pytest.approx(want, rel=1e-12)), (where, worked)
                exact = f"{want:,}" if isinstance(want, int) else f"{want:.4f}"
                assert printed == exact, (where, name)
                assert label.endswith(f": {exact}"), (where, label)
                if isinstance(want, float):
                    assert text == {"intensity": f"{want:.2f}", "share": f"{want:.1f}%"}[name], where
                    continue
                digits, _, unit = text.partition(" ")
                assert number(digits) * (BRIEF | BYTES)[unit] == pytest.approx(want, rel=6e-3), (where, text)
                if name == "pairs":
                    share = number(re.search(r"([\d.]+)% of the pass", words)[1])
                    assert share == pytest.approx(100 * want / wanted["prefill"], abs=0.051), where
            heads = model.config.n_heads, model.config.n_kv_heads, model.config.d_ff
            lead = root.query_selector(".ex-lead").text_content()
            assert lead == f"{heads[0]} query and {heads[1]} key-value heads, dff = {heads[2]:,}", where
            own = root.query_selector(".ex-field:has([data-trait=group]) .ex-value").text_content()
            assert own == f"{heads[1]} of {heads[0]}", where
    put(root, d_model=OFFERED["d_model"].index(768), head_width=OFFERED["head_width"].index(64))
    assert root.query_selector("[data-trait=group]").get_attribute("max") == "3"  # 12, 6, 3 or 1 of 12
    for name, sizes in PUBLISHED.items():
        next(button for button in root.query_selector_all("button") if button.text_content() == name).click()
        model = CostCalculator(**sizes)
        lead = root.query_selector(".ex-lead").text_content()
        assert lead.startswith(f"{model.config.n_heads} query and {model.config.n_kv_heads} key-value heads"), name


def check_paths(root, values):
    for n, size, start, d in ((8, 3, 0, 16), (16, 2, 5, 512), (32, 2, 0, 64), (32, 6, 31, 16)):
        put(root, n=POSITIONS.index(n), size=SIZES.index(size), d=WIDTHS.index(d))
        put(root, start=start)
        for place, kind in enumerate(KINDS):
            put(root, kind=place)
            model = PathExplorer(kind=kind, n=n, size=size, start=start, d=d)
            found, rows = root.evaluate(CELLS, "layers"), model.rows()
            flat = [(row, column) for row in KINDS for column in range(3)]
            for (_, digits, words, _), (row, column) in zip(found, flat, strict=True):
                want = rows[row][column]
                if column == 0:
                    way = cost.shortest_path(row, n, size=size, start=start)
                    assert digits == " → ".join(str(position) for _, position in way), (repr(model), row)
                elif column == 1:
                    assert digits == f"{want:,} in a row"
                else:
                    made, _, printed = digits.rpartition(" = ")
                    assert printed == f"{want:,}", (repr(model), row)
                    assert value_of(made) == want, (repr(model), digits)
                unit = "step" if kind == "recurrent" else "layer"
                length = rows[kind][0]
                assert f"from position {start} to {n - 1} in {length} {unit}{'s' * (length > 1)}. " in words
            lines = root.evaluate(WAY)
            assert len(lines) == rows[kind][0], repr(model)
            assert all(x1 <= x2 for x1, _, x2, _ in lines), repr(model)
            level = [y1 == y2 for _, y1, _, y2 in lines]
            assert level == [kind == "recurrent" and step > 0 for step in range(len(lines))], repr(model)


CHECKS = {"CostCalculator": check_calculator, "PathExplorer": check_paths}


def made():
    return [
        CostCalculator(d_model=4096, n_layers=32, head_width=128, group=4, vocab=32_000, t=4096, batch=4, gated=True),
        PathExplorer(kind="recurrent", n=8, size=4, start=2, d=16),
    ]
