"""Measuring: quartiles, ratios, peak memory, exponents, and the files that keep them."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from companion.measure import (
    Quartiles,
    Row,
    benchmark,
    clock,
    device_name,
    exponent,
    load,
    machine,
    one_thread,
    peak_bytes,
    save,
    time_ratio,
)

KIB = 1024
ROOT = Path(__file__).parents[2]


@pytest.fixture
def ticking(monkeypatch):
    """A clock that only the test's own functions move."""
    now = [0.0]
    monkeypatch.setattr(clock.time, "perf_counter", lambda: now[0])

    def work(duration, log=None, name=None):
        def run():
            now[0] += duration if not callable(duration) else duration()
            if log is not None:
                log.append(name)

        return run

    return work


# Time


def test_quartiles_are_those_of_the_values():
    assert Quartiles.of([5.0, 1.0, 3.0]) == Quartiles(2.0, 3.0, 4.0, 3)
    assert Quartiles.of([1.0, 2.0, 3.0, 4.0]) == Quartiles(1.75, 2.5, 3.25, 4)


def test_the_spread_is_a_part_of_the_median():
    assert Quartiles(2.0, 4.0, 5.0, 9).spread == 0.75


@pytest.mark.parametrize("values", [[1.0, 2.0], [1.0, 0.0, 2.0], [1.0, float("nan"), 2.0], [1.0, float("inf"), 2.0]])
def test_too_few_values_or_impossible_ones_have_no_quartiles(values):
    with pytest.raises(ValueError, match=r"at least three positive numbers: got \["):
        Quartiles.of(values)


def test_values_too_far_apart_are_refused_with_their_spread():
    calm = Quartiles(0.9, 1.0, 1.1, 7)
    assert calm.require_spread() is calm
    with pytest.raises(ValueError, match=r"at most 25% of the median apart: got 60% in 7 runs \(0\.8 to 1\.4\)"):
        Quartiles(0.8, 1.0, 1.4, 7).require_spread()
    with pytest.raises(ValueError, match=r"at most 10% .* got 20%"):
        calm.require_spread(0.1)


def test_the_warm_up_is_not_measured(ticking):
    durations = iter([100.0, 100.0, 1.0, 2.0, 3.0])
    assert benchmark(ticking(lambda: next(durations)), runs=3, warmup=2) == Quartiles(1.5, 2.0, 2.5, 3)


def test_a_ratio_divides_ours_by_theirs_in_each_round(ticking):
    ours = iter([9.0, 1.0, 2.0, 3.0])
    assert time_ratio(ticking(lambda: next(ours)), ticking(2.0), runs=3) == [0.5, 1.0, 1.5]


def test_the_rounds_take_turns_in_who_runs_first(ticking):
    log = []
    time_ratio(ticking(1.0, log, "ours"), ticking(1.0, log, "theirs"), runs=4, warmup=0)
    assert log == ["theirs", "ours", "ours", "theirs"] * 2


@pytest.mark.parametrize("measure", [benchmark, lambda f, **runs: time_ratio(f, f, **runs)])
@pytest.mark.parametrize(("runs", "warmup"), [(2, 0), (3, -1)])
def test_fewer_than_three_runs_are_refused(measure, runs, warmup):
    with pytest.raises(ValueError, match=rf"at least 3 runs and no negative warm-up: got {runs} and {warmup}"):
        measure(lambda: None, runs=runs, warmup=warmup)


def test_a_real_pause_is_seen_by_the_real_clock():
    assert benchmark(lambda: time.sleep(0.01), runs=3, warmup=0).lower >= 0.01


def test_a_measurement_runs_on_one_thread_and_gives_the_others_back():
    before, inside = torch.get_num_threads(), []
    torch.set_num_threads(2)
    try:
        benchmark(lambda: inside.append(torch.get_num_threads()), runs=3)
        time_ratio(*[lambda: inside.append(torch.get_num_threads())] * 2, runs=3)
        with pytest.raises(RuntimeError, match="stop"), one_thread():
            raise RuntimeError("stop")
        assert torch.get_num_threads() == 2
        assert set(inside) == {1}
    finally:
        torch.set_num_threads(before)


# Memory


def test_the_peak_counts_what_lives_together_and_not_what_was_freed():
    def one_after_the_other():
        for _ in range(5):
            torch.zeros(KIB)

    assert peak_bytes(one_after_the_other) == 4 * KIB
    assert peak_bytes(lambda: [torch.zeros(KIB) for _ in range(5)]) == 5 * 4 * KIB


def test_memory_from_before_the_call_does_not_count():
    x = torch.zeros(KIB)
    assert peak_bytes(x.zero_) == 0
    assert peak_bytes(x.neg) == 4 * KIB


def test_a_view_is_no_memory():
    x = torch.zeros(KIB)
    assert peak_bytes(lambda: x.view(2, -1)[0]) == 0


def test_what_an_operator_allocates_for_itself_counts():
    x = torch.ones(1, 1, 1024, 64)
    output = 1024 * 64 * 4
    assert peak_bytes(lambda: F.scaled_dot_product_attention(x, x, x)) > 2 * output


def test_plain_attention_holds_scores_and_weights_together():
    n, d = 256, 8
    q = torch.ones(n, d)
    assert peak_bytes(lambda: (q @ q.mT).softmax(-1) @ q) == 2 * n * n * 4


