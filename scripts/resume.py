"""What the scripts that measure rows share: the command line, and how they are stopped and started again.

Rows that are done are kept in _build/ until the table is complete, so that a stopped run goes on where it was, unless
what decides the numbers has changed: the package, the script, the machine or torch.
"""

import argparse
import dataclasses
import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import torch
from tqdm import tqdm

from companion.measure import Row, device_name, machine, one_thread, save

Planned = TypeVar("Planned")


def state(device: str, package: Path, script: str) -> str:
    """Hash what decides the numbers: the package, the script, the machine and torch."""
    digest = hashlib.sha256(json.dumps(machine(device)).encode())
    for path in [*sorted(package.rglob("*.py")), Path(script)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def kept_rows(scratch: Path, now: str) -> dict[str, Row]:
    """Read the rows of a run that was stopped, if they were measured in the present state."""
    if not scratch.exists():
        return {}
    content = json.loads(scratch.read_text("utf-8"))
    return {name: Row(**row) for name, row in content["rows"].items()} if content["state"] == now else {}


def keep_rows(scratch: Path, now: str, found: dict[str, Row]) -> None:
    """Write the rows that are done, in one step: a run can be stopped at any time."""
    scratch.parent.mkdir(exist_ok=True)
    part = scratch.with_suffix(".part")
    content = {"state": now, "rows": {name: dataclasses.asdict(row) for name, row in found.items()}}
    part.write_text(json.dumps(content), "utf-8")
    part.replace(scratch)


def measure_rows(
    script: str,
    topic: str,
    purpose: str,
    *,
    root: Path,
    plan: Callable[[str], Mapping[str, Planned]],
    take: Callable[[Planned, str], Row],
    table: Callable[[dict[str, Row]], str],
) -> int:
    """Measure the rows that the command line asks for, print their table, and write the file of all of them.

    Args:
        script: the file of the script.
        topic: the folder of the measurements that the file goes to.
        purpose: what the script says of itself.
        root: the folder of the repository.
        plan: lists what to measure on a device, by the name of the row.
        take: measures a planned row on a device; it raises a ``ValueError`` where the numbers mean nothing.
        table: lays the rows out for the terminal.

    Returns:
        The exit code: 1 where a row misses its bar or cannot be measured.
    """
    name = Path(script).stem
    parser = argparse.ArgumentParser(description=purpose)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", default="", help="measure the rows with this in their name, and write no file")
    parser.add_argument("--folder", type=Path, default=root / "measurements")
    arguments = parser.parse_args()
    device, whole = arguments.device, not arguments.only
    if torch.device(device).type == "cuda" and not torch.cuda.is_available():
        print(f"{name}: --device {device} needs an NVIDIA GPU, and torch finds none. Leave it out.", file=sys.stderr)
        return 1
    rows = {row: entry for row, entry in plan(device).items() if arguments.only.lower() in row.lower()}
    if not rows:
        parser.error(f"no row has {arguments.only!r} in its name: there are {', '.join(plan(device))}")
    scratch, now = root / "_build" / f"{name}-{device_name(device)}.json", state(device, root / "companion", script)
    found = {row: kept for row, kept in kept_rows(scratch, now).items() if row in rows} if whole else {}
    for row in tqdm([row for row in rows if row not in found], desc=name, disable=None):
        try:
            found[row] = take(rows[row], device)
        except ValueError as refusal:
            print(f"{name}: {refusal}", file=sys.stderr)
            return 1
        if whole:
            keep_rows(scratch, now, found)
    found = {row: found[row] for row in rows}
    print(table(found))
    if whole:
        with one_thread():  # as each row was measured; the file names the number of threads
            path = save(arguments.folder, topic, f"scripts/{name}.py", list(found.values()), device=device)
        scratch.unlink()
        print(f"Written: {path}")
    return 0 if all(row.within_bound for row in found.values()) else 1
