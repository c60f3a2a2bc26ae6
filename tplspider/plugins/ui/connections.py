"""Connections to the server: so many at most, and only those of the owner stay open."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from aiohttp import web

MOST = 128  # well below the number of files that a process may open
PATIENCE = 10.0  # seconds that a connection has to send a request with the token


class Connection(asyncio.Protocol):
    """A connection, which aiohttp's protocol reads.

    Unless a request on it shows the token or a cookie, it ends after some seconds; sooner if there
    are too many. So others, whatever they do, cannot keep the owner out.
    """

    def __init__(self, protocol: Any, others: dict[Connection, None]) -> None:
        self.is_trusted = False
        self._protocol = protocol
        self._others = others  # the oldest first
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        if len(self._others) >= MOST:
            oldest = next((each for each in self._others if not each.is_trusted), None)
            if oldest is None:
                self._protocol = None
                self._transport.abort()
                return
            oldest.abort()
        self._others[self] = None
        self._timer = asyncio.get_running_loop().call_later(PATIENCE, self._late)
        self._protocol.connection_made(transport)

    def abort(self) -> None:
        self._others.pop(self, None)
        self._transport.abort()

    def _late(self) -> None:
        if not self.is_trusted:
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._protocol:
            self._others.pop(self, None)
            self._timer.cancel()
            self._protocol.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._protocol:
            self._protocol.data_received(data)

    def eof_received(self) -> bool | None:
        return self._protocol.eof_received() if self._protocol else None

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()


async def accept(listener: socket.socket, factory: Callable[[], Any]) -> None:
    """Serve the connections to a socket, each by a protocol of the *factory*, until cancelled.

    One after the other: asyncio's own server accepts a hundred before it looks at the first.
    """
    loop = asyncio.get_running_loop()
    connections: dict[Connection, None] = {}
    listener.setblocking(False)  # noqa: FBT003 - it has no name
    while True:
        try:
            accepted, _ = await loop.sock_accept(listener)
            await loop.connect_accepted_socket(lambda: Connection(factory(), connections), accepted)
        except OSError:  # it is gone already; or too many files are open
            await asyncio.sleep(0.1)


def trust(request: web.Request) -> None:
    """Let the connection of a request stay open: it is the owner's."""
    connection = request.transport and request.transport.get_protocol()
    if isinstance(connection, Connection):
        connection.is_trusted = True
