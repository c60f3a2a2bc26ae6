"""The folder where all that the server keeps is: the token, the port and the list of searches."""

from __future__ import annotations

import errno
import os
import re
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex, token_urlsafe
from typing import TYPE_CHECKING

from tplspider.pools.store import locked

if TYPE_CHECKING:
    from collections.abc import Iterator

PORT = 8765

_TOKEN, _PORT, _ADDRESS = "token", "port", "address"
_LOCK = "server.lock"
_GOOD_TOKEN = re.compile(r"[A-Za-z0-9_-]{32,200}")


class InUseError(Exception):
    """Another server has the folder."""


def default_folder() -> Path:
    """Where programs keep their state, of the user who runs this."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    else:
        base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "tplspider" / "ui"


class StateFolder:
    """A folder that nobody else may look into. What goes wrong is an OSError, in one line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        is_new = not path.exists()
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if is_new:
            path.chmod(0o700)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Have it for oneself; InUseError if another server has it."""
        holder = locked(self.path, seconds=0, name=_LOCK)
        try:
            holder.__enter__()
        except TimeoutError:
            raise InUseError from None
        try:
            yield
        finally:
            holder.__exit__(None, None, None)

    @property
    def token_file(self) -> Path:
        return self.path / _TOKEN

    def token(self, *, new: bool = False) -> str:
        """The token: that of the last time, or a *new* one."""
        self._check(_TOKEN)
        with suppress(FileNotFoundError, UnicodeDecodeError):
            self.token_file.chmod(0o600)
            found = self.token_file.read_text("ascii").strip()
            if _GOOD_TOKEN.fullmatch(found) and not new:
                return found
        token = token_urlsafe(32)
        self._write(_TOKEN, token)
        return token

    def port(self) -> int:
        """The port of the last time, or the usual one."""
        self._check(_PORT)
        with suppress(OSError, ValueError):
            port = int((self.path / _PORT).read_text("ascii"))
            if 0 < port < 65536:
                return port
        return PORT

    def keep_port(self, port: int) -> None:
        """Have the same port the next time: bookmarks and buttons know it."""
        if self.port() != port or not (self.path / _PORT).exists():
            self._write(_PORT, str(port))

    def address(self) -> str:
        """Where the server is that has the folder now, or had it last; '' if none ever had."""
        self._check(_ADDRESS)
        with suppress(OSError, ValueError):
            return (self.path / _ADDRESS).read_text("ascii").strip()
        return ""

    def keep_address(self, address: str) -> None:
        """Say where the server is, to whoever is to ask it for something."""
        self._write(_ADDRESS, address)

    def _check(self, name: str) -> None:
        """Refuse what is not a file: a FIFO would be waited for without an end."""
        path = self.path / name
        if path.exists() and not path.is_file():
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))

    def _write(self, name: str, text: str) -> None:
        beside = self.path / f".{name}.{token_hex(4)}"
        try:
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(f"{text}\n")
            beside.replace(self.path / name)
        except OSError:
            beside.unlink(missing_ok=True)
            raise
