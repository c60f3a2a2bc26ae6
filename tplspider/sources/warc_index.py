"""The index of an archive: which record of which file an address has, in a file of SQLite's.

Addresses are in it as hashes of their identities: whoever reads a record looks whether it is the
right one. The hash is the place of the page in the draw for pools as well.
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tplspider.sources.warc_capture import ALIAS, OTHER, PAGE, RENDERED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import Self

VERSION = 2  # of the tables, and of what is in them
_KIND = int.from_bytes(b"tplW", "big")  # SQLite's application_id: whose file it is
_TABLES = (
    """CREATE TABLE files (number INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE,
       size INT NOT NULL, changed INT NOT NULL, records INT NOT NULL, faults TEXT NOT NULL,
       samples TEXT NOT NULL, copy TEXT NOT NULL, cdxj TEXT NOT NULL)""",
    "CREATE TABLE sites (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    """CREATE TABLE captures (key INT, kind INT, date INT, file INT, offset INT, site INT,
       search TEXT, PRIMARY KEY (key, kind, date DESC, file DESC, offset DESC)) WITHOUT ROWID""",
    "CREATE INDEX of_search ON captures (search, key) WHERE search IS NOT NULL",
    f"CREATE INDEX of_site ON captures (site, key) WHERE kind <= {PAGE}",
)
# Wherever it is, it may be somebody's: it is not overwritten.
_NOT_OURS = "this is not an index of archives: delete it, or give another name by --index"
_NOT_ALIASES = ", ".join(str(kind) for kind in range(RENDERED, OTHER + 1) if kind != ALIAS)
_DAMAGE = ("malformed", "no such table", "no such column")
ANEW = " (delete it, and it is made anew)"
_BATCH = 500  # rows that are read at a time
_PAGE_SIZE = 8192  # bytes: rows come in any order, and a flat tree takes them sooner
_HALF = 1 << 63  # SQLite has no numbers beyond


class IndexFileError(ValueError):
    """The file is not an index, or cannot be used; it says why in one line."""


class OldIndexError(IndexFileError):
    """The file is an index, but has to be made anew."""


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file as it was when it was indexed. *copy* is where its records are, if not in itself.

    *cdxj* tells by what it was indexed: see marks_of() in warc_cdxj.
    """

    path: Path
    size: int
    changed: int  # nanoseconds
    number: int
    records: int
    faults: dict[str, int]
    samples: list[tuple[int, int]]  # offsets and keys of some records
    copy: str
    cdxj: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record is, of what kind it is, and the key of its address."""

    file: int
    offset: int
    kind: int
    key: int


def stored_key(place: int) -> int:
    """The key of an address, by its place in the draw: it sorts as that does."""
    return place - _HALF


class WarcIndex:
    """An index that is open; what is wrong with it is an IndexFileError."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self.folder = path.absolute().parent
        self._only = ""  # a condition, where some files are not asked for
        with told(path):
            is_new = not read_only and not (path.exists() and path.stat().st_size)
            mode = "ro" if read_only else "rwc"
            name = f"{path.absolute().as_uri()}?mode={mode}"
            self.connection = sqlite3.connect(name, uri=True, isolation_level=None, timeout=60)
        try:
            with told(path):
                self.connection.execute("PRAGMA cache_size = -16384")  # kB
                # Should the power be lost, it is made anew; a kill does it no harm.
                self.connection.execute("PRAGMA synchronous = OFF")
                if is_new:
                    self._make()
                self._check()
            marked = "SELECT 1 FROM captures WHERE search IS NOT NULL LIMIT 1"
            self._has_searches = bool(self.run(marked))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self.connection.close()

    def files(self) -> list[IndexedFile]:
        """The files that are in it, as they were then."""
        names = "path, size, changed, number, records, faults, samples, copy, cdxj"
        rows = self.run(f"SELECT {names} FROM files")  # noqa: S608 - ours
        with told(self.path):
            return [
                IndexedFile(
                    path=Path(os.path.normpath(self.folder / os.fsdecode(path))),
                    size=size,
                    changed=changed,
                    number=number,
                    records=records,
                    faults=json.loads(faults),
                    samples=json.loads(samples),
                    copy=copy,
                    cdxj=cdxj,
                )
                for path, size, changed, number, records, faults, samples, copy, cdxj in rows
            ]

    def limit_to(self, files: Collection[int]) -> None:
        """From now on, know of captures in these files alone."""
        ((count, last),) = self.run("SELECT count(*), max(number) FROM files")
        numbers = ",".join(str(int(number)) for number in sorted(files))
        # Where all are asked for, a file that comes later has a higher number.
        self._only = f" AND file <= {last}" if len(files) == count else f" AND file IN ({numbers})"

    def captures(self, key: int, search: str = "") -> Iterator[Place]:
        """The captures of an address, the best first; those of a *search* before all others."""
        if search and self._has_searches:
            yield from self._places(
                "key = ? AND search = ?", "kind > 0, date DESC, file DESC, offset DESC", key, search
            )
        yield from self._places("key = ?", "kind, date DESC, file DESC, offset DESC", key)

    def captures_at(self, key: int, date: int) -> Iterator[Place]:
        """The captures of an address at that date, but for those that refer to others."""
        condition = f"key = ? AND date = ? AND kind IN ({_NOT_ALIASES})"
        return self._places(condition, "kind, file DESC, offset DESC", key, date)

    def sites(self) -> Iterator[tuple[int, str]]:
        """The numbers and names of all sites, by name."""
        name = ""
        query = "SELECT name, number FROM sites WHERE name > ? ORDER BY name LIMIT ?"
        while rows := self.run(query, (name, _BATCH)):
            for name, number in rows:
                yield number, name

    def site_number(self, name: str) -> int | None:
        """The number of a site; None if nothing of it is archived."""
        found = self.run("SELECT number FROM sites WHERE name = ?", (name,))
        return int(found[0][0]) if found else None

    def pages_of(self, site: int) -> Iterator[Place]:
        """The pages of a site by their keys, each by its best capture."""
        key = -2.0 * _HALF
        query = (
            "SELECT file, offset, kind, key FROM captures INDEXED BY of_site"  # noqa: S608 - ours
            f" WHERE site = ? AND kind <= {PAGE} AND key > ?{self._only}"
            " ORDER BY key, kind, date DESC, file DESC, offset DESC LIMIT 1"
        )
        while rows := self.run(query, (site, key)):
            key = rows[0][3]
            yield Place(*rows[0])

    def count_pages(self) -> int:
        """How many pages there are, each address once."""
        query = (
            "SELECT count(*) FROM (SELECT DISTINCT site, key FROM captures"  # noqa: S608 - ours
            f" WHERE kind <= {PAGE}{self._only})"
        )
        return int(self.run(query)[0][0])

    def _places(self, condition: str, order: str, *values: object) -> Iterator[Place]:
        query = (
            f"SELECT file, offset, kind, key FROM captures WHERE {condition}{self._only}"  # noqa: S608 - ours
            f" ORDER BY {order} LIMIT ? OFFSET ?"
        )
        # One is enough, but for records that turn out to be something else.
        for count, skipped in ((1, 0), (_BATCH, 1)):
            for row in self.run(query, (*values, count, skipped)):
                yield Place(*row)

    def _make(self) -> None:
        self.connection.execute(f"PRAGMA page_size = {_PAGE_SIZE}")
        self.connection.execute("BEGIN IMMEDIATE")
        if not self.connection.execute("PRAGMA user_version").fetchone()[0]:  # nor by another run
            for statement in _TABLES:
                self.connection.execute(statement)
            self.connection.execute(f"PRAGMA application_id = {_KIND}")
            self.connection.execute(f"PRAGMA user_version = {VERSION}")
        self.connection.execute("COMMIT")

    def _check(self) -> None:
        (kind,), (version,) = (
            self.connection.execute(f"PRAGMA {name}").fetchone()
            for name in ("application_id", "user_version")
        )
        if kind != _KIND:
            raise IndexFileError(f"{self.path}: {_NOT_OURS}")
        if version != VERSION:
            raise OldIndexError(f"{self.path}: it was made by another version")

    def run(self, statement: str, values: tuple[object, ...] = ()) -> list[Any]:
        """One statement."""
        with told(self.path):
            return self.connection.execute(statement, values).fetchall()


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Say what is wrong with the file in one line."""
    try:
        yield
    except sqlite3.Error as error:
        why = str(error)
        if "not a database" in why:
            raise IndexFileError(f"{path}: {_NOT_OURS}") from error
        if "unable to open" in why and not path.absolute().parent.is_dir():
            why = "there is no such folder"
        elif "unable to open" in why or "readonly" in why:
            why += " (it can be made elsewhere, with --index FILE)"
        elif "locked" in why:
            why = "another command is writing it: try again later, or give another by --index FILE"
        if any(words in why for words in _DAMAGE):
            raise OldIndexError(f"{path}: {why}{ANEW}") from error
        raise IndexFileError(f"{path}: {why}") from error
    except json.JSONDecodeError as error:
        raise OldIndexError(f"{path}: it is damaged{ANEW}") from error
