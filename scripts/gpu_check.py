"""Run on CUDA what the package promises, and keep what was measured: what `make gpu-check` does.

    python -m scripts.gpu_check [--part parity] [--name attention] [--folder measurements]

Four parts, each of one or more steps: ``parity``, the files of tests/gpu; ``errors``, those of every layer in float32,
bfloat16 and float16 (they go to measurements/precision/DEVICE.json, see scripts/precision.py); ``notebooks``, each
against its stored outputs; and ``benchmarks`` (they go to measurements/speed/DEVICE.json). A name leaves only what has
it: the tests, the layers, the notebooks, the rows of the benchmarks; it writes no file.

The Python that runs this, with the packages that it has, runs the steps too: nothing is installed. A step that passed
is kept in _build/gpu-check.json and not run again until its files change; one that takes longer than ten minutes is
ended, and the benchmarks then go on where they were. The whole output of the steps is in _build/logs/.
"""

import argparse
import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.build_site import digest
from scripts.console import ROOT, Refusal, guarded, run_logged, tail

if TYPE_CHECKING:
    from companion.measure import Row
    from scripts.precision import Case

Step = Callable[[], tuple[bool, str]]  # whether all is well, and what there is to say
KEPT = ROOT / "_build" / "gpu-check.json"
LIMIT = 600  # seconds a step
PACKAGE = ("torch", "numpy", "jaxtyping", "yaml", "matplotlib", "tqdm")
TESTS = (*PACKAGE, "pytest", "beartype", "hypothesis")
PARTS = {  # the modules that each part needs
    "parity": TESTS,
    "errors": PACKAGE,
    "notebooks": (*TESTS, "nbval", "ipykernel", "anywidget", "ipywidgets", "tokenizers", "safetensors", "jsonschema"),
    "benchmarks": PACKAGE,
}


def lacking(part: str) -> list[str]:
    """List the modules that a part needs and this Python does not have."""
    return [name for name in PARTS[part] if importlib.util.find_spec(name) is None]


def run(log: str, *arguments: str | Path) -> tuple[bool, str]:
    """Run this Python with arguments; return whether it ended well, and its output."""
    code, output = run_logged([sys.executable, *arguments], log, seconds=LIMIT)
    if code is None:
        output += f"\nended after {LIMIT} s"
    return code == 0, output


def pytest(log: str, *arguments: str | Path) -> tuple[bool, str]:
    """Run pytest. A test that was skipped did not see the GPU, and counts as failed."""
    well, output = run(log, "-m", "pytest", "-q", "--no-header", "-rs", *arguments)
    said = (output.strip().splitlines() or ["pytest said nothing"])[-1]
    return well and " skipped" not in said, said


def errors(device: str, cases: "Sequence[Case]") -> "tuple[list[Row], list[str]]":
    """Measure the largest error of each case in each precision; in float32 that of its gradients too.

    Args:
        device: where to compute.
        cases: what to compare.

    Returns:
        A row for each layer, precision and kind, and the cases that gave no number, with the reason.
    """
    from companion.measure import Row
    from scripts import precision

    found: dict[tuple[str, str, str], dict[str, float]] = {}
    failed = []
    for name, dtype in precision.DTYPES.items():
        for case in cases:
            gradients = name == "float32" and case.differentiable
            try:
                numbers = precision.compare(case, device, dtype, gradients=gradients)
            except (RuntimeError, ValueError) as error:
                failed.append(f"{case}, {name}: {str(error).splitlines()[0]}")
                continue
            for kind, number in zip(("output", "gradients"), numbers, strict=False):
                if number == number:  # not NaN
                    found.setdefault((case.layer, name, kind), {})[case.name] = float(f"{number:.3g}")
                else:
                    failed.append(f"{case}, {name}: {kind} not finite")
    rows = [
        Row(
            f"{layer}, largest error of its {kind} against float64",
            "changes by eps",
            list(numbers.values()),
            {"dtype": name, "cases": list(numbers)},
            statistic="max",
            bound={"at_most": precision.BOUNDS[name]},
        )
        for (layer, name, kind), numbers in found.items()
    ]
    return rows, failed


def kept_errors(device: str, folder: Path, cases: "Sequence[Case]", *, whole: bool = True) -> tuple[bool, str]:
    """Measure the errors and write them to ``folder/precision``.

    Args:
        device: where to compute.
        folder: of all measurements.
        cases: what to compare.
        whole: these are all cases, so that the file is written.

    Returns:
        Whether each case gave a number within its bound, and what there is to say.
    """
    from companion.measure import save

    rows, failed = errors(device, cases)
    failed += [f"{row.name}, {row.settings['dtype']}: {row.value}" for row in rows if not row.within_bound]
    if not rows:
        return False, "; ".join(failed)
    if not whole:
        return not failed, "; ".join(failed) or f"{len(rows)} largest errors within their bounds"
    path = save(folder, "precision", "scripts/gpu_check.py", rows, device=device)
    return not failed, "; ".join([*failed, f"written: {path}"])


