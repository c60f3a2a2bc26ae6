"""A web server on loopback that can send anything, broken HTTP included."""

import socket
import struct
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from tests.support.site_server import Handler, SiteServer


@dataclass(frozen=True)
class Trap:
    """A link that misbehaves: its path, how it must end, how it is answered.

    The end is "page", or the reason why there is none. *href* is the link as the key page has it,
    where that is not the path as it goes over the wire.
    """

    path: str
    end: str
    answer: Callable[["Exchange"], None]
    href: str = ""


class Exchange:
    """One request, and the means to answer it well or badly."""

    def __init__(self, server: "HostileServer", request: Handler) -> None:
        self.server = server
        self.path = request.path
        self.headers = {name.lower(): value for name, value in request.headers.items()}
        self.attempt = server.log.count(self.path)
        self._request = request

    def answer(
        self,
        body: bytes = b"",
        status: str = "200 OK",
        *headers: str,
        kind: str | None = "text/html",
        length: int | None = None,
    ) -> None:
        """Send a response that is sound, but for what the arguments make of it."""
        lines = [f"HTTP/1.1 {status}", *headers]
        if kind:
            lines.append(f"Content-Type: {kind}")
        lines.append(f"Content-Length: {len(body) if length is None else length}")
        self.send("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)

    def send(self, data: bytes) -> None:
        self._request.connection.sendall(data)

    def send_all(self, parts: Iterable[bytes]) -> None:
        """Send one part after the other, for as long as there is somebody to take them."""
        for part in parts:
            self.send(part)
        self.close()

    def wait(self, seconds: float) -> None:
        self._request.connection.settimeout(seconds)
        with suppress(TimeoutError):
            self._request.connection.recv(1)
        self.close()

    def reset(self) -> None:
        linger = struct.pack("ii", 1, 0)
        self._request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close()

    def close(self) -> None:
        """Let the connection serve no other request."""
        self._request.close_connection = True


class HostileServer(SiteServer):
    """Answers each path by its own function, for as long as the ``with`` block lasts.

    *hosts* has the names of hosts that were asked for; *other_port* is a port on loopback that
    nobody has any business to connect to.
    """

    def __init__(self, answers: dict[str, Callable[[Exchange], None]]) -> None:
        super().__init__()
        self.answers = answers
        self.hosts: set[str] = set()
        self.port: int = self._server.server_port
        self._other = socket.create_server(("127.0.0.1", 0))
        self._other.settimeout(0)
        self.other_port: int = self._other.getsockname()[1]
        self._server.daemon_threads = False  # they end with the connections of the crawl
        # Without the FIN that Python sends first: a reset is to be one.
        self._server.shutdown_request = self._server.close_request  # type: ignore[method-assign]

    def other_port_was_asked(self) -> bool:
        try:
            self._other.accept()[0].close()
        except BlockingIOError:
            return False
        return True

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self._other.close()

    def respond(self, request: Handler) -> None:
        exchange = Exchange(self, request)
        self.hosts.add(exchange.headers.get("host", ""))
        try:
            self.answers.get(request.path, not_found)(exchange)
        except OSError:  # the client has gone
            exchange.close()


def not_found(exchange: Exchange) -> None:
    exchange.answer(b"<h1>Not found</h1>", "404 Not Found")
