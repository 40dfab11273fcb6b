"""What `make gpu-check` does, on the CPU: everything but the name of the device is the same."""

import json
import math
import re
import sys

import pytest
import torch

from companion.attention import attention
from companion.measure import load
from scripts import console, gpu_check, precision

DTYPES = ["float32", "bfloat16", "float16"]


# Comparing


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_layer_gives_its_float64_result_in_every_precision(dtype):
    """The comparisons of tests/gpu/test_parity_cuda.py, on the CPU; float32 with the gradients."""
    failed, layers = {}, set()
    for case in precision.cases():
        gradients = dtype == "float32" and case.differentiable
        errors = precision.compare(case, "cpu", precision.DTYPES[dtype], gradients=gradients)
        if len(errors) != 1 + gradients or not all(error <= precision.BOUNDS[dtype] for error in errors):
            failed[str(case)] = errors
        layers.add(case.layer)
    assert failed == {}
    assert {"attention", "kernel reference", "kernel sdpa", "cached decoding", "tiled attention"} < layers


def test_no_two_cases_have_one_name():
    names = [str(case) for case in precision.cases()]
    assert sorted(set(names)) == sorted(names)


@pytest.fixture
def case():
    """Make a case of Eq. (1) whose computed form may differ from the exact one."""
    draw = precision.Draw()
    tensors = draw.randn(2, 3, 20, 16), draw.randn(2, 3, 24, 16), draw.randn(2, 3, 24, 8), draw.mask(20, 24)

    def make(computed, **options):
        return precision.Case("attention", "a", computed, tensors, None, lambda _, *x: attention(*x), **options)

    return make


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "mistake",
    [
        lambda _, q, k, v, mask: attention(q, k, v, mask, scale=0.27),  # in place of 1/4
        lambda _, q, k, v, mask: attention(q, k, v, mask.roll(1, -1)),
        lambda _, q, k, v, mask: attention(q, k, v, mask).roll(1, -1),
        lambda _, q, k, v, mask: attention(q, k, v, mask) + math.nan,
    ],
    ids=["scale", "mask", "columns", "nan"],
)
def test_a_mistake_is_beyond_the_bound_in_every_precision(case, mistake, dtype):
    (error,) = precision.compare(case(mistake), "cpu", precision.DTYPES[dtype])
    assert not error <= precision.BOUNDS[dtype]


def test_a_wrong_gradient_behind_a_right_result_is_seen(case):
    def detached(_, q, k, v, mask):
        return attention(q, k + 0.1 * (k - k.detach()), v, mask)  # the numbers of k, and 1.1 times its gradient

    value, gradients = precision.compare(case(detached), "cpu", torch.float32, gradients=True)
    assert value < 10 < gradients


@pytest.mark.parametrize("gradients", [False, True])
def test_the_error_of_an_exact_result_is_zero(case, gradients):
    errors = precision.compare(case(lambda _, *x: attention(*x)), "cpu", torch.float64, gradients=gradients)
    assert errors == [0.0] * (1 + gradients)


def test_the_unit_is_a_change_of_each_number_by_eps():
    """The sum of ten ones moves by at most 10 eps, and eps times its largest number is as much."""
    off = 32 * torch.finfo(torch.float32).eps
    ones = (torch.ones(10, dtype=torch.float64),)
    case = precision.Case("sum", "a", lambda _, x: x.sum() + off, ones, None, lambda _, x: x.sum())
    assert precision.compare(case, "cpu", torch.float32) == [pytest.approx(3.2)]


def test_a_result_that_one_change_moves_far_has_a_large_unit():
    """1000 - 999 moves by 1999 eps or by eps; an error of 100 eps is then a small part of it."""
    off = 64 * torch.finfo(torch.float32).eps
    far = (torch.tensor([1000.0] * 8, dtype=torch.float64), torch.tensor([999.0] * 8, dtype=torch.float64))
    case = precision.Case("difference", "a", lambda _, x, y: x - y + off, far, None, lambda _, x, y: x - y)
    assert precision.compare(case, "cpu", torch.float32) == [pytest.approx(64 / 1999, rel=0.01)]


def test_inputs_and_weights_are_rounded_before_either_side_computes():
    """1/3 is no float16: a copy of it is exact all the same, and so is a weight."""
    third = torch.full((3,), 1 / 3, dtype=torch.float64)
    copy = precision.Case("copy", "a", lambda _, x: x.clone(), (third,))
    assert precision.compare(copy, "cpu", torch.float16) == [0.0]
    layer = torch.nn.Linear(1, 3, bias=False).double()
    weight = precision.Case("weight", "a", lambda m, x: m.weight * x, (third[:1].fill_(1.0),), layer)
    assert precision.compare(weight, "cpu", torch.float16) == [0.0]


