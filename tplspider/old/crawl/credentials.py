"""``user:password@`` in the address of the key page, for HTTP authentication.

The two are taken off the address before anything sees it. They travel on tickets, and are sent to
the origin that they were given for (scheme, host and port) and to no other. Scrapy's own
HttpAuthMiddleware will not do: its settings are logged at the start of a crawl, and it goes by
domains, whatever the scheme and port.
"""

from __future__ import annotations

import logging
import re
from base64 import b64encode
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes, urlsplit

from tplspider.web.addresses import clean_href

logger = logging.getLogger(__name__)

# Schemes that a word before a colon may be, where no slashes follow; else it is a user name.
NO_HOSTS = ("acct", "data", "javascript", "mailto", "sip", "sips", "tel", "xmpp")
_NO_USER = rf"(?:https?|{'|'.join(NO_HOSTS)}):"
_USER = re.compile(rf"((?:[a-z][a-z0-9+.-]*:)?//|(?!{_NO_USER}))([^/?#]*)@", re.IGNORECASE)
_SHOWN = re.compile(rf"\s*(?:{_NO_USER}|[a-z][a-z0-9+.-]*://)/*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Credentials:
    """What HTTP authentication takes on one origin."""

    origin: str
    header: bytes = field(repr=False)  # the value of Authorization


def take_credentials(given: str) -> tuple[str, str | None]:
    """An address as browsers read it, without ``user:password``; and those two, None without them.

    >>> take_credentials(" https://me:a@b@example.org/x@y ")
    ('https://example.org/x@y', 'me:a@b')
    """
    address = clean_href(given.strip())
    found = _USER.match(address)
    return (found[1] + address[found.end() :], found[2]) if found else (address, None)


def without_credentials(given: str) -> str:
    """An address as it was given, but without ``user:password``."""
    address, user = take_credentials(given)
    return given if user is None else address


def masked(given: str) -> str:
    """What may be shown of an address that will not do: nothing before an ``@`` but the scheme.

    >>> masked("https://me:a/b@example.org/")
    'https://***@example.org/'
    """
    _, at, rest = given.rpartition("@")
    start = _SHOWN.match(given)
    return f"{start[0] if start else ''}***@{rest}" if at else given


def read_credentials(given: str, url: str) -> Credentials | None:
    """The credentials in the address of a key page, which are for the origin of *url*."""
    user = take_credentials(given)[1] or ""
    if user in ("", ":"):  # as browsers do
        return None
    name, _, password = user.partition(":")
    try:
        # Bytes that are not UTF-8 come from a command line as lone surrogates.
        pair = [part.encode("utf-8", "surrogateescape") for part in (name, password)]
    except UnicodeEncodeError:
        raise ValueError(f"url {masked(given)!r}: a user name or password is not text") from None
    return Credentials(origin(url), b"Basic " + b64encode(b":".join(map(unquote_to_bytes, pair))))


def origin(url: str) -> str:
    """The scheme, host and port of an address; '' for one that cannot be connected to.

    >>> origin("https://Example.org/x") == origin("https://example.org:443/")
    True
    """
    parts = urlsplit(url)
    try:
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    except (KeyError, ValueError):
        return ""
    return f"{parts.scheme}://{parts.hostname}:{port}"
