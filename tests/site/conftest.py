"""The built site, a server for it, and a browser that may talk to nobody else.

Environment: ``CHROME_PATH`` names the browser, ``FIREFOX=yes`` takes Firefox in its place, ``BROWSER=none`` leaves the
browser tests out and says so, ``BOOK_SITE`` names a built site other than ``_build/html``.
"""

import contextlib
import functools
import http.server
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from companion.book import weights
from companion.book.site import explorers as static_explorers
from scripts import build_site, find_browser
from tests.site import firefox
from tests.site.browser import AT_REST, TOOLS

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(os.environ.get("BOOK_SITE", ROOT / "_build" / "html"))
THEMES = ("light", "dark")
WIDTHS = {1440: 900, 390: 844}
SERVED: set[str] = set()  # the addresses of the servers that run
NO_BROWSER = os.environ.get("BROWSER") == "none"
FIREFOX = os.environ.get("FIREFOX") == "yes"
# A browser that asks nobody for anything, no updates, suggestions or reports, and finds no other host.
QUIET = [
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--no-pings",
]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take the browser tests out where BROWSER=none asks for that, and only there."""
    if NO_BROWSER:
        out = [item for item in items if item.get_closest_marker("browser")]
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if item not in out]


def pytest_terminal_summary(terminalreporter: object) -> None:
    """Say that they are out."""
    if NO_BROWSER:
        terminalreporter.write_line("Not run: the browser tests, because BROWSER=none asks for that.")


def sources() -> list[Path]:
    """List the files that the site is made from."""
    folders = [path for name in ("book", "companion") for path in (ROOT / name).rglob("*")]
    files = [path for path in folders if path.is_file() and "__pycache__" not in path.parts]
    return [ROOT / "_config.yml", ROOT / "_toc.yml", ROOT / "pyproject.toml", *files]


def out_of_date() -> str | None:
    """Say why the built site is not one of these sources; None if it is.

    `make book` leaves a hash of what it built from. Without that the dates of the files have to do.
    """
    if not (SITE / "index.html").exists():
        return f"there is no site in {SITE}: run `make book` first."
    stamp = SITE.parent / "site.json"
    if stamp.exists():
        made_from = json.loads(stamp.read_text("utf-8")).get("inputs")
        if made_from == build_site.digest(*(ROOT / name for name in build_site.INPUTS)):
            return None
        return "the site was built from other sources than those in this folder: run `make book` first."
    built = (SITE / "objects.inv").stat().st_mtime
    newer = [path.relative_to(ROOT) for path in sources() if path.stat().st_mtime > built]
    return f"the site is older than {newer[0]}: run `make book` first." if newer else None


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built site, which is of these sources."""
    reason = None if "BOOK_SITE" in os.environ else out_of_date()
    if reason:
        pytest.fail(reason, pytrace=False)
    return SITE


@pytest.fixture(scope="session")
def pages(site: Path) -> list[str]:
    """Every HTML page of the site, as a path from its root; without the root's page, which only leads on."""
    found = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    found = [name for name in found if not name.startswith(("_static/", "_sources/"))]
    assert "book/index.html" in found, "the site has no landing page"
    return [name for name in found if name != "index.html"]


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Run a server for a folder on this computer, on a free port; give its address."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *words: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder)) as running:
        running.daemon_threads = True
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        address = f"http://127.0.0.1:{running.server_port}"
        SERVED.add(address)
        yield address
        SERVED.remove(address)
        running.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def server(site: Path) -> Iterator[str]:
    """The address of a server for the site."""
    with serve(site) as address:
        yield address


def browser_path() -> str:
    """Return the path of Chromium or Chrome, or fail with what to do."""
    path = find_browser.find()
    if path is None:
        pytest.fail(
            "no Chromium or Chrome: `make test` installs one, CHROME_PATH names one, BROWSER=none leaves these tests "
            "out.",
            pytrace=False,
        )
    return path


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """One Chromium, or one Firefox, for all tests."""
    from playwright.sync_api import sync_playwright

    root = hasattr(os, "geteuid") and os.geteuid() == 0
    with sync_playwright() as playwright:
        if FIREFOX:
            path = firefox.wrapper(tmp_path_factory.mktemp("firefox"), find_browser.firefox())
            launched = playwright.firefox.launch(
                channel="moz-firefox", executable_path=path, firefox_user_prefs=firefox.AS_CHROMIUM_HERE
            )
            firefox.skip_what_it_lacks()
        else:
            flags = [*QUIET, "--no-sandbox"] if root else QUIET
            launched = playwright.chromium.launch(executable_path=browser_path(), args=flags)
        yield launched
        launched.close()


