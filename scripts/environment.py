"""Make .venv and install into it, in two stages: what the site needs, and what running and testing needs.

    python3.11 -m scripts.environment {site,run} [ARGUMENTS]

A stage is skipped while pyproject.toml and constraints.txt are what they were when it was installed. The arguments are
for the environment's Python, which runs in place of this one. uv installs, with pip's own settings of indexes and
certificates. Only the standard library is used: nothing is installed yet.
"""

import ast
import hashlib
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from scripts.console import ROOT, VENV, Refusal, environ, guarded, run_logged, step, tail

PYTHON = VENV / "bin" / "python"
CPU_WHEELS = "https://download.pytorch.org/whl/cpu"
GROUPS = {"site": ["site"], "run": ["site", "notebooks", "test"]}
SETTINGS = {  # of pip, which uv does not read, and uv's variables of the same meaning
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
}


def newest() -> bool:
    """Tell whether the newest packages were asked for (NEWEST=1) instead of the pinned ones."""
    return os.environ.get("NEWEST", "") not in ("", "0")


def key(stage: str) -> str:
    """Return what a stage's installation depends on, as one hash."""
    parts = [stage, ROOT, newest(), (ROOT / "pyproject.toml").read_text("utf-8")]
    return hashlib.sha256(repr([*parts, (ROOT / "constraints.txt").read_text("utf-8")]).encode()).hexdigest()


def installed(stage: str) -> bool:
    """Tell whether a stage is installed from the present pyproject.toml and constraints.txt."""
    stamp = VENV / f".installed-{stage}"
    return stamp.exists() and stamp.read_text("utf-8") == key(stage)


def pinned(name: str) -> str:
    """Return a package's exact requirement from constraints.txt, as ``name==version``."""
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    return next(line.partition(" ")[0] for line in lines if line.startswith(f"{name}=="))


def tool(title: str, *command: str | Path) -> None:
    """Run a tool that installs.

    Raises:
        Refusal: it failed; its own last lines say why.
    """
    log = title.lower().replace(" ", "-")
    with step(title):
        code, output = run_logged(command, log)
        if code:
            raise Refusal(
                f"what could not be done, and why, is said above (all output: _build/logs/{log}.log); if the index of "
                "packages cannot be reached, connect to a network or name another index with PIP_INDEX_URL.",
                details="\n" + tail(output, 6),
            )


def uv_settings(listed: str) -> dict[str, str]:
    """Translate the output of ``pip config list`` into variables of uv; those that are set already stay."""
    found: dict[str, str] = {}
    lines = dict(line.split("=", 1) for line in listed.splitlines() if "=" in line)
    for section in (":env:.", "install.", "global."):  # as pip weighs them
        for setting, name in SETTINGS.items():
            words = ast.literal_eval(lines.get(section + setting, "''")).split()
            if words and name not in os.environ:
                found.setdefault(name, ("," if name == "UV_FIND_LINKS" else " ").join(words))
    if "UV_INDEX" in found:  # pip takes the best version of all indexes, and not the first index that has one
        found["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    return found


def make_venv() -> None:
    """Make .venv with this Python, unless one of this version is there; NEWEST=1 takes a fresh one."""
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    ask = [PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    there = PYTHON.exists() and subprocess.run(ask, capture_output=True, text=True).stdout.strip() == here
    if not there or (newest() and not (installed("site") or installed("run"))):
        tool(f"Make the environment with Python {here}", sys.executable, "-m", "venv", "--clear", VENV)


def install(stage: str) -> None:
    """Install a stage unless it is already there.

    Raises:
        Refusal: a package cannot be installed, or the environment cannot be made.
    """
    make_venv()
    if installed(stage) or (stage == "site" and installed("run")):
        return
    pins = [] if newest() else ["-c", "constraints.txt"]
    if not (VENV / "bin" / "uv").exists():
        tool("Install uv", PYTHON, "-m", "pip", "install", "uv" if newest() else pinned("uv"))
    listed = subprocess.run([PYTHON, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True)
    os.environ.update(uv_settings(listed.stdout))
    uv = [VENV / "bin" / "uv", "pip", "install", "--python", PYTHON, *pins]
    groups = [part for group in GROUPS[stage] for part in ("--group", group)]
    if stage == "run":
        index = os.environ.get("TORCH_INDEX", "").strip()
        if not index and platform.system() == "Linux" and not shutil.which("nvidia-smi"):
            print(f"  No GPU found: TORCH_INDEX={CPU_WHEELS} may spare a download of gigabytes.", flush=True)
        # Only torch comes from there; what it needs comes with the rest, from the usual index.
        tool("Install PyTorch", *uv, *(["--no-deps", "--default-index", index] if index else []), "torch")
    tool(f"Install what {'the site' if stage == 'site' else 'running and testing'} needs", *uv, *groups)
    if stage == "run":
        # With the builder that was just installed, so that the package can be built again without a network.
        tool("Install the package itself", *uv, "--no-build-isolation", "--editable", ".")
        tool("Install the weights of a small BERT", *uv, "--no-deps", "--group", "weights")
        # matplotlib writes a line to stderr when it first lists the fonts; a notebook under test must not be the one.
        tool("Import PyTorch and the list of fonts", PYTHON, "-c", "import torch, matplotlib.font_manager")
    (VENV / f".installed-{stage}").write_text(key(stage), "utf-8")


def main() -> int:
    """Install a stage, and become the environment's Python if there is more to do."""
    stage, *arguments = sys.argv[1:] or [""]
    if stage not in GROUPS:
        raise Refusal(f"scripts.environment takes the stage site or run first, not {stage!r}.")
    os.environ.update(variables := environ())
    for name in set(os.environ) - set(variables):
        del os.environ[name]
    install(stage)
    if arguments:
        os.execv(PYTHON, [str(PYTHON), *arguments])
    return 0


if __name__ == "__main__":
    guarded(main)