def test_a_result_in_another_precision_or_place_is_refused(case):
    with pytest.raises(ValueError, match=r"attention: a on cpu in torch\.float16 gives torch\.float32 on cpu"):
        precision.compare(case(lambda _, *x: attention(*x).float()), "cpu", torch.float16)
    with pytest.raises(ValueError, match=r"on cpu in torch\.float16 gives torch\.float16 on meta"):
        precision.compare(case(lambda _, *x: attention(*x).to("meta")), "cpu", torch.float16)


def test_the_case_keeps_its_weights_and_inputs():
    case = next(case for case in precision.cases() if case.layer == "encoder-decoder")
    before = [x.clone() for x in case.module.state_dict().values()]
    precision.compare(case, "cpu", torch.bfloat16, gradients=True)
    after = list(case.module.state_dict().values())
    assert all(torch.equal(a, b) and a.dtype == torch.float64 for a, b in zip(before, after, strict=True))
    assert all(weight.grad is None for weight in case.module.parameters())


def test_float32_is_full_inside_and_as_before_outside():
    torch.set_float32_matmul_precision("high")
    try:
        with pytest.raises(ZeroDivisionError), precision.full_float32():
            inside = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32, 1 / 0
        with precision.full_float32():
            inside = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
        assert inside == ("highest", False)
        assert torch.get_float32_matmul_precision() == "high"
        assert torch.backends.cudnn.allow_tf32
    finally:
        torch.set_float32_matmul_precision("highest")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", ["reference", "sdpa"])
def test_a_query_that_may_look_at_no_key_gets_zero(kernel, dtype):
    rows = precision.hidden_rows(kernel, "cpu", precision.DTYPES[dtype])
    assert rows.shape == (2, 2, 6, 32)
    assert not rows.count_nonzero()


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.parametrize("dtype", DTYPES)
def test_flex_attention_gives_the_float64_result_of_the_window(dtype):
    """The comparison of tests/gpu/test_flex_cuda.py, without the compiler and the gradients."""
    (error,) = precision.compare(precision.flex_case(compiled=False), "cpu", precision.DTYPES[dtype])
    assert error <= precision.BOUNDS[dtype]


def test_the_texts_to_compare_differ_from_each_other():
    greedy, sampled, *beams = precision.texts("cpu")
    assert greedy != sampled
    assert [len(found) for found in beams] == [3, 3, 3]


@pytest.mark.parametrize(("name", "dtype"), [("full", "float32"), ("bfloat16", "bfloat16")])
def test_the_first_steps_of_a_training_are_those_of_float64(name, dtype):
    want, got = (
        precision.first_steps("cpu", number, kind) for number, kind in ((torch.float64, "full"), (torch.float32, name))
    )
    bound = precision.BOUNDS[dtype] * torch.finfo(precision.DTYPES[dtype]).eps
    assert got.loss == pytest.approx(want.loss, rel=bound)
    assert got.gradient_norm == pytest.approx(want.gradient_norm, rel=bound)
    assert got.loss != want.loss


# The parts


def test_the_largest_errors_are_kept_by_layer_and_precision(case, tmp_path):
    cases = [case(lambda _, *x: attention(*x)), case(lambda _, *x: attention(*x), differentiable=False)]
    well, said = gpu_check.kept_errors("cpu", tmp_path, cases)
    assert well
    (rows,) = load("precision", tmp_path).values()
    assert said == f"written: {next((tmp_path / 'precision').iterdir())}"
    kinds = {(row.settings["dtype"], row.name.partition(" of its ")[2].split()[0]) for row in rows}
    assert kinds == {*((dtype, "output") for dtype in DTYPES), ("float32", "gradients")}
    assert all(row.within_bound and row.value == max(row.values) and row.name.startswith("attention, ") for row in rows)


