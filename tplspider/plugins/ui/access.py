"""Who may use the server: the proof, the token, codes that work once, requests and connections."""

from __future__ import annotations

import asyncio
import re
import time
from hashlib import sha256
from hmac import compare_digest
from hmac import new as new_hmac
from secrets import token_hex, token_urlsafe
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from scrapy.utils.datatypes import LocalCache

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from aiohttp import web

HOST = "127.0.0.1"  # not localhost, which might be an address of IPv6
CODE_SECONDS = 60.0
MOST_CONNECTIONS = 128  # well below the number of files that a process may open
PATIENCE = 10.0  # seconds that a connection has to send a request with the token
NONCE = re.compile(r"[0-9a-f]{32,128}")
_MOST = 100  # codes and sessions
_OWN_PATH = re.compile(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]*")  # without backslashes
_EXTENSIONS = ("chrome-extension://", "moz-extension://")
_READING = ("GET", "HEAD")
_OPEN = ("/enter", "/static/", "/api/hello")  # no secrets in them
SIGN_IN = (
    "not signed in: scrapy ui --open signs a browser in (with the --dir that the server has),"
    " and programs send the header Authorization: Bearer TOKEN"
)


class RefusedError(ValueError):
    """A request that is not answered: the status, and why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def sign(token: str, words: str) -> str:
    """The HMAC of some words with the token as its key."""
    return new_hmac(token.encode(), words.encode(), sha256).hexdigest()


class Access:
    """The token, and what was given for it: codes, and the sessions of browsers.

    Keys and sessions do not outlive the server: a program that takes its port after its end may be
    sent keys and cookies, and can do nothing with them.
    """

    def __init__(self, token: str, port: int, *, clock: Callable[[], float] = time.time) -> None:
        self.cookie = f"tplspider_{port}"  # cookies of a host are sent to all of its ports
        self.address = f"http://{HOST}:{port}"
        self._hosts = (f"{HOST}:{port}", f"localhost:{port}")
        self._token, self._clock = token, clock
        self._start, self._began = token_hex(16), clock()
        # Clients may send a key in place of the token: it is for one start of the server alone.
        key = sign(token, f"key {port} {self._start}")
        self._secrets = [token.encode(), key.encode()]
        self._used: LocalCache[str, None] = LocalCache(_MOST)  # codes
        self._sessions: LocalCache[str, None] = LocalCache(_MOST)

    def hello(self, nonce: str) -> dict[str, str]:
        """Prove that this server knows the token. A client asks before it sends anything.

        A program at another address or port cannot pass the question on to this server.
        """
        if not NONCE.fullmatch(nonce):
            raise RefusedError(400, "nonce: expected 32 to 128 hex digits")
        words = f"proof {self.address} {self._start} {nonce}"
        return {"start": self._start, "proof": sign(self._token, words)}

    def entrance(self, path: str) -> str:
        """An address that signs a browser in, and leads it to *path*: once, within a minute.

        Another process with the token can make one. It is worth nothing on another port. Raises
        ValueError for a path that is not ours.
        """
        if not _OWN_PATH.fullmatch(path):
            raise ValueError("to: expected a path of this server, such as /searches/...")
        words = f"{self._clock() * 1000:.0f}.{token_hex(8)}"
        proof = sign(self._token, f"code {self.address} {words} {path}")
        return f"{self.address}/enter?{urlencode({'code': f'{words}.{proof}', 'to': path})}"

    def redeem(self, code: str, path: str) -> bool:
        """Whether a code leads to a path; it does so once."""
        words, _, proof = code.rpartition(".")
        expected = sign(self._token, f"code {self.address} {words} {path}")
        if not compare_digest(proof.encode(), expected.encode()) or code in self._used:
            return False
        self._used[code] = None
        age = self._clock() - float(words.partition(".")[0]) / 1000
        # What is older than the server may have been used with the last one.
        return -1 < age < min(CODE_SECONDS, self._clock() - self._began + 0.001)

    def open_session(self) -> str:
        """The value of a cookie for a browser that came with a code."""
        value = token_urlsafe(32)
        self._sessions[value] = None
        return value

    def has_session(self, request: web.Request) -> bool:
        return request.cookies.get(self.cookie, "") in self._sessions

    def check(self, request: web.Request) -> bool:
        """Whether a request is the owner's. Raises RefusedError if it may not be answered."""
        host, origin = request.headers.get("Host", ""), request.headers.get("Origin")
        if host.lower() not in self._hosts:  # a site may have its name lead to 127.0.0.1
            raise RefusedError(403, "this server does not have that name (Host)")
        is_own = origin == f"http://{host}"
        if origin is not None and not is_own and not origin.startswith(_EXTENSIONS):
            raise RefusedError(403, "other pages may not use this server (Origin)")
        authorization = request.headers.get("Authorization", "")
        has_session = not authorization and (origin is None or is_own) and self.has_session(request)
        if request.path.startswith(_OPEN) and request.method in _READING:
            return has_session
        if authorization:
            if not self._has_secret(authorization):
                raise RefusedError(401, "the token is wrong")
            return True
        if not has_session:
            raise RefusedError(401, SIGN_IN)
        if request.method not in _READING:
            if not is_own:
                raise RefusedError(403, "changes must come from this page")
            return True
        # Browsers send the cookie for what pages on other ports of this host ask for, too.
        site = request.headers.get("Sec-Fetch-Site", "none")
        asked = (request.headers.get("Sec-Fetch-Mode"), request.headers.get("Sec-Fetch-Dest"))
        if site not in ("none", "same-origin") and asked != ("navigate", "document"):
            raise RefusedError(403, "other pages may not use this server (Sec-Fetch-Site)")
        return True

    def _has_secret(self, authorization: str) -> bool:
        scheme, _, given = authorization.partition(" ")
        value = given.strip().encode("utf-8", "replace")
        found = [compare_digest(value, each) for each in self._secrets]
        return any(found) and scheme.lower() == "bearer"


