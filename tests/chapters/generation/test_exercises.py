"""The exercises on generation and serving: the examples by hand, and the package as an oracle."""

import pytest
import torch

from companion.chapters.generation.serving import Machine, Request, simulate
from companion.efficient import PagedCache
from companion.practice import exercises, inputs
from tests.library.tensors import close, normal
from tests.tools.practice import one_line, refused

BY_NAME = {exercise.name: exercise for exercise in exercises("generation")}


def reference(name, *arguments):
    return BY_NAME[name].reference(*arguments)


def test_the_hand_examples_are_the_first_cases():
    """Closed form: the numbers that the statements work out."""
    assert reference("gather-pages", *inputs("gather-pages", 1)).tolist() == [[1], [2], [5]]
    assert reference("batch-passes", *inputs("batch-passes", 1)) == (13, 10)
    assert reference("best-draft", *inputs("best-draft", 1)) == (1, pytest.approx(1.2))
    assert reference("paged-attention", *inputs("paged-attention", 1)).tolist() == [3.0]
    rounded, scales = reference("group-quantise", *inputs("group-quantise", 1))
    assert rounded.tolist() == [pytest.approx([0.7, -0.2, 4.0, 14.0])]
    assert scales.tolist() == [pytest.approx([0.1, 2.0])]


def test_the_passes_of_a_static_batch_are_those_of_the_simulated_server():
    machine = Machine(weights=1, position=1, row=1, pair=1, peak=1e30, bandwidth=1.0, room=10_000)
    for case in range(1, 8):
        answers, rows = inputs("batch-passes", case)
        requests = [Request(0.0, 1, answer) for answer in answers]
        report = simulate(requests, machine, continuous=False, places=rows)
        assert reference("batch-passes", answers, rows)[0] == len(report.passes)


def test_pages_are_those_of_the_package():
    randn, cache = normal(3), PagedCache(pages=7, size=3, heads=1, d_k=4, d_v=5, dtype=torch.float64)
    for name in "abaababbaab":
        cache.append(name, randn(1, 4), randn(1, 5))
    query = randn(1, 4)
    for name, table in cache.tables.items():
        pool = cache.keys[:, 0], cache.values[:, 0]
        close(reference("paged-attention", query[0], *pool, table, cache.lengths[name]), cache.attend(name, query)[0])


def a_run_of_pages(pool, table, length):
    """Read ascending tables as runs of neighbours."""
    run = range(table[0], table[0] + len(table))
    return reference("gather-pages", pool, list(run) if table == sorted(table) else table, length)


def test_pages_in_ascending_order_need_not_be_neighbours():
    assert "(pages in ascending order)" in one_line(refused(BY_NAME["gather-pages"], a_run_of_pages))
