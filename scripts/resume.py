"""What lets a script that measures be stopped and started again: the rows that are done, and what they depend on."""

import dataclasses
import hashlib
import json
from pathlib import Path

from companion.measure import Row, machine


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