def asks_for_cuda(notebook: Path) -> bool:
    """Say whether a code cell of a notebook names CUDA; otherwise its tensors stay on the CPU."""
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    return any("cuda" in "".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def notebooks() -> list[Path]:
    """List the notebooks of the book."""
    return sorted((ROOT / "book").rglob("*.ipynb"))


def notebook(path: Path) -> tuple[bool, str]:
    """Execute a notebook here and compare its outputs with the stored ones; say whether it uses the GPU."""
    well, said = pytest("gpu-notebooks", "--nbval", path)
    return well, f"{said}, {'on CUDA' if asks_for_cuda(path) else 'on the CPU: no cell asks for CUDA'}"


def benchmarks(device: str, folder: Path, name: str) -> tuple[bool, str]:
    """Run scripts/bench.py on the device."""
    only = ["--only", name] if name else []
    well, output = run("gpu-bench", "-m", "scripts.bench", "--device", device, "--folder", folder, *only)
    return well, f"the end of what it printed:\n{tail(output, 12)}"


def steps(part: str, name: str, folder: Path) -> dict[str, tuple[Step, Sequence[Path]]]:
    """List the steps of a part that have a name, each with the files beside the package that it depends on."""
    precise = ROOT / "scripts" / "precision.py"
    if part == "parity":
        tests = ROOT / "tests" / "gpu"
        if name:  # in one call, since a file without such a test would fail
            return {f"parity {name}": (partial(pytest, "gpu-parity", tests, "-k", name), [tests, precise])}
        files = sorted(tests.glob("test_*.py"))
        return {f"parity {path.stem}": (partial(pytest, "gpu-parity", path), [tests, precise]) for path in files}
    if part == "errors":
        from scripts import precision

        cases = [case for case in precision.cases() if name in case.layer]
        step = partial(kept_errors, "cuda", folder, cases, whole=not name)
        return {f"errors {name}".strip(): (step, [precise])} if cases else {}
    if part == "notebooks":
        paths = {path.relative_to(ROOT / "book").with_suffix("").as_posix(): path for path in notebooks()}
        return {f"notebook {key}": (partial(notebook, path), [path]) for key, path in paths.items() if name in key}
    step = partial(benchmarks, "cuda", folder, name)
    return {f"benchmarks {name}".strip(): (step, [ROOT / "scripts" / "bench.py"])}


def run_steps(planned: Mapping[str, tuple[Step, Sequence[Path]]], device: str) -> list[str]:
    """Run each step that is not kept from before, print its line, and keep it if it passed; list those that failed."""
    kept = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
    failures = []
    for title, (step, files) in planned.items():
        state = f"{device} {digest(ROOT / 'companion', *files)}"
        print(f"  {title:<48}", end="", flush=True)
        if kept.get(title) == state:
            print("kept from before", flush=True)
            continue
        start = time.monotonic()
        try:
            well, said = step()
        except Exception as error:  # the other steps can still say something
            well, said = False, f"{type(error).__name__}: {error}"
        print(f"{time.monotonic() - start:6.1f} s  {'' if well else 'FAILED: '}{said}", flush=True)
        if well:
            kept[title] = state
            KEPT.parent.mkdir(exist_ok=True)
            KEPT.write_text(json.dumps(kept, indent=1), "utf-8")
        else:
            failures.append(title)
    return failures


def main() -> int:
    """Run the parts on CUDA.

    Raises:
        Refusal: there is no torch, or it finds no CUDA, or nothing has the name.
    """
    parser = argparse.ArgumentParser(description="Run parity, errors, notebooks and benchmarks on CUDA.")
    parser.add_argument("--part", default="", help=f"one of {', '.join(PARTS)}")
    parser.add_argument("--name", default="", help="only the tests, layers, notebooks, benchmarks with this name")
    parser.add_argument("--folder", type=Path, default=ROOT / "measurements")
    arguments = parser.parse_args()
    if arguments.part not in ("", *PARTS):
        raise Refusal(f"PART={arguments.part} is no part: use one of {', '.join(PARTS)}, or leave it out.")
    if importlib.util.find_spec("torch") is None:
        raise Refusal(f"gpu-check needs torch, which {sys.executable} has not: name another Python with PYTHON=.")
    import torch

    if not torch.cuda.is_available():
        raise Refusal(
            f"gpu-check needs an NVIDIA GPU, and torch {torch.__version__} finds none: run it on a machine with one, "
            "with a torch that was built for CUDA."
        )
    # The package from this folder, here and in the kernels of the notebooks, whoever installed the rest.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    device = f"{torch.cuda.get_device_name()}, torch {torch.__version__}"
    print(f"On {device}:", flush=True)
    failures, found = [], 0
    for part in [arguments.part] if arguments.part else PARTS:
        missing = lacking(part)
        if missing:
            print(f"  {part:<48}FAILED: {sys.executable} has no {', '.join(missing)}: install what is missing.")
            failures.append(part)
            continue
        planned = steps(part, arguments.name, arguments.folder.resolve())
        found += len(planned)
        failures += run_steps(planned, device)
    if not found and not failures:
        raise Refusal(f"nothing has NAME={arguments.name}: leave it out to see the names of all.")
    print(f"FAILED: {', '.join(failures)}." if failures else "All parts passed.")
    return 1 if failures else 0


if __name__ == "__main__":
    guarded(main)
