"""A web server on loopback that can send anything, broken HTTP included."""

import socket
import struct
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Self

MAX_CONNECTIONS = 32
MAX_REQUEST = 1_000_000


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

    def __init__(self, server: "HostileServer", connection: socket.socket, head: bytes) -> None:
        self.server = server
        self.connection = connection
        request, *lines = head.decode("latin-1").split("\r\n")
        self.path = request.split(" ")[1]
        pairs = (line.partition(":") for line in lines)
        self.headers = {name.lower(): value.strip() for name, _, value in pairs}
        self.attempt = server.log.count(self.path) + 1
        self.open = True  # whether the connection may serve another request

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

    def send_raw(self, data: bytes) -> None:
        self.send(data)
        self.open = False

    def send_all(self, parts: Iterable[bytes]) -> None:
        """Send one part after the other, for as long as there is somebody to take them."""
        for part in parts:
            self.send(part)
        self.open = False

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)

    def wait(self, seconds: float) -> None:
        self.connection.settimeout(seconds)
        with suppress(TimeoutError):
            self.connection.recv(1)
        self.connection.settimeout(None)
        self.open = False

    def reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.open = False


class HostileServer:
    """Answers each path by its own function, for as long as the ``with`` block lasts.

    *log* has the paths that were asked for, *hosts* the names of hosts they were asked of.
    *url* is the address of the website, without a slash at the end; *other_port* is a port on
    loopback that nobody has any business to connect to.
    """

    def __init__(self, answers: dict[str, Callable[[Exchange], None]]) -> None:
        self.answers = answers
        self.log: list[str] = []
        self.hosts: set[str] = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._other = socket.create_server(("127.0.0.1", 0))
        self._other.settimeout(0)
        self.port: int = self._listener.getsockname()[1]
        self.other_port: int = self._other.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._connections: set[socket.socket] = set()
        self._lock = Lock()
        self._closing = False
        self._served: list[Future[None]] = []
        self._threads = ThreadPoolExecutor(MAX_CONNECTIONS + 1)

    def other_port_was_asked(self) -> bool:
        try:
            self._other.accept()[0].close()
        except BlockingIOError:
            return False
        return True

    def __enter__(self) -> Self:
        self._served.append(self._threads.submit(self._accept))
        return self

    def __exit__(self, kind: object, value: object, traceback: object) -> None:
        # Shutting a socket down wakes the thread that waits on it.
        self._listener.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._closing = True
            for connection in self._connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        self._threads.shutdown()
        self._listener.close()
        self._other.close()
        if value is None:
            for served in self._served:
                served.result()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with self._lock:
                    if self._closing:
                        connection.close()
                        return
                    self._connections.add(connection)
                    self._served.append(self._threads.submit(self._serve, connection))

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            received = b""
            while b"\r\n\r\n" in received or (data := connection.recv(65536)):
                if b"\r\n\r\n" not in received:
                    received += data
                    if len(received) > MAX_REQUEST:
                        break
                    continue
                head, _, received = received.partition(b"\r\n\r\n")
                exchange = Exchange(self, connection, head)
                self.log.append(exchange.path)
                self.hosts.add(exchange.headers.get("host", ""))
                self.answers.get(exchange.path, not_found)(exchange)
                if not exchange.open:
                    break
        with self._lock:
            self._connections.discard(connection)


def not_found(exchange: Exchange) -> None:
    exchange.answer(b"<h1>Not found</h1>", "404 Not Found")
