"""A page that comes in pieces, as over a slow line: what is there already does not move when the rest arrives."""

import functools
import http.server
import re
import threading
import time

import pytest

from tests.site.test_site_browser import MOST_SHIFT, WATCH_SHIFTS

pytestmark = pytest.mark.browser
PAUSE = 0.5  # seconds; longer than a first paint takes


@pytest.fixture
def in_pieces(site):
    """``in_pieces(name, position)``: the address of a page whose bytes from the position on come after a pause."""
    running = []

    def serve(name, position):
        class Handler(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *words):
                pass

            def do_GET(self):
                if self.path != f"/{name}":
                    super().do_GET()
                    return
                data = (site / name).read_bytes()
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data[:position])
                self.wfile.flush()
                time.sleep(PAUSE)
                self.wfile.write(data[position:])

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(site)))
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        running.append(server)
        return f"http://127.0.0.1:{server.server_port}/{name}"

    yield serve
    for server in running:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize(
    "before", ['<p class="lead">', '<p class="for-whom">', '<div class="front ', '<div class="book-map']
)
def test_the_front_page_does_not_move_when_its_next_piece_arrives(browser, in_pieces, site, width, before):
    name = "book/index.html"
    found = re.search(re.escape(before).encode(), (site / name).read_bytes())
    assert found, f"the front page has no {before}"
    page = browser.new_page(viewport={"width": width, "height": 844})
    page.add_init_script(WATCH_SHIFTS)
    page.goto(in_pieces(name, found.start()))
    page.wait_for_load_state("load")
    shifted = page.evaluate("() => window.shifted")
    page.close()
    assert shifted <= MOST_SHIFT
