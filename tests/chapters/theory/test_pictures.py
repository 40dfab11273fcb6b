"""What the chapter's pictures say, against the package."""

import pytest
import torch

from companion import pictures
from companion.chapters.theory.pictures.table import CODES, IDS, INPUT, OUTPUT
from companion.chapters.theory.pictures.tape import CELLS, WRITTEN
from companion.chapters.theory.table_model import TableTransformer
from companion.chapters.theory.turing import COUNTER, simulate
from tests.tools.layout import read


def said(canvas):
    return [text.said for text in read(canvas.svg())[0]]


def test_the_stages_drawn_are_those_of_the_table():
    model = TableTransformer(lambda x: x.sort(dim=-1).values, 2, 4)
    codes = model.quantise(torch.tensor(INPUT, dtype=torch.float64))
    assert codes.tolist() == pytest.approx(CODES)
    assert model.mapping(codes).tolist() == pytest.approx(IDS, abs=5e-3)
    assert model(torch.tensor(INPUT, dtype=torch.float64)).tolist() == pytest.approx(OUTPUT)
    for canvas in (pictures.three_stages().wide, pictures.three_stages().narrow):
        texts = said(canvas)
        for value in (*INPUT, *CODES, *IDS, *OUTPUT):
            assert texts.count(f"{value:g}") == 1


def test_the_history_drawn_is_that_of_the_counter():
    trace, cells, written, head = simulate(COUNTER, "1", 3), [0], ["1"], 1
    for pair in trace:
        cells.append(head)
        written.append(COUNTER.rules[pair][1])
        head += COUNTER.rules[pair][2]
    assert (tuple(cells), tuple(written[:-1])) == (CELLS, WRITTEN[:-1])
    tape = dict(zip(CELLS[:-1], WRITTEN[:-1], strict=True))
    for canvas in (pictures.tape_in_history().wide, pictures.tape_in_history().narrow):
        texts = said(canvas)
        order = [str(cell) for cell in sorted(tape)]
        assert texts[-len(order) :] == order
        start = texts.index("tape")
        assert texts[start + 1 : start + 1 + len(order)] == [tape[int(cell)] for cell in order]


def test_the_circuit_drawn_points_behind_the_earlier_token():
    for canvas in (pictures.four_questions().wide, pictures.four_questions().narrow):
        assert [text for text in said(canvas) if len(text) == 1][-4:] == ["A", "B", "C", "A"]
