"""A server for made-up sites: one process on a free port of 127.0.0.1, which goes by the Host.

``site-N.test`` answers at once, ``late-N.test`` after 5 seconds, ``hang-N.test`` never, and the
robots.txt of ``delay-N.test`` asks for a Crawl-delay of 10 seconds. ``busy-N.test`` answers the
first request for each of its pages with 503. All of ``moved-N.test`` redirects to one host, and the
first pages of ``swap-0.test`` and ``swap-1.test`` (2 and 3 ...) to the other of the two.
``drops-N.test`` answers once on each connection, without telling.
"""

import asyncio
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from tests.support.made_up_sites import answer, key_pages

PROJECT = Path(__file__).parent.parent.parent
LATE = 5.0  # seconds


@dataclass(frozen=True)
class Asked:
    """A request that came; *at* is a time of ``time.monotonic``, the same in every process."""

    at: float
    host: str
    path: str


class ManySites:
    """The server, for as long as the ``with`` block lasts; *log* is a file for what is asked.

    Every answer takes *latency* seconds, and those of some hosts longer.
    """

    def __init__(self, log: Path | None = None, latency: float = 0) -> None:
        self._log = log
        self._latency = latency
        self.port = 0

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(self._latency), *_words(self._log)],
            cwd=PROJECT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout
        self.port = int(self._process.stdout.readline())
        return self

    def __exit__(self, *args: object) -> None:
        self._process.communicate()  # it ends with its standard input, and so it does if we die

    def url(self, host: str, path: str = "/") -> str:
        return f"http://{host}.test:{self.port}{path}"

    def key_pages(self, count: int, sites: int, seed: int = 0) -> list[dict[str, Any]]:
        return key_pages(count, sites, self.port, seed)

    def write_list(self, file: Path, count: int, sites: int, seed: int = 0) -> list[dict[str, Any]]:
        """Write such a list as JSON lines; its rows."""
        rows = self.key_pages(count, sites, seed)
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
        return rows

    def asked(self) -> list[Asked]:
        assert self._log
        rows = (line.split(" ", 2) for line in self._log.read_text("utf-8").splitlines())
        return [Asked(float(at), host, path) for at, host, path in rows]


class _Connection(asyncio.Protocol):
    """One client. Its requests have no bodies, and the next one waits for an answer."""

    def __init__(self, log: IO[str] | None, known: set[str], latency: float) -> None:
        self._log = log
        self._latency = latency
        self._known = known  # addresses that were asked for
        self._count = 0
        self._data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        while b"\r\n\r\n" in self._data:
            head, _, self._data = self._data.partition(b"\r\n\r\n")
            self._take(head.decode("latin-1"))

    def _take(self, head: str) -> None:
        first, *lines = head.split("\r\n")
        path = first.split(" ")[1].partition("?")[0]
        headers = {
            name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)
        }
        host = headers.get("host", "")
        if self._log:
            print(time.monotonic(), host.partition(":")[0], path, file=self._log)
        self._count += 1
        if host.startswith("hang-"):
            return
        if host.startswith("drops-") and self._count > 1:
            self._transport.abort()
            return
        if host.startswith("busy-") and path != "/robots.txt" and host + path not in self._known:
            self._known.add(host + path)
            self._transport.write(b"HTTP/1.1 503 -\r\nContent-Length: 0\r\n\r\n")
            return
        late = LATE if host.startswith("late-") else self._latency
        asyncio.get_running_loop().call_later(late, self._answer, host, path)

    def _answer(self, host: str, path: str) -> None:
        found = answer(host, path)
        headers = {**found.headers, "Content-Length": str(len(found.body))}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._transport.write(f"HTTP/1.1 {found.status} -\r\n{head}\r\n".encode() + found.body)


def _words(log: Path | None) -> list[str]:
    return [str(log)] if log else []


async def _serve(log: IO[str] | None, latency: float) -> None:
    loop = asyncio.get_running_loop()
    known: set[str] = set()
    server = await loop.create_server(
        lambda: _Connection(log, known, latency), "127.0.0.1", 0, backlog=512
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


def main() -> None:
    """Serve until standard input ends, as ManySites has it."""
    latency = float(sys.argv[1])
    if len(sys.argv) > 2:
        with Path(sys.argv[2]).open("w", encoding="utf-8", buffering=1) as log:
            asyncio.run(_serve(log, latency))
    else:
        asyncio.run(_serve(None, latency))


if __name__ == "__main__":
    main()
