"""The book as a collection whose labels lead to sections, chunks that lose nothing, and readers of passages."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from companion.book import pages
from companion.chapters.post_training import reader, search


def test_sections_hold_what_questions_link_to():
    home = {label: section for section in search.sections() for label in section.labels}
    assert home["sec-post-retrieval"].page == home["eq-bm25"].page == "post-training/finding-passages"
    assert "fig-chunks" in home
    assert "passages" in home["eq-bm25"].words
    assert {section.page for section in search.sections()} <= {
        name for chapter in pages.indexed() for name in pages.chapter_pages(chapter) if pages.kind(name) in pages.READ
    }
    relevant = search.relevance()
    assert len(relevant) == len(search.asked()) > 100
    assert relevant.any(1).all()


def test_chunks_divide_the_sections_and_lose_nothing():
    whole = [(word, number) for number, section in enumerate(search.sections()) for word in section.words]
    for kind, size in search.CHUNKS.items():
        made = search.chunks(kind)
        assert sorted(pair for passage in made for pair in passage) == sorted(whole)
        assert not size or max(map(len, made)) == size
    assert len(search.chunks("section")) == len(search.sections())


def test_a_search_among_all_clusters_finds_everything():
    """Property: with every cluster the approximate search is the exact one; with fewer it compares less."""
    assert search.approximate(0, search.LISTS, "found") == search.approximate(0, search.LISTS, "compared") == 100
    assert search.approximate(0, 2, "compared") < search.approximate(0, 8, "compared") < 50


def test_more_passages_find_no_less():
    for way in ("shared words", "BM25", "vectors"):
        shares = [search.recall(0, way, at) for at in (1, 5, 20)]
        assert shares == sorted(shares)
        assert 0 < search.recall(0, way, 0) < 100


@pytest.mark.parametrize("training", reader.TRAININGS)
def test_training_questions_have_the_answers_that_they_should(training):
    """Each answer is that of the passage with the name, of memory where there is none, or unknown."""
    generator, kinds = torch.Generator().manual_seed(3), set()
    for _ in range(12):
        asked, right = reader.examples(training, 0, generator)
        about = asked.names == asked.name[:, None]
        found = about.any(1)
        memory = reader.world(0)[asked.name]
        if not asked.names.shape[1]:
            kinds.add("memory")
            assert torch.equal(right, memory)
            continue
        kinds |= {"found"} | ({"missing"} if not found.all() else set())
        told = (asked.values * about).sum(1)
        assert torch.equal(right, torch.where(found, told, reader.UNKNOWN))
        agrees = (asked.values == reader.world(0)[asked.names]).all()
        assert agrees == (training == reader.TRAININGS[0])
        assert about.sum(1).max() <= 1
    wanted = {"found", "memory"} if training in reader.TRAININGS[:2] else {"found"}
    assert kinds == (wanted | {"missing"} if training == reader.TRAININGS[3] else wanted)


def test_a_reader_sees_no_order_and_every_gradient():
    model, asked = reader.Reader(0), reader.examples(reader.TRAININGS[2], 0, torch.Generator().manual_seed(1))[0]
    order = torch.randperm(asked.names.shape[1])
    turned = reader.Asked(asked.name, asked.names[:, order], asked.values[:, order])
    assert_close(model(asked), model(turned), rtol=1e-4, atol=1e-5)
    F.cross_entropy(model(asked), asked.name % reader.VALUES).backward()
    assert all(p.grad is not None for p in model.parameters())


def test_answers_are_counted_once_and_the_world_has_changed(monkeypatch):
    """A reader that always copies its first passage: one in eight is the right one, and never the old value."""

    class First(torch.nn.Module):
        def forward(self, asked):
            chosen = asked.values[:, 0] if asked.values.shape[1] else asked.name % reader.VALUES
            return F.one_hot(chosen, reader.VALUES + 1).float()

    monkeypatch.setattr(reader, "trained", lambda seed, training: First())
    found = reader.answered.__wrapped__(0, reader.TRAININGS[2], 8, True)
    assert found["passage"] == 100
    assert found["memory"] == found["unknown"] == 0
    absent = reader.answered.__wrapped__(0, reader.TRAININGS[2], 8, False)
    assert absent["passage"] == 0
    assert math.isclose(absent["memory"] + absent["another passage"], 100)
    assert absent["memory"] < 5
    assert sum(reader.answered.__wrapped__(0, reader.TRAININGS[2], 0, False).values()) <= 100


def test_no_passage_of_the_test_states_what_was_learned(monkeypatch):
    """A reader of memory alone is never right by a passage, found or not."""

    class Memory(torch.nn.Module):
        def forward(self, asked):
            return F.one_hot(reader.world(0)[asked.name], reader.VALUES + 1).float()

    monkeypatch.setattr(reader, "trained", lambda seed, training: Memory())
    for found in (True, False):
        assert reader.answered.__wrapped__(0, reader.TRAININGS[0], 8, found)["memory"] == 100
