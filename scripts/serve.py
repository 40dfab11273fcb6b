"""Serve the built site on this computer only.

python scripts/serve.py [PORT]
"""

import errno
import socket
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

from build_site import HTML
from console import Refusal, guarded

HOST = "127.0.0.1"


def checked_port(text: str) -> int:
    """Read a port number.

    Raises:
        Refusal: it is not a number from 1 to 65535.
    """
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise Refusal(f"PORT={text} is no port: use a number from 1024 to 65535, for example PORT=8000.")
    return int(text)


def taken(port: int) -> bool:
    """Tell whether a program answers on the port; some systems would let a second one bind to it."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((HOST, port)) == 0


def server(port: int) -> ThreadingHTTPServer:
    """Bind a server for the built site.

    Raises:
        Refusal: there is no site, or the port is in use or not allowed.
    """
    if not (HTML / "index.html").exists():
        raise Refusal("there is no site to serve: run `make book` first.")
    in_use = Refusal(
        f"port {port} is in use: stop the program that uses it, or take another port, "
        f"for example `make serve PORT={port + 1 if port < 65535 else 8000}`."
    )
    if taken(port):
        raise in_use
    try:
        return ThreadingHTTPServer((HOST, port), partial(SimpleHTTPRequestHandler, directory=str(HTML)))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise in_use from error
        raise Refusal(f"port {port} cannot be used ({error.strerror}): take one from 1024 to 65535.") from error


def main() -> int:
    """Serve until interrupted."""
    with server(checked_port(sys.argv[1] if len(sys.argv) > 1 else "8000")) as site:
        print(f"Open http://{HOST}:{site.server_port}/ (stop with Ctrl-C)", flush=True)
        try:
            site.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0


if __name__ == "__main__":
    guarded(main)
