"""A tiny T5: hidden spans first, then two tasks with a few examples each, all of them text to text."""

from collections.abc import Callable
from functools import cache

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from companion.chapters.variants.language import TOPICS, WORDS, sentences
from companion.config import ModelConfig, toy
from companion.corruption import corrupt_spans
from companion.generate import greedy
from companion.measure import Experiment
from companion.transformer import Transformer, shift_right

VOCABULARY = (*WORDS, "[PAD]", "</s>", "topic:", "number:", *TOPICS, "<X>", "<Y>", "<Z>")
"""The words of the language, two symbols, the prefixes of two tasks, the four answers of one, and three sentinels."""
PAD, END, TOPIC, NUMBER = (VOCABULARY.index(name) for name in ("[PAD]", "</s>", "topic:", "number:"))
SENTINELS = tuple(VOCABULARY.index(name) for name in ("<X>", "<Y>", "<Z>"))
SPANS = {"share": 0.3, "mean": 1.5}
"""Of twelve tokens, four are hidden in three spans."""
STEPS, FINE_STEPS, BATCH = 1500, 500, 64
LABELLED = (8, 32, 128, 512)
"""Examples of each task."""
TASKS = ("topic", "number")


def t5_config(vocab: int) -> ModelConfig:
    """Choose what T5 chose: RMSNorm before each sub-layer, no biases, one learned number for each head and distance.

    Args:
        vocab: size of the vocabulary.

    Returns:
        Of a model with two layers of width 64 on each side.
    """
    choices = {"norm": "rms", "norm_placement": "pre", "bias": False, "scale_embedding": False, "eps": 1e-6}
    return toy(vocab, position="t5", **choices)


def ended(tokens: Int[Tensor, "batch t"], before: int | None = None) -> Int[Tensor, "batch t_all"]:
    """Put the end symbol after each row, and a prefix before it.

    Args:
        tokens: of texts of one length.
        before: id of the prefix, if there is one.

    Returns:
        The longer rows.
    """
    edges = [torch.full((len(tokens), 1), token) for token in (before, END) if token is not None]
    return torch.cat([*edges[:-1], tokens, edges[-1]], dim=1)


def span_batch(batch: int, generator: torch.Generator) -> tuple[Int[Tensor, "batch 12"], Int[Tensor, "batch 8"]]:
    """Draw texts of two sentences with one topic, and hide spans.

    Args:
        batch: number of texts.
        generator: what draws.

    Returns:
        What the encoder reads, and what the decoder must say.
    """
    every = sentences()
    first, second = torch.randint(len(every), (2, batch), generator=generator)
    per_topic = len(every) // len(TOPICS)
    second = first // per_topic * per_topic + second % per_topic
    texts = torch.cat([every[first], every[second]], dim=1)
    read, said = corrupt_spans(texts, sentinels=SENTINELS, generator=generator, **SPANS)
    return ended(read), ended(said)


