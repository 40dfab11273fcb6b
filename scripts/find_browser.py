"""Find a Chromium or Chrome for the browser tests, or install one: Debian's package as root, else Playwright's own.

The package of a Chromium without windows comes first: it draws pages as the other does, and spares what is around them.
"""

import os
import shutil
import subprocess
import sys

from playwright.sync_api import sync_playwright

from scripts.console import Refusal, run_logged

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC_APPS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)


def answers(path: str) -> bool:
    """Tell whether a browser starts; a stub that points to a missing snap, or one without its libraries, does not."""
    try:
        answer = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0 and "Chrom" in answer.stdout


def playwrights_own() -> str:
    """Name the place of the browser that Playwright's installer brings, whether it is there or not."""
    with sync_playwright() as playwright:
        return playwright.chromium.executable_path


def find() -> str | None:
    """Return the path of a browser that starts, or None.

    Raises:
        Refusal: CHROME_PATH names something that is not one; it is not passed over in silence.
    """
    given = os.environ.get("CHROME_PATH", "")
    if given and not answers(given):
        raise Refusal(f"CHROME_PATH={given} is no Chromium or Chrome that starts: correct it or unset it.")
    installed = (path for path in [given, *map(shutil.which, NAMES), *MAC_APPS] if path and answers(path))
    return next(installed, None) or next(filter(answers, [playwrights_own()]), None)


def firefox() -> str:
    """Return the path of Firefox.

    Raises:
        Refusal: there is none.
    """
    path = next(filter(None, map(shutil.which, ("firefox", "firefox-esr"))), None)
    if path is None:
        raise Refusal("no Firefox for the tests: install it; on Debian, `apt-get install firefox-esr`.")
    return path


def ways() -> list[list[str]]:
    """List the ways to install one here, each a command, better ones first."""
    root = os.geteuid() == 0
    playwright = [sys.executable, "-m", "playwright", "install", *(["--with-deps"] if root else []), "chromium"]
    install = "DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends chromium-headless-shell"
    debian = f"apt-get update -q && {install}"
    return [["sh", "-c", debian], playwright] if root and shutil.which("apt-get") else [playwright]


def found_or_installed() -> str:
    """Return the path of a browser, which is installed where there is none.

    Raises:
        Refusal: it could not be installed, or does not start.
    """
    path = find()
    for command in ways():
        if path is None:
            run_logged(command, "browser-install")
            path = find()
    if path is None:
        raise Refusal(
            "no browser for the tests, and none could be installed (see _build/logs/browser-install.log): install "
            "Chromium or Chrome, name it with CHROME_PATH=/path, or leave its tests out with BROWSER=none."
        )
    return path
