"""What the chapter's pictures say, against the package."""

import re

import pytest
import torch

from companion import cost, pictures
from companion.chapters.generation.pictures.cache import (
    BANDWIDTH,
    GROUPS,
    HEADS,
    LATENT,
    PEAK,
    PROMPT,
    READ,
    ROTATED,
    TOKENS,
    WIDTH,
    cached_numbers,
)
from companion.chapters.generation.pictures.sampling import PROBABILITIES, RULES
from companion.generate import keep_min_p, keep_top_k, keep_top_p
from tests.tools.layout import read


def said(canvas):
    return [text.said for text in read(canvas.svg())[0]]


def test_the_bars_are_what_the_package_makes_of_the_distribution():
    logits = torch.tensor(PROBABILITIES, dtype=torch.float64).log()
    rules = {
        "none": lambda value: logits,
        "temperature": lambda value: logits / value,
        "top-k": lambda value: keep_top_k(logits, value),
        "top-p": lambda value: keep_top_p(logits, value),
        "min-p": lambda value: keep_min_p(logits, value),
    }
    wanted = [rules[name](value).softmax(-1).tolist() for name, value in RULES]
    wanted = [f"{100 * p:.0f}" if p else "–" for panel in wanted for p in panel]
    drawn = pictures.sampling_rules()
    for canvas in (drawn.wide, drawn.narrow):
        assert [text for text in said(canvas) if text.isdigit() or text == "–"] == wanted


@pytest.mark.parametrize("given", [(0.5, 0.5), (0.1, 0.1, 0.1, 0.1, 0.1, 0.5), (0.9, 0.8, 0.1, 0.1, 0.1, 0.1)])
def test_another_distribution_is_refused(given):
    with pytest.raises(ValueError, match=r"six probabilities, the largest first: got \(0"):
        pictures.sampling_rules(probabilities=given)


def test_each_pass_reads_what_is_not_in_the_cache():
    drawn = pictures.decoding_step_by_step()
    for canvas in (drawn.wide, drawn.narrow):
        svg = canvas.svg()
        assert svg.count("f-attention f-full") == PROMPT + 2 + 1  # the prompt, one token in each later pass, the legend
        assert [said(canvas).count(name) for name in ("prefill", "decode")] == [1, len(TOKENS) - PROMPT - 1]
        assert [text for text in said(canvas) if text in TOKENS] == [*TOKENS[:-1], *TOKENS[PROMPT:]]


@pytest.mark.parametrize("given", [{"tokens": ("a", "b")}, {"prompt": 0}, {"prompt": 7}])
def test_a_text_without_room_is_refused(given):
    with pytest.raises(ValueError, match="seven tokens, some of them a prompt: got"):
        pictures.decoding_step_by_step(**given)


def test_the_phases_take_the_times_of_the_roofline():
    llama = cost.LLAMA_7B
    moved = cost.weight_bytes(cost.model_parameters(llama, "decoder-only").total, "float16")
    moved += cost.model_cache_bytes(llama, 1, READ)
    passes = ((READ, 0), (1, READ))
    flops = [cost.model_flops(llama, "decoder-only", 1, t, past=past).total for t, past in passes]
    wanted = [x for work in flops for x in (work / PEAK, moved / BANDWIDTH)]
    drawn = pictures.prefill_against_decode()
    for canvas in (drawn.wide, drawn.narrow):
        found = [float(text.removesuffix(" ms")) / 1e3 for text in said(canvas) if text.endswith(" ms")]
        assert found == pytest.approx(wanted, abs=1e-4)
        widths = [float(w) for w in re.findall(r'width="([\d.]+)"[^>]*f-full', canvas.svg())]
        assert widths == pytest.approx([widths[0] * time / wanted[0] for time in wanted], abs=0.2)


def test_the_bars_of_the_cache_are_what_the_formulas_count():
    numbers = cached_numbers()
    for name, heads in (("MHA", HEADS), ("GQA", GROUPS), ("MQA", 1)):
        assert 2 * numbers[name] == cost.cache_bytes(1, heads, WIDTH, 1, 1, "float16")
    assert numbers["MLA"] == LATENT + ROTATED
    drawn = pictures.cache_per_token()
    for canvas in (drawn.wide, drawn.narrow):
        texts = [text for text in said(canvas) if "," in text or text.isdigit()]
        assert texts == ["32,768", "2,048, 1/16", "256, 1/128", "576, 1/57"]
        widths = [float(w) for w in re.findall(r'width="([\d.]+)"[^>]*f-full', canvas.svg())]
        assert widths == pytest.approx([widths[0] * n / numbers["MHA"] for n in numbers.values()], abs=0.1)
