"""Measurement files: what a script measured on one device, with all that is needed to judge it or to do it again.

They lie in ``measurements/TOPIC/DEVICE.json``. A chapter that shows a number it does not compute reads it from there.

Made for this book. Chapter: book/complexity.
"""

import json
import os
import platform
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import Literal

import torch
from jsonschema import Draft202012Validator

NUMBER, TEXT = {"type": "number"}, {"type": "string", "minLength": 1}
BOUND = {
    "type": "object",
    "minProperties": 1,
    "properties": {"at_least": NUMBER, "at_most": NUMBER},
    "additionalProperties": False,
}
ROW = {
    "type": "object",
    "required": ["name", "settings", "unit", "values", "statistic", "bound"],
    "properties": {
        "name": TEXT,
        "settings": {"type": "object"},
        "unit": TEXT,
        "values": {"type": "array", "items": NUMBER, "minItems": 1},
        "statistic": {"enum": ["median", "max", "min"]},
        "bound": {"oneOf": [BOUND, {"type": "null"}]},
    },
    "additionalProperties": False,
}
SCHEMA = {
    "type": "object",
    "required": ["topic", "device", "made", "script", "machine", "rows"],
    "properties": {
        "topic": {"type": "string", "pattern": "^[a-z0-9-]+$"},
        "device": {"type": "string", "pattern": "^[a-z0-9-]+$"},
        "made": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"},
        "script": {"type": "string", "pattern": r"^scripts/\w+\.py$"},
        "machine": {
            "type": "object",
            "required": ["processor", "cores", "system", "python", "torch"],
            "additionalProperties": {"type": ["string", "integer"]},
        },
        "rows": {"type": "array", "items": ROW, "minItems": 1},
    },
    "additionalProperties": False,
}
"""The form of a measurement file, as a JSON schema."""


@dataclass(frozen=True)
class Row:
    """One measured quantity, with each value that was measured.

    Args:
        name: what was measured.
        unit: of the values: ``"s"``, ``"bytes"``, ``"ratio"``, ``"%"``.
        values: in the order of measuring.
        settings: sizes and choices that it depends on.
        statistic: which number of ``values`` counts.
        bound: what that number has to keep, ``{"at_most": x}`` or ``{"at_least": x}``; ``None`` for no such promise.
    """

    name: str
    unit: str
    values: list[float]
    settings: dict[str, object] = field(default_factory=dict)
    statistic: Literal["median", "max", "min"] = "median"
    bound: dict[str, float] | None = None

    @property
    def value(self) -> float:
        """The number that counts."""
        return {"median": median, "max": max, "min": min}[self.statistic](self.values)

    @property
    def within_bound(self) -> bool:
        """Whether the number that counts lies within the bound.

        >>> Row("speed", "ratio", [0.8, 0.9, 1.2], bound={"at_most": 0.95}).within_bound
        True
        """
        bound = self.bound or {}
        return bound.get("at_least", -float("inf")) <= self.value <= bound.get("at_most", float("inf"))


def machine(device: torch.device | str = "cpu") -> dict[str, str | int]:
    """Describe what a measurement ran on: processor, cores, system, and the versions of Python and torch.

    Args:
        device: ``"cpu"``, or a CUDA device, whose name and memory are added.
    """
    found: dict[str, str | int] = {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "threads": torch.get_num_threads(),
        "system": platform.system(),
        "python": platform.python_version(),
        "torch": version("torch").partition("+")[0],
    }
    if torch.device(device).type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        found |= {"gpu": properties.name, "gpu_bytes": properties.total_memory, "cuda": str(torch.version.cuda)}
    return found


def device_name(device: torch.device | str = "cpu") -> str:
    """Name a device in small letters, digits and hyphens, as measurement files do.

    Args:
        device: ``"cpu"`` gives the processor's name, a CUDA device that of the GPU.
    """
    device = torch.device(device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else f"cpu {_processor()}"
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"\((r|tm)\)", "", name.lower())).strip("-")


def save(
    folder: Path | str, topic: str, script: str, rows: Sequence[Row], *, device: torch.device | str = "cpu"
) -> Path:
    """Write rows to ``folder/topic/DEVICE.json``, in place of what an earlier run wrote there.

    Args:
        folder: of all measurements.
        topic: name of the folder below it.
        script: path of the script that measured, from the root of the repository.
        rows: what was measured.
        device: where it was measured.

    Returns:
        The path of the file.

    Raises:
        ValueError: the content does not have the form of a measurement file.
    """
    content = {
        "topic": topic,
        "device": device_name(device),
        "made": date.today().isoformat(),
        "script": script,
        "machine": machine(device),
        "rows": [asdict(row) for row in rows],
    }
    _check(content, "these rows")
    path = Path(folder) / topic / f"{content['device']}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(".part")
    scratch.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", "utf-8")
    scratch.replace(path)  # in one step: a reader never finds half a file
    return path


def load(topic: str, folder: Path | str | None = None) -> dict[str, list[Row]]:
    """Read the measurements of a topic.

    Args:
        topic: name of a folder of measurements.
        folder: of all measurements; ``None`` means ``measurements`` of the checkout, or what the package brought.

    Returns:
        The rows of each device, by its name, in alphabetical order.

    Raises:
        ValueError: there is no such topic, or a file does not have the form of a measurement file.
    """
    home = _home() if folder is None else Path(folder)
    paths = sorted((home / topic).glob("*.json"))
    if not paths:
        topics = sorted(path.parent.name for path in home.glob("*/*.json"))
        raise ValueError(f"no measurements of {topic!r}: there are {topics}. Run the script that makes them.")
    found = {}
    for path in paths:
        content = json.loads(path.read_text("utf-8"))
        _check(content, path.name)
        found[content["device"]] = [Row(**row) for row in content["rows"]]
    return found


def _home() -> Path:
    checkout = Path(__file__).resolve().parents[2] / "measurements"
    return checkout if checkout.is_dir() else Path(str(files("companion"))) / "measurements"


def _check(content: object, what: str) -> None:
    errors = sorted(Draft202012Validator(SCHEMA).iter_errors(content), key=lambda error: error.json_path)
    if errors:
        raise ValueError(
            f"{what} must have the form of a measurement file: {errors[0].json_path}: {errors[0].message}. "
            "The form is companion.measure.files.SCHEMA."
        )


def _processor() -> str:
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        names = re.findall(r"^model name\s*: (.+)$", listing.read_text("utf-8"), re.MULTILINE)
        if names:
            return " ".join(names[0].split())
    return platform.processor() or platform.machine()
