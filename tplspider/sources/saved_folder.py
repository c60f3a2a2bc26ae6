"""A folder of saved pages: a mirror by wget or HTTrack, pages that a crawl has saved, or any other.

Where a page is from is told by a manifest beside it, by HTTrack's comment in it, by a folder that
is named like a host, or by the address of the whole folder. Links are not followed: all is opened
by its name in a folder that is open already, so no folder can become a link on the way.
"""

from __future__ import annotations

import codecs
import errno
import json
import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from mimetypes import MimeTypes
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from w3lib.url import safe_url_string

from tplspider.web.addresses import (
    LONGEST_HOST,
    check_host,
    host_of,
    identity,
    registered_domain,
    site_name,
    without_user,
)
from tplspider.web.page import BAD_RESPONSE, SNIFFED, TOO_LARGE, WebPage, is_text, page_fault

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    Inode = tuple[int, int]  # the device, and the number on it

EMPTY = "empty"
LINK = "link"  # a symbolic link
SPECIAL = "special"  # a pipe, a socket, a device: not opened
UNREADABLE = "unreadable"  # the system refuses it, it is gone, or cannot be decoded
LARGEST = 10 * 1024 * 1024  # bytes, as what is loaded in a crawl by default

_MANIFEST = b"manifest.json"
_LARGEST_MANIFEST = 8_000_000  # bytes; one of ours has 300 for each page
_LONGEST_NAME, _LONGEST_URL = 255, 8000
_FOLDER = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY | os.O_NOFOLLOW
# A pipe would wait for somebody to write to it.
_FILE = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_REASONS = {errno.ELOOP: LINK, errno.ENXIO: SPECIAL}
_PART = 65536  # bytes to read at least: for more than there seem to be
_TYPES = MimeTypes()  # Python's own list, the same on every machine
# What nothing but a page starts with; the names of files that were pages tell little. There is one
# way to read it: hostile comments would make others take for ever.
_START = re.compile(
    rb"(?:\xef\xbb\xbf)?(?>\s+|<\?xml[^>]*>|<!--.*?-->)*+<(?:!doctype\s+html|html)\b",
    re.IGNORECASE | re.DOTALL,
)
_MARKUP = re.compile(
    rb"<(?:!doctype|html|head|title|meta|body|div|p|a|table|h[1-6])\b", re.IGNORECASE
)
_HTML = re.compile(rb"<(?:!doctype\s+html|html)\b", re.IGNORECASE)
# HTTrack writes where a page is from into the page: "<!-- Mirrored from host/path by HTTrack ...".
_MIRRORED = re.compile(
    rb"<!--\s?Mirrored from (\S[^\r\n<>]{0,4000}?) by HTTrack Website Copier", re.IGNORECASE
)
_TOP = 5000  # bytes in which that comment is
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


@dataclass(frozen=True, slots=True)
class SavedFile:
    """A file: its path in the folder, its address, and its HTML, or the outcome if it has none."""

    path: bytes
    url: str = ""
    html: str = ""
    outcome: str = ""


@dataclass(slots=True)
class _OpenFolder:
    number: int  # of the open file
    path: bytes  # with a slash at its end, but for the uppermost
    entries: Iterator[os.DirEntry[str]]
    told: dict[bytes, tuple[str, str]]  # addresses and encodings, by a manifest


class _UnreadError(Exception):
    """The file is not read; the message is its outcome."""


