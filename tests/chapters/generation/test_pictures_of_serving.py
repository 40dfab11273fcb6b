"""What the chapter's pictures say, against their arguments and the package."""

import re

import pytest
import torch

from companion import pictures
from companion.chapters.generation.pictures.pages import LENGTHS, TABLES
from companion.chapters.generation.pictures.rounding import WEIGHTS
from companion.chapters.generation.pictures.speculation import ROUNDS
from companion.efficient import PagedCache
from companion.quantise import dequantise, quantise
from tests.tools.layout import read


def said(canvas):
    return [text.said for text in read(canvas.svg())[0]]


def test_the_rounds_drawn_keep_guesses_up_to_the_first_refusal():
    drawn = pictures.draft_and_verify()
    text = [token for guesses, kept, own in ROUNDS for token in (*guesses[:kept], own)]
    for canvas in (drawn.wide, drawn.narrow):
        texts = said(canvas)
        signs = [line for line in texts if re.match(r"[✓✗·] ", line)]
        assert len(signs) == 12
        columns = [signs[4 * i : 4 * i + 4] for i in range(3)]
        assert [[sign[0] for sign in column].count("✓") for column in columns] == [kept for _, kept, _ in ROUNDS]
        assert all(
            "✗" not in "".join(sign[0] for sign in column)[:kept]
            for column, (_, kept, _) in zip(columns, ROUNDS, strict=True)
        )
        assert texts.count("pass") == 6 + 3
        assert texts[1:13:2] == ["pass"] * 6
        assert texts[2:13:2] == text[:6]
        assert len(re.findall(r"<rect [^>]*f-attention f-bold", canvas.svg())) == 3


def test_rounds_without_room_are_refused():
    with pytest.raises(ValueError, match=r"three rounds of four guesses: got \(\)\. Change them"):
        pictures.draft_and_verify(rounds=())


def test_each_sequence_fills_its_pages_in_order():
    drawn = pictures.page_table()
    for canvas in (drawn.wide, drawn.narrow):
        texts = said(canvas)
        for name, length in LENGTHS.items():
            assert texts.count(name.lower()) == 2 * length  # contiguous, and in pages
        entries = [text for text in texts if text.isdigit()]
        assert entries[:4] == [str(page) for table in TABLES.values() for page in table]
        assert sorted(text for text in texts if text.endswith("free")) == ["1, free", "4, free"]
    assert "12 of 24 reserved" in drawn.text


def test_the_pages_drawn_are_those_that_a_pool_gives_out():
    """With two pages free in between, as the picture has it, the tables are those of the package."""
    cache, one = PagedCache(pages=6, size=4, heads=1, d_k=1, d_v=1), torch.zeros(1, 1)
    cache.free = [0, 2, 3, 5, 1, 4]
    for name, length in LENGTHS.items():
        for _ in range(length):
            cache.append(name, one, one)
    assert {name: tuple(table) for name, table in cache.tables.items()} == TABLES


def test_a_table_without_room_is_refused():
    with pytest.raises(ValueError, match=r"two sequences of two pages each: got lengths \{'A': 9, 'B': 5\}"):
        pictures.page_table(lengths={"A": 9, "B": 5})


def test_the_integers_drawn_are_those_of_the_package():
    integers, scales = quantise(torch.tensor([WEIGHTS], dtype=torch.float64), bits=4, group=4)
    drawn = pictures.absmax_groups()
    for canvas in (drawn.wide, drawn.narrow):
        texts = said(canvas)
        assert [int(text) for text in texts if re.fullmatch(r"-?\d", text)] == integers[0].tolist()
        decimals = [text for text in texts if re.fullmatch(r"-?\d\.\d\d", text)]
        assert decimals[:8] == [f"{w:.2f}" for w in WEIGHTS]
        assert decimals[8:] == [f"{w:.2f}" for w in dequantise(integers, scales)[0].tolist()]
        told = [text for text in texts if text.startswith("scale")]
        assert [text.split("= ")[1] for text in told] == [f"{scale:.3f}" for scale in scales[0].tolist()]


def test_weights_without_room_are_refused():
    with pytest.raises(ValueError, match=r"two groups of four, none all zero: got \(1\.0, 2\.0\)\. Change them"):
        pictures.absmax_groups(weights=(1.0, 2.0))