@pytest.mark.parametrize(
    ("mistake", "reason"),
    [
        (lambda _, q, k, v, mask: attention(q, k, v), r"largest error of its output against float64, float16: \d"),
        (lambda _, *x: attention(*x) + math.nan, "attention: a, bfloat16: output not finite"),
        (lambda _, *x: x[0] @ x[1], "attention: a, float32: Expected size"),
    ],
    ids=["mistake", "nan", "error"],
)
def test_a_case_that_fails_is_named_and_the_others_are_kept(case, tmp_path, mistake, reason):
    cases = [case(mistake, differentiable=False), *[c for c in precision.cases() if c.layer == "norm"]]
    well, said = gpu_check.kept_errors("cpu", tmp_path, cases)
    assert not well
    assert re.search(reason, said)
    (rows,) = load("precision", tmp_path).values()
    assert {row.name.partition(",")[0] for row in rows if row.within_bound} == {"norm"}


def test_nothing_is_written_where_nothing_was_measured(case, tmp_path):
    well, said = gpu_check.kept_errors("cpu", tmp_path, [case(lambda _, *x: x[0] @ x[1])])
    assert not well
    assert said.count("attention: a, ") == 3
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def kept(monkeypatch, tmp_path):
    """The file of what is kept, in a folder of the test's own."""
    monkeypatch.setattr(gpu_check, "KEPT", tmp_path / "_build" / "gpu-check.json")
    return gpu_check.KEPT


def test_the_errors_of_some_layers_write_no_file(case, tmp_path):
    cases = [case(lambda _, *x: attention(*x))]
    well, said = gpu_check.kept_errors("cpu", tmp_path, cases, whole=False)
    assert (well, said) == (True, "4 largest errors within their bounds")
    assert list(tmp_path.iterdir()) == []


def test_a_failing_step_does_not_stop_the_others_and_is_not_kept(kept, capsys):
    def breaks():
        raise RuntimeError("out of memory")

    steps = {"one": (breaks, []), "two": (lambda: (False, "3 failed"), []), "three": (lambda: (True, "7 passed"), [])}
    assert gpu_check.run_steps(steps, "a GPU") == ["one", "two"]
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"  one +\d+\.\d s  FAILED: RuntimeError: out of memory", lines[0])
    assert re.fullmatch(r"  two +\d+\.\d s  FAILED: 3 failed", lines[1])
    assert re.fullmatch(r"  three +\d+\.\d s  7 passed", lines[2])
    assert list(json.loads(kept.read_text("utf-8"))) == ["three"]


def test_a_step_that_passed_is_run_again_only_when_its_files_or_the_device_change(kept, monkeypatch, tmp_path):
    monkeypatch.setattr("scripts.build_site.ROOT", tmp_path)
    monkeypatch.setattr(gpu_check, "ROOT", tmp_path)
    (tmp_path / "file").write_text("one", "utf-8")
    ran = []
    steps = {"one": (lambda: (ran.append(1) is None, "passed"), [tmp_path / "file"])}
    counts = []
    for device in ("a GPU", "a GPU", "another", "another", "another"):
        assert gpu_check.run_steps(steps, device) == []
        counts.append(len(ran))
        if len(counts) == 4:
            (tmp_path / "file").write_text("two", "utf-8")
    assert counts == [1, 1, 2, 2, 3]


@pytest.mark.parametrize(
    ("code", "output", "well"),
    [(0, "...\n7 passed in 1.2s\n", True), (0, "s.\n6 passed, 1 skipped in 1.2s\n", False), (1, "1 failed", False)],
)
def test_a_skipped_test_is_no_test_on_a_gpu(monkeypatch, code, output, well):
    monkeypatch.setattr(gpu_check, "run_logged", lambda command, log, seconds: (code, output))
    assert gpu_check.pytest("gpu-parity") == (well, output.strip().splitlines()[-1])


def test_a_step_that_takes_more_than_ten_minutes_is_ended_and_fails(monkeypatch, tmp_path):
    monkeypatch.setattr(gpu_check, "LIMIT", 0.2)
    monkeypatch.setattr(console, "LOGS", tmp_path)
    well, output = gpu_check.run("slow", "-c", "import time; print('begun', flush=True); time.sleep(60)")
    assert not well
    assert output.splitlines()[-1] == "ended after 0.2 s"


def test_a_notebook_is_said_to_run_on_the_cpu_unless_a_cell_asks_for_cuda(monkeypatch, tmp_path):
    monkeypatch.setattr(gpu_check, "run", lambda log, *arguments: (True, f"7 passed, {arguments[-2]}"))

    def said(*sources):
        cells = [{"cell_type": kind, "source": [source]} for kind, source in sources]
        (tmp_path / "some.ipynb").write_text(json.dumps({"cells": cells}), "utf-8")
        return gpu_check.notebook(tmp_path / "some.ipynb")

    plain = [("markdown", "on cuda"), ("code", "x = 1")]
    assert said(*plain) == (True, "7 passed, --nbval, on the CPU: no cell asks for CUDA")
    asks = ("code", "device = 'cuda' if torch.cuda.is_available() else 'cpu'")
    assert said(*plain, asks) == (True, "7 passed, --nbval, on CUDA")


