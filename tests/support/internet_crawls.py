"""Crawls of the made-up internet: its pages, a port that is watched, and what the log tells."""

import re
import socket
import threading
import time
from collections.abc import Callable
from typing import Self

from tests.support.crawls import Crawl, FixtureServer
from tplspider.demo.server import Handler

Route = Callable[[Handler], object]


class Listener:
    """A port of loopback that nobody is to connect to."""

    def __init__(self) -> None:
        self._peers: list[object] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self.port: int = self._socket.getsockname()[1]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *args: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def _listen(self) -> None:
        while True:
            try:
                connection, peer = self._socket.accept()
            except OSError:
                return
            self._peers.append(peer)
            connection.close()

    @property
    def accepted(self) -> int:
        """How many connections there were, those included that were waiting to be accepted."""
        with socket.create_connection(("127.0.0.1", self.port)) as last:
            while last.getsockname() not in self._peers:
                time.sleep(0.01)
            self._peers.remove(last.getsockname())
        return len(self._peers)


def html(*links: str, head: str = "") -> Route:
    rows = "".join(f"<p><a href='{link}'>{link}</a></p>" for link in links)
    page = f"<head>{head}</head><body>{rows}</body>".encode()
    return lambda request: request.answer(200, page, Content_Type="text/html", Connection="close")


def redirect(target: str) -> Route:
    return lambda request: request.answer(302, Location=target)


def at(server: FixtureServer, host: str) -> str:
    return server.url.replace("127.0.0.1", host)


def reasons(done: Crawl) -> dict[str, str]:
    return {row["link"]: row["reason"] for row in done.summary["explored"]}


def connected_to(done: Crawl) -> set[str]:
    return set(re.findall(r"Connecting to (\S+) ", done.log))
