"""The website of ``scrapy demo``, and a server for it on loopback."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SITE = Path(__file__).parent / "site"
KEY_PAGE = "/collection/penny-farthing.html"
# Lines "FROM TO STATUS".
_MOVED = dict(line.split()[:2] for line in (SITE / "_redirects").read_text("ascii").splitlines())


class _Handler(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        if target := _MOVED.get(self.path):
            self.send_response(301)
            self.send_header("Location", target)
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, *args: object) -> None:
        """Stay silent: the terminal shows the search."""


@contextmanager
def serve_site() -> Iterator[str]:
    """Serve the website on a free port of 127.0.0.1; gives its address."""
    handler = partial(_Handler, directory=str(SITE))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
