"""Who may come in: by the token, by a code that works once, by the cookie that a code gave."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from hashlib import sha256
from hmac import compare_digest
from ipaddress import ip_address
from secrets import token_urlsafe
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tplspider.plugins.ui.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tplspider.plugins.ui.store import RunStore

CODE_SECONDS = 60.0
SESSION_SECONDS = 30 * 24 * 3600
_MOST_CODES = 100
_MOST_SESSIONS = 100
_OWN_PATH = re.compile(r"/(?![/\\])[\x21-\x7e]*")
_LONGEST_PATH = 20_000
_EXTENSIONS = ("chrome-extension://", "moz-extension://")


class Access:
    """The token, the codes that are valid now, and the cookies that were given for them."""

    def __init__(
        self, token: str, port: int, store: RunStore, *, clock: Callable[[], float] = time.time
    ) -> None:
        self.cookie = f"tplspider_{port}"  # cookies of one host are sent to all of its ports
        self._token = token
        self._store = store
        self._clock = clock
        self._codes: dict[str, tuple[str, float]] = {}  # where they lead, and until when
        self._sessions = store.sessions(clock())

    def has_token(self, authorization: str) -> bool:
        """Whether a header Authorization has the token."""
        scheme, _, given = authorization.partition(" ")
        is_right = compare_digest(_bytes(given.strip()), _bytes(self._token))
        return is_right and scheme.lower() == "bearer"

    def make_code(self, path: str) -> str:
        """A code that leads to *path*, once. ValueError for a path that is not ours."""
        if not _OWN_PATH.fullmatch(path) or len(path) > _LONGEST_PATH or "\\" in path:
            raise ValueError("to: expected a path of this server, /searches/... for instance")
        while len(self._codes) >= _MOST_CODES:
            del self._codes[next(iter(self._codes))]
        code = token_urlsafe(24)
        self._codes[code] = path, self._clock() + CODE_SECONDS
        return code

    def redeem(self, code: str) -> str | None:
        """Where a code leads; None for one that is not valid, or not any more."""
        path, until = self._codes.pop(code, ("", 0.0))
        return path if path and self._clock() < until else None

    def open_session(self) -> str:
        """The value of a new cookie. Only its hash is kept."""
        value = token_urlsafe(32)
        mark, until = _mark(value), self._clock() + SESSION_SECONDS
        while len(self._sessions) >= _MOST_SESSIONS:
            del self._sessions[min(self._sessions, key=lambda each: self._sessions[each])]
        self._sessions[mark] = until
        with suppress(StoreError):  # on a full disk, it is good until the server ends
            self._store.add_session(mark, until, _MOST_SESSIONS)
        return value

    def has_session(self, value: str) -> bool:
        """Whether this is the value of a cookie that we gave."""
        return self._clock() < self._sessions.get(_mark(value), 0.0)


def _mark(value: str) -> str:
    return sha256(_bytes(value)).hexdigest()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")  # headers may have bytes that are not UTF-8


def is_extension(origin: str) -> bool:
    """Whether an Origin is that of an extension of a browser."""
    return origin.startswith(_EXTENSIONS)


class OwnHosts:
    """The values of the header Host that mean this server: a name that leads here is not enough.

    A site may have its name lead to 127.0.0.1 (DNS rebinding); then its own name is in the header.
    Addresses cannot be turned that way, so a server that listens on all of them goes by any.
    """

    def __init__(self, host: str, port: int) -> None:
        self.port = port
        self._names = {"127.0.0.1", "localhost", host.lower().strip("[]")}
        self._any_address = False
        try:
            address = ip_address(host.strip("[]"))
        except ValueError:
            return
        self._any_address = address.is_unspecified
        if address.version == 6 and (address.is_loopback or address.is_unspecified):
            self._names.add("::1")

    def __contains__(self, header: object) -> bool:
        try:
            parts = urlsplit(f"//{header}")
            name, port = parts.hostname or "", parts.port or 80
        except ValueError:
            return False
        if str(header) != parts.netloc or parts.username is not None or port != self.port:
            return False
        return name in self._names or (self._any_address and _is_address(name))


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine can reach a server on that host."""
    if host.lower() == "localhost":
        return True
    return _is_address(host.strip("[]")) and ip_address(host.strip("[]")).is_loopback


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
