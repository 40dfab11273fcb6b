"""The experiments of the chapter: rows, masks and losses are what they are called, each was run with three seeds."""

import pytest
import torch

from companion.chapters.architecture.experiments import OneStack, data, rows_of, sentences_right, unseen_loss
from companion.measure import results
from companion.training import pairs_batch


def test_a_row_holds_source_and_target_and_predicts_the_target_alone():
    reads, wants = rows_of(pairs_batch([([5, 6, 7], [1, 8, 9, 2]), ([5], [1, 8, 2])]))
    assert reads.tolist() == [[5, 6, 7, 1, 8, 9], [5, 1, 8, 0, 0, 0]]
    assert wants.tolist() == [[0, 0, 0, 8, 9, 2], [0, 8, 2, 0, 0, 0]]


def test_a_prefix_mask_shows_the_whole_source_and_a_causal_one_what_came_before():
    sources = torch.tensor([2, 1])
    causal, prefix = (OneStack(prefix=on, seed=0).mask(sources, 3).int().tolist() for on in (False, True))
    assert causal == [[[1, 0, 0], [1, 1, 0], [1, 1, 1]]] * 2
    assert prefix == [[[1, 1, 0], [1, 1, 0], [1, 1, 1]], causal[1]]


@pytest.mark.parametrize("prefix", [False, True])
def test_no_model_of_one_stack_sees_the_token_that_it_predicts(prefix):
    model, (_, pairs, _) = OneStack(prefix=prefix, seed=0).eval(), data()
    batch = pairs_batch(pairs[:3])
    reads, _ = rows_of(batch)
    changed = reads.clone()
    changed[:, -1] = 3
    with torch.no_grad():
        before, after = (model(rows, batch.source_lengths)[:, :-1] for rows in (reads, changed))
    assert torch.equal(before, after)


def test_a_decoder_that_reads_what_it_predicts_copies_at_once():
    assert unseen_loss(0, "not shifted", 40) < 0.5 < 1 < unseen_loss(0, "shifted", 40)


@torch.no_grad()
def test_sentences_of_different_lengths_are_continued_together_as_each_alone():
    model, (_, pairs, _) = OneStack(prefix=True, seed=0).eval(), data()
    sources = [source for source, _ in pairs[:5]]
    assert len({len(source) for source in sources}) > 1
    for source, written in zip(sources, model.translate(sources, start=1, end=2, most=7), strict=True):
        logits = model(torch.tensor([[*source, 1, *written]]), torch.tensor([len(source)]))[0]
        assert logits[len(source) : -1].argmax(-1).tolist() == written


@pytest.mark.parametrize("model", ["no self-attention in the decoder", "prefix"])
def test_a_model_that_was_hardly_trained_translates_nothing(model):
    assert sentences_right(0, model, 2) == 0


@pytest.mark.parametrize(("name", "rows"), [("loss", 4), ("right", 4), ("sentences right", 4), ("in a batch", 2)])
def test_each_experiment_was_run_with_three_seeds(name, rows):
    assert [len(row.values) for row in results("architecture", name)] == [3] * rows
