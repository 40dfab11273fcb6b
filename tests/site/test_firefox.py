"""The bridge between Playwright and Firefox: which answers it changes, and what it starts."""

import json
import subprocess

import pytest

from tests.site import firefox


def test_a_command_that_is_not_known_is_answered_with_nothing():
    refused = {"type": "error", "id": 7, "error": "unknown command", "message": "emulation.x"}
    assert json.loads(firefox.answered(json.dumps(refused))) == {"type": "success", "id": 7, "result": {}}


@pytest.mark.parametrize(
    "message",
    [
        {"type": "error", "id": 7, "error": "no such frame", "message": "x"},
        {"type": "error", "id": None, "error": "unknown command", "message": "x"},
        {"type": "success", "id": 7, "result": {"error": "unknown command"}},
        {"type": "event", "method": "log.entryAdded", "params": {}},
    ],
    ids=["another error", "no command", "a result", "an event"],
)
def test_every_other_message_passes_as_it_is(message):
    text = json.dumps(message)
    assert firefox.answered(text) is text


def test_a_browser_that_says_nothing_and_ends_ends_the_bridge_with_its_status(tmp_path):
    browser = tmp_path / "browser"
    browser.write_text("#!/bin/sh\necho no display >&2\nexit 3\n")
    browser.chmod(0o755)
    started = subprocess.run([firefox.wrapper(tmp_path, str(browser)), "--headless"], capture_output=True, timeout=60)
    assert started.returncode == 3