def task_batch(rows: Int[Tensor, " n"], task: str) -> tuple[Int[Tensor, "n 8"], Int[Tensor, "n 7"]]:
    """Write a task about sentences as text, and its answers too.

    Args:
        rows: which of the 4,096 sentences.
        task: ``"topic"`` asks for its name, ``"number"`` for the sentence with one subject for many, or many for one.

    Returns:
        Questions and answers; shorter answers are padded.

    Raises:
        ValueError: there is no such task.
    """
    if task not in TASKS:
        raise ValueError(f"task is 'topic' or 'number': got {task!r}. Choose one.")
    every = sentences()
    if task == "number":  # the sentences of a topic begin with all those that have one subject
        return ended(every[rows], NUMBER), ended(every[rows ^ (len(every) // len(TOPICS) // 2)])
    name = VOCABULARY.index(next(iter(TOPICS))) + rows // (len(every) // len(TOPICS))
    return ended(every[rows], TOPIC), F.pad(ended(name[:, None]), (0, 5), value=PAD)


def text_loss(model: Transformer, read: Int[Tensor, "batch t_k"], said: Int[Tensor, "batch t"]) -> Float[Tensor, ""]:
    """Give the one loss that all tasks share: cross-entropy of the answer's tokens.

    Args:
        model: reads the first and writes the second.
        read: of the encoder.
        said: of the decoder; padding does not count.

    Returns:
        The mean in nats.
    """
    return F.cross_entropy(model(read, shift_right(said, start=PAD)).flatten(0, 1), said.flatten(), ignore_index=PAD)


@torch.enable_grad()
def fitted(
    model: Transformer,
    draw: Callable[[], tuple[Int[Tensor, "batch t_k"], Int[Tensor, "batch t"]]],
    steps: int,
    rate: float,
) -> Transformer:
    """Train a model on batches.

    Args:
        model: to be trained further.
        draw: a function that gives a batch.
        steps: of AdamW.
        rate: the highest; it falls to zero.

    Returns:
        The same model.
    """
    optimizer = torch.optim.AdamW(model.train().parameters(), fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, max(steps, 2), pct_start=0.1)
    for _ in range(steps):
        loss = text_loss(model, *draw())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return model.eval()


@cache
def pretrained(seed: int, steps: int = STEPS) -> dict[str, Tensor]:
    """Train on hidden spans.

    Args:
        seed: of the parameters and the texts.
        steps: of the training.

    Returns:
        The parameters.
    """
    generator = torch.Generator().manual_seed(seed)
    model = Transformer(t5_config(len(VOCABULARY)), seed=seed)
    return fitted(model, lambda: span_batch(BATCH, generator), steps, 4e-3).state_dict()


@cache
def fine_tuned(seed: int, labelled: int, spans: bool, steps: int = STEPS, fine: int = FINE_STEPS) -> Transformer:
    """Train one model on both tasks, with few examples.

    Args:
        seed: of the parameters, the examples and their order.
        labelled: examples of each task.
        spans: whether it was trained on hidden spans before. Otherwise the examples get those steps too.
        steps: of the training on spans.
        fine: of the training on the tasks.

    Returns:
        The model.
    """
    generator = torch.Generator().manual_seed(1000 + seed)
    chosen = examples(seed, labelled)
    model = Transformer(t5_config(len(VOCABULARY)), seed=seed)
    if spans:
        model.load_state_dict(pretrained(seed, steps))

    def draw() -> tuple[Int[Tensor, "batch 8"], Int[Tensor, "batch 7"]]:
        at = torch.randint(labelled, (2, BATCH // 2), generator=generator)
        parts = [task_batch(chosen[which], task) for which, task in zip(at, TASKS, strict=True)]
        return torch.cat([read for read, _ in parts]), torch.cat([said for _, said in parts])

    return fitted(model, draw, fine if spans else steps + fine, 2e-3)


def examples(seed: int, labelled: int) -> Int[Tensor, " labelled"]:
    """Choose the sentences whose answers are told.

    Args:
        seed: of the choice.
        labelled: how many.

    Returns:
        Their rows among all sentences; a larger number only adds some.
    """
    return torch.randperm(len(sentences()), generator=torch.Generator().manual_seed(2000 + seed))[:labelled]


def right_answers(
    seed: int, labelled: int, spans: bool, task: str, steps: int = STEPS, fine: int = FINE_STEPS
) -> float:
    """Measure how many whole answers are right, on sentences that were not among the examples.

    Args:
        seed: of the training.
        labelled: examples of each task.
        spans: whether hidden spans came first.
        task: that is asked.
        steps: of the training on spans.
        fine: of the training on the tasks.

    Returns:
        Percent of 1,000.
    """
    rows = torch.randperm(len(sentences()), generator=torch.Generator().manual_seed(2000 + seed))[-1000:]
    read, said = task_batch(rows, task)
    return (
        100 * (answers(fine_tuned(seed, labelled, spans, steps, fine), read) == said).all(dim=1).float().mean().item()
    )


@torch.no_grad()
def answers(model: Transformer, read: Int[Tensor, "batch t_k"]) -> Int[Tensor, "batch 7"]:
    """Let a model write, always its most likely token.

    Args:
        model: in evaluation mode.
        read: of its encoder.

    Returns:
        Seven tokens of each answer, padded after the end symbol.
    """
    start = torch.full((len(read), 1), PAD)
    said = greedy(model, start, 7, end=END, source=read)
    said = F.pad(said, (0, 7 - said.shape[1]), value=END)
    after = (said == END).cumsum(dim=1) > 1
    return said.masked_fill(after, PAD)


SPANS_FIRST = [
    Experiment("right answers", "%", right_answers, {"task": task, "labelled": n, "spans": spans}, "median")
    for task in TASKS
    for n in LABELLED
    for spans in (False, True)
]
SPANS_FIRST += [
    Experiment(
        "right answers, longer",
        "%",
        right_answers,
        {"task": task, "labelled": 512, "spans": spans, "fine": 2000},
        "median",
    )
    for spans in (True, False)
    for task in TASKS
]
