"""The sizes in the chapter's pictures, against the package."""

import re

import pytest

from companion import pictures
from companion.chapters.multi_head.pictures import PAIRS
from companion.cost.memory import cache_bytes
from tests.tools.layout import read


@pytest.mark.parametrize(("d_model", "n_heads"), [(512, 8), (12, 4)])
def test_every_head_has_its_part_of_queries_keys_and_values(d_model, n_heads):
    drawn = pictures.split_attend_concatenate(d_model=d_model, n_heads=n_heads)
    for canvas in (drawn.wide, drawn.narrow):
        texts = [text.said for text in read(canvas.svg())[0]]
        assert texts.count(f"width {d_model}") == 2
        assert f"split: {n_heads} parts of width {d_model // n_heads}" in texts
        assert [text for text in texts if re.fullmatch(r"[QKV]\d", text)] == [
            f"{letter}{head}" for letter in "QKV" for head in range(1, n_heads + 1)
        ]
        assert [text for text in texts if text.isdigit()] == [str(head) for head in range(1, n_heads + 1)]


@pytest.mark.parametrize(("d_model", "n_heads"), [(512, 9), (512, 1), (100, 8)])
def test_heads_that_do_not_fit_are_refused(d_model, n_heads):
    with pytest.raises(
        ValueError, match=rf"2 to 8 heads that divide d_model: got {n_heads} and {d_model}\. Change one"
    ):
        pictures.split_attend_concatenate(d_model=d_model, n_heads=n_heads)


def test_shared_heads_and_their_caches_are_counted_as_by_the_package():
    drawn = pictures.sharing()
    full = cache_bytes(1, 8, 64, 1, 1)
    for canvas in (drawn.wide, drawn.narrow):
        svg = canvas.svg()
        for pairs in PAIRS.values():
            share = cache_bytes(1, pairs, 64, 1, 1) / full
            assert f"KV cache: {100 * share:g}%" in svg
        counts = [len(re.findall(rf'<rect [^>]*class="f-cell f-{tone}"', svg)) for tone in ("query", "key", "value")]
        assert counts == [24, 11, 11]
        lines = re.findall(r'<path d="M[^"]*" class="f-line f-ink"/>', svg)
        assert len(lines) == 3 * 8 + sum(PAIRS.values())
