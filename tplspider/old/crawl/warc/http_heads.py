"""The heads of requests and responses, as they are archived: without what is secret.

Scrapy does not keep them as they came, but it keeps every header and its value.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING

from tplspider.web.addresses import without_user
from tplspider.web.redirects import clean_location

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy import Request
    from scrapy.http import Headers, Response

_SECRET = frozenset(
    {b"authorization", b"cookie", b"cookie2", b"proxy-authorization", b"set-cookie", b"set-cookie2"}
)
# Of how it was sent: Scrapy has put its parts together.
_OF_THE_WAY = frozenset({b"content-length", b"transfer-encoding"})
_HOST = re.compile(r"[^/?]*")
_USER = re.compile(rb"""(?<=//)[^/\\?#\s"'<>]*@""")


def plain_address(url: str) -> str:
    """An address that was requested, without ``user:password@`` and without its fragment."""
    url = url.partition("#")[0]
    try:
        return without_user(url)
    except ValueError:  # whatever it is, it was requested
        return url


def response_head(response: Response, *, secrets: bool) -> bytes:
    """Status line and headers of a response."""
    lines = [_status_line(response)]
    for name, value in _headers(response.headers, secrets=secrets):
        if name.lower() not in _OF_THE_WAY:
            lines.append(name + b": " + value)
    if response.body or b"Content-Length" in response.headers:
        lines.append(b"Content-Length: %d" % len(response.body))
    return _joined(lines)


def request_bytes(request: Request, authorization: bytes | None, *, secrets: bool) -> bytes:
    """A request with its body; *authorization* is a header that it had on its way."""
    _, _, asked = plain_address(request.url).partition("//")
    host = _HOST.match(asked)[0]  # type: ignore[index]  # it always matches
    path = asked[len(host) :]
    target = path if path.startswith("/") else f"/{path}"
    lines = [f"{request.method} {target} HTTP/1.1".encode(), f"Host: {host}".encode()]
    for name, value in _headers(request.headers, secrets=secrets):
        if name.lower() not in {*_OF_THE_WAY, b"host"}:
            lines.append(name + b": " + value)
    if authorization and secrets and b"Authorization" not in request.headers:
        lines.append(b"Authorization: " + authorization)
    if request.body:
        lines.append(b"Content-Length: %d" % len(request.body))
    return _joined(lines) + request.body


def _status_line(response: Response) -> bytes:
    protocol = response.protocol or ""
    version = protocol if protocol.startswith("HTTP/1.") else "HTTP/1.1"
    try:
        phrase = HTTPStatus(response.status).phrase
    except ValueError:
        phrase = ""
    return f"{version} {response.status} {phrase}".encode()


def _headers(headers: Headers, *, secrets: bool) -> Iterator[tuple[bytes, bytes]]:
    for name, values in headers.items():
        if secrets:
            yield from ((name, value) for value in values)
        elif name.lower() not in _SECRET:
            yield from ((name, _without_user(name, value)) for value in values)


def _without_user(name: bytes, value: bytes) -> bytes:
    """The value of a header without a ``user:password@`` in addresses."""
    if b"@" not in value:
        return value
    if name.lower() == b"location":
        try:
            cleaned = clean_location(value.decode("utf-8", "surrogateescape"))
            return cleaned.encode("utf-8", "surrogateescape")
        except ValueError:  # it leads nowhere
            pass
    return _USER.sub(b"", value)


def _joined(lines: Iterable[bytes]) -> bytes:
    # What a server has sent may have line ends in odd places.
    clean = [line.replace(b"\r", b" ").replace(b"\n", b" ") for line in lines]
    return b"\r\n".join([*clean, b"", b""])