def test_the_benchmarks_run_on_the_device_and_into_the_folder(monkeypatch, tmp_path):
    called = []
    monkeypatch.setattr(
        gpu_check, "run", lambda log, *arguments: (called.append(arguments), (False, "decoding MISSED"))[1]
    )
    well, said = gpu_check.benchmarks("cuda", tmp_path, "")
    assert not well
    assert said.endswith("decoding MISSED")
    gpu_check.benchmarks("cuda", tmp_path, "decoding")
    whole = ("-m", "scripts.bench", "--device", "cuda", "--folder", tmp_path)
    assert called == [whole, (*whole, "--only", "decoding")]


def test_the_parts_have_the_steps_that_a_name_asks_for(tmp_path):
    titles = {part: list(gpu_check.steps(part, "", tmp_path)) for part in gpu_check.PARTS}
    assert "parity test_parity_cuda" in titles["parity"]
    assert titles["errors"] == ["errors"]
    assert len(titles["notebooks"]) == len(gpu_check.notebooks()) > 5
    assert titles["benchmarks"] == ["benchmarks"]
    named = {part: list(gpu_check.steps(part, "attention", tmp_path)) for part in gpu_check.PARTS}
    assert (named["parity"], named["errors"]) == (["parity attention"], ["errors attention"])
    assert 0 < len(named["notebooks"]) < len(titles["notebooks"])
    assert gpu_check.steps("errors", "no-such-layer", tmp_path) == {}


@pytest.fixture
def call(monkeypatch, tmp_path, kept):
    """Run the command with arguments, as if on a GPU; the steps only say that they ran."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a GPU")
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setattr(gpu_check, "lacking", lambda part: [])
    ran = []
    plan = {"notebooks": {"attention": "notebook attention"}}

    def steps(part, name, folder):
        titles = [title for key, title in plan.get(part, {name: part}).items() if name in key]
        return {title: (lambda title=title: (ran.append(title) is None, "passed"), []) for title in titles}

    monkeypatch.setattr(gpu_check, "steps", steps)

    def run(*arguments):
        ran.clear()
        monkeypatch.setattr(sys, "argv", ["gpu_check.py", "--folder", str(tmp_path), *arguments])
        return gpu_check.main(), list(ran)

    return run


def test_all_four_parts_run_on_a_machine_with_cuda_and_go_on_where_they_were(call, capsys):
    assert call("--part", "parity") == (0, ["parity"])
    assert call() == (0, ["errors", "notebook attention", "benchmarks"])
    assert call() == (0, [])
    said = capsys.readouterr().out
    assert said.startswith("On a GPU, torch ")
    assert said.count("kept from before") == 5


def test_a_part_that_lacks_packages_names_them_and_the_others_run(call, monkeypatch, capsys):
    monkeypatch.setattr(gpu_check, "lacking", lambda part: ["nbval"] if part == "notebooks" else [])
    assert call() == (1, ["parity", "errors", "benchmarks"])
    said = capsys.readouterr().out
    assert "has no nbval: install what is missing." in said
    assert said.endswith("FAILED: notebooks.\n")


def test_what_a_part_lacks_is_what_this_python_cannot_import(monkeypatch):
    monkeypatch.setitem(gpu_check.PARTS, "parity", ("torch", "no_such_module"))
    assert gpu_check.lacking("parity") == ["no_such_module"]


def test_what_has_no_part_or_name_is_refused(call):
    with pytest.raises(console.Refusal, match="PART=party is no part: use one of parity, errors, notebooks, benchm"):
        call("--part", "party")
    with pytest.raises(console.Refusal, match="nothing has NAME=nowhere: leave it out"):
        call("--part", "notebooks", "--name", "nowhere")


def test_without_cuda_it_stops_with_one_sentence(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["gpu_check.py"])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit) as stop:
        gpu_check.guarded(gpu_check.main)
    assert re.fullmatch(r"make: gpu-check needs an NVIDIA GPU, and torch \S+ finds none: [^.]+\.", stop.value.code)
    assert capsys.readouterr().out == ""
