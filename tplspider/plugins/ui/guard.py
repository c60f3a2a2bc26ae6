"""What every request has to pass, and what every answer carries."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from aiohttp import web

from tplspider.plugins.ui.access import is_extension
from tplspider.plugins.ui.pages import enter_page
from tplspider.plugins.ui.runs import TooManyError
from tplspider.plugins.ui.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aiohttp.typedefs import Handler, Middleware

    from tplspider.plugins.ui.access import Access, OwnHosts

logger = logging.getLogger(__name__)

_OPEN = ("/enter", "/static/")  # nothing is told there
_READING = ("GET", "HEAD")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class RefusedError(Exception):
    """A request that is not answered: the status, and one line that says why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Guard:
    """The middleware before all others."""

    def __init__(self, access: Access, hosts: OwnHosts, command: str) -> None:
        self._access = access
        self._hosts = hosts
        self._command = command

    def middleware(self) -> Middleware:
        """What aiohttp calls."""

        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            try:
                self.check(request)
                if request.method == "OPTIONS":
                    return _preflight(request)
                return await handler(request)
            except RefusedError as error:
                return self._refusal(request, error.status, str(error))
            except web.HTTPException as error:
                if error.status < 400:
                    raise
                return self._refusal(request, error.status, _words(error))
            except web.RequestPayloadError:
                return self._refusal(request, 400, "what was sent cannot be read")
            except (ValueError, TooManyError) as error:
                return self._refusal(request, 400, str(error))
            except StoreError as error:
                return self._refusal(request, 507, str(error))
            except ConnectionError:
                raise
            except Exception:
                logger.exception("%s %s failed", request.method, request.path)
                return self._refusal(
                    request, 500, "something went wrong: the terminal has the error"
                )

        return guard

    def check(self, request: web.Request) -> None:
        """Raise RefusedError for a request that may not be answered."""
        host = request.headers.get("Host", "")
        if host not in self._hosts:
            raise RefusedError(403, "this server does not go by that name (Host)")
        origin = request.headers.get("Origin")
        is_own = origin == f"http://{host}"
        if origin is not None and not is_own and not is_extension(origin):
            raise RefusedError(403, "pages of others may not use this server (Origin)")
        if request.method == "OPTIONS":
            if origin is None or is_own:
                raise RefusedError(405, "OPTIONS is for extensions of browsers")
            return
        if request.path.startswith(_OPEN) and request.method in _READING:
            return
        if authorization := request.headers.get("Authorization", ""):
            if not self._access.has_token(authorization):
                raise RefusedError(401, "the token is wrong")
            return
        self._check_cookie(request, is_own=is_own)

    def _check_cookie(self, request: web.Request, *, is_own: bool) -> None:
        if request.headers.get("Origin") is not None and not is_own:
            raise RefusedError(401, "an extension needs the token")
        if not self._access.has_session(request.cookies.get(self._access.cookie, "")):
            raise RefusedError(
                401,
                f"not signed in, or no longer: {self._command} --open signs a browser in,"
                " and programs send the header Authorization: Bearer TOKEN",
            )
        if request.method not in _READING:
            if not is_own:
                raise RefusedError(403, "what changes something has to come from this page")
            return
        # The cookie is sent for what pages on other ports of this host ask for, too.
        site = request.headers.get("Sec-Fetch-Site", "none")
        is_visit = request.headers.get("Sec-Fetch-Mode") == "navigate"
        is_visit = is_visit and request.headers.get("Sec-Fetch-Dest") == "document"
        if site not in ("none", "same-origin") and not is_visit:
            raise RefusedError(403, "pages of others may not use this server (Sec-Fetch-Site)")

    def _refusal(self, request: web.Request, status: int, why: str) -> web.StreamResponse:
        is_visit = "text/html" in request.headers.get("Accept", "")
        if is_visit and not request.path.startswith("/api/"):
            return enter_page(status, why, self._command)
        return web.json_response({"error": " ".join(why.split())}, status=status)


@contextmanager
def broken_off(request: web.Request) -> Iterator[None]:
    """End the connection at a fault, where an answer has begun: no other can be given any more."""
    try:
        yield
    except StoreError as error:
        logger.error("%s breaks off: %s", request.path, error)  # noqa: TRY400 - it says it all
        if request.transport:
            request.transport.abort()


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Say what the answer may do, and that an extension may read it."""
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    origin = request.headers.get("Origin", "")
    if is_extension(origin):
        response.headers["Access-Control-Allow-Origin"] = origin
        response.headers["Vary"] = "Origin"


def _preflight(request: web.Request) -> web.Response:
    allowed = {
        "Access-Control-Allow-Methods": "GET, POST",
        "Access-Control-Allow-Headers": "Authorization, Content-Type",
        "Access-Control-Max-Age": "600",
    }
    if request.headers.get("Access-Control-Request-Private-Network"):
        allowed["Access-Control-Allow-Private-Network"] = "true"
    return web.Response(status=204, headers=allowed)


def _words(error: web.HTTPException) -> str:
    if isinstance(error, web.HTTPRequestEntityTooLarge):
        return "more than this server takes at once"
    return {404: "there is no such page", 405: "not in this way"}.get(error.status, error.reason)
