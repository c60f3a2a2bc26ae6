"""The addresses of saved pages, by where the files are: mirrors name folders by hosts.

Mirrors do not keep the scheme: it is https for hosts of the public DNS without a port, and http for
all others.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit, urlunsplit

from w3lib.url import safe_url_string

from tplspider.web.addresses import (
    check_host,
    host_of,
    identity,
    registered_domain,
    site_name,
    without_user,
)

if TYPE_CHECKING:
    from pathlib import Path

# HTTrack writes where a page is from into the page: "<!-- Mirrored from host/path by HTTrack ...".
_MIRRORED = re.compile(
    rb"<!--\s?Mirrored from (\S[^\r\n<>]{0,4000}?) by HTTrack Website Copier", re.IGNORECASE
)
_LONGEST_URL = 8000  # characters
TOP = 5000  # bytes in which that comment is
# Mirrors write the port of a host behind ":", "+" (wget for Windows) or "_" (HTTrack).
_HOST = re.compile(rb"([a-z0-9_](?:[a-z0-9_.-]{0,251}?[a-z0-9])?)(?:([:+_])([0-9]{1,5}))?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?")
_LOWEST_PORT, _HIGHEST_PORT = 80, 65535  # "chapter:12" is not a host
# Of names that are never in the public DNS.
_PRIVATE = frozenset("example home.arpa internal invalid lan local localhost test".split())
# Between path and query: "?", or what stands for it where files cannot have one in their names.
_QUERY = re.compile(rb"\?|%3[Ff]|@(?=[\w.%\[\]-]+=)", re.ASCII)
_INDEX = b"index.html"
_SCHEMES = (b"http", b"https")
_NOT_AN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


class FileAddresses:
    """The addresses of files, by their paths in a folder.

    A first folder that is named by a host is one (before it may be one named ``http`` or
    ``https``); else paths are behind *base_url*, or behind the name of the folder itself, as if
    that were a host in any case.
    """

    def __init__(self, folder: Path, base_url: str = "") -> None:
        name = os.fsencode(folder.resolve().name.lower()) or b"folder"
        self._base = base_url.rstrip("/") or origin_of(name) or f"http://{quote(name)}"

    def of(self, path: bytes) -> str:
        """The address of the file at this path; that of its directory for an ``index.html``."""
        first, *names = path.split(b"/")
        scheme = ""
        if first in _SCHEMES and len(names) > 1:
            scheme, (first, *names) = first.decode(), names
        origin = origin_of(first.lower(), scheme) if names else ""
        if origin:
            return f"{origin}/{_tail(b'/'.join(names))}"
        return f"{self._base}/{_tail(path)}"


def mirrored_address(body: bytes) -> str:
    """The address that HTTrack has written into a page; '' where it has not."""
    found = _MIRRORED.search(body[:TOP])
    if not found:
        return ""
    given = found[1].decode("utf-8", "replace")
    if "://" in given:
        return web_address(given)
    host, _, path = web_address(f"http://{given}").removeprefix("http://").partition("/")
    return f"{origin_of(host.encode()) or f'http://{host}'}/{path}" if host else ""


@lru_cache(maxsize=1000)
def origin_of(name: bytes, scheme: str = "") -> str:
    """The origin that a folder of this name stands for; '' for a name that is not that of a host.

    >>> origin_of(b"www.example.org"), origin_of(b"localhost+8000"), origin_of(b"v1.2")
    ('https://www.example.org', 'http://localhost:8000', '')
    """
    found = _HOST.fullmatch(name)
    if not found:
        return ""
    host, port = found[1].decode(), int(found[3] or 0)
    labels = host.split(".")
    is_host = (
        registered_domain(host)
        or _is_ip(host)
        or labels[-1] in _PRIVATE
        or (found[2] == b":" and port >= _LOWEST_PORT)  # of a private network
    )
    if not is_host or port > _HIGHEST_PORT or not all(map(_LABEL.fullmatch, labels)):
        return ""
    scheme = scheme or _scheme(host, port)
    is_default = port in (0, 443 if scheme == "https" else 80)
    return f"{scheme}://{host}" if is_default else f"{scheme}://{host}:{port}"


def assumed_scheme(url: str) -> str:
    """An address that was given without a scheme, with the scheme that mirrors imply.

    >>> assumed_scheme("https://127.0.0.1:8102/a"), assumed_scheme("https://example.org/a")
    ('http://127.0.0.1:8102/a', 'https://example.org/a')
    """
    parts = urlsplit(url)
    scheme = _scheme(parts.hostname or "", parts.port or 0)
    return urlunsplit((scheme, *parts[1:]))


def _scheme(host: str, port: int) -> str:
    return "https" if port in (0, 443) and registered_domain(host) else "http"


def without_query(name: bytes) -> bytes:
    """The name of a file without what was the query of its address."""
    found = _QUERY.search(name)
    return name[: found.start()] if found else name


def _is_ip(host: str) -> bool:
    with suppress(ValueError):
        return bool(ip_address(host))
    return False


def web_address(url: str) -> str:
    """An http or https address, safe for the wire, without user and password; '' for any other.

    >>> web_address("https://me:secret@example.org/a b")
    'https://example.org/a%20b'
    """
    if len(url) > _LONGEST_URL or not url[:8].lower().startswith(("http://", "https://")):
        return ""
    try:
        found = safe_url_string(without_user(url.partition("#")[0]))
        check_host(host_of(found))
        site_name(identity(found))  # the port must be valid, too
    except ValueError:  # UnicodeError, too
        return ""
    return found if found.isascii() else ""


def _tail(path: bytes) -> str:
    """A path as it stands in an address, with the query that may be in the name of the file."""
    folder, slash, name = path.rpartition(b"/")
    stem = without_query(name)
    given = _QUERY.sub(b"", name[len(stem) :], count=1)
    if b"=" in given:  # wget adds an ending to names that have none for HTML
        given = given.removesuffix(b".html")
    query = f"?{_quoted(given, '/?')}" if len(stem) < len(name) else ""
    return _quoted(folder + slash + (b"" if stem == _INDEX else stem), "/") + query


def _quoted(text: bytes, safe: str) -> str:
    """Quoted for an address; what is an escape already stays one."""
    return _NOT_AN_ESCAPE.sub("%25", quote(text, safe=f"{safe}%!$&'()*+,;=:@~"))