class Watch:
    """What a context's pages asked for and said: requests to other hosts, failed requests, console, errors."""

    def __init__(self) -> None:
        self.other_hosts: list[str] = []
        self.failed: list[str] = []
        self.messages: list[str] = []
        self.loaded: list[str] = []

    def follow(self, context: object) -> None:
        """Watch every page of a context, those that it opens later too."""
        # Asked without a route through here, which would cost half the time of opening a page, and its cache.
        context.on("request", lambda request: self.is_ours(request.url) or self.other_hosts.append(request.url))
        context.on("console", lambda message: self.messages.append(f"{message.type}: {message.text}"))
        context.on("weberror", lambda error: self.messages.append(f"error: {error.error}"))
        context.on("requestfinished", lambda request: self.loaded.append(request.url))
        # A request that a page drops because it is left is not a failure; one that is refused or not found is.
        context.on("requestfailed", lambda asked: "ABORTED" in (asked.failure or "") or self.failed.append(asked.url))
        context.on("response", lambda answer: answer.status >= 400 and self.failed.append(answer.url))

    def is_ours(self, url: str) -> bool:
        """Tell whether an address is of this site: on one of our servers, on disk, or inside the page."""
        ours = tuple(f"{address}/" for address in SERVED)
        return url.startswith(ours) or urlsplit(url).scheme in ("file", "data", "blob", "about")

    def clear(self) -> None:
        """Forget everything, so that a context can serve a second test."""
        for heard in (self.other_hosts, self.failed, self.messages, self.loaded):
            heard.clear()

    def check(self, where: str = "") -> None:
        """Fail if a page asked another host, asked in vain, or wrote to the console."""
        assert not self.other_hosts, f"{where} asks another host: {self.other_hosts}"
        assert not self.failed, f"{where} asks for what is not there: {self.failed}"
        assert not self.messages, f"{where} writes to the console: {self.messages}"


@pytest.fixture(scope="session")
def contexts(browser: object) -> Iterator[Callable[[str], tuple[object, Watch]]]:
    """One browser context a theme, made when first asked for: ``contexts("dark")`` gives it and its watch."""
    made: dict[str, tuple[object, Watch]] = {}

    def context(theme: str) -> tuple[object, Watch]:
        if theme not in made:
            new = browser.new_context(
                viewport={"width": 1440, "height": 900}, color_scheme=theme, reduced_motion="reduce"
            )
            new.set_default_timeout(60_000)  # for what never comes: a busy computer takes its time
            watch = Watch()
            watch.follow(new)
            made[theme] = new, watch
        return made[theme]

    yield context
    for context_, _ in made.values():
        context_.close()


@pytest.fixture(params=THEMES)
def theme(request: pytest.FixtureRequest) -> str:
    """Light, then dark."""
    return request.param


@pytest.fixture
def watch(contexts: Callable[[str], tuple[object, Watch]]) -> Watch:
    """What the light theme's context has heard since the test began."""
    return contexts("light")[1]


@pytest.fixture
def page(contexts: Callable[[str], tuple[object, Watch]]) -> Iterator[object]:
    """A fresh tab in the light theme; the test fails if it asked another host or wrote to the console.

    All tests share its context. What stays in that, a clock above all, is for ``browser.new_page()``.
    """
    context, watch = contexts("light")
    watch.clear()
    tab = context.new_page()
    tab.set_viewport_size({"width": 1440, "height": WIDTHS[1440]})
    yield tab
    where = tab.url
    tab.close()
    watch.check(where)


@pytest.fixture(scope="session")
def settle() -> Callable[[object], None]:
    """Wait until a page is loaded and has mounted its explorers."""

    def wait(page: object) -> None:
        page.wait_for_load_state("load")
        page.wait_for_function(
            """() => [...document.querySelectorAll(".light-widget")].every((figure) => "ready" in figure.dataset)"""
        )

    return wait


@pytest.fixture(scope="session")
def resize() -> Callable[[object, int, int], None]:
    """Give a loaded page another size, and wait until it is drawn at that size.

    A container query takes effect with the next frame, and what it changes may move by a transition: what is measured
    before both are over may still hold the old layout.
    """

    def set_size(page: object, width: int, height: int) -> None:
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate(AT_REST)

    return set_size


@pytest.fixture
def alone(browser: object, tmp_path: Path) -> Iterator[Callable[..., tuple[object, object, list[str]]]]:
    """Lay a figure out as on the site, open it from ``file://``, and note what is loaded: tab, figure, file names.

    ``change`` takes the script of the figure and gives another; what else is named goes to the browser's context.
    """
    contexts = []

    def open_page(
        explorer: object, change: Callable[[str], str] = lambda script: script, **options: object
    ) -> tuple[object, object, list[str]]:
        state = json.loads(json.dumps(explorer.get_state()))
        key, script, place = static_explorers.figure({"state": state}, "0")
        (tmp_path / "light").mkdir(exist_ok=True)
        (tmp_path / "light" / "mount.js").write_text(static_explorers.MOUNT.read_text("utf8"), "utf8")
        (tmp_path / "light" / f"{key}.js").write_text(change(script), "utf8")
        weights.write(tmp_path)
        tags = "".join(f'<script defer src="light/{name}.js"></script>' for name in ("mount", key))
        page = tmp_path / "page.html"
        head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title>'
        page.write_text(f'{head}<meta name="viewport" content="width=device-width">{tags}{place}', "utf8")
        contexts.append(browser.new_context(viewport={"width": 390, "height": 844}, **options))
        tab = contexts[-1].new_page()
        loaded = []
        tab.on("request", lambda request: loaded.append(request.url.rpartition("/")[2]))
        tab.goto(page.as_uri())
        tab.wait_for_selector(".light-widget[data-ready=yes]")
        tab.evaluate(TOOLS)
        return tab, tab.query_selector(".light-widget"), loaded

    yield open_page
    for context in contexts:
        context.close()
