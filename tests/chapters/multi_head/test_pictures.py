"""The sizes in the chapter's pictures, against the package."""

import re

import pytest
import torch

from companion import interpret, pictures
from companion.chapters.multi_head.pictures import IT_LOOKS, PAIRS
from companion.cost.memory import cache_bytes
from companion.pretrained import load_bert, minilm_folder
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


def test_one_head_mixes_what_two_heads_keep_apart():
    for canvas in (pictures.two_averages().wide, pictures.two_averages().narrow):
        texts = [text.said for text in read(canvas.svg())[0]]
        assert [texts.count(weight) for weight in ("0.5", "1")] == [2, 2]
        assert "0.5 v1 + 0.5 v3" in texts
        widths = re.findall(r"stroke-width:([\d.]+)px", canvas.svg())
        assert widths == ["5.5", "5.5", "10", "10"]


@pytest.mark.parametrize(("at", "letter", "digit"), [(3, "d", 3), (1, "b", 2), (7, "d", 1)])
def test_both_questions_are_answered_by_the_tokens_drawn(at, letter, digit):
    for canvas in (pictures.two_questions(at=at).wide, pictures.two_questions(at=at).narrow):
        texts = [text.said for text in read(canvas.svg())[0]]
        assert f"letter {letter}" in texts
        assert f"digit {digit}" in texts


@pytest.mark.parametrize("at", [0, 8])
def test_a_token_without_one_before_it_asks_nothing(at):
    with pytest.raises(ValueError, match=rf"one before it and one twin: got position {at} of .*'c0'"):
        pictures.two_questions(at=at)


def test_a_letter_that_comes_three_times_has_no_twin():
    tokens = ["a1", "b1", "a2", "a3"]
    with pytest.raises(ValueError, match=r"one twin: got position 2 of .*'a3'"):
        pictures.two_questions(tokens=tokens, at=2)


@pytest.mark.parametrize("last", IT_LOOKS)
def test_the_head_drawn_looks_as_that_of_the_model_does(last):
    model, tokenizer = load_bert(minilm_folder())
    encoding = tokenizer.encode(f"The animal didn't cross the street because it was too {last}.")
    with torch.no_grad(), interpret.record_attention(model) as recorded:
        model(torch.tensor([encoding.ids]))
    weights = list(recorded.values())[5][0, 11, encoding.tokens.index("it")]
    assert [token.rstrip("2") for token in IT_LOOKS[last]] == encoding.tokens
    assert list(IT_LOOKS[last].values()) == pytest.approx(weights.tolist(), abs=0.0051)


@pytest.mark.parametrize("looks", [{"tired": {"it": 1.0}}, {"tired": {"it": 1.0}, "wide": {"it": 0.9}}])
def test_weights_that_are_no_distribution_are_not_drawn(looks):
    with pytest.raises(ValueError, match=r"two versions, each with weights that sum to 1: got the sums \[1\.0"):
        pictures.it_looks_at(looks=looks)
