"""Start Firefox for Playwright, over WebDriver BiDi, and stand between the two.

    python -m tests.site.firefox /usr/bin/firefox --remote-debugging-port=0 ...

Playwright asks a Firefox of a distribution for commands that it may not know yet, such as the emulation of a colour
scheme, and gives up at the first that it refuses. Here such a refusal becomes an empty answer, so that the tests run
whose subject it is not. Everything else passes as it is.
"""

import asyncio
import json
import re
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application
from tornado.websocket import WebSocketClientConnection, WebSocketHandler, websocket_connect

AS_CHROMIUM_HERE = {"ui.prefersReducedMotion": 1, "ui.useOverlayScrollbars": 1}
DARK = "try { for (const name of ['mode', 'theme']) localStorage[name] ??= 'dark'; } catch {}"  # an empty page has none
MOST = 2**30  # bytes of a message: a screenshot is one
LISTENING = re.compile(r"WebDriver BiDi listening on (ws://\S+)")


def wrapper(folder: Path, firefox: str) -> Path:
    """Write a program that Playwright can start in place of Firefox.

    Args:
        folder: where to write it.
        firefox: the path of the browser.

    Returns:
        Its path.
    """
    root = Path(__file__).resolve().parents[2]
    path = folder / "firefox"
    path.write_text(f'#!/bin/sh\ncd "{root}" && exec "{sys.executable}" -m tests.site.firefox "{firefox}" "$@"\n')
    path.chmod(0o755)
    return path


def skip_what_it_lacks() -> None:
    """Skip the tests that ask for a finger, for no scripts or for paper, which this protocol cannot ask of Firefox yet.

    A dark context gets the site's own dark theme, as if its reader had chosen it.
    """
    opened, emulated = Browser.new_context, Page.emulate_media

    def new_context(self: Browser, **options: object) -> BrowserContext:
        if options.get("has_touch") or options.get("java_script_enabled") is False:
            pytest.skip("Firefox: a finger, and a page without scripts, cannot be asked for")
        context = opened(self, **options)
        if options.get("color_scheme") == "dark":
            context.add_init_script(DARK)
        return context

    def emulate_media(self: Page, **options: object) -> None:
        if options.get("media") == "print" or options.get("color_scheme"):
            pytest.skip("Firefox: neither paper nor another colour scheme can be asked of an open page")
        emulated(self, **options)

    Browser.new_context, Page.emulate_media = new_context, emulate_media


def answered(message: str) -> str:
    """Give an empty answer in place of a refusal that says no more than that a command is not known."""
    data = json.loads(message)
    if data.get("type") == "error" and data.get("error") == "unknown command" and data.get("id") is not None:
        return json.dumps({"type": "success", "id": data["id"], "result": {}})
    return message


def between(address: str) -> type[WebSocketHandler]:
    """Make the handler that passes messages between Playwright and the browser at an address."""

    class Between(WebSocketHandler):
        def check_origin(self, origin: str) -> bool:
            return True

        def initialize(self) -> None:
            self.far: asyncio.Future[WebSocketClientConnection] = asyncio.get_running_loop().create_future()

        async def open(self, path: str) -> None:
            connection = await websocket_connect(
                f"{address}/{path}", max_message_size=MOST, on_message_callback=self.come_back
            )
            self.far.set_result(connection)

        def come_back(self, message: str | None) -> None:
            if message is None:
                self.close()
            else:
                self.write_message(answered(message))

        async def on_message(self, message: str) -> None:
            await (await self.far).write_message(message)

        def on_close(self) -> None:
            if self.far.done():
                self.far.result().close()

    return Between


async def main(command: list[str]) -> int:
    """Run the browser until it ends, and say where to reach it, as it would itself."""
    pipe = asyncio.subprocess.PIPE
    browser = await asyncio.create_subprocess_exec(*command, stderr=pipe, stdout=asyncio.subprocess.DEVNULL)
    async for line in browser.stderr:
        if found := LISTENING.search(line.decode()):
            break
    else:
        return await browser.wait()
    sockets = bind_sockets(0, "127.0.0.1")
    server = HTTPServer(Application([(r"/(.*)", between(found[1]))], websocket_max_message_size=MOST))
    server.add_sockets(sockets)
    print(f"WebDriver BiDi listening on ws://127.0.0.1:{sockets[0].getsockname()[1]}", file=sys.stderr, flush=True)
    with suppress(asyncio.CancelledError):
        async for _ in browser.stderr:
            pass  # a full pipe would stop it
    return await browser.wait()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
