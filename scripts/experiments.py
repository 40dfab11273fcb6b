"""Run the experiments of a chapter that take longer than a page may, with three seeds or more each.

    .venv/bin/python -m scripts.experiments attention [--missing] [--only NAME]

The rows go to measurements/CHAPTER/DEVICE.json. Runs that are done are kept in _build/ until all are, so that a
stopped script goes on where it was; they are made again where the chapter's plan or torch has changed. With --missing
only those experiments run that the file of this device does not have; take out of it those whose code has changed. With
--only those of one name run, and the other rows of the file stay.
"""

import argparse
import hashlib
import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from tqdm import tqdm

from companion.book import toc
from companion.measure import Experiment, Row, device_name, load, one_thread, save

ROOT = Path(__file__).resolve().parent.parent


def planned() -> dict[str, Sequence[Experiment]]:
    """Find the experiments of each chapter that has some."""
    names = [path.parent.name for path in toc.chapter_files("experiments.py").values()]
    modules = {name: importlib.import_module(f"companion.chapters.{name}.experiments") for name in names}
    return {name.replace("_", "-"): module.EXPERIMENTS for name, module in modules.items()}


def run_all(chapter: str, experiments: Sequence[Experiment], scratch: Path, stored: Sequence[Row] = ()) -> list[Row]:
    """Run each experiment that is not stored with each of its seeds, unless it was done before the script stopped."""
    source = (ROOT / "companion/chapters" / toc.module_name(chapter) / "experiments.py").read_bytes()
    state = hashlib.sha256(source + torch.__version__.encode()).hexdigest()
    kept = json.loads(scratch.read_text("utf-8")) if scratch.exists() else {}
    done = kept["runs"] if kept.get("state") == state else {}
    there = {json.dumps([row.name, row.settings]): row.values for row in stored}
    scratch.parent.mkdir(exist_ok=True)
    rows = []
    with tqdm(total=sum(len(one.seeds) for one in experiments), unit="run") as bar:
        for experiment in experiments:
            values = there.get(json.dumps([experiment.name, dict(experiment.settings)]), [])
            if len(values) == len(experiment.seeds):
                bar.update(len(values))
                rows.append(experiment.row(values))
                continue
            values = []
            for seed in experiment.seeds:
                key = json.dumps([experiment.name, dict(experiment.settings), seed])
                if key not in done:
                    done[key] = experiment.run(seed=seed, **experiment.settings)
                    scratch.write_text(json.dumps({"state": state, "runs": done}), "utf-8")
                values.append(done[key])
                bar.update()
            rows.append(experiment.row(values))
            bar.write(f"{experiment.name} {dict(experiment.settings)}: {[f'{value:.3g}' for value in values]}")
    return rows


def main() -> int:
    """Run, and write the file."""
    plans = planned()
    parser = argparse.ArgumentParser(description="Run the experiments of a chapter into its measurement file.")
    parser.add_argument("chapter", choices=plans)
    parser.add_argument("--missing", action="store_true", help="run only what the file of this device does not have")
    parser.add_argument("--only", metavar="NAME", help="run the experiments of this name, and keep the others' rows")
    parser.add_argument("--folder", type=Path, default=ROOT / "measurements")
    arguments = parser.parse_args()
    plan, measured = plans[arguments.chapter], any((arguments.folder / arguments.chapter).glob("*.json"))
    here = load(arguments.chapter, arguments.folder).get(device_name(), ()) if measured else ()
    chosen = [one for one in plan if arguments.only in (None, one.name)]
    if not chosen:
        parser.error(f"{arguments.chapter} has no experiment {arguments.only!r}: {sorted({one.name for one in plan})}")
    kept = [row for row in here if row.name != arguments.only] if arguments.only else []
    stored = here if arguments.missing else ()
    scratch = ROOT / "_build" / f"experiments-{arguments.chapter}.json"
    with one_thread():
        rows = run_all(arguments.chapter, chosen, scratch, stored)
        path = save(arguments.folder, arguments.chapter, "scripts/experiments.py", [*kept, *rows])
    scratch.unlink(missing_ok=True)
    print(f"Written: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