class SavedFolder:
    """All files of a folder and of those in it, in the order of their paths, name by name.

    A first folder that is named by a host is one (before it may be one named ``http`` or
    ``https``); else paths are behind *base_url*, or behind the name of the folder itself, as if
    that were a host in any case. *without* are files and folders that are left out.
    """

    def __init__(self, folder: Path, base_url: str = "", without: Collection[Inode] = ()) -> None:
        self.folder = folder
        self._without = without
        name = os.fsencode(folder.resolve().name.lower()) or b"folder"
        self._base = base_url.rstrip("/") or origin_of(name) or f"http://{quote(name)}"

    def files(self) -> Iterator[SavedFile]:
        """The files; a folder that cannot be read is among them, with a slash behind its name.

        Raises OSError if the whole folder cannot be read.
        """
        stack = [_opened(os.fspath(self.folder), None, b"")]
        try:
            while stack:
                folder = stack[-1]
                if (entry := next(folder.entries, None)) is None:
                    os.close(stack.pop().number)
                elif not self._is_left_out(entry):
                    yield from self._entry(entry, folder, stack)
        finally:
            for folder in stack:
                os.close(folder.number)

    def _entry(
        self, entry: os.DirEntry[str], folder: _OpenFolder, stack: list[_OpenFolder]
    ) -> Iterator[SavedFile]:
        name = os.fsencode(entry.name)
        path = folder.path + name
        try:
            if entry.is_dir(follow_symlinks=False):
                stack.append(_opened(entry.name, folder.number, path + b"/"))
                return
        except OSError:
            yield SavedFile(path + b"/", self.address_of(path), outcome=UNREADABLE)
            return
        url, encoding = folder.told.get(name, (self.address_of(path), ""))
        try:
            body = _read(entry.name, folder.number, LARGEST)
            html = _html(name, body, encoding)
        except _UnreadError as error:
            yield SavedFile(path, url, outcome=str(error))
        else:
            known = name in folder.told
            yield SavedFile(path, url if known else mirrored_address(body) or url, html)

    def address_of(self, path: bytes) -> str:
        """The address of the file at a path; that of its directory for an ``index.html``."""
        first, *names = path.split(b"/")
        scheme = ""
        if first in _SCHEMES and len(names) > 1:
            scheme, (first, *names) = first.decode(), names
        origin = origin_of(first.lower(), scheme) if names else ""
        return f"{origin}/{_tail(b'/'.join(names))}" if origin else f"{self._base}/{_tail(path)}"

    def _is_left_out(self, entry: os.DirEntry[str]) -> bool:
        with suppress(OSError):
            if any(number == entry.inode() for _, number in self._without):
                found = entry.stat(follow_symlinks=False)
                return (found.st_dev, found.st_ino) in self._without
        return False


def _opened(name: str, folder: int | None, path: bytes) -> _OpenFolder:
    number = os.open(
        name, _FOLDER if folder is not None else _FOLDER & ~os.O_NOFOLLOW, dir_fd=folder
    )
    try:
        with os.scandir(number) as entries:
            found = sorted(entries, key=lambda entry: os.fsencode(entry.name))
    except BaseException:
        os.close(number)
        raise
    has_manifest = any(entry.name == _MANIFEST.decode() for entry in found)
    told = dict(_manifest(number)) if has_manifest else {}
    return _OpenFolder(number, path, iter(found), told)


def _read(name: str, folder: int, largest: int) -> bytes:
    """What a plain file of at most *largest* bytes holds; _UnreadError for any other."""
    try:
        number = os.open(name, _FILE, dir_fd=folder)
    except OSError as error:
        raise _UnreadError(_REASONS.get(error.errno or 0, UNREADABLE)) from None
    try:
        found = os.fstat(number)
        if not stat.S_ISREG(found.st_mode):
            raise _UnreadError(SPECIAL)
        if found.st_size > largest:
            raise _UnreadError(TOO_LARGE)
        parts, size = [], 0
        while part := os.read(number, max(found.st_size + 1 - size, _PART)):
            parts.append(part)
            size += len(part)
            if size > largest:  # it has grown meanwhile
                raise _UnreadError(TOO_LARGE)
        return b"".join(parts)
    except OSError:
        raise _UnreadError(UNREADABLE) from None
    finally:
        os.close(number)


def _html(name: bytes, body: bytes, encoding: str) -> str:
    """The text of a page; _UnreadError if it is none.

    There are no headers: what it is goes by its name and by its first bytes, and its encoding,
    unless that is given, by what it says of itself.
    """
    page = WebPage("", body, given_encoding=encoding, given_html=_is_html(name, body[:SNIFFED]))
    if fault := page_fault(page):
        raise _UnreadError((UNREADABLE if body else EMPTY) if fault == BAD_RESPONSE else fault)
    return page.text


def _is_html(name: bytes, start: bytes) -> bool:
    kind = _kind(name) or _kind(without_query(name))
    if "html" in kind:
        # An image that was saved as a page is not one. Some encodings have control characters.
        return is_text(start) or bool(_MARKUP.search(start.replace(b"\0", b"")))
    if not is_text(start):
        return False
    return bool(_START.match(start) or (not kind and _HTML.search(start)))


