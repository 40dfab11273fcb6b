"""Entries of a YAML file with the lines where they begin, read once as long as the file stays what it is."""

import json
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import TypeVar

import yaml

T = TypeVar("T")


def read_once(read: Callable[[Path], T]) -> Callable[[Path], T]:
    """Remember what a function made of a file, until the file has another date or size."""
    remembered = cache(lambda path, stamp: read(path))

    @wraps(read)
    def again(path: Path) -> T:
        stat = path.stat()
        return remembered(path, (stat.st_mtime_ns, stat.st_size))

    return again


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """YAML in which a key that stands twice is an error, where PyYAML would drop the first."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        keys = [key.value for key, _ in node.value]
        for key, _ in node.value:
            if keys.count(key.value) > 1:
                raise ValueError(f"line {key.start_mark.line + 1}: the key {key.value} stands twice.")
        return super().construct_mapping(node, deep=deep)


def entries(text: str, where: str) -> list[tuple[int, object]]:
    """Read a YAML list: (line of an entry, entry).

    Args:
        text: of the file.
        where: what to name in a message.

    Raises:
        ValueError: the text is no YAML, no list, an empty one, or a key stands twice.
    """
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
        if not isinstance(root, yaml.SequenceNode) or not root.value:
            raise ValueError("the file is a list of entries: got something else.")
        return [(node.start_mark.line + 1, loader.construct_object(node, deep=True)) for node in root.value]
    except (yaml.YAMLError, ValueError) as error:
        raise ValueError(f"{where}: {' '.join(str(error).split())}") from None
    finally:
        loader.dispose()


@read_once
def cells(path: Path) -> tuple[dict[str, str], ...]:
    """Read the kind and the text of each cell of a notebook; a Markdown file is one cell."""
    if path.suffix != ".ipynb":
        return ({"cell_type": "markdown", "source": path.read_text("utf8")},)
    found = json.loads(path.read_text("utf8"))["cells"]
    return tuple({"cell_type": cell["cell_type"], "source": "".join(cell["source"])} for cell in found)


def markdown(path: Path) -> str:
    """Return the text of a page without its code cells."""
    return "\n\n".join(cell["source"] for cell in cells(path) if cell["cell_type"] == "markdown")
