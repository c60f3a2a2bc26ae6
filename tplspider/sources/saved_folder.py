"""A folder of saved pages: every file in it, as a page of the address that it was saved from.

Links are not followed, and nothing outside the folder is opened, also if a folder in it becomes a
link meanwhile. What is not a plain file is not opened: a pipe would wait for a writer.
"""

from __future__ import annotations

import codecs
import errno
import json
import os
import re
import sqlite3
import stat
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from mimetypes import MimeTypes
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
from tplspider.web.page import (
    NOT_ARCHIVED,
    SNIFFED,
    TOO_LARGE,
    NoPage,
    Redirect,
    WebPage,
    is_text,
    redirect_to,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import Self

LARGEST = 10 * 1024 * 1024  # bytes of a page, as in a crawl by default
# Why a file is not read.
LINK = "link"  # a symbolic link
SPECIAL = "special"  # a pipe, a socket, a device
UNREADABLE = "unreadable"  # the system refuses it, or it is gone

_MANIFEST = b"manifest.json"
_LARGEST_MANIFEST = 8_000_000  # bytes; one of ours has 300 for each page
_TABLES = """
PRAGMA temp_store = FILE;
PRAGMA journal_mode = OFF;
CREATE TABLE files (number INTEGER PRIMARY KEY, path BLOB, url TEXT, encoding TEXT, site TEXT,
    key INT, fault TEXT);
CREATE TABLE told (path BLOB PRIMARY KEY, url TEXT, encoding TEXT) WITHOUT ROWID;
"""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FAULTS = {errno.ELOOP: LINK, errno.ENXIO: SPECIAL}  # of what has taken the place of a file
_KINDS = {stat.S_IFREG: "", stat.S_IFLNK: LINK}
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


class UnreadError(Exception):
    """A file is not read, for the reason that is its text."""


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
        """The file as a page, whatever it is; or why it cannot be read."""
        return self.folder.read(self)


class SavedFolder:
    """The files of a folder, with their addresses, sites and keys, listed when it is opened.

    The list is in a temporary file of SQLite's. *without* are the inodes of files and folders that
    are left out. Raises OSError if the folder cannot be read.
    """

    def __init__(
        self, path: Path | str, base_url: str = "", *, without: Collection[tuple[int, int]] = ()
    ) -> None:
        self.path = Path(path)
        self._addresses = FileAddresses(self.path, base_url)
        self._root = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        # What sorts like the names on the way to a file, one after the other.
        self._connection.create_function(
            "by_names", 1, lambda path: path.replace(b"/", b"\0"), deterministic=True
        )
        self._connection.executescript(_TABLES)
        self._connection.execute("BEGIN")
        put = self._connection.executemany
        put("INSERT INTO files (path, fault) VALUES (?, ?)", self._walk(frozenset(without)))
        put("UPDATE files SET url=?, encoding=?, site=?, key=? WHERE number=?", self._look())
        self._connection.executescript(
            "CREATE INDEX of_site ON files (site, key); CREATE INDEX of_key ON files (key)"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the list and the folder."""
        self._connection.close()
        os.close(self._root)

    def sites(self) -> Iterator[str]:
        """The names of all sites; '' for files without an address."""
        for (name,) in self._connection.execute("SELECT DISTINCT site FROM files ORDER BY site"):
            yield name

    def pages(self, site: str | None = None) -> Iterator[SavedFile]:
        """The files of a site by their keys, or those of all sites: all of them."""
        condition, values = ("1", ()) if site is None else ("site = ?", (site,))
        return self._files(f"{condition} ORDER BY site, key, path", *values)

    def files(self) -> Iterator[SavedFile]:
        """All files, in the order of their paths, name by name."""
        return self._files("1 ORDER BY by_names(path)")

    def count_pages(self) -> int:
        """How many files there are."""
        return int(self._connection.execute("SELECT count(*) FROM files").fetchone()[0])

    def load(self, url: str) -> WebPage | Redirect | NoPage:
        """The file at an address, the address of a folder, or the reason why there is none."""
        if found := self._at(url):
            return found.read()
        if not url.endswith("/") and self._at(f"{url}/"):
            return redirect_to(f"{url}/")
        return NoPage(NOT_ARCHIVED)

    def is_absent(self, url: str) -> bool:
        """Whether there is no file at an address."""
        return not self._at(url) and (url.endswith("/") or not self._at(f"{url}/"))

    def read(self, file: SavedFile) -> WebPage | NoPage:
        """What a file holds, as a page.

        There were headers once, and nobody kept them: what it is goes by its name and by its first
        bytes, and its encoding, unless that is given, by what it says of itself.
        """
        if file.fault:
            return NoPage(file.fault)
        try:
            body = self._bytes(file.path, LARGEST)
        except UnreadError as error:
            return NoPage(str(error))
        name = file.path.rpartition(b"/")[2]
        is_html = _is_html(name, body[:SNIFFED])
        return WebPage(file.url, body, given_encoding=file.encoding, given_html=is_html)

    def _at(self, url: str) -> SavedFile | None:
        try:
            key = place_of(identity(url)) - (1 << 63)
        except ValueError:  # not an address
            return None
        # Of several files with an address the last one counts.
        return next(self._files("key = ? AND url <> '' ORDER BY path DESC LIMIT 1", key), None)

    def _files(self, condition: str, *values: object) -> Iterator[SavedFile]:
        query = f"SELECT site, path, url, key, encoding, fault FROM files WHERE {condition}"  # noqa: S608 - ours
        for site, path, url, key, encoding, fault in self._connection.execute(query, values):
            yield SavedFile(site, path, url, key, encoding, fault, self)

    # The list.

    def _walk(self, without: Collection[tuple[int, int]]) -> Iterator[tuple[bytes, str]]:
        """The paths of all files, and why they are not read; notes what manifests say of them."""
        folders = deque([b""])
        while folders:
            path = folders.popleft()
            inside = path + b"/" if path else b""
            try:
                with self._opened(path, _FOLDER) as number, os.scandir(number) as entries:
                    for entry in entries:
                        name = os.fsencode(entry.name)
                        try:
                            found = entry.stat(follow_symlinks=False)
                        except OSError:  # it is gone
                            yield inside + name, UNREADABLE
                            continue
                        if (found.st_dev, found.st_ino) in without:
                            continue
                        if stat.S_ISDIR(found.st_mode):
                            folders.append(inside + name)
                            continue
                        if name == _MANIFEST:
                            self._note(inside)
                        yield inside + name, _KINDS.get(stat.S_IFMT(found.st_mode), SPECIAL)
            except OSError:
                yield path + b"/", UNREADABLE

    def _look(self) -> Iterator[tuple[object, ...]]:
        """What is found out of each file: its address, its site, its key."""
        query = (
            "SELECT number, files.path, fault, told.url, told.encoding FROM files"
            " LEFT JOIN told ON told.path = files.path"
        )
        for number, path, fault, told, encoding in self._connection.execute(query):
            url = told
            if told is None:
                url = self._addresses.of(path)
                if not fault:
                    with suppress(UnreadError):
                        url = mirrored_address(self._bytes(path, 0, TOP)) or url
            try:
                name = identity(url) if url else ""
                site = site_name(name) if url else ""
            except ValueError:
                name, site = url, ""
            yield url, encoding or "", site, place_of(name) - (1 << 63), number

    def _note(self, inside: bytes) -> None:
        """Note what a manifest says of the files beside it; anybody may have written it."""
        try:
            rows = json.loads(self._bytes(inside + _MANIFEST, _LARGEST_MANIFEST))
        except (UnreadError, ValueError, RecursionError):
            return
        told = []
        for row in rows if isinstance(rows, list) else ():
            if not isinstance(row, dict):
                continue
            name, url, encoding = (row.get(each) for each in ("file", "url", "encoding"))
            address = web_address(url) if isinstance(url, str) else ""
            if address and isinstance(name, str) and name.isprintable() and "/" not in name:
                told.append((inside + name.encode(), address, _codec(encoding)))
        if told:
            told.append((inside + _MANIFEST, "", ""))
        self._connection.executemany("INSERT OR REPLACE INTO told VALUES (?, ?, ?)", told)

    # Files.

    def _bytes(self, path: bytes, largest: int, top: int = 0) -> bytes:
        """What a plain file of at most *largest* bytes holds; or the *top* of any."""
        try:
            with self._opened(path, _FILE) as number:
                found = os.fstat(number)
                if not stat.S_ISREG(found.st_mode):
                    raise UnreadError(SPECIAL)
                with open(number, "rb", closefd=False) as file:
                    body = file.read(top or largest + 1)
        except OSError as error:
            raise UnreadError(_FAULTS.get(error.errno or 0, UNREADABLE)) from None
        if not top and len(body) > largest:
            raise UnreadError(TOO_LARGE)
        return body

    @contextmanager
    def _opened(self, path: bytes, how: int) -> Iterator[int]:
        """A descriptor of what is at a path; no part of the way may be a link."""
        *folders, name = path.split(b"/")
        number = os.dup(self._root)
        try:
            for flags, part in (*((_FOLDER, each) for each in folders), (how, name or b".")):
                inner = os.open(part, flags, dir_fd=number)
                os.close(number)
                number = inner
            yield number
        finally:
            os.close(number)


def _codec(encoding: object) -> str:
    with suppress(LookupError, ValueError):
        if isinstance(encoding, str):
            "x".encode(encoding)  # LookupError for a codec that is not one of texts
            return codecs.lookup(encoding).name
    return ""


def _is_html(name: bytes, start: bytes) -> bool:
    kind = _type_of(name) or _type_of(without_query(name))
    if "html" in kind:
        # An image that was saved as a page is not one. Some encodings have control characters.
        return is_text(start) or bool(_MARKUP.search(start.replace(b"\0", b"")))
    if not is_text(start):
        return False
    return bool(_START.match(start) or (not kind and _HTML.search(start)))


def _type_of(name: bytes) -> str:
    ending = name.rpartition(b".")[2].decode("ascii", "replace")
    return _TYPES.guess_type(f"x.{ending}")[0] or "" if b"." in name else ""
