"""A Redis of a test's own, on loopback, that can be stopped, killed and started again."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
from contextlib import contextmanager, suppress
from time import monotonic, sleep
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REDIS = shutil.which("redis-server")

needs_redis = pytest.mark.skipif(REDIS is None, reason="redis-server is not installed")


class RedisServer:
    """A Redis whose data is in *folder*, with an append-only file if it is *durable*."""

    def __init__(self, folder: Path, *options: str, durable: bool = False) -> None:
        self._folder = folder
        self._options = (*options, "--appendonly", "yes" if durable else "no")
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            self.port: int = taken.getsockname()[1]

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        assert REDIS
        command = [REDIS, "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        command += ["--dir", str(self._folder), "--loglevel", "warning", *self._options]
        with (self._folder / "redis.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = monotonic() + 30
        while not self._answers():
            assert self._process.poll() is None, (self._folder / "redis.log").read_text()
            assert monotonic() < deadline, "redis-server does not answer"
            sleep(0.02)

    def pause(self) -> None:
        """Let it hang: connections stay open, and nothing comes."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self._signal(signal.SIGKILL)
        assert self._process
        self._process.wait()

    def stop(self) -> None:
        with suppress(ProcessLookupError):
            self.resume()
            self.kill()

    def _signal(self, number: signal.Signals) -> None:
        assert self._process
        self._process.send_signal(number)

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as talk:
            talk.sendall(b"PING\r\n")
            answer = talk.recv(100)
            return answer.startswith((b"+PONG", b"-NOAUTH"))
        return False


@contextmanager
def redis_server(folder: Path, *options: str, durable: bool = False) -> Iterator[RedisServer]:
    """A Redis that is there for a while."""
    server = RedisServer(folder, *options, durable=durable)
    server.start()
    try:
        yield server
    finally:
        server.stop()
