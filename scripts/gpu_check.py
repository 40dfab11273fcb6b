"""Run on CUDA what the package promises, and keep what was measured: what `make gpu-check` does.

    python scripts/gpu_check.py [--folder measurements]

Four parts: the tests in tests/gpu, the errors of every layer in float32, bfloat16 and float16 (they go to
measurements/precision/DEVICE.json, see scripts/precision.py), the notebooks against their stored outputs, and the
benchmarks (they go to measurements/speed/DEVICE.json). Each part runs even when another fails. The whole output of the
parts is in _build/logs/.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import precision
import torch
from console import ROOT, Refusal, guarded, run_logged, tail
from precision import BOUNDS, DTYPES, Case

from companion.measure import Row, save

Part = Callable[[], tuple[bool, str]]  # whether all is well, and what there is to say


def run(log: str, *arguments: str | Path) -> tuple[int, str]:
    """Run this Python with arguments, with the packages that it finds itself; return exit code and output."""
    path = os.environ.get("PYTHONPATH")
    return run_logged([sys.executable, *arguments], log, {"PYTHONPATH": path} if path else None)


def pytest(log: str, *arguments: str) -> tuple[bool, str]:
    """Run pytest. A test that was skipped did not see the GPU, and counts as failed."""
    code, output = run(log, "-m", "pytest", "-q", "--no-header", "-rs", *arguments)
    said = (output.strip().splitlines() or ["pytest said nothing"])[-1]
    return code == 0 and " skipped" not in said, said


def parity() -> tuple[bool, str]:
    """Run the tests that need CUDA."""
    return pytest("gpu-parity", "tests/gpu")


def errors(device: str, cases: Sequence[Case]) -> tuple[list[Row], list[str]]:
    """Measure the largest error of each case in each precision; in float32 that of its gradients too.

    Args:
        device: where to compute.
        cases: what to compare.

    Returns:
        A row for each layer, precision and kind, and the cases that gave no number, with the reason.
    """
    found: dict[tuple[str, str, str], dict[str, float]] = {}
    failed = []
    for name, dtype in DTYPES.items():
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
            bound={"at_most": BOUNDS[name]},
        )
        for (layer, name, kind), numbers in found.items()
    ]
    return rows, failed


def kept_errors(device: str, folder: Path, cases: Sequence[Case] | None = None) -> tuple[bool, str]:
    """Measure the errors and write them to ``folder/precision``.

    Args:
        device: where to compute.
        folder: of all measurements.
        cases: what to compare; ``None`` means every case.

    Returns:
        Whether each case gave a number within its bound, and what there is to say.
    """
    rows, failed = errors(device, precision.cases() if cases is None else cases)
    failed += [f"{row.name}, {row.settings['dtype']}: {row.value}" for row in rows if not row.kept]
    if not rows:
        return False, "; ".join(failed)
    path = save(folder, "precision", "scripts/gpu_check.py", rows, device=device)
    return not failed, "; ".join([*failed, f"written: {path}"])


def asks_for_cuda(notebook: Path) -> bool:
    """Say whether a code cell of a notebook names CUDA; otherwise its tensors stay on the CPU."""
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    return any("cuda" in "".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def notebooks() -> tuple[bool, str]:
    """Execute the notebooks here and compare their outputs with the stored ones; say which of them use the GPU."""
    well, said = pytest("gpu-notebooks", "--nbval", "book")
    found = sorted((ROOT / "book").glob("*.ipynb"))
    asking = [path.stem for path in found if asks_for_cuda(path)]
    where = f"on CUDA: {', '.join(asking)}" if asking else "none asks for CUDA, so that all ran on the CPU"
    return well, f"{said}; notebooks: {len(found)}, {where}"


def benchmarks(device: str, folder: Path) -> tuple[bool, str]:
    """Run scripts/bench.py on the device."""
    code, output = run("gpu-bench", "scripts/bench.py", "--device", device, "--folder", folder)
    return code == 0, f"the end of what it printed:\n{tail(output, 12)}"


def run_parts(parts: Mapping[str, Part]) -> int:
    """Run each part and print its line; return 1 if one failed."""
    failures = []
    for title, part in parts.items():
        print(f"  {title:<48}", end="", flush=True)
        start = time.monotonic()
        try:
            well, said = part()
        except Exception as error:  # the other parts can still say something
            well, said = False, f"{type(error).__name__}: {error}"
        print(f"{time.monotonic() - start:6.1f} s  {'' if well else 'FAILED: '}{said}", flush=True)
        failures += [] if well else [title]
    print(f"FAILED: {', '.join(failures)}." if failures else "All parts passed.")
    return 1 if failures else 0


def main() -> int:
    """Run the four parts on CUDA.

    Raises:
        Refusal: torch finds no CUDA.
    """
    parser = argparse.ArgumentParser(description="Run parity, notebooks and benchmarks on CUDA.")
    parser.add_argument("--folder", type=Path, default=ROOT / "measurements")
    folder = parser.parse_args().folder.resolve()
    if not torch.cuda.is_available():
        raise Refusal(
            f"gpu-check needs an NVIDIA GPU, and torch {torch.__version__} finds none: run it on a machine with one, "
            "with a torch that was built for CUDA."
        )
    print(f"On {torch.cuda.get_device_name()}:", flush=True)
    return run_parts(
        {
            "Parity tests": parity,
            "Errors of each layer": lambda: kept_errors("cuda", folder),
            "Notebooks give their stored outputs": notebooks,
            "Benchmarks": lambda: benchmarks("cuda", folder),
        }
    )


if __name__ == "__main__":
    guarded(main)
