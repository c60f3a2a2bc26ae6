"""A made-up internet for real crawls, all of it on loopback.

What is under test is left as it is: the resolver gives addresses, public ones among them, and the
reactor, told to connect to a public address, connects to loopback instead, and believes it did not.
"""

import logging
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any, Self

from twisted.internet import address
from twisted.internet.interfaces import IHostnameResolver
from zope.interface import implementer  # type: ignore[import-untyped]  # it has no types

from tests.support.crawls import Crawl, FixtureServer
from tests.support.site_server import Handler

PUBLIC = "93.184.216.34"
# By the first label of a name; all others are public.
ANSWERS = {
    "localhost": ["127.0.0.1"],
    "loopback": ["127.0.0.1"],
    "lan": ["10.0.0.1"],
    "metadata": ["169.254.169.254"],
    "mapped": ["::ffff:127.0.0.1"],
    "mixed": ["127.0.0.1", PUBLIC, "10.0.0.1"],
    "dead": [],
}

logger = logging.getLogger(__name__)


@implementer(IHostnameResolver)
class MadeUpInternet:
    """A DNS resolver. Nothing is cached, so each connection asks.

    ``rebindN.example.com`` is public the first N times that it is looked up, then on loopback.
    """

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._asked: Counter[str] = Counter()
        self._connect = reactor.connectTCP

    @classmethod
    def from_crawler(cls, crawler: object, reactor: Any) -> Self:
        return cls(reactor)

    def install_on_reactor(self) -> None:
        self._reactor.installNameResolver(self)
        self._reactor.connectTCP = self.connect

    def resolveHostName(
        self,
        receiver: Any,
        name: str,
        portNumber: int = 0,  # noqa: N803 - Twisted's name for it
        *ignored: object,
    ) -> object:
        receiver.resolutionBegan(self)
        for host in self._answers(name):
            kind = address.IPv6Address if ":" in host else address.IPv4Address
            receiver.addressResolved(kind("TCP", host, portNumber))
        receiver.resolutionComplete()
        return self

    def _answers(self, name: str) -> list[str]:
        label = name.partition(".")[0]
        self._asked[name] += 1
        if label.startswith("rebind"):
            is_public = self._asked[name] <= int(label.removeprefix("rebind"))
            return [PUBLIC if is_public else "127.0.0.1"]
        kind: dict[str, Any] = {"type": socket.SOCK_STREAM, "flags": socket.AI_NUMERICHOST}
        try:  # as getaddrinfo(3) reads odd spellings, without looking anything up
            found = socket.getaddrinfo(name, 0, **kind)
        except socket.gaierror:
            return ANSWERS.get(label, [PUBLIC])
        return [str(row[4][0]) for row in found]

    def connect(self, host: str, port: int, factory: Any, *args: Any, **named: Any) -> object:
        logger.debug("Connecting to %s port %d", host, port)
        if host == PUBLIC:
            build = factory.buildProtocol
            factory.buildProtocol = lambda peer: _pretend(build(peer), port)
            host = "127.0.0.1"
        elif not self._is_loopback(host):
            logger.error("Beyond loopback: %s", host)
            raise OSError(host)
        return self._connect(host, port, factory, *args, **named)

    def _is_loopback(self, host: str) -> bool:
        # A proxy for https is connected to by its name, which the reactor then looks up.
        answers = ANSWERS.get(host.partition(".")[0]) or [host]
        return all(ip_address(answer).is_loopback for answer in answers)


def _pretend(protocol: Any, port: int) -> Any:
    """Make a protocol believe that it is connected to the public address."""
    connected = protocol.makeConnection

    def make_connection(transport: Any) -> None:
        transport.getPeer = lambda: address.IPv4Address("TCP", PUBLIC, port)
        connected(transport)

    protocol.makeConnection = make_connection
    return protocol


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
