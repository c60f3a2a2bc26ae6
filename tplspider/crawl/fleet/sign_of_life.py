"""What a worker is called, and what the queue is told of it from time to time."""

from __future__ import annotations

import json
import os
import secrets
import socket

from tplspider import __version__


class SignOfLife:
    """A worker as others see it. No two have the same *name*, even if the same command is run."""

    def __init__(self) -> None:
        self._host = socket.gethostname()
        self.name = f"{self._host}-{os.getpid()}-{secrets.token_hex(4)}"
        self.started = 0  # in seconds, by Redis's clock
        self.done = 0  # key pages

    def beat(self, in_work: int) -> str:
        """Its figures, as JSON."""
        told = {
            "host": self._host,
            "pid": os.getpid(),
            "version": __version__,
            "started": self.started,
            "done": self.done,
            "in_work": in_work,
        }
        return json.dumps(told)