def test_measuring_memory_writes_nothing_to_the_screen():
    code = "import torch; from companion.measure import peak_bytes; peak_bytes(lambda: torch.zeros(3))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


# Exponents


@pytest.mark.parametrize("power", [-1.0, 0.5, 2.0, 3.0])
def test_the_exponent_of_a_power_is_found_whatever_its_factor(power):
    sizes = [2, 3, 5, 7]
    assert exponent(sizes, [11 * size**power for size in sizes]) == pytest.approx(power)


@pytest.mark.parametrize(
    ("sizes", "values"), [([1, 2], [1]), ([2, 2], [1, 3]), ([1], [1]), ([1, 2], [0, 1]), ([-1, 2], [1, 1])]
)
def test_an_exponent_needs_positive_values_at_two_sizes(sizes, values):
    with pytest.raises(ValueError, match=r"a positive value for each of at least two sizes: got sizes \["):
        exponent(sizes, values)


# Files


def rows():
    return [
        Row("speed", "ratio", [0.9, 0.7, 1.3], {"t": 256}, bound={"at_most": 0.95}),
        Row("accuracy", "%", [99.5, 99.9], statistic="min", bound={"at_least": 99.7}),
        Row("time", "s", [1.0, 2.0], statistic="max"),
    ]


def test_the_number_that_counts_is_the_one_that_the_row_names():
    assert [row.value for row in rows()] == [0.9, 99.5, 2.0]


def test_a_bound_is_kept_or_not_and_no_bound_is_always_kept():
    assert [row.within_bound for row in rows()] == [True, False, True]
    assert not Row("speed", "ratio", [0.96], bound={"at_most": 0.95}).within_bound
    assert Row("speed", "ratio", [0.95], bound={"at_most": 0.95}).within_bound


def test_what_was_saved_is_loaded_again(tmp_path):
    path = save(tmp_path, "speed", "scripts/bench.py", rows())
    assert path == tmp_path / "speed" / f"{device_name()}.json"
    assert load("speed", tmp_path) == {device_name(): rows()}
    content = json.loads(path.read_text("utf-8"))
    assert content["machine"] == machine()
    assert content["made"] == time.strftime("%Y-%m-%d")


def test_a_second_run_takes_the_place_of_the_first(tmp_path):
    save(tmp_path, "speed", "scripts/bench.py", rows())
    save(tmp_path, "speed", "scripts/bench.py", rows()[:1])
    assert load("speed", tmp_path) == {device_name(): rows()[:1]}
    assert [path.name for path in (tmp_path / "speed").iterdir()] == [f"{device_name()}.json"]


def test_each_device_has_its_own_rows(tmp_path):
    path = save(tmp_path, "speed", "scripts/bench.py", rows())
    content = json.loads(path.read_text("utf-8")) | {
        "device": "other",
        "rows": json.loads(path.read_text())["rows"][:1],
    }
    (path.parent / "other.json").write_text(json.dumps(content), "utf-8")
    assert {name: len(found) for name, found in load("speed", tmp_path).items()} == {device_name(): 3, "other": 1}


@pytest.mark.usefixtures("shape_checks_off")
@pytest.mark.parametrize(
    ("topic", "script", "made", "where"),
    [
        ("Speed", "scripts/bench.py", rows(), r"\$\.topic"),
        ("speed", "/elsewhere/bench.py", rows(), r"\$\.script"),
        ("speed", "scripts/bench.py", [], r"\$\.rows"),
        ("speed", "scripts/bench.py", [{"name": ""}], r"\$\.rows\[0\]\.name"),
        ("speed", "scripts/bench.py", [{"values": []}], r"\$\.rows\[0\]\.values"),
        ("speed", "scripts/bench.py", [{"statistic": "mean"}], r"\$\.rows\[0\]\.statistic"),
        ("speed", "scripts/bench.py", [{"bound": {"below": 1.0}}], r"\$\.rows\[0\]\.bound"),
    ],
)
def test_rows_of_another_form_are_not_saved(tmp_path, topic, script, made, where):
    made = [Row(**{"name": "a", "unit": "s", "values": [1.0], **row}) if isinstance(row, dict) else row for row in made]
    with pytest.raises(ValueError, match=rf"these rows must have the form of a measurement file: {where}"):
        save(tmp_path, topic, script, made)
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_another_form_is_not_loaded(tmp_path):
    (tmp_path / "speed").mkdir()
    (tmp_path / "speed" / "cpu.json").write_text('{"rows": []}', "utf-8")
    with pytest.raises(ValueError, match=r"cpu\.json must have the form of a measurement file"):
        load("speed", tmp_path)


def test_a_topic_that_was_not_measured_is_refused_with_those_that_were(tmp_path):
    save(tmp_path, "speed", "scripts/bench.py", rows())
    with pytest.raises(ValueError, match=r"no measurements of 'weight': there are \['speed'\]"):
        load("weight", tmp_path)


def test_a_device_name_is_small_letters_digits_and_hyphens(monkeypatch):
    monkeypatch.setattr("companion.measure.files._processor", lambda: "Intel(R) Core(TM) i7-9750H CPU @ 2.60GHz")
    assert device_name() == "cpu-intel-core-i7-9750h-cpu-2-60ghz"
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA A100-SXM4-40GB")
    assert device_name("cuda") == "nvidia-a100-sxm4-40gb"
