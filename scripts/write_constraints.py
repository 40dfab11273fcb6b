"""Write the versions that are installed now into constraints.txt: what `make constraints` does after a green test.

    .venv/bin/python scripts/write_constraints.py

The comment at the top, and the pins below the line that says so, stay as they are: these packages are not in .venv.
"""

import importlib.metadata
import sys
from pathlib import Path

PATH = Path(__file__).resolve().parent.parent / "constraints.txt"
BELOW = "# Not in .venv:"
OURS = "transformer-companion"


def renewed(text: str, versions: dict[str, str]) -> str:
    """Return the text of constraints.txt with the pins between its head and its foot replaced."""
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if not line.startswith("#"))
    last = next(i for i, line in enumerate(lines) if line.startswith(BELOW))
    # torch 2.13.0+cpu is one build of 2.13.0; the part after the plus differs from computer to computer.
    pins = [f"{name}=={version.partition('+')[0]}" for name, version in versions.items() if name != OURS]
    return "\n".join([*lines[:first], *sorted(pins, key=str.lower), *lines[last:]]) + "\n"


def main() -> int:
    """Write the file."""
    versions = {item.metadata["Name"]: item.version for item in importlib.metadata.distributions()}
    PATH.write_text(renewed(PATH.read_text("utf-8"), versions), "utf-8")
    print(f"constraints.txt holds {len(versions) - 1} installed versions.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
