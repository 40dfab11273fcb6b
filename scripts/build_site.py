"""Build the site into _build/html from the stored notebooks, unless it is there already.

    .venv/bin/python -m scripts.build_site

Environment: ``REPOSITORY=owner/name`` gives pages their launch and repository buttons. ``ADDRESS=https://...``, where
the site will stand, gives them canonical links and a picture for shared links, and the site its sitemap.
"""

import hashlib
import json
import os
import re
import shutil
import sys
import time
from pathlib import Path

from scripts.console import ROOT, Refusal, guarded, run_logged, step, tail

HTML = ROOT / "_build" / "html"
DOCTREES = ROOT / "_build" / ".doctrees"
STAMP = ROOT / "_build" / "site.json"
INPUTS = (
    *("_config.yml", "_toc.yml", "pyproject.toml", "constraints.txt", "CITATION.cff"),
    *("book", "companion", "measurements"),
)
_LEFT_OUT = {"__pycache__", ".ipynb_checkpoints", ".pytest_cache", ".hypothesis", ".ruff_cache"}
_ADDRESS = re.compile(r"(?:https://github\.com/)?[\w.-]+/[\w.-]+?(?:\.git)?/?")


def files_of(*roots: Path) -> list[Path]:
    """List the files below the roots in a fixed order, without caches."""
    found = []
    for root in roots:
        if root.is_file():
            found.append(root)
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(name for name in folders if name not in _LEFT_OUT)
            found += [Path(folder) / name for name in sorted(names)]
    return found


def digest(*roots: Path) -> str:
    """Hash the names and the contents of all files below the roots: the same after a fresh checkout, unlike dates."""
    total = hashlib.sha256()
    for path in files_of(*roots):
        total.update(str(path.relative_to(ROOT)).encode() + b"\0")
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def state(repository: str, address: str) -> dict[str, str]:
    """Say what the built site depends on, and what it is now, so that a page changed by hand is built again."""
    return {
        "repository": repository,
        "address": address,
        "inputs": digest(*(ROOT / name for name in INPUTS)),
        "site": digest(HTML),
    }


def build(repository: str = "", address: str = "") -> str:
    """Build the site if an input, one of the two addresses or the built site itself has changed.

    Returns:
        ``built`` or ``nothing has changed``.

    Raises:
        Refusal: the address is not one of a repository, or the build has an error or a warning.
    """
    if repository and not _ADDRESS.fullmatch(repository):
        raise Refusal(f"REPOSITORY={repository} is no address of a repository: write it as REPOSITORY=owner/name.")
    if STAMP.exists() and json.loads(STAMP.read_text("utf-8")) == state(repository, address):
        return "nothing has changed"
    STAMP.unlink(missing_ok=True)
    before = state(repository, address)
    for folder in (HTML, DOCTREES):  # a build on top of an older one does not repeat the warnings of unchanged pages
        shutil.rmtree(folder, ignore_errors=True)
    start = "from jupyter_book.cli.main import main; main()"  # the script jupyter-book breaks when .venv moves
    command = [sys.executable, "-c", start, "build", ".", "-W", "-n", "--keep-going"]
    code, output = run_logged(command, "site", {"BOOK_REPOSITORY": repository, "BOOK_ADDRESS": address})
    if code or not (HTML / "index.html").exists():
        told = [
            line.replace(f"{ROOT}/", "") for line in output.splitlines() if re.search(r"WARNING|ERROR|Error:", line)
        ]
        raise Refusal(
            "the site has warnings or errors, listed above (all output: _build/logs/site.log).",
            details=tail("\n".join(told) or output, 20),
        )
    # An input that was edited during the build may not be in it, so what counts is how the inputs were before.
    STAMP.write_text(json.dumps({**before, "site": digest(HTML)}), "utf-8")
    return "built"


def main() -> int:
    """Build, and say where to open the site."""
    start = time.monotonic()
    with step("Build the site") as remark:
        remark(build(*(os.environ.get(name, "").strip() for name in ("REPOSITORY", "ADDRESS"))))
    print(f"Done in {time.monotonic() - start:.0f} s. Open {(HTML / 'index.html').as_uri()}")
    return 0


if __name__ == "__main__":
    guarded(main)
