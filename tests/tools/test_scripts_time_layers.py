"""What scripts/time_layers.py does: the work it states is the work it times, and a stopped run goes on."""

import json
import sys
from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from companion.measure import Row, load
from scripts import resume
from scripts import time_layers as module

ROOT = Path(__file__).parents[2]


@pytest.fixture
def script(monkeypatch, tmp_path):
    """Load the script, with small sizes and a `_build` of its own."""
    for name, value in {"D_MODEL": 16, "HEADS": 2, "D_FF": 64, "ROOT": tmp_path}.items():
        monkeypatch.setattr(module, name, value)
    return module


def weights(module):
    return sum(p.numel() for p in module.parameters() if p.ndim == 2)


def test_the_nine_layers_have_as_many_weights_as_the_transformer(script):
    made = {name: make() for name, make in script.MODELS.items()}
    assert weights(made["LSTM, 9 layers"]) == weights(made["Transformer, 6 layers"])
    assert 4.5 * weights(made["LSTM, 2 layers"]) == weights(made["LSTM, 9 layers"])


def test_the_counted_work_is_what_runs(script, monkeypatch):
    """The counter sees no product of the fused kernel on a CPU and none of torch's LSTM: those are added by hand."""
    for name in ("Transformer, 6 layers", "self-attention, formula", "convolution"):
        module = (script.MODELS | script.LAYERS)[name]().eval()
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            module(torch.zeros(3, 7, 16))
        unseen = 6 * 4 * 3 * 7 * 7 * 16 if name.startswith("Transformer") else 0
        assert script.flops(name, 3, 7) == counter.get_total_flops() + unseen, name
    assert script.flops("LSTM", 3, 7) == 3 * 16 * 7 * 16 * 16
    assert script.flops("LSTM, 9 layers", 3, 7) == 9 * script.flops("LSTM", 3, 7)


def test_rows_state_their_settings_and_long_passes_are_left_out(script, monkeypatch):
    monkeypatch.setattr(script, "LIMITS", {"cpu": 10**8, "cuda": 10**15})
    few, all_of_them = script.plan("cpu"), script.plan("cuda")
    assert 0 < len(few) < len(all_of_them) == 3 * 3 * 6 + 4 * 7
    for name, row in few.items():
        assert row.settings["flops"] <= 10**8, name
        assert {"batch", "n", "d_model", "dtype", "pass"} <= row.settings.keys()
        assert row.bound is None


def test_a_row_is_timed_without_gradients_and_keeps_every_run(script, monkeypatch):
    seen = []
    time_call = script.time_call

    def watched(function, device):
        seen.append(function().requires_grad)
        return time_call(function, device)

    monkeypatch.setattr(script, "time_call", watched)
    row = script.measured(script.plan("cpu")["LSTM, 1 x 64"], "cpu")
    assert not any(seen)
    assert len(row.values) == len(seen) - 2
    assert 3 <= len(row.values) <= 15
    assert all(value > 0 for value in row.values)


def test_a_stopped_run_goes_on_where_it_was(script, tmp_path):
    scratch = tmp_path / "_build" / "layers.json"
    row = Row("LSTM", "s", [1.0, 2.0, 3.0], {"batch": 1})
    resume.keep_rows(scratch, "now", {"LSTM, 1 x 64": row})
    assert resume.kept_rows(scratch, "now") == {"LSTM, 1 x 64": row}
    assert resume.kept_rows(scratch, "later") == {}
    assert resume.kept_rows(tmp_path / "nothing.json", "now") == {}


def test_the_file_is_written_whole_and_a_part_of_the_rows_writes_none(script, monkeypatch, tmp_path, capsys):
    rows = {name: row for name, row in script.plan("cpu").items() if name in ("LSTM, 1 x 64", "convolution, 1 x 64")}
    monkeypatch.setattr(script, "plan", lambda device: rows)
    monkeypatch.setattr(sys, "argv", ["time_layers.py", "--folder", str(tmp_path), "--only", "lstm"])
    assert script.main() == 0
    assert not list(tmp_path.glob("layers/*.json"))
    assert "GFLOP/s" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["time_layers.py", "--folder", str(tmp_path)])
    assert script.main() == 0
    ((_, found),) = load("layers", tmp_path).items()
    assert [row.name for row in found] == ["LSTM", "convolution"]
    assert not list((tmp_path / "_build").glob("*.json"))


def test_the_stored_file_is_of_this_script(script):
    for path in (ROOT / "measurements" / "layers").glob("*.json"):
        content = json.loads(path.read_text("utf-8"))
        assert content["script"] == "scripts/time_layers.py"
        assert content["machine"]["threads"] == 1
