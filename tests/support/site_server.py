"""Serves a folder of files on loopback, the demo's website by default."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from mimetypes import guess_type
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from tplspider.demo import SITE
from tplspider.sources.folder import find_file


class SiteServer:
    """A website on a free port of 127.0.0.1, for as long as the ``with`` block lasts.

    ``/a/`` is the file a/index.html. Lines "FROM TO STATUS" of a file named ``_redirects`` are
    redirects. *log* holds what was asked for, in the order of arrival.
    """

    def __init__(self, site: Path = SITE) -> None:
        self.site = site
        self.log: list[str] = []
        self.redirects = _redirects(self.site)
        handler = type("Handler", (Handler,), {"owner": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def url(self) -> str:
        """The address of the website, without a slash at the end."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def respond(self, request: Handler) -> None:
        """Answer a request: a redirect, a file, or 404."""
        path = urlsplit(request.path).path
        if path in self.redirects:
            target, status = self.redirects[path]
            request.answer(status, Location=target)
        elif (found := self.find(path)) is not None:
            kind = guess_type(found.name)[0] or "text/html"
            request.answer(200, found.read_bytes(), Content_Type=kind)
        else:
            request.answer(404, b"<h1>Not found</h1>", Content_Type="text/html")

    def find(self, path: str) -> Any:
        """The file that a path stands for, if there is one inside the site."""
        return find_file(self.site, path)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # connections beyond it would wait a second


class Handler(BaseHTTPRequestHandler):
    """One request to a :class:`SiteServer`."""

    owner: SiteServer
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body in one packet: two would wait for each other

    def do_GET(self) -> None:
        self.owner.log.append(self.path)
        self.owner.respond(self)

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        """Send a whole response; underscores in the names of headers are hyphens."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Stay silent: the person at the terminal wants to see the search."""


def _redirects(site: Path) -> dict[str, tuple[str, int]]:
    table = site / "_redirects"
    if not table.is_file():
        return {}
    rows = (line.split() for line in table.read_text("utf-8").splitlines() if line.strip())
    return {source: (target, int(status)) for source, target, status in rows}
