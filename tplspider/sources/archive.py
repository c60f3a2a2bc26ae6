"""WARC files as a source of pages, by address and by site, with an index in a file of SQLite's.

The index has hashes of the identities of addresses, so the address of a record is checked when it
is read. The hash is also the sample key of the page.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sqlite3
from collections import Counter
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tplspider.sources.records import (
    ALIAS,
    LARGEST,
    Record,
    Reference,
    answer_of,
    capture_of,
    captures_in,
    key_of,
    read_at,
)
from tplspider.web.addresses import identity
from tplspider.web.page import NOT_ARCHIVED, NoPage, WebPage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

NAME = "tplspider.warc-index"  # beside the first of the files
_KIND, _VERSION = b"tplW", 6  # whose file it is, and of what form
_TABLES = f"""
PRAGMA page_size = 8192;
PRAGMA application_id = {int.from_bytes(_KIND)};
PRAGMA user_version = {_VERSION};
CREATE TABLE files (number INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE, size INT, changed INT,
    records INT, faults TEXT);
CREATE TABLE captures (key INT, kind INT, date INT, file INT, offset INT, site TEXT,
    search TEXT, PRIMARY KEY (key, kind, date DESC, file DESC, offset DESC))
    WITHOUT ROWID;
CREATE INDEX of_site ON captures (site, key) WHERE kind <= {ALIAS};
"""
_QUICK = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16384;"
_BEST = "kind, date DESC, file DESC, offset DESC"
_MERGE = f"INSERT OR IGNORE INTO captures SELECT * FROM temp.added ORDER BY key, {_BEST}"  # noqa: S608 - ours


class IndexFileError(ValueError):
    """The index cannot be used."""


class Place(NamedTuple):
    """Where a record is, of what kind it is, and the key of its address."""

    file: int
    offset: int
    kind: int
    key: int


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file as it was when it was indexed, with what is wrong with it."""

    size: int
    changed: int  # nanoseconds
    records: int
    faults: dict[str, int]