def _kind(name: bytes) -> str:
    ending = name.rpartition(b".")[2].decode("ascii", "replace")
    return _TYPES.guess_type(f"x.{ending}")[0] or "" if b"." in name else ""


def _manifest(folder: int) -> Iterator[tuple[bytes, tuple[str, str]]]:
    """What a manifest tells of the files beside it: addresses and encodings, by their names.

    It has no address itself, if it tells anything: it was never on the site.
    """
    try:
        rows = json.loads(_read(_MANIFEST.decode(), folder, _LARGEST_MANIFEST))
    except (_UnreadError, ValueError, RecursionError):
        return
    is_used = False
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict):
            name, url, encoding = (row.get(field) for field in ("file", "url", "encoding"))
            address = web_address(url) if isinstance(url, str) else ""
            if address and isinstance(name, str) and _is_name(name):
                is_used = True
                yield name.encode(), (address, _codec(encoding))
    if is_used:
        yield _MANIFEST, ("", "")


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
        site_name(identity(found))  # the port, too, is one that can be
    except ValueError:  # UnicodeError, too
        return ""
    return found if found.isascii() else ""


def _is_name(name: str) -> bool:
    return name.isprintable() and "/" not in name and 0 < len(name) <= _LONGEST_NAME


def _codec(encoding: object) -> str:
    try:
        found = codecs.lookup(encoding) if isinstance(encoding, str) else None
    except (LookupError, ValueError):
        return ""
    # Python's table has more than encodings of texts.
    return found.name if found and found._is_text_encoding else ""  # noqa: SLF001 - as bytes.decode


def mirrored_address(body: bytes) -> str:
    """The address that HTTrack has written into a page; '' where it has not."""
    found = _MIRRORED.search(body[:_TOP])
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
    is_public = bool(registered_domain(host))
    labels = host.split(".")
    is_host = is_public or _is_ip(host) or labels[-1] in _PRIVATE
    if not is_host:  # the names of a network of somebody's own, told by their ports
        is_host = found[2] == b":" and port >= _LOWEST_PORT
    if (
        not is_host
        or port > _HIGHEST_PORT
        or len(host) > LONGEST_HOST
        or not all(map(_LABEL.fullmatch, labels))
    ):
        return ""
    if not scheme:
        scheme = _scheme(host, port)
    is_default = port in (0, 443 if scheme == "https" else 80)
    return f"{scheme}://{host}" if is_default else f"{scheme}://{host}:{port}"


def assumed_scheme(url: str) -> str:
    """An address that was given without a scheme, with the one that mirrors would have.

    >>> assumed_scheme("https://127.0.0.1:8102/a"), assumed_scheme("https://example.org/a")
    ('http://127.0.0.1:8102/a', 'https://example.org/a')
    """
    parts = urlsplit(url)
    return parts._replace(scheme=_scheme(parts.hostname or "", parts.port or 0)).geturl()


def _scheme(host: str, port: int) -> str:
    return "https" if port in (0, 443) and registered_domain(host) else "http"


def without_query(name: bytes) -> bytes:
    """The name of a file without what was the query of its address."""
    found = _QUERY.search(name)
    return name[: found.start()] if found else name


def _is_ip(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _tail(path: bytes) -> str:
    """A path as it stands in an address, with the query that may be in the name of the file."""
    folder, slash, name = path.rpartition(b"/")
    stem = without_query(name)
    query = ""
    if len(stem) < len(name):
        given = _QUERY.sub(b"", name[len(stem) :], count=1)
        if b"=" in given:  # wget adds an ending to names that have none for HTML
            given = given.removesuffix(b".html")
        query = f"?{_quoted(given, '/?')}"
    stem = b"" if stem == _INDEX else stem
    return _quoted(folder + slash + stem, "/") + query


def _quoted(text: bytes, safe: str) -> str:
    """Quoted for an address; what is an escape already stays one."""
    return _NOT_AN_ESCAPE.sub("%25", quote(text, safe=f"{safe}%!$&'()*+,;=:@~"))
