"""The sizes in the chapter's pictures, against the package."""

import re

import pytest
import torch

from companion import interpret, pictures
from companion.chapters.multi_head.experiments import two_questions
from companion.chapters.multi_head.pictures import IT_LOOKS, KEYS, PAIRS, TOKENS
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


@pytest.mark.parametrize(("at", "letter", "digit"), [(3, "d", 3), (1, "c", 2), (7, "a", 0)])
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


@pytest.mark.parametrize(("head", "last"), IT_LOOKS)
def test_the_heads_drawn_look_as_those_of_the_model_do(head, last):
    model, tokenizer = load_bert(minilm_folder())
    encoding = tokenizer.encode(f"The animal didn't cross the street because it was too {last}.")
    with torch.no_grad(), interpret.record_attention(model) as recorded:
        model(torch.tensor([encoding.ids]))
    layer, number = map(int, re.findall(r"\d+", head))
    weights = list(recorded.values())[layer][0, number, encoding.tokens.index("it")]
    *named, others = KEYS
    shown = [weights[encoding.tokens.index(key)].item() for key in named]
    assert others == f"{len(encoding.tokens) - len(named)} others"
    assert list(IT_LOOKS[head, last].values()) == pytest.approx([*shown, 1 - sum(shown)], abs=0.0051)


@pytest.mark.parametrize("weights", [{"it": 1.0, "was": 0.1}, {"it": 0.9}])
def test_weights_that_are_no_distribution_are_not_drawn(weights):
    looks = {("a head", str(k)): {"it": 1.0} for k in range(3)} | {("a head", "wide"): weights}
    with pytest.raises(ValueError, match=rf"four panels, .* sum to 1: got the sums .*, {sum(weights.values()):.1f}\]"):
        pictures.it_looks_at(looks=looks)


def test_two_panels_are_refused():
    with pytest.raises(ValueError, match=r"four panels, .* got the sums \[1\.0, 1\.0\]"):
        pictures.it_looks_at(looks={("a head", last): {"it": 1.0} for last in ("tired", "wide")})


def test_the_sequence_drawn_is_the_first_that_the_page_tests_on():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)  # as on the page: another type draws other sequences
    try:
        tokens = two_questions(torch.Generator().manual_seed(99), 300)[0][0].tolist()
    finally:
        torch.set_default_dtype(before)
    assert tuple(f"{'abcd'[token // 4]}{token % 4}" for token in tokens) == TOKENS
