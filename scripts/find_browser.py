"""Find a Chromium or Chrome for the browser tests, or install one the way the platform does.

    python scripts/find_browser.py [--install]

Prints the path. Looked up in this order: the variable CHROME_PATH, the usual names on the PATH, the usual places on
macOS, Playwright's own downloads. Only a browser that answers with its version counts.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC_APPS = ("Google Chrome.app/Contents/MacOS/Google Chrome", "Chromium.app/Contents/MacOS/Chromium")
# Below one of these, in Playwright's download folder; the number of the revision varies.
PLAYWRIGHT = (
    "chromium-*/chrome-linux*/chrome",
    "chromium-*/chrome-mac*/*.app/Contents/MacOS/*",
    "chromium_headless_shell-*/chrome-*/*headless*shell",
)


class NoBrowser(Exception):
    """No browser; the message is one sentence that says what to do."""


def answers(path: str | Path) -> bool:
    """Tell whether a browser starts; a stub that points to a missing snap, or one without its libraries, does not."""
    try:
        answer = subprocess.run([str(path), "--version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0 and "Chrom" in answer.stdout


def playwright_folder() -> Path:
    """Name the folder where Playwright keeps the browsers that it downloads."""
    given = os.environ.get("PLAYWRIGHT_BROWSERS_PATH", "")
    if given not in ("", "0"):
        return Path(given)
    mac = platform.system() == "Darwin"
    return Path.home() / ("Library/Caches/ms-playwright" if mac else ".cache/ms-playwright")


def candidates() -> list[str]:
    """List the places where a browser may be, best first."""
    found = [shutil.which(name) for name in NAMES]
    if platform.system() == "Darwin":
        found += [f"{root}/{app}" for root in ("/Applications", Path.home() / "Applications") for app in MAC_APPS]
    downloads = playwright_folder()
    found += [str(path) for pattern in PLAYWRIGHT for path in sorted(downloads.glob(pattern), reverse=True)]
    return [path for path in found if path]


def find() -> str | None:
    """Return the path of a browser that starts, or None.

    Raises:
        NoBrowser: CHROME_PATH names something that is not one; it is not passed over in silence.
    """
    given = os.environ.get("CHROME_PATH", "")
    if given:
        if not answers(given):
            raise NoBrowser(f"CHROME_PATH={given} is no Chromium or Chrome that starts: correct it or unset it.")
        return given
    return next((path for path in candidates() if answers(path)), None)


def distribution() -> str:
    """Return the name of the Linux distribution, such as ``debian``, or the empty string."""
    try:
        return platform.freedesktop_os_release().get("ID", "")
    except OSError:
        return ""


def install_commands() -> list[list[str]]:
    """List the commands that install a browser here: Debian's package as root, else Playwright's own download."""
    if os.name == "posix" and os.geteuid() == 0 and distribution() == "debian" and shutil.which("apt-get"):
        return [["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", "chromium"]]
    download = [sys.executable, "-m", "playwright", "install", "chromium"]
    if platform.system() == "Linux" and os.geteuid() == 0:  # as root it may also install the libraries it needs
        download.append("--with-deps")
    return [download]


def install() -> str:
    """Install a browser and return its path.

    Raises:
        NoBrowser: it could not be installed, or does not start.
    """
    commands = install_commands()
    for command in commands:
        try:
            done = subprocess.run(command, stdout=sys.stderr, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
        except OSError:
            break
        if done.returncode:
            break
    path = find()
    if path is None:
        tried = " ".join(commands[-1])
        raise NoBrowser(
            f"no browser for the tests: `{tried}` did not bring one that starts; install Chromium or Chrome and run "
            "make again, name it with CHROME_PATH=/path, or leave its tests out with BROWSER=none."
        )
    return path


def main() -> int:
    """Print the path of a browser."""
    parser = argparse.ArgumentParser(description="Find a Chromium or Chrome for the browser tests.")
    parser.add_argument("--install", action="store_true", help="install one where there is none")
    arguments = parser.parse_args()
    try:
        path = find() or (install() if arguments.install else None)
    except NoBrowser as error:
        sys.exit(f"make: {error}")
    if path is None:
        sys.exit("make: no Chromium or Chrome here; `python scripts/find_browser.py --install` installs one.")
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
