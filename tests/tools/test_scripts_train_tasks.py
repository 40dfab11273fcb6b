"""`scripts/train_tasks.py`: a small run learns to copy, finished runs are kept, and the rows say what counted."""

import dataclasses
import json
import sys

import pytest

from companion.measure import load
from companion.tasks import copy_task
from scripts import train_tasks


@pytest.fixture
def script():
    return train_tasks


def sequences(train, test, seed):
    """Five of six symbols: there are 7,776 sequences."""
    return copy_task(train, test, seed, symbols=6, length=5)


def small(script, **changes):
    settings = {"draw": sequences, "train": 2000, "test": 100, "steps": 250, "tokens": 500, "warmup": 20}
    model = {"n_layers": 1, "d_model": 32, "n_heads": 2}
    return dataclasses.replace(script.TASKS["copy"], **(settings | {"model": model} | changes))


def test_a_small_transformer_learns_to_copy_what_it_has_not_seen(script):
    """All of 100 sequences right in every symbol, after two seconds of training."""
    learned = script.learn(small(script), seed=0, progress=False)
    assert learned.accuracy == 1.0
    assert learned.cpu_seconds < 30
    assert learned.parameters == 29_984


def test_a_model_that_was_not_trained_copies_nothing(script):
    assert script.learn(small(script, steps=1, warmup=0), seed=0, progress=False).accuracy < 0.2


def test_the_rows_to_learn_on_run_from_start_to_end(script):
    words = ["<pad>", "<s>", "</s>", "a", "b"]
    assert script.numbers([(["a", "b"], ["b"])], words) == [([3, 4], [1, 4, 2])]


def test_finished_runs_are_kept_until_the_code_changes(script, tmp_path, monkeypatch, capsys):
    taken = []

    def learn(task, seed):
        taken.append(seed)
        if len(taken) == 2:
            raise KeyboardInterrupt
        return script.Learned(10.0 + seed, 9.0, 1.0 - seed / 100, 500)

    monkeypatch.setattr(script, "learn", learn)
    tasks, scratch = {"copy": small(script)}, tmp_path / "kept" / "learn.json"
    with pytest.raises(KeyboardInterrupt):
        script.learn_all(tasks, scratch)
    rows = script.learn_all(tasks, scratch)
    assert taken == [0, 1, 1, 2]
    assert rows[0].values == [10.0, 11.0, 12.0]
    script.learn_all(tasks, scratch)
    assert len(taken) == 4
    script.learn_all({"copy": small(script, peak=1e-3)}, scratch)
    assert taken[4:] == [0, 1, 2]
    assert capsys.readouterr().out.count("copy, seed 1") == 3


def test_the_slowest_and_the_least_accurate_run_count(script):
    runs = [
        script.Learned(10.0, 9.0, 1.0, 500),
        script.Learned(31.0, 8.0, 0.99, 500),
        script.Learned(12.0, 7.0, 1.0, 500),
    ]
    rows = script.rows_of("copy", script.TASKS["copy"], runs)
    assert [(row.value, row.within_bound) for row in rows] == [(31.0, False), (9.0, True), (0.99, False)]
    shown = script.table(rows)
    assert shown.count("MISSED") == 2
    assert "10, 31, 12" in shown


def test_a_whole_run_writes_a_measurement_file_and_says_whether_the_bars_are_kept(
    script, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setattr(script, "fingerprint", lambda task, seed: f"{task.draw.__name__}{seed}")
    monkeypatch.setattr(script, "learn", lambda task, seed: script.Learned(5.0, 4.0, 1.0, 500))
    monkeypatch.setattr(sys, "argv", ["train_tasks.py", "--folder", str(tmp_path / "measurements"), "--threads", "1"])
    assert script.main() == 0
    (rows,) = load("learning", tmp_path / "measurements").values()
    assert len(rows) == 3 * len(script.TASKS)
    assert {row.settings["seeds"] == [0, 1, 2] for row in rows} == {True}
    assert "Written:" in capsys.readouterr().out
    assert not list((tmp_path / "_build").glob("*.json"))
    monkeypatch.setattr(script, "learn", lambda task, seed: script.Learned(500.0, 4.0, 1.0, 500))
    assert script.main() == 1


def test_one_task_alone_writes_no_file(script, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setattr(script, "learn", lambda task, seed: script.Learned(5.0, 4.0, 1.0, 500))
    monkeypatch.setattr(
        sys, "argv", ["train_tasks.py", "--only", "dates", "--folder", str(tmp_path / "m"), "--threads", "1"]
    )
    assert script.main() == 0
    assert not (tmp_path / "m").exists()
    (kept,) = (tmp_path / "_build").glob("train-tasks-*.json")
    assert len(json.loads(kept.read_text("utf-8"))) == 3
    assert "copy" not in capsys.readouterr().out