@dataclass(frozen=True, slots=True)
class Archive:
    """Some files, and an index that knows them as they are."""

    index: Path
    files: dict[Path, IndexedFile]

    def open(self, largest: int = LARGEST) -> WarcSite:
        """The archive as a source of pages."""
        return WarcSite(self.index, self.files, largest=largest)


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A page of an archive, by its best capture. Pages of a site come by their keys."""

    site: str
    path: bytes  # the name of the file
    offset: int
    archive: WarcSite = field(repr=False, compare=False)
    place: Place = field(repr=False, compare=False)

    @property
    def url(self) -> str:
        """The address; '' if the record is not what the index says."""
        found = self.archive.read(self.place)
        return found[1] if found else ""

    def read(self) -> WebPage | NoPage:
        """The page, or why there is none."""
        found = self.archive.read(self.place)
        answer = self.archive.answer(*found) if found else None
        return answer or NoPage(NOT_ARCHIVED)


# The index.


def open_archive(
    files: Iterable[Path | str],
    index: Path | str | None = None,
    *,
    lost: Callable[[OSError], object] | None = None,
) -> Archive:
    """The archive of some files; what the index does not know yet is read.

    Raises IndexFileError for an index, and OSError for a file, unless *lost* takes that.
    """
    paths = list(dict.fromkeys(Path(os.path.realpath(file)) for file in files))
    if not paths:
        raise ValueError("no files")
    where = Path(index).absolute() if index else paths[0].parent / NAME
    failed: list[OSError] = []
    try:
        with _alone(where.parent):
            known = _known_files(where)
            if wanted := [path for path in paths if not _is_known(path, known)]:
                with _new_index(where, is_copy=bool(known)) as connection:
                    for path in wanted:
                        try:
                            _add(connection, where.parent, path)
                        except OSError as error:
                            failed.append(error)
                known = _known_files(where)
    except (sqlite3.Error, OSError) as error:
        why = f"{where}: the index cannot be written ({error}): choose another file (--index)"
        raise IndexFileError(why) from error
    for fault in failed:
        if lost is None:
            raise fault
        lost(fault)
    return Archive(where, {path: known[path] for path in paths if path in known})


def _is_known(path: Path, known: dict[Path, IndexedFile]) -> bool:
    """Whether a file is there as it was indexed."""
    with suppress(OSError):
        status = path.stat()
        if found := known.get(path):
            return (found.size, found.changed) == (status.st_size, status.st_mtime_ns)
    return False


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let one process at a time replace an index, so that no file of another is lost."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _connect(where: Path) -> sqlite3.Connection:
    """Open an index to read it: it is never changed, but replaced."""
    return sqlite3.connect(f"{where.as_uri()}?mode=ro&immutable=1", uri=True)


def _known_files(where: Path) -> dict[Path, IndexedFile]:
    """The files that an index knows; none if it is damaged or of another version."""
    if not where.exists():
        return {}
    with where.open("rb") as file:
        head = file.read(72)  # of a database: its user_version, its application_id
    if head[68:] != _KIND:
        raise IndexFileError(f"{where}: not an index of archives: delete it, or use another name")
    if int.from_bytes(head[60:64]) != _VERSION:
        return {}
    try:
        with closing(_connect(where)) as connection:
            rows = connection.execute("SELECT path, size, changed, records, faults FROM files")
            return {
                _path(where, path): IndexedFile(size, changed, records, json.loads(faults))
                for path, size, changed, records, faults in rows
            }
    except (sqlite3.Error, TypeError, ValueError):
        return {}


def _path(index: Path, path: bytes) -> Path:
    """A file, by its path from the folder of the index."""
    return Path(os.path.normpath(index.parent / os.fsdecode(path)))


@contextmanager
def _new_index(where: Path, *, is_copy: bool = False) -> Iterator[sqlite3.Connection]:
    """A new index, or a copy of the one that is there, which takes its name in the end.

    So readers are not disturbed, and a kill does no harm.
    """
    part = where.with_name(f".{where.name}.part")
    part.unlink(missing_ok=True)
    try:
        if is_copy:
            shutil.copyfile(where, part)
        with closing(sqlite3.connect(part)) as connection:
            connection.executescript(_QUICK if is_copy else _QUICK + _TABLES)
            connection.execute("CREATE TEMP TABLE added AS SELECT * FROM captures LIMIT 0")
            yield connection
            connection.commit()
        part.replace(where)
    finally:
        part.unlink(missing_ok=True)


def _add(connection: sqlite3.Connection, folder: Path, path: Path) -> None:
    """Replace the rows of a file; one that cannot be read to its end is not in the index at all."""
    run = connection.execute
    relative, faults = os.fsencode(os.path.relpath(path, folder)), Counter[str]()
    for (number,) in run("SELECT number FROM files WHERE path = ?", (relative,)).fetchall():
        run("DELETE FROM captures WHERE file = ?", (number,))
        run("DELETE FROM files WHERE number = ?", (number,))
    run("DELETE FROM temp.added")
    ((number,),) = run("SELECT coalesce(max(number), 0) + 1 FROM files")
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        rows = (
            (c.key, c.kind, c.date, number, c.offset, c.site, c.search)
            for c in captures_in(file, faults)
        )
        insert = "INSERT INTO temp.added VALUES (?, ?, ?, ?, ?, ?, ?)"
        records = connection.executemany(insert, rows).rowcount
    # Rows come in any order, and go into the table in its own: that is much faster.
    run(_MERGE)
    row = (number, relative, status.st_size, status.st_mtime_ns, records, json.dumps(faults))
    run("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?)", row)


def merge_indexes(parts: Iterable[Path], where: Path) -> None:
    """Make one index of several in its folder, each of other files."""
    with _new_index(where) as connection:
        for part in parts:
            connection.execute("ATTACH ? AS part", (str(part),))
            connection.executescript(
                """INSERT INTO files (path, size, changed, records, faults)
                SELECT path, size, changed, records, faults FROM part.files;
                INSERT INTO temp.added
                SELECT key, kind, date, f.number, offset, site, search
                FROM part.captures c JOIN part.files pf ON pf.number = c.file
                JOIN main.files f ON f.path = pf.path;"""
            )
            connection.execute("DETACH part")
        connection.execute(_MERGE)


# Pages.


class WarcSite(AbstractContextManager["WarcSite"]):
    """All that was captured in the files of an index, or in some of them.

    *search* is the id of a search whose own captures come first. *faults* counts, by a message,
    records that cannot be read, or are not what the index says.
    """

    def __init__(
        self, index: Path, files: Iterable[Path] | None = None, *, largest: int = LARGEST
    ) -> None:
        self.search = ""
        self.faults: Counter[str] = Counter()
        self._largest = largest
        self._connection = _connect(index)
        known = self._connection.execute("SELECT number, path FROM files")
        paths = {number: _path(index, path) for number, path in known}
        wanted = paths.values() if files is None else set(files)
        self.paths = {number: path for number, path in paths.items() if path in wanted}
        numbers = ", ".join(map(str, self.paths))
        self._only = "" if len(self.paths) == len(paths) else f" AND file IN ({numbers})"

    def __exit__(self, *args: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the index."""
        self._connection.close()

    def load(self, url: str) -> WebPage | NoPage:
        """What was captured at an address."""
        for place in self._captures(url):
            found = self.read(place)
            if found and (answer := self.answer(found[0], url)):
                return answer
        return NoPage(NOT_ARCHIVED)

    def is_absent(self, url: str) -> bool:
        """Whether nothing is archived of an address; mostly, nothing is read to find out."""
        best = next(self._captures(url), None)
        return not best or (best.kind == ALIAS and self.load(url) == NoPage(NOT_ARCHIVED))

    def sites(self) -> Iterator[str]:
        """The names of all sites, in their order."""
        query = f"SELECT DISTINCT site FROM captures WHERE kind <= {ALIAS} ORDER BY site"  # noqa: S608 - ours
        return (name for (name,) in self._connection.execute(query))

    def pages(self, site: str | None = None) -> Iterator[StoredPage]:
        """The pages of a site by their keys, each by its best capture; or those of all sites."""
        if site is None:
            for name in self.sites():
                yield from self.pages(name)
            return
        rows = self._places(f"site = ? AND kind <= {ALIAS}", f"key, {_BEST}", site)
        for _, captures in groupby(rows, attrgetter("key")):
            best = next(captures)
            path = os.fsencode(self.paths[best.file].name)
            yield StoredPage(site, path, best.offset, self, best)

    def count_pages(self) -> int:
        """How many pages there are, each address once."""
        query = f"SELECT count(DISTINCT key) FROM captures WHERE kind <= {ALIAS}{self._only}"  # noqa: S608 - ours
        return int(self._connection.execute(query).fetchone()[0])

    def answer(self, record: Record, asked: str) -> WebPage | NoPage | None:
        """What a record gives; None for a revisit of something that is not here."""
        answer = answer_of(record, asked, self._largest)
        if not isinstance(answer, Reference):
            return answer
        order = f"date = {answer.date} DESC, {_BEST}"
        for place in self._captures(answer.url, f"kind <> {ALIAS}", order):
            if other := self.read(place):
                found = answer_of(other[0], asked, self._largest)
                return None if isinstance(found, Reference) else found
        return None

    def _captures(self, url: str, condition: str = "1", order: str = _BEST) -> Iterator[Place]:
        """The captures of an address, the best first."""
        try:
            key = key_of(identity(url))
        except ValueError:  # not an address
            return
        if self.search:
            own = f"kind > 0, {order.removeprefix('kind, ')}"
            yield from self._places(
                f"key = ? AND {condition} AND search = ?", own, key, self.search
            )
        yield from self._places(f"key = ? AND {condition}", order, key)

    def _places(self, condition: str, order: str, *values: object) -> Iterator[Place]:
        query = (
            f"SELECT file, offset, kind, key FROM captures WHERE {condition}{self._only}"  # noqa: S608 - ours
            f" ORDER BY {order}"
        )
        return (Place(*row) for row in self._connection.execute(query, values))

    def read(self, place: Place) -> tuple[Record, str] | None:
        """The record at a place, with its address, if it is the one that the index means."""
        path = self.paths[place.file]
        try:
            with path.open("rb") as file:
                found = read_at(file, place.offset, self._largest)
        except OSError as error:
            self.faults[f"{path}: {error.strerror or error}"] += 1
            return None
        capture = capture_of(found) if found else None
        if found and capture and place.key == capture.key:
            return found, capture.url
        self.faults[f"{path}: a record is not what the index says"] += 1
        return None
