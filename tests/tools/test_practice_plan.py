"""The list of all drills of the book: every topic has one, and they go from easy to hard."""

import itertools
import re

import pytest

from companion.book.topics import TOPICS as BOOK_TOPICS
from companion.practice import exercises, plan
from companion.practice.plan import steps
from tests.tools.practice import BY_NAME, toy

NEW = (*exercises("exercises"), *exercises("debugging"))


TOPICS = {  # what interviewers ask for: each is practised by a drill of the book
    "softmax": "softmax-stable",
    "scaled scores": "scaled-scores",
    "masked weights": "masked-weights",
    "whole attention": "attention",
    "causal mask": "causal-mask",
    "padding mask": "padding-mask",
    "softmax backward": "softmax-jacobian",
    "attention backward": "attention-backward",
    "heads cut": "split-heads",
    "heads joined": "merge-heads",
    "heads repeated": "repeat-heads",
    "multi-head layer": "multi-head",
    "importance of heads": "head-importance",
    "sinusoidal positions": "encode-positions",
    "matrix of a step": "shift-matrix",
    "RoPE": "rotate-pairs",
    "ALiBi": "alibi-bias",
    "T5 buckets": "t5-bucket",
    "relative shift": "relative-shift",
    "LayerNorm": "layer-norm",
    "LayerNorm backward": "norm-backward",
    "RMSNorm": "rms-norm",
    "feed-forward": "feed-forward",
    "SwiGLU": "swiglu",
    "add and norm": "norm-order",
    "decoder layer": "decoder-layer",
    "tied table": "tied-embedding",
    "shift right": "shift-target",
    "greedy": "greedy-decode",
    "label smoothing": "smoothed-loss",
    "warm-up": "warmup-rate",
    "Adam": "adam-steps",
    "clipping": "clip-gradient",
    "accumulation": "accumulate",
    "loss scale": "scaled-gradient",
    "FLOPs": "layer-flops",
    "size of the cache": "cache-bytes",
    "merging softmaxes": "merge-softmax",
    "grouped-query attention": "grouped-query",
    "cross-attention": "cross-attention",
    "encoder block": "encoder-block",
    "beam search": "beam-step",
    "top-p": "top-p",
    "temperature and top-k": "temperature-top-k",
    "a step with a cache": "cached-step",
    "a cached decoder": "cached-decoder",
    "sliding window": "window-attention",
    "online softmax": "stream-softmax",
    "tiled attention": "tiled-attention",
    "linear attention": "linear-recurrent",
    "LoRA": "lora",
    "learning BPE": "bpe-merge",
    "encoding with BPE": "bpe-encode",
    "perplexity": "perplexity",
    "masked language model": "mask-tokens",
    "weight decay": "adamw-step",
    "speculative decoding": "speculative-step",
    "gradient checkpointing": "checkpointed-backward",
    "memory of training": "training-memory",
    "broken heads": "debug-heads",
    "broken cache": "debug-cache",
    "broken training loop": "debug-training-step",
    "broken left padding": "debug-left-padding",
    "broken label shift": "debug-label-shift",
    "broken top-p": "debug-top-p",
    "broken layer norm": "debug-layer-norm",
    "broken padded batch": "debug-padded-batch",
}


def test_the_book_has_forty_drills_or_more_in_three_tiers(capsys):
    every = plan().steps
    levels = [sum(step.level == level for step in every) for level in (1, 2, 3)]
    with capsys.disabled():
        print(f"\n{len(every)} drills: {levels[0]} warm-ups, {levels[1]} core, {levels[2]} hard")
    assert len(every) == len(exercises()) >= 80
    assert min(levels) >= 10
    assert len({step.exercise.name for step in every}) == len(every)
    assert len({step.exercise.title for step in every}) == len(every)
    assert [step.number for step in every] == list(range(1, len(every) + 1))


def test_every_topic_has_its_drill_and_every_new_drill_its_topic():
    assert sorted(set(TOPICS.values()) - BY_NAME.keys()) == []
    assert len(set(TOPICS.values())) == len(TOPICS)
    assert {exercise.name for exercise in NEW} <= set(TOPICS.values())


def test_the_list_goes_by_level_and_then_through_the_book():
    levels = [step.level for step in plan().steps]
    assert levels == sorted(levels)
    book = list(BOOK_TOPICS)
    for level, group in itertools.groupby(plan().steps, key=lambda step: step.level):
        places = [book.index(step.topic) for step in group]
        assert places == sorted(places), level
    assert [step.number for step in plan(2).steps] == [step.number for step in plan().steps if step.level == 2]


TOYS = (("first", 1, 0), ("second", 3, 5), ("third", 2, 0))


def test_the_steps_come_by_level_and_then_by_topic_and_minutes_have_an_estimate():
    chosen = [toy(name=name, level=level, chapter="later", minutes=minutes) for name, level, minutes in TOYS]
    found = steps([*chosen, toy(name="last", level=1, minutes=7, chapter="end", topic="training")])
    assert [(step.exercise.name, step.level, step.minutes) for step in found] == [
        ("last", 1, 7),
        ("first", 1, 10),
        ("third", 2, 20),
        ("second", 3, 5),
    ]


def test_a_list_is_a_table_with_links_and_plain_text_with_names():
    rows = plan(3)._repr_markdown_().splitlines()
    assert rows[0] == "| No. | Drill | Topic | Task | Min. |"
    assert len(rows) == 2 + len(plan(3).steps)
    assert sum("{ref}`exr-window-attention` | Complexity | write, cost limited | 35 |" in row for row in rows) == 1
    assert sum("{ref}`exr-debug-left-padding` | Generation and serving | repair | 30 |" in row for row in rows) == 1
    topics = [
        re.search(r"\| \d+ \| \{ref\}`exr-[a-z0-9-]+` \| ([^|]+) \| [a-z0-9, ]+ \| \d+ \|", row)[1] for row in rows[2:]
    ]
    assert set(topics) <= set(BOOK_TOPICS.values())
    lines = repr(plan(1)).splitlines()
    assert sum(re.fullmatch(r" +\d+  scaled-scores +10 min  Attention", line) is not None for line in lines) == 1
    assert "{ref}" not in repr(plan())


@pytest.mark.parametrize("level", [0, 4, -1])
def test_a_level_that_is_not_there_is_refused(level):
    with pytest.raises(ValueError, match=rf"a level is 1, 2 or 3: got {level!r}"):
        plan(level)


def test_an_exercise_refuses_a_level_that_is_not_there():
    with pytest.raises(ValueError, match="a level is 1, 2 or 3: 'toy' has 5"):
        toy(level=5)
