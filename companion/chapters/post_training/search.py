"""This book as a collection: its sections are the passages, and its interview questions ask for them.

The author of a question names where its answer stands. These labels are the relevance judgements, so nobody wrote them
for a test of retrieval.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from companion.book import pages, questions, toc
from companion.contrastive import contrastive_loss
from companion.retrieval import BM25, first_found, fuse, words
from companion.seeding import seeded

WIDTH, STEPS, BATCH, RATE = 128, 100, 128, 1e-3
"""Numbers of a vector; steps of the contrastive training, pairs in a batch, and the rate of Adam."""
SHORTEST = 21
"""Words of a section that is a passage."""
LEFT_OUT = {"In short", "Where to go next", "Quick questions", "What you need", "Pages"}
CHUNKS = {"page": 0, "section": 0, "160 words": 160, "40 words": 40}
"""Ways to divide a page into passages."""
WAYS = ("shared words", "BM25", "vectors", "trained vectors", "BM25 and trained vectors")
LISTS = 48
"""Clusters of the approximate search."""


class Section(NamedTuple):
    """A section of a page.

    Args:
        page: its name.
        words: heading and text.
        sentences: the words of each sentence that has four or more.
        labels: what may be linked to in it.
    """

    page: str
    words: list[str]
    sentences: list[list[str]]
    labels: set[str]


@cache
def sections() -> tuple[Section, ...]:
    """Read all sections of index, core and deeper pages, in the order of the book."""
    found = []
    names = [name for chapter in pages.indexed() for name in pages.chapter_pages(chapter)]
    for name in (name for name in names if pages.kind(name) in pages.READ):
        source = (toc.CHECKOUT / "book" / f"{name}.md").read_text("utf8")
        parts = re.split(r"(?m)^((?:\([^)\n]+\)=\n)?#+ .*)$", source)
        for heading, body in zip(parts[1::2], parts[2::2], strict=True):
            title = heading.split("# ")[-1]
            text = pages.prose(f"{title}.\n\n{body}")
            if title in LEFT_OUT or len(words(text)) < SHORTEST:
                continue
            labels = re.findall(r"^\(([\w-]+)\)=", heading) + re.findall(r"\((eq-[\w-]+)\)|name: (\S+)", body)
            labels = {part for label in labels for part in ([label] if isinstance(label, str) else label) if part}
            sentences = [words(one) for one in re.split(r"(?<=[.?:])\s+", text)]
            found.append(Section(name, words(text), [one for one in sentences if len(one) >= 4], labels))
    return tuple(found)


@cache
def asked() -> tuple[tuple[list[str], frozenset[int]], ...]:
    """Return the interview questions with the numbers of the sections that hold their evidence, where there are any."""
    home = {label: number for number, section in enumerate(sections()) for label in section.labels}
    found = []
    for question in questions.read_book():
        if here := frozenset(home[label] for label in question.evidence if label in home):
            found.append((words(pages.prose(question.question)), here))
    return tuple(found)


def relevance() -> Bool[Tensor, "questions sections"]:
    """Return which section is relevant for which question."""
    table = torch.zeros(len(asked()), len(sections()), dtype=torch.bool)
    for row, (_, here) in enumerate(asked()):
        table[row, sorted(here)] = True
    return table


@cache
def index() -> BM25:
    """Return the index of all sections."""
    return BM25([section.words for section in sections()])


def counts(texts: Sequence[Sequence[str]]) -> Float[Tensor, "n vocabulary"]:
    """Count the words of each text, as ln(1 + count).

    Args:
        texts: the words of each.

    Returns:
        A row for each; words that no section holds are left out.
    """
    number, table = index().vocabulary, torch.zeros(len(texts), len(index().vocabulary))
    for row, text in enumerate(texts):
        for word in text:
            if word in number:
                table[row, number[word]] += 1
    return table.log1p()


@cache
def untrained() -> Float[Tensor, "vocabulary 128"]:
    """Return a vector for each word by latent semantic analysis: right singular vectors of the weighted counts."""
    table = counts([section.words for section in sections()])
    rare = torch.log1p(len(table) / (table > 0).sum(0))
    with seeded(0):
        right = torch.svd_lowrank(F.normalize(rare * table, dim=1), q=WIDTH, niter=4)[2]
    return rare[:, None] * right


@cache
@torch.enable_grad()
def trained(seed: int) -> Float[Tensor, "vocabulary 128"]:
    """Train the word vectors: a sentence has to find the rest of its section among those of the batch.

    Args:
        seed: of the batches.

    Returns:
        A vector for each word. No question is read.
    """
    table, log_scale = nn.Parameter(untrained().clone()), nn.Parameter(torch.tensor(3.0))
    adam, generator = torch.optim.Adam([table, log_scale], lr=RATE), torch.Generator().manual_seed(seed)
    full = [section.sentences for section in sections() if len(section.sentences) >= 3]
    for _ in range(STEPS):
        asks, rests = [], []
        for i in torch.randperm(len(full), generator=generator)[:BATCH].tolist():
            own = int(torch.randint(len(full[i]), (), generator=generator))
            asks.append(full[i][own])
            rests.append([word for j, sentence in enumerate(full[i]) if j != own for word in sentence])
        loss = contrastive_loss(counts(asks) @ table, counts(rests) @ table, log_scale)
        adam.zero_grad()
        loss.backward()
        adam.step()
    return table.detach()


def scores(way: str, seed: int) -> Float[Tensor, "questions sections"]:
    """Score all sections for all questions.

    Args:
        way: one of ``WAYS``.
        seed: of the trained vectors.

    Returns:
        The scores.
    """
    texts, passages = [text for text, _ in asked()], [section.words for section in sections()]
    if way == "shared words":
        return (counts(texts) > 0).float() @ (counts(passages) > 0).float().T
    if way == "BM25":
        return torch.stack([index().scores(text) for text in texts]).float()
    if way == "BM25 and trained vectors":
        return fuse(torch.stack([scores("BM25", seed), scores("trained vectors", seed)]))
    table = untrained() if way == "vectors" else trained(seed)
    return F.normalize(counts(texts) @ table, dim=1) @ F.normalize(counts(passages) @ table, dim=1).T


@cache
def found(way: str, seed: int) -> Float[Tensor, " questions"]:
    """Return the rank of the first relevant section for each question.

    Args:
        way: one of ``WAYS``.
        seed: of the trained vectors.

    Returns:
        The ranks.
    """
    return first_found(scores(way, seed), relevance())


def recall(seed: int, way: str, at: int) -> float:
    """Measure a search.

    Args:
        seed: of the trained vectors.
        way: one of ``WAYS``.
        at: passages that are looked at; 0 asks for the mean reciprocal rank.

    Returns:
        Percent of the questions with a relevant section among the first, or 100 times the mean of 1 / rank.
    """
    rank = found(way, seed)
    return 100 * ((rank <= at).float() if at else 1 / rank).mean().item()


@cache
def chunks(kind: str) -> tuple[list[tuple[str, int]], ...]:
    """Divide the book.

    Args:
        kind: one of ``CHUNKS``.

    Returns:
        For each passage its words, each with the number of its section.
    """
    pieces = [[(word, number) for word in section.words] for number, section in enumerate(sections())]
    if kind == "section":
        return tuple(pieces)
    whole: dict[str, list] = {}
    for section, piece in zip(sections(), pieces, strict=True):
        whole.setdefault(section.page, []).extend(piece)
    return tuple(
        page[start : start + (CHUNKS[kind] or len(page))]
        for page in whole.values()
        for start in range(0, len(page), CHUNKS[kind] or len(page))
    )


def recall_for_words(seed: int, kind: str, budget: int) -> float:
    """Measure how often the answer is among the words that a model would be given, searched for by BM25.

    Args:
        seed: not used: nothing is drawn.
        kind: one of ``CHUNKS``.
        budget: words, from the passages in the order of their scores; the last one as far as it fits.

    Returns:
        Percent of the questions with at least 20 words of a relevant section among them.
    """
    made, right = chunks(kind), 0
    search = BM25([[word for word, _ in passage] for passage in made])
    for text, here in asked():
        order = search.scores(text).argsort(descending=True, stable=True).tolist()
        given = [number for i in order for _, number in made[i]][:budget]
        right += sum(number in here for number in given) >= SHORTEST - 1
    return 100 * right / len(asked())


@cache
def lists(seed: int) -> tuple[Float[Tensor, "sentences 128"], Float[Tensor, "48 128"]]:
    """Cluster the vectors of all sentences by k-means on the sphere.

    Args:
        seed: of the first centres.

    Returns:
        The vectors of the sentences, and the centres.
    """
    texts = [sentence for section in sections() for sentence in section.sentences]
    vectors = F.normalize(counts(texts) @ untrained(), dim=1)
    order = torch.randperm(len(vectors), generator=torch.Generator().manual_seed(seed))
    centres = vectors[order[:LISTS]]
    for _ in range(20):
        own = (vectors @ centres.T).argmax(1)
        centres = F.normalize(torch.zeros_like(centres).index_add_(0, own, vectors), dim=1)
    return vectors, centres


def approximate(seed: int, probes: int, what: str) -> float:
    """Search the nearest ten of all sentences for each question, in the clusters nearest to it only.

    Args:
        seed: of the clusters.
        probes: clusters that are searched.
        what: ``"found"``: percent of the true ten; ``"compared"``: percent of the sentences that were compared.

    Returns:
        The percentage, over all questions.
    """
    vectors, centres = lists(seed)
    asks = F.normalize(counts([text for text, _ in asked()]) @ untrained(), dim=1)
    near = (asks @ centres.T).topk(probes, dim=1).indices
    seen = (near[:, :, None] == (vectors @ centres.T).argmax(1)).any(1)  # (questions, sentences)
    if what == "compared":
        return 100 * seen.float().mean().item()
    ten = (asks @ vectors.T).topk(10, dim=1).indices
    return 100 * seen.gather(1, ten).float().mean().item()
