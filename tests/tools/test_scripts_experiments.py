"""What the script of the experiments runs, and what it takes from the file of an earlier run."""

import sys

import pytest

from companion.measure import Experiment, Row, device_name, load, save
from scripts import experiments

NAME, UNIT = "sum", "1"


@pytest.fixture
def runs(monkeypatch, tmp_path):
    """A chapter with two experiments; the list of the runs that were made."""
    made = []

    def run(seed, size):
        made.append((size, seed))
        return float(size + seed)

    plan = [Experiment(NAME, UNIT, run, {"size": size}) for size in (10, 20)]
    monkeypatch.setattr(experiments, "planned", lambda: {"attention": plan})
    monkeypatch.setattr(experiments, "ROOT", tmp_path)
    source = tmp_path / "companion/chapters/attention/experiments.py"
    source.parent.mkdir(parents=True)
    source.write_text("")
    return made


def started(monkeypatch, folder, *options):
    monkeypatch.setattr(sys, "argv", ["experiments", "attention", "--folder", str(folder), *options])
    assert experiments.main() == 0
    return load("attention", folder)[device_name()]


def test_everything_runs_with_each_seed(monkeypatch, tmp_path, runs):
    rows = started(monkeypatch, tmp_path / "found")
    assert runs == [(size, seed) for size in (10, 20) for seed in range(3)]
    assert [row.values for row in rows] == [[10, 11, 12], [20, 21, 22]]


def test_only_what_is_missing_runs(monkeypatch, tmp_path, runs):
    folder = tmp_path / "found"
    here, few = Row(NAME, UNIT, [1.0, 2.0, 3.0], {"size": 10}), Row(NAME, UNIT, [1.0], {"size": 20})
    save(folder, "attention", "scripts/experiments.py", [here, few])
    rows = started(monkeypatch, folder, "--missing")
    assert runs == [(20, seed) for seed in range(3)]
    assert [row.values for row in rows] == [[1, 2, 3], [20, 21, 22]]


def test_what_another_device_measured_is_not_taken(monkeypatch, tmp_path, runs):
    folder = tmp_path / "found"
    path = save(folder, "attention", "scripts/experiments.py", [Row(NAME, UNIT, [1.0, 2.0, 3.0], {"size": 10})])
    other = path.read_text("utf-8").replace(f'"{device_name()}"', '"a-gpu"')
    path.rename(path.with_name("a-gpu.json")).write_text(other, "utf-8")
    rows = started(monkeypatch, folder, "--missing")
    assert len(runs) == 6
    assert [row.values for row in rows] == [[10, 11, 12], [20, 21, 22]]


def test_only_the_named_experiments_run_and_the_other_rows_stay(monkeypatch, tmp_path, runs):
    folder = tmp_path / "found"
    old = Row(NAME, UNIT, [1.0, 2.0, 3.0], {"size": 10})
    save(folder, "attention", "scripts/experiments.py", [Row("product", UNIT, [5.0]), old])
    rows = started(monkeypatch, folder, "--only", NAME)
    assert len(runs) == 6
    assert [(row.name, row.values) for row in rows] == [
        ("product", [5]),
        (NAME, [10, 11, 12]),
        (NAME, [20, 21, 22]),
    ]


def test_a_name_that_is_not_planned_is_refused(monkeypatch, tmp_path, runs, capsys):
    with pytest.raises(SystemExit):
        started(monkeypatch, tmp_path / "found", "--only", "product")
    assert "attention has no experiment 'product': ['sum']" in capsys.readouterr().err
    assert runs == []
