"""The drawn pictures of the chapter: the map's parts and pages, and what the others say of the package."""

import json
import re

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from companion import cost, pictures, tasks
from companion.chapters.architecture.pictures.families import PARAMETERS, PROMPT, ROWS
from companion.chapters.architecture.pictures.overview import CAUSAL, NEXT_WORDS, PAGES
from companion.chapters.architecture.pictures.parts import MERGES
from companion.chapters.architecture.pictures.translation import CHINESE, ENGLISH, LINKS
from companion.config import base
from companion.masks import causal
from tests.tools.layout import read

CORPUS = {"low": 5, "lower": 2, "newest": 6, "widest": 3}  # that of the page
NORMS = ("LayerNorm", "RMSNorm")


@pytest.mark.parametrize("layout", ["wide", "narrow"])
def test_every_part_of_the_map_opens_its_page(layout):
    svg = getattr(pictures.transformer_map(), layout).svg()
    found = re.findall(r'<a data-page="([^"]+)"><g data-part="([^"]+)"><title>([^<]+)</title>', svg)
    assert {part: page for page, part, _ in found} == PAGES
    assert svg.count("<a ") == svg.count("</a>") == len(found)
    assert all(title[0].isupper() and len(title.split()) > 4 for _, _, title in found)


@pytest.mark.parametrize("layout", ["wide", "narrow"])
def test_the_sublayers_follow_each_other_as_in_the_paper(layout):
    canvas = getattr(pictures.transformer_map(), layout)
    texts, _ = read(canvas.svg())
    first = re.compile("Self|Masked|Cross|Feed|add|Embedding|Linear")
    columns = [[], []]
    for text in sorted(texts, key=lambda text: -text.box[1]):
        if found := first.match(text.said):
            columns[text.box[0] > canvas.width / 2].append(found[0])
    assert columns == [
        ["Embedding", "Self", "add", "Feed", "add"],
        ["Embedding", "Masked", "add", "Cross", "add", "Feed", "add", "Linear"],
    ]


def test_the_map_shows_a_causal_mask_and_shares_of_one():
    assert causal(4).tolist() == CAUSAL
    assert sum(NEXT_WORDS) == pytest.approx(1)


def test_the_drawn_translation_and_its_links_are_of_the_test_set_of_the_page():
    _, test = tasks.english_chinese(16_000, 500, seed=0)
    _, links = tasks.english_chinese_links(16_000, 500, seed=0)
    found = next(k for k, (english, _) in enumerate(test) if tuple(english) == (*ENGLISH, "."))
    assert test[found][1] == [*CHINESE, "。"]
    assert [tuple(link) for link in links[found]] == [*LINKS, (len(ENGLISH),)]


@pytest.mark.parametrize("layout", ["wide", "narrow"])
def test_each_link_is_a_line_and_the_words_that_moved_stand_out(layout):
    svg = getattr(pictures.words_that_translate(), layout).svg()
    tones = re.findall(r'class="f-box (\S+?)"', svg)
    boxed = [word for word, link in zip(CHINESE, LINKS, strict=True) if link]
    assert len(tones) == len(ENGLISH) + len(boxed)
    moved = [word for word, tone in zip(boxed, tones[len(ENGLISH) :], strict=True) if tone == "f-attention"]
    assert moved == ["在", "学校"]
    assert len(re.findall(r'<path [^>]*class="f-line[^"]*f-attention', svg)) == len(moved)


def test_the_drawn_merges_are_those_that_the_library_learns():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    letters = set("".join(CORPUS))
    trainer = trainers.BpeTrainer(vocab_size=len(letters) + len(MERGES), show_progress=False)
    tokenizer.train_from_iterator([" ".join([word] * count) for word, count in CORPUS.items()], trainer)
    learned = [left + right for left, right in json.loads(tokenizer.to_str())["model"]["merges"]]
    assert tuple(learned) == MERGES
    said = [text.said for text in read(pictures.byte_pair_merges().wide.svg())[0]]
    assert said[-4:] == [*tokenizer.encode("newest").tokens, *tokenizer.encode("lowest").tokens]


def test_the_bars_have_the_parameters_that_the_package_counts():
    sizes = {
        "base": (base(37_000), "encoder-decoder"),
        "gpt-2": (cost.GPT2_SMALL, "decoder-only"),
        "llama": (cost.LLAMA_7B, "decoder-only"),
        "gpt-3": (cost.GPT3, "decoder-only"),
    }
    counted = {name: cost.model_parameters(*model) for name, model in sizes.items()}
    assert {name: (c.embedding + c.output, c.attention, c.feed_forward) for name, c in counted.items()} == PARAMETERS


@pytest.mark.parametrize("layout", ["wide", "narrow"])
def test_each_drawn_pass_predicts_the_word_that_the_next_one_reads(layout):
    texts = [text.said for text in read(getattr(pictures.decoding_steps(), layout).svg())[0]]
    words = ["⟨s⟩", "die", "Katze", "saß", "⟨/s⟩"]
    start = texts.index("⟨s⟩")
    expected = [word for i in range(4) for word in words[: i + 2]]
    assert texts[start : start + len(expected)] == expected


def test_the_drawn_masks_are_full_causal_and_prefix():
    drawn = re.findall(r'd="([^"]+)" class="f-full', pictures.family_masks().wide.svg())
    cells = [path.count("M") for path in drawn]
    causal_cells, prefix_cells = ROWS * (ROWS + 1) // 2, PROMPT * (PROMPT - 1) // 2
    assert cells == [ROWS**2, causal_cells, causal_cells + prefix_cells]


@pytest.mark.parametrize("layout", ["wide", "narrow"])
def test_the_block_of_today_has_no_norm_on_its_path(layout):
    canvas = getattr(pictures.two_blocks(), layout)
    texts, _ = read(canvas.svg())
    left = {norm: [text.box[0] for text in texts if text.said == norm] for norm in NORMS}
    heads = {name: next(t.box[0] for t in texts if t.said == name) for name in ("2017", "today")}
    assert all(abs(x - heads["2017"]) < 60 for x in left["LayerNorm"])
    assert all(x - heads["today"] > 60 for x in left["RMSNorm"])
