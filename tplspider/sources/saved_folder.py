"""A folder of saved pages: every file in it, as a page of the address that it was saved from.

Links are not followed. What is not a plain file is not opened: a pipe would wait for a writer.

Addresses are told by where the files are: mirrors name folders by hosts, without the scheme. It is
https for hosts of the public DNS without a port, and http for all others.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections import defaultdict, deque
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from mimetypes import MimeTypes
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from w3lib.url import safe_url_string

from tplspider.web.addresses import (
    check_host,
    host_of,
    identity,
    place_of,
    registered_domain,
    site_name,
    without_user,
)
from tplspider.web.page import SNIFFED, TOO_LARGE, NoPage, WebPage, is_text, known_encoding

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

LARGEST = 10 * 1024 * 1024  # bytes of a page, as in a crawl by default
# Why a file is not read.
LINK = "link"  # a symbolic link
SPECIAL = "special"  # a pipe, a socket, a device
UNREADABLE = "unreadable"  # the system refuses it, or it is gone

_MANIFEST = b"manifest.json"
_LARGEST_MANIFEST = 8_000_000  # bytes; one of ours has 300 for each page
_KINDS = {stat.S_IFREG: "", stat.S_IFLNK: LINK}
_TYPES = MimeTypes()  # Python's own list, the same on every machine
_MARKUP = re.compile(
    rb"<(?:!doctype|html|head|title|meta|body|div|p|a|table|h[1-6])\b", re.IGNORECASE
)
_HTML = re.compile(rb"<(?:!doctype\s+html|html)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SavedFile:
    """A file of a folder. *url* is '' for a manifest of saved pages, which was on no site."""

    site: str
    path: bytes  # in the folder
    url: str
    key: int
    encoding: str
    fault: str
    folder: SavedFolder = field(repr=False, compare=False)
    offset: int = 0  # as of a page in an archive

    def read(self) -> WebPage | NoPage:
        """The file as a page, HTML or not; or why it cannot be read."""
        return self.folder.read(self)


class SavedFolder:
    """The files of a folder, with their addresses, sites and keys, listed when it is opened.

    The files and folders at the paths *without* are left out. Raises OSError if the folder cannot
    be read.
    """

    def __init__(
        self, path: Path | str, base_url: str = "", *, without: Collection[Path] = ()
    ) -> None:
        self.path = Path(path)
        self._root = os.fsencode(os.path.realpath(path)) + b"/"
        os.scandir(self._root).close()
        self._addresses = FileAddresses(self.path, base_url)
        self._without = {os.fsencode(os.path.realpath(each)) for each in without}
        self._noted: dict[bytes, tuple[str, str]] = {}  # what manifests say, by path
        found = sorted(self._walk(), key=lambda each: each[0].split(b"/"))
        self._files = [self._file(name, fault) for name, fault in found]
        self._sites: defaultdict[str, list[SavedFile]] = defaultdict(list)
        for file in sorted(self._files, key=attrgetter("key", "path")):
            self._sites[file.site].append(file)

    def pages(self, site: str | None = None) -> Iterator[SavedFile]:
        """The files of a site by their keys, or all files by their paths, name by name."""
        return iter(self._files if site is None else self._sites[site])

    def count_pages(self) -> int:
        """How many files there are."""
        return len(self._files)

    def close(self) -> None:
        """Nothing is open."""

    def read(self, file: SavedFile) -> WebPage | NoPage:
        """What a file holds, as a page.

        Its headers are lost: its type is guessed from its name and its first bytes, and its
        encoding, unless a manifest has it, is the one that it declares.
        """
        if file.fault:
            return NoPage(file.fault)
        try:
            body = self._start_of(file.path, LARGEST + 1)
        except OSError:
            return NoPage(UNREADABLE)
        if len(body) > LARGEST:
            return NoPage(TOO_LARGE)
        is_html = _is_html(file.path.rpartition(b"/")[2], body[:SNIFFED])
        return WebPage(file.url, body, given_encoding=file.encoding, given_html=is_html)

    def _walk(self) -> Iterator[tuple[bytes, str]]:
        """The paths of all files, and why they are not read; notes what manifests say of them."""
        folders = deque([b""])
        while folders:
            inside = folders.popleft()
            try:
                with os.scandir(self._root + inside) as entries:
                    for entry in entries:
                        if entry.path in self._without:
                            continue
                        path = inside + entry.name
                        if entry.is_dir(follow_symlinks=False):
                            folders.append(path + b"/")
                            continue
                        if entry.name == _MANIFEST:
                            self._note(inside)
                        mode = entry.stat(follow_symlinks=False).st_mode
                        yield path, _KINDS.get(stat.S_IFMT(mode), SPECIAL)
            except OSError:
                yield inside, UNREADABLE

    def _file(self, path: bytes, fault: str) -> SavedFile:
        """What is found out about a file."""
        url, encoding = self._noted.get(path, (None, ""))
        if url is None:
            url = self._addresses.of(path)
            if not fault:
                with suppress(OSError):
                    url = mirrored_address(self._start_of(path, TOP)) or url
        try:
            name = identity(url) if url else ""
            site = site_name(name) if url else ""
        except ValueError:
            name, site = url, ""
        return SavedFile(site, path, url, place_of(name) - (1 << 63), encoding, fault, self)

    def _note(self, inside: bytes) -> None:
        """Note what a manifest says of the files beside it; it may be forged."""
        try:
            rows = json.loads(self._start_of(inside + _MANIFEST, _LARGEST_MANIFEST))
        except (OSError, ValueError, RecursionError):
            return
        found = {}
        for row in rows if isinstance(rows, list) else ():
            if not isinstance(row, dict):
                continue
            name, url, encoding = (str(row.get(each, "")) for each in ("file", "url", "encoding"))
            if (address := web_address(url)) and name.isprintable() and "/" not in name:
                found[inside + name.encode()] = address, known_encoding(encoding)
        if found:
            self._noted |= {**found, inside + _MANIFEST: ("", "")}

    def _start_of(self, path: bytes, size: int) -> bytes:
        """The first bytes of a plain file. Raises OSError, also if it has become a link."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        with os.fdopen(os.open(self._root + path, flags), "rb") as file:
            return file.read(size)


