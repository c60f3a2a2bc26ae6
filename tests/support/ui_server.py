"""``scrapy ui`` in a process of its own, and requests to it as any program may send them."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tests.support.crawls import PROJECT, SETTINGS
from tests.support.site_server import Handler, SiteServer


@dataclass
class Answer:
    """What a server answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(
    address: tuple[str, int], method: str, path: str, body: object = None, **headers: str
) -> Answer:
    """One request with these headers and no others; underscores are hyphens."""
    connection = http.client.HTTPConnection(*address, timeout=60)
    data = json.dumps(body).encode() if body is not None else b""
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        told = {"Host": f"{address[0]}:{address[1]}", "Content-Length": str(len(data))}
        told |= {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None:
            told.setdefault("Content-Type", "application/json")
        for name, value in told.items():
            connection.putheader(name, value)
        connection.endheaders(data)
        found = connection.getresponse()
        return Answer(found.status, dict(found.getheaders()), found.read())
    finally:
        connection.close()


class UiServer:
    """A server that keeps its state in a folder; the same folder again is the next start."""

    def __init__(
        self, folder: Path, *options: str, settings: dict[str, str] | None = None, limit: int = 0
    ) -> None:
        self.folder = folder
        given = {**SETTINGS, **(settings or {})}
        given.pop("LOG_LEVEL", None)  # the command has one of its own
        # Its own port at the first start, and from then on the one that is kept.
        port = () if (folder / "port").exists() or "--port" in options else ("--port", "0")
        self._log = (folder.parent / f"{folder.name}.log").open("ab")
        # With few files that it may open, as on other systems.
        shell = ("sh", "-c", 'ulimit -S -n "$0" && exec "$@"', str(limit)) if limit else ()
        command = [*shell, sys.executable, "-m", "scrapy", "ui", "--dir", str(folder), *port]
        command += [*options, *(f"-s{name}={value}" for name, value in given.items())]
        files: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": self._log, "text": True}
        env = {**os.environ, "PYTHONWARNINGS": "default"}
        self.process = subprocess.Popen(command, cwd=PROJECT, env=env, **files)
        assert self.process.stdout
        line = self.process.stdout.readline()
        found = re.search(r"(http://([^/]+):(\d+))/enter\?code=\S+", line)
        if not found:
            self.end()
        assert found, self.log
        self.enter, self.url = found[0], found[1]
        self.address = found[2], int(found[3])
        self.token = (folder / "token").read_text().strip()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.end()

    @property
    def log(self) -> str:
        return Path(self._log.name).read_text()

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        """A request with the token."""
        headers.setdefault("Authorization", f"Bearer {self.token}")
        return ask(self.address, method, path, body, **headers)

    def search(self, *urls: str, n: int = 3, strategy: str = "guided") -> list[str]:
        """Begin searches; their ids."""
        body = {"addresses": "\n".join(urls), "n": n, "strategy": strategy}
        found = self.ask("POST", "/api/searches", body)
        assert found.status == 201, found.body
        return [row["id"] for row in found.json["searches"]]

    def events(self, run: str) -> list[dict[str, Any]]:
        """All events of a search, once it is over."""
        found = self.ask("GET", f"/api/searches/{run}/events").body
        return [json.loads(line) for line in found.splitlines()]

    def end(self, with_signal: int = signal.SIGINT) -> int:
        """End it, and wait until its output is closed, which its worker has as well."""
        with suppress(ProcessLookupError):
            self.process.send_signal(with_signal)
        code = self.process.wait(60)
        assert self.process.stdout
        if not self.process.stdout.closed:
            self.output = self.process.stdout.read()  # but for the first line
        self.process.stdout.close()
        self._log.close()
        return code


class GatedSite(SiteServer):
    """The demo's website; pages that are slow wait until the gate is open."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.slow: set[str] = set()

    def respond(self, request: Handler) -> None:
        if request.path in self.slow:
            self.gate.wait(60)
        super().respond(request)


class Thief(SiteServer):
    """Another user's program on the port of a server that does not run.

    It answers what it is asked for, and passes the question for the proof on to the real server.
    """

    def __init__(self, real: UiServer | None = None) -> None:
        super().__init__()
        self.real = real
        self.got: list[str] = []

    def respond(self, request: Handler) -> None:
        self.got.append(f"{request.path}\n{request.headers}")
        body = b'{"start": "00", "proof": "%s"}' % (b"0" * 64)
        if self.real and request.path.startswith("/api/hello"):
            body = ask(self.real.address, "GET", request.path).body
        allowed = {"Access_Control_Allow_Origin": "*", "Access_Control_Allow_Headers": "*"}
        request.answer(200, body, Content_Type="application/json", **allowed)


def wait_until(is_so: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)
