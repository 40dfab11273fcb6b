"""The simulated server: closed forms, the package's counts, and what must hold for any requests."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from companion import cost
from companion.chapters.generation.serving import Machine, Request, draw_requests, simulate

A100 = {"peak": 312e12, "bandwidth": 2039e9}
TOY = Machine(weights=1, position=1, row=1, pair=1, peak=1e30, bandwidth=1.0, room=64)
WAYS = [{"continuous": c, "page": p} for c in (False, True) for p in (None, 1, 5)]


def test_a_machine_has_the_costs_of_the_package():
    machine = Machine.of(cost.GPT2_SMALL, memory=1e9, **A100)
    for t in (1, 7, 50):
        flops = cost.model_flops(cost.GPT2_SMALL, "decoder-only", 1, t).total
        assert machine.row * t + machine.pair * t * t == flops
    assert machine.room == (10**9 - machine.weights) // cost.model_cache_bytes(cost.GPT2_SMALL, 1, 1)
    assert machine.seconds(1, 10, 10) == (machine.weights + 10 * machine.position) / 2039e9  # bound by memory
    assert machine.seconds(900, 900**2, 900) == (900 * machine.row + 900**2 * machine.pair) / 312e12


def test_one_request_takes_its_prefill_and_a_pass_for_each_further_token():
    report = simulate([Request(2.0, 5, 4)], TOY, limit=16)
    (one,) = report.served
    assert [p.seconds for p in report.passes] == [1 + 5, 1 + 6, 1 + 7, 1 + 8]
    assert (one.first, one.finish, one.made) == (8.0, 32.0, 4)
    assert report.first_token == 6.0
    assert report.per_token == 8.0
    assert report.throughput == 4 / 30


@pytest.mark.parametrize(("continuous", "passes"), [(False, 8 + 5), (True, 10)])
def test_a_static_batch_waits_for_its_longest_answer(continuous, passes):
    report = simulate([Request(0.0, 1, n) for n in (2, 8, 3, 5)], TOY, continuous=continuous, limit=16, places=2)
    assert len(report.passes) == passes
    assert sum(p.busy for p in report.passes) == 18
    assert sum(p.rows for p in report.passes) == (18 if continuous else 2 * passes)


def test_equal_answers_that_come_together_take_as_long_in_a_static_batch():
    requests = [Request(0.0, 3, 6)] * 4
    static, continuous = (simulate(requests, TOY, continuous=way, limit=16) for way in (False, True))
    assert static.passes == continuous.passes


def test_nobody_is_served_before_arriving():
    report = simulate([Request(0.0, 1, 2), Request(100.0, 1, 2)], TOY, limit=16)
    assert report.served[1].first == 102.0
    assert len(report.passes) == 4


requests = st.lists(st.tuples(st.floats(0, 40), st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=12)


@settings(max_examples=60)
@given(drawn=requests, way=st.sampled_from(WAYS), room=st.integers(20, 70), places=st.sampled_from([None, 1, 3]))
def test_every_answer_is_complete_and_memory_is_never_exceeded(drawn, way, room, places):
    machine = Machine(weights=1, position=1, row=1, pair=1, peak=1e30, bandwidth=1.0, room=room)
    asked = [Request(*one) for one in sorted(drawn)]
    report = simulate(asked, machine, limit=18, places=places, **way)
    for one in report.served:
        assert one.made == one.request.answer
        assert one.request.arrival < one.first <= one.finish
    assert sum(p.busy for p in report.passes) == sum(one.request.answer for one in report.served)
    assert all(p.used <= p.reserved <= room for p in report.passes)
    assert places is None or all(p.rows <= places for p in report.passes)
    if way["page"] is None:
        assert not any(one.evictions for one in report.served)
    elif way["continuous"]:
        rest = way["page"] - 1  # at most these positions of a sequence are empty
        assert all(p.reserved - p.used <= rest * len(asked) for p in report.passes)


def test_where_pages_run_out_the_last_one_leaves_and_is_read_anew():
    machine = Machine(weights=1, position=1, row=1, pair=1, peak=1e30, bandwidth=1.0, room=12)
    report = simulate([Request(0.0, 4, 6), Request(0.0, 4, 6)], machine, page=1, limit=12)
    assert [one.evictions for one in report.served] == [0, 1]
    assert report.served[0].finish < report.served[1].finish
    assert [p.seconds for p in report.passes if p.rows == 1][-3:] == [1 + 7, 1 + 8, 1 + 9]  # prompt and three tokens


@pytest.mark.usefixtures("shape_checks_off")  # of two million calls; the requests above are served with them
def test_the_pages_serve_more_at_once_under_load():
    machine = Machine.of(cost.LLAMA_7B, memory=80e9, **A100)
    contiguous, paged = (simulate(draw_requests(600, 40), machine, page=page) for page in (None, 16))
    assert paged.throughput > 1.25 * contiguous.throughput
    assert paged.batch > 1.5 * contiguous.batch
    assert paged.first_token < contiguous.first_token
    assert paged.use > 0.95 > 0.3 > contiguous.use


def test_requests_are_drawn_as_said():
    drawn = draw_requests(4000, 10.0, seed=3)
    assert drawn[-1].arrival == pytest.approx(400, rel=0.05)
    assert (min(one.prompt for one in drawn), max(one.prompt for one in drawn)) == (16, 256)
    assert (min(one.answer for one in drawn), max(one.answer for one in drawn)) == (1, 1024)
    assert [(one.prompt, one.answer) for one in drawn] == [
        (o.prompt, o.answer) for o in draw_requests(4000, 1.0, seed=3)
    ]


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match=r"in the order of arrival, at least one: got 0\. Sort"):
        simulate([], TOY, limit=16)
    with pytest.raises(ValueError, match=r"in the order of arrival, at least one: got 2\. Sort"):
        simulate([Request(1.0, 1, 1), Request(0.0, 1, 1)], TOY, limit=16)
    with pytest.raises(ValueError, match=r"a request of 20 tokens, limit=16 and room for 64\. Change the limit"):
        simulate([Request(0.0, 10, 10)], TOY, limit=16)
    with pytest.raises(ValueError, match=r"a request of 2 tokens, limit=65 and room for 64"):
        simulate([Request(0.0, 1, 1)], TOY, limit=65)
    with pytest.raises(ValueError, match=r"limit is a whole number, at least 1: got limit=0"):
        simulate([Request(0.0, 1, 1)], TOY, limit=0)