def _is_html(name: bytes, start: bytes) -> bool:
    kind = _type_of(name) or _type_of(without_query(name))
    if "html" in kind:
        # An image that was saved as a page is not one. Some encodings have control characters.
        return is_text(start) or bool(_MARKUP.search(start.replace(b"\0", b"")))
    if not is_text(start):
        return False
    return bool(_HTML.match(start.lstrip(b"\xef\xbb\xbf \t\r\n")) if kind else _HTML.search(start))


def _type_of(name: bytes) -> str:
    ending = name.rpartition(b".")[2].decode("ascii", "replace")
    return _TYPES.guess_type(f"x.{ending}")[0] or "" if b"." in name else ""


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
_NOT_AN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


class FileAddresses:
    """The addresses of files, by their paths in a folder.

    A first folder that is named by a host is one; else paths are behind *base_url*, or behind the
    name of the folder itself, as if that were a host in any case.
    """

    def __init__(self, folder: Path, base_url: str = "") -> None:
        name = os.fsencode(folder.resolve().name.lower()) or b"folder"
        self._base = base_url.rstrip("/") or origin_of(name) or f"http://{quote(name)}"

    def of(self, path: bytes) -> str:
        """The address of the file at this path; that of its directory for an ``index.html``."""
        first, *names = path.split(b"/")
        if origin := origin_of(first.lower()) if names else "":
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
def origin_of(name: bytes) -> str:
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
        or (len(labels) == 4 and all(map(str.isdigit, labels)))  # an IPv4 address
        or labels[-1] in _PRIVATE
        or (found[2] == b":" and port >= _LOWEST_PORT)  # of a private network
    )
    if not is_host or port > _HIGHEST_PORT or not all(map(_LABEL.fullmatch, labels)):
        return ""
    scheme = "https" if port in (0, 443) and registered_domain(host) else "http"
    is_default = port in (0, 443 if scheme == "https" else 80)
    return f"{scheme}://{host}" if is_default else f"{scheme}://{host}:{port}"


def without_query(name: bytes) -> bytes:
    """The name of a file without what was the query of its address."""
    found = _QUERY.search(name)
    return name[: found.start()] if found else name


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
