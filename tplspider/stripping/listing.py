"""The list of all files of a folder and what is known of them: on the disk, not in memory."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Self

_TABLES = (
    "PRAGMA temp_store = FILE",
    "PRAGMA cache_size = -4096",  # kB
    "PRAGMA journal_mode = OFF",  # nobody goes on with it
    """CREATE TABLE files (key BLOB PRIMARY KEY, outcome TEXT NOT NULL, url TEXT, encoding TEXT,
       site TEXT, place BLOB, digest BLOB) WITHOUT ROWID""",
    "CREATE TABLE folders (number INTEGER PRIMARY KEY, path BLOB NOT NULL)",
    """CREATE TABLE manifests (key BLOB PRIMARY KEY, url TEXT NOT NULL, encoding TEXT NOT NULL)
       WITHOUT ROWID""",
)
# The outcome is that of pages, in so many words: SQLite goes by such an index for nothing else.
_INDEX = "CREATE INDEX pools ON files (site, place) WHERE outcome = 'page'"
_BATCH = 200  # rows that are read or written at a time
_PLACE = 8  # bytes


class ListingError(OSError):
    """The list cannot be kept, for want of room say; it says why in one line."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A file: its path in the folder, and what is known of it so far.

    *outcome* is '' for one that was not looked at. *url* and *encoding* are '' where there is
    nothing to be known beyond the path and the content. *is_manifest* is true of a manifest that
    told something of other files, and has no address itself. The others are of pages alone.
    """

    path: bytes
    outcome: str = ""
    url: str = ""
    encoding: str = ""
    site: str = ""
    place: int = 0
    digest: bytes = b""
    is_manifest: bool = False


class Listing:
    """The files of one folder, in a temporary file of SQLite's, which goes with the process.

    They are in the order of their paths, name by name and byte by byte: the same everywhere.
    """

    def __init__(self) -> None:
        self._connection = sqlite3.connect("", isolation_level=None)
        for statement in _TABLES:
            self._run(statement)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self._connection.close()

    def add(self, files: Iterable[tuple[bytes, str]]) -> None:
        """Add files by their paths, with what they are if they need not be looked at."""
        rows = ((_key(path), outcome) for path, outcome in files)
        with self._transaction():
            self._many("INSERT OR IGNORE INTO files (key, outcome) VALUES (?, ?)", rows)

    def add_folder(self, path: bytes) -> None:
        """Note a folder whose files are to be added."""
        self._run("INSERT INTO folders (path) VALUES (?)", (path,))

    def folders(self) -> Iterator[bytes]:
        """The folders that were noted, those that are noted meanwhile as well."""
        number = 0
        query = "SELECT number, path FROM folders WHERE number > ? ORDER BY number LIMIT 1"
        while found := self._run(query, (number,)):
            ((number, path),) = found
            self._run("DELETE FROM folders WHERE number < ?", (number,))
            yield path

    def add_addresses(self, rows: Iterable[tuple[bytes, str, str]]) -> None:
        """Note what a manifest says: paths, with addresses and encodings. The last counts.

        Its own address is to be ''.
        """
        keyed = ((_key(path), url, encoding) for path, url, encoding in rows)
        with self._transaction():
            self._many("INSERT OR REPLACE INTO manifests VALUES (?, ?, ?)", keyed)

    def count(self) -> int:
        """How many files there are."""
        ((number,),) = self._run("SELECT count(*) FROM files")
        return int(number)

    def count_pages(self, most: int) -> int:
        """How many of them are pages, as far as they were looked at; so many at most."""
        query = "SELECT count(*) FROM (SELECT 1 FROM files WHERE outcome = 'page' LIMIT ?)"
        ((number,),) = self._run(query, (most,))
        return int(number)

    def update(self, files: Iterable[Listed]) -> None:
        """Note what was found out about files."""
        rows = (
            (
                each.outcome,
                each.url or None,
                each.encoding or None,
                each.site,
                each.place.to_bytes(_PLACE),
                each.digest,
                _key(each.path),
            )
            for each in files
        )
        with self._transaction():
            self._many(
                "UPDATE files SET outcome = ?, url = ?, encoding = ?, site = ?, place = ?,"
                " digest = ? WHERE key = ?",
                rows,
            )

    def index_pools(self) -> None:
        """Make ready for :meth:`pages_of`."""
        self._run(_INDEX)

    def in_order(self) -> Iterator[list[Listed]]:
        """All files, some at a time; a batch may be updated before the next is asked for.

        Of files that were not looked at, *url* and *encoding* are those of a manifest.
        """
        after = b""
        query = (
            "SELECT files.key, outcome, coalesce(files.url, manifests.url),"
            " coalesce(files.encoding, manifests.encoding), site, place, digest"
            " FROM files LEFT JOIN manifests ON manifests.key = files.key"
            " WHERE files.key > ? ORDER BY files.key LIMIT ?"
        )
        while rows := self._run(query, (after, _BATCH)):
            after = rows[-1][0]
            yield [_listed(row) for row in rows]

    def pages_of(self, site: str) -> Iterator[Listed]:
        """The pages of a site by their places; of one address, the last page alone."""
        query = (
            "SELECT key, outcome, url, encoding, site, place, digest FROM files"
            " WHERE site = ? AND outcome = 'page' ORDER BY place, key"
        )
        last = None
        try:
            for row in self._connection.execute(query, (site,)):
                page = _listed(row)
                if last and last.place != page.place:
                    yield last
                last = page
        except sqlite3.Error as error:
            raise _fault(error) from error
        if last:
            yield last

    def _run(self, statement: str, values: tuple[object, ...] = ()) -> list[Any]:
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise _fault(error) from error

    def _many(self, statement: str, rows: Iterable[tuple[object, ...]]) -> None:
        try:
            self._connection.executemany(statement, rows)
        except sqlite3.Error as error:
            raise _fault(error) from error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._run("BEGIN")
        try:
            yield
        finally:
            if self._connection.in_transaction:
                self._run("COMMIT")


def _fault(error: sqlite3.Error) -> ListingError:
    return ListingError(f"the list of files cannot be kept in a temporary file: {error}")


def _key(path: bytes) -> bytes:
    """What sorts like the names on the way to a file, one after the other."""
    return path.replace(b"/", b"\0")


def _listed(row: tuple[Any, ...]) -> Listed:
    key, outcome, url, encoding, site, place, digest = row
    number = int.from_bytes(place) if place else 0
    path = key.replace(b"\0", b"/")
    texts = (url or "", encoding or "", site or "")
    return Listed(path, outcome, *texts, number, digest or b"", is_manifest=url == "")
