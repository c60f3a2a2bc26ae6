"""A folder of saved pages: every file in it, as a page of the address that it was saved from.

Links are not followed. What is not a plain file is not opened: a pipe would wait for a writer.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections import defaultdict, deque
from contextlib import suppress
from dataclasses import dataclass, field
from mimetypes import MimeTypes
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from tplspider.sources.file_addresses import (
    TOP,
    FileAddresses,
    mirrored_address,
    web_address,
    without_query,
)
from tplspider.web.addresses import identity, place_of, site_name
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

    @property
    def file(self) -> Path:
        return self.folder.path / os.fsdecode(self.path)

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
            name, url, encoding = (row.get(each) for each in ("file", "url", "encoding"))
            address = web_address(url) if isinstance(url, str) else ""
            if address and isinstance(name, str) and name.isprintable() and "/" not in name:
                given = known_encoding(encoding) if isinstance(encoding, str) else ""
                found[inside + name.encode()] = address, given
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