class Connections:
    """The open connections: so many at most, and only those of the owner stay open.

    Unless a request on it shows the token or a cookie, a connection ends after some seconds; sooner
    if there are too many. So others cannot keep the owner out.
    """

    def __init__(self) -> None:
        self._trusted: dict[Any, bool] = {}  # by their transports, the oldest first

    async def accept(self, listener: socket.socket, factory: Callable[[], Any]) -> None:
        """Serve the connections to a socket, each by a protocol of the *factory*.

        They are accepted one by one: asyncio's server accepts a hundred before it reads any.
        """
        loop = asyncio.get_running_loop()
        listener.setblocking(False)  # noqa: FBT003 - it has no name
        while True:
            try:
                accepted, _ = await loop.sock_accept(listener)
                if self._has_room():
                    transport, _ = await loop.connect_accepted_socket(factory, accepted)
                    self._trusted[transport] = False
                    loop.call_later(PATIENCE, self._expire, transport)
                else:
                    accepted.close()
            except OSError:  # it is gone already; or too many files are open
                await asyncio.sleep(0.1)

    def trust(self, transport: asyncio.Transport | None) -> None:
        """Let a connection stay open: it is the owner's."""
        if transport in self._trusted:
            self._trusted[transport] = True

    def _has_room(self) -> bool:
        """Whether there is room for one more; the oldest that is not the owner's makes room."""
        open_now = {each: ok for each, ok in self._trusted.items() if not each.is_closing()}
        self._trusted = open_now
        if len(open_now) < MOST_CONNECTIONS:
            return True
        oldest = next((each for each, is_trusted in open_now.items() if not is_trusted), None)
        if oldest is None:
            return False
        del open_now[oldest]
        oldest.abort()
        return True

    def _expire(self, transport: asyncio.Transport) -> None:
        if self._trusted.get(transport) is False:
            transport.abort()
            del self._trusted[transport]
