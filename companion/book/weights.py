"""Weights as classic scripts, which a page also loads from ``file://``, where it may not fetch a file.

``companion.book.site.weights`` writes them, and an explorer names the one that it opens by its :func:`stem`.
"""

import base64
import hashlib
import json
from pathlib import Path

from companion.book import toc

FOLDER = "weights"  # of a chapter, and below _static


def stem(path: Path) -> str:
    """Name a file of weights by its name and its content, so that no browser keeps an old one.

    Args:
        path: of the safetensors file.

    Returns:
        The name of its script without the ending.
    """
    return name_of(path.stem, path.read_bytes())


def name_of(kind: str, content: bytes) -> str:
    """Name weights that are no file, as :func:`stem` names those of one.

    Args:
        kind: what they are.
        content: of a file of safetensors.

    Returns:
        The name.
    """
    return f"{kind}.{hashlib.sha256(content).hexdigest()[:8]}"


def size(content: bytes) -> str:
    """Say how much a page loads for weights, in tens of kB: its script holds them in base64.

    Args:
        content: of a file of safetensors.

    Returns:
        The size, as "250 kB".
    """
    return f"{max(1, round(len(content) * 4 / 3 / 10_000))}0 kB"


def scripts(root: Path | None = None) -> dict[str, str]:
    """Make a script of each file of weights of the chapters.

    Args:
        root: of the project; that of the package, if not given.

    Returns:
        Name -> text; each keeps its bytes as base64 in ``window.LightWeights``, by its :func:`stem`.
    """
    paths = [path for folder in toc.chapter_files(FOLDER, root).values() for path in folder.glob("*.safetensors")]
    return {f"{stem(path)}.js": _script(path) for path in sorted(paths)}


def _script(path: Path) -> str:
    text = base64.b64encode(path.read_bytes()).decode("ascii")
    return f"(window.LightWeights ??= {{}})[{json.dumps(stem(path))}] = {json.dumps(text)};\n"


def write(static: Path, root: Path | None = None) -> None:
    """Write the scripts into a folder of static files, and remove those of an earlier build.

    Args:
        static: the folder ``_static`` of a built site.
        root: of the project, as :func:`scripts` takes it.
    """
    folder, wanted = static / FOLDER, scripts(root)
    for old in folder.glob("*.js"):
        if old.name not in wanted:
            old.unlink()
    if wanted:
        folder.mkdir(parents=True, exist_ok=True)
    for name, text in wanted.items():
        (folder / name).write_text(text, "utf8")
