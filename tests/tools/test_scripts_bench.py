"""What `make bench` does: like is compared with like, noise is refused, bars count, and a stopped run goes on."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import torch

from companion.attention import attention
from companion.book.claims import read_ledger
from companion.config import ModelConfig
from companion.efficient import tiled_attention
from companion.measure import Row, device_name, load, save
from companion.transformer import DecoderOnly
from scripts import bench as module

ROOT = Path(__file__).parents[2]
CALM, NOISY = [0.9, 0.91, 0.9, 0.92, 0.9], [0.5, 0.9, 2.0, 0.4, 1.7]


@pytest.fixture
def bench(monkeypatch, tmp_path):
    """Load scripts/bench.py, with a `_build` of its own."""
    (tmp_path / "companion").mkdir()
    (tmp_path / "companion" / "masks.py").write_text("", "utf-8")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return module


@pytest.fixture
def run(bench, monkeypatch, tmp_path, capsys):
    """Run the script on rows of fixed values; return its exit code, what it printed, and the rows it measured."""

    def call(plan, *arguments):
        taken = []

        def taking(name, values):
            def take(device):
                taken.append(name)
                if isinstance(values[0], list):
                    return values[min(taken.count(name), len(values)) - 1]
                return values

            return take

        made = {name: (taking(name, values), row) for name, (values, row) in plan.items()}
        monkeypatch.setattr(bench, "rows", lambda device="cpu": made)
        monkeypatch.setattr(sys, "argv", ["bench.py", "--folder", str(tmp_path / "kept"), *arguments])
        code = bench.main()
        return code, capsys.readouterr(), taken

    return call


def row(**bound):
    return Row("speed", "ratio", [], {"t": 256}, bound=bound or None)


# What is compared


def captured(bench, monkeypatch, measure):
    """Return the two functions that a row times, and the options of the timing."""
    calls = []
    monkeypatch.setattr(bench, "time_ratio", lambda *functions, **options: calls.append((functions, options)) or [1.0])
    measure()
    return calls[0]


def test_the_two_decoders_are_one_function(bench, monkeypatch):
    """With the weights of ours, the model made of torch's layers gives the same logits."""
    config = ModelConfig(
        vocab=13,
        d_model=12,
        n_layers=2,
        n_heads=3,
        d_ff=20,
        dropout=0.0,
        max_len=7,
        position="learned",
        activation="gelu",
        norm_placement="pre",
        scale_embedding=False,
    )
    ours, theirs = DecoderOnly(config, seed=0).double(), bench.TorchDecoder(config).double()
    with torch.no_grad():
        for weight in ours.parameters():
            weight.add_(0.3 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(weight.numel())))
        pairs = [(ours.embedding.token.weight, theirs.tokens.weight)]
        pairs += [(ours.embedding.position.weight, theirs.positions.weight)]
        for layer, other in zip(ours.decoder.layers, theirs.stack.layers, strict=True):
            heads, joined = layer.self_attention, other.self_attn
            for kind in ("weight", "bias"):
                rows = torch.cat([getattr(part, kind) for part in (heads.w_q, heads.w_k, heads.w_v)])
                pairs += [(rows, getattr(joined, f"in_proj_{kind}"))]
                for a, b in (
                    (heads.w_o, joined.out_proj),
                    (layer.feed_forward.w_1, other.linear1),
                    (layer.feed_forward.w_2, other.linear2),
                    (layer.norm_1, other.norm1),
                    (layer.norm_3, other.norm2),
                ):
                    pairs += [(getattr(a, kind), getattr(b, kind))]
        pairs += [
            (getattr(ours.decoder.final_norm, kind), getattr(theirs.stack.norm, kind)) for kind in ("weight", "bias")
        ]
        for weight, copy in pairs:
            copy.copy_(weight)
    tokens = torch.randint(13, (2, 7), generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(ours(tokens), theirs(tokens), rtol=0, atol=1e-12)


def test_a_training_step_changes_both_models_and_they_are_of_one_size(bench, monkeypatch):
    seen = []
    adam = torch.optim.AdamW
    monkeypatch.setattr(
        bench.torch.optim, "AdamW", lambda weights, lr: seen.append(list(weights)) or adam(seen[-1], lr)
    )
    (ours, theirs), options = captured(bench, monkeypatch, lambda: bench.training_step("cpu"))
    sizes = [sum(weight.numel() for weight in weights) for weights in seen]
    assert sizes == [818_048, 818_048]
    before = [[weight.detach().clone() for weight in weights] for weights in seen]
    ours()
    theirs()
    for old, new in zip(before, seen, strict=True):
        assert not any(torch.equal(a, b) for a, b in zip(old, new, strict=True))
    assert options["runs"] >= 5
    assert options["device"] == "cpu"


@pytest.mark.parametrize("kernel", ["reference", "sdpa"])
def test_a_multi_head_step_takes_every_gradient_anew(bench, monkeypatch, kernel):
    layers = []
    for name, owner in (("MultiHeadAttention", bench), ("MultiheadAttention", bench.nn)):
        make = getattr(owner, name)
        monkeypatch.setattr(
            owner, name, lambda *sizes, make=make, **options: layers.append(make(*sizes, **options)) or layers[-1]
        )
    steps, options = captured(bench, monkeypatch, lambda: bench.multi_head("cpu", 2, 8, kernel))
    assert layers[0].kernel == kernel
    for layer, step in zip(layers, steps, strict=True):
        step()
        first = [weight.grad.clone() for weight in layer.parameters()]
        step()
        assert all(torch.equal(a, b.grad) for a, b in zip(first, layer.parameters(), strict=True))
    assert options["runs"] >= 5


def test_decoding_with_and_without_a_cache_writes_the_same_tokens(bench, monkeypatch):
    (uncached, cached), options = captured(bench, monkeypatch, lambda: bench.decoding("cpu", 6))
    assert torch.equal(uncached(), cached())
    assert cached().shape == (1, 6)
    assert options == {"runs": 5, "device": "cpu"}


def test_tokens_that_differ_with_the_cache_are_refused(bench, monkeypatch):
    forward = DecoderOnly.forward

    def forgets(model, tokens, *, lengths=None, cache=None):
        return forward(model, tokens, cache=None if cache is None else model.new_cache())

    monkeypatch.setattr(bench.DecoderOnly, "forward", forgets)
    with pytest.raises(ValueError, match="with and without the cache the tokens must be the same"):
        bench.decoding("cpu", 12)


def test_the_plain_form_holds_the_matrix_and_the_tiled_one_does_not(bench):
    plain, tiled = ([bench.attention_bytes("cpu", t, form) for t in (1024, 2048)] for form in ("plain", "tiled"))
    assert plain[0] > 3 * 4 * 1024**2  # scores, weights and the gradient of one of them
    assert plain[1] > 3.9 * plain[0]
    assert tiled[1] < 2 * tiled[0]


def test_memory_is_told_as_plain_over_tiled_and_as_the_power_of_the_length(bench, monkeypatch):
    counted = {"plain": lambda t: t * t, "tiled": lambda t: 64 * t}
    monkeypatch.setattr(bench, "attention_bytes", lambda device, t, form: counted[form](t))
    assert bench.tiled_memory("cpu") == [16_384 / 64]
    assert bench.tiled_exponent("cpu") == [pytest.approx(1.0)]


def test_memory_is_counted_forward_and_backward_and_after_a_first_call_on_a_gpu(bench, monkeypatch):
    calls = []

    def counted(function):
        def call(*inputs):
            calls.append(inputs)
            output = function(*inputs)
            output.register_hook(lambda gradient: calls.append("backward"))
            return output

        return call

    def peak(call, *, device):
        calls.append(f"peak on {device}")
        call()
        return 1

    monkeypatch.setattr(bench, "attention", counted(attention))
    monkeypatch.setattr(bench, "tiled_attention", counted(tiled_attention))
    monkeypatch.setattr(bench, "peak_bytes", peak)
    monkeypatch.setattr(torch.Tensor, "to", lambda x, device: x)
    bench.attention_bytes("cpu", 4, "plain")
    assert [call if isinstance(call, str) else "forward" for call in calls] == ["peak on cpu", "forward", "backward"]
    assert all(x.is_leaf and x.requires_grad and x.grad is None for x in calls[1])
    calls.clear()
    bench.attention_bytes("cuda", 4, "tiled")
    names = [call if isinstance(call, str) else "forward" for call in calls]
    assert names == ["forward", "backward", "peak on cuda", "forward", "backward"]


def test_the_rows_are_the_promises_and_on_a_gpu_only_memory_has_a_bar(bench):
    bars = {name: made.bound for name, (_, made) in bench.rows().items()}
    assert bars == {
        "multi-head 4 x 256 sdpa": {"at_most": 0.95},
        "multi-head 4 x 256 reference": {"at_most": 1.05},
        "multi-head 1 x 2048 sdpa": {"at_most": 1.05},
        "multi-head 1 x 2048 reference": {"at_most": 2.4},
        "decoder training": {"at_most": 0.9},
        "decoding": {"at_least": 8.0},
        "tiled memory": {"at_least": 50.0},
        "tiled exponent": {"at_most": 1.15},
    }
    there = {name: made.bound for name, (_, made) in bench.rows("cuda").items()}
    assert there == {name: bar if name.startswith("tiled") else None for name, bar in bars.items()}


def test_each_row_measures_what_its_settings_say(bench, monkeypatch):
    asked = []
    monkeypatch.setattr(bench, "multi_head", lambda *given: asked.append(given) or [1.0])
    for name, (take, made) in bench.rows().items():
        if name.startswith("multi-head"):
            take("cpu")
            assert asked[-1] == ("cpu", made.settings["batch"], made.settings["t"], name.rpartition(" ")[2])
    assert len(set(asked)) == 4


# Noise


def test_a_noisy_row_is_measured_again_up_to_three_times(bench, run):
    code, said, taken = run({"one": ([NOISY, NOISY, CALM], row(at_most=0.95))})
    assert (code, taken, said.err) == (0, ["one"] * 3, "")


def test_a_row_that_stays_noisy_is_refused(run, tmp_path):
    code, said, taken = run({"one": ([NOISY], row(at_most=2.0))})
    assert (code, taken) == (1, ["one"] * 3)
    assert re.search(r"bench: speed {'t': 256}: the outer quartiles lie at most 25% .* The machine is busy", said.err)
    assert not (tmp_path / "kept").exists()


def test_a_calm_row_is_measured_once_and_a_count_is_never_noisy(run):
    _, _, taken = run({"one": (CALM, row()), "bytes": ([51.7], row())})
    assert taken == ["one", "bytes"]


# Bars and files


def test_a_missed_bar_is_named_and_makes_the_exit_code_1_and_the_file_says_it(run, tmp_path):
    code, said, _ = run({"one": (CALM, row(at_most=0.95)), "two": (CALM, row(at_most=0.85)), "three": (CALM, row())})
    assert code == 1
    lines = {line.split()[0]: line for line in said.out.splitlines()[1:4]}
    assert lines["two"].split()[1:] == ["0.900", "0.900", "..", "0.910", "<=", "0.85", "MISSED"]
    assert lines["one"].endswith("<= 0.95")
    assert lines["three"].endswith("none")
    (kept,) = load("speed", tmp_path / "kept").values()
    assert [found.within_bound for found in kept] == [True, False, True]


def test_a_bar_from_below_is_shown_and_missed_as_one(run):
    code, said, _ = run({"one": (CALM, row(at_least=8.0))})
    assert code == 1
    assert said.out.splitlines()[1].endswith(">= 8.0  MISSED")


def test_what_is_written_is_a_measurement_file_with_every_value_on_one_thread(run, tmp_path):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        code, said, _ = run({"one": (CALM, row(at_most=0.95)), "bytes": ([51.72341], row(at_least=50.0))})
    finally:
        torch.set_num_threads(before)
    path = tmp_path / "kept" / "speed" / f"{device_name()}.json"
    assert code == 0
    assert said.out.splitlines()[-1] == f"Written: {path}"
    kept = load("speed", tmp_path / "kept")[device_name()]
    assert [found.values for found in kept] == [CALM, [51.7234]]
    content = json.loads(path.read_text("utf-8"))
    assert (content["script"], content["machine"]["threads"]) == ("scripts/bench.py", 1)


def test_a_part_of_the_rows_writes_no_file_and_keeps_nothing(run, tmp_path):
    plan = {"decoding": (CALM, row(at_most=0.95)), "memory": ([60.0], row(at_least=50.0))}
    code, said, taken = run(plan, "--only", "deco")
    assert (code, taken) == (0, ["decoding"])
    assert "memory" not in said.out
    assert not (tmp_path / "kept").exists()
    assert not (tmp_path / "_build").exists()


def test_a_name_that_no_row_has_is_refused_with_those_there_are(run, capsys):
    with pytest.raises(SystemExit) as stop:
        run({"decoding": (CALM, row())}, "--only", "speed")
    assert stop.value.code == 2
    assert "no row has 'speed' in its name: there are decoding" in capsys.readouterr().err


def test_a_gpu_that_is_not_there_is_one_sentence(run, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    code, said, taken = run({"one": (CALM, row())}, "--device", "cuda")
    assert (code, taken, said.out) == (1, [], "")
    assert said.err == "bench: --device cuda needs an NVIDIA GPU, and torch finds none. Leave it out.\n"


# A run that was stopped


def stopped(run):
    """Measure one row of two, and stop at the second."""
    code, _, taken = run({"one": ([51.0], row()), "two": ([NOISY], row())})
    assert (code, taken[0]) == (1, "one")


def test_a_stopped_run_goes_on_where_it_was(run, tmp_path):
    stopped(run)
    code, _, taken = run({"one": ([99.0], row()), "two": (CALM, row())})
    assert (code, taken) == (0, ["two"])
    (kept,) = load("speed", tmp_path / "kept").values()
    assert [found.values for found in kept] == [[51.0], CALM]
    assert list((tmp_path / "_build").iterdir()) == []  # the next run measures all again
    assert run({"one": ([99.0], row()), "two": (CALM, row())})[2] == ["one", "two"]


def test_what_was_measured_before_the_code_changed_is_measured_again(run, tmp_path):
    stopped(run)
    (tmp_path / "companion" / "masks.py").write_text("# faster\n", "utf-8")
    assert run({"one": ([99.0], row()), "two": (CALM, row())})[2] == ["one", "two"]


def test_a_part_of_the_rows_takes_nothing_from_a_stopped_run(run, tmp_path):
    stopped(run)
    assert run({"one": ([99.0], row()), "two": (CALM, row())}, "--only", "one")[2] == ["one"]
    assert len(list((tmp_path / "_build").iterdir())) == 1


# Measurement files in a wheel


def test_the_installed_package_brings_the_measurements_and_the_ledger(tmp_path):
    """The layout that pyproject.toml gives the wheel, far from the checkout."""
    targets = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]
    checkout, site = tmp_path / "checkout", tmp_path / "site"
    shutil.copytree(ROOT / "companion", checkout / "companion", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "_toc.yml", checkout)
    save(checkout / "measurements", "speed", "scripts/bench.py", [Row("speed", "ratio", [0.5])])
    for package in targets["wheel"]["packages"]:
        shutil.copytree(checkout / package, site / package)
    for source, target in targets["wheel"]["force-include"].items():
        (shutil.copytree if (checkout / source).is_dir() else shutil.copy)(checkout / source, site / target)
    code = (
        "import companion, companion.book.check, companion.measure\n"
        "print(companion.__file__)\n"
        "print(companion.measure.load('speed'))\n"
        "print(len(companion.book.claims.read_ledger().claims))\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(site)}, capture_output=True, text=True)
    assert done.stderr == ""
    where, found, claims = done.stdout.splitlines()
    assert Path(where).is_relative_to(site)
    assert found == str({device_name(): [Row("speed", "ratio", [0.5])]})
    assert int(claims) == len(read_ledger().claims)


def test_what_the_wheel_takes_from_outside_the_package_is_in_the_sdist_too():
    targets = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]
    assert set(targets["wheel"]["force-include"]) | set(targets["wheel"]["packages"]) == set(
        targets["sdist"]["include"]
    )
    assert [source for source in targets["wheel"]["force-include"] if not (ROOT / source).exists()] == []
