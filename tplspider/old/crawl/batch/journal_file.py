"""The SQLite file of a journal: made whole or not at all, ours alone, and checked before use."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from tplspider.old.crawl.outputs.resumable import sync_to_disk
from tplspider.old.crawl.outputs.trial import try_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

T = TypeVar("T")

NAME = "tplspider.sqlite"
JOURNAL_FAULT = "journal_fault"  # why a crawl ends that cannot be kept in step
VERSION = 1  # of the tables below
_KIND = int.from_bytes(b"tplS", "big")  # SQLite's application_id: whose file it is
_TRIES = 5

_TABLES = (
    "CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS feeds (path BLOB PRIMARY KEY, length INT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE IF NOT EXISTS done (line INTEGER PRIMARY KEY, mark BLOB NOT NULL,
       outcome TEXT NOT NULL)""",
    "CREATE TABLE IF NOT EXISTS searches (search_id TEXT PRIMARY KEY, summary BLOB NOT NULL)",
    """CREATE TABLE IF NOT EXISTS begun (search_id TEXT PRIMARY KEY, record TEXT NOT NULL,
       running INT NOT NULL, alone INT NOT NULL,
       deaths INT NOT NULL DEFAULT 0, died_alone INT NOT NULL DEFAULT 0) WITHOUT ROWID""",
)
_SMALL_CACHE = "PRAGMA cache_size = -512"  # kB: rows are looked up one by one
# Lines that wait for their host: in a file of SQLite's own that goes with the process.
_PARKED = (
    "PRAGMA temp_store = FILE",
    """CREATE TEMP TABLE parked (host TEXT, number INTEGER, record TEXT NOT NULL,
       PRIMARY KEY (host, number)) WITHOUT ROWID""",
)


class JournalError(OSError):
    """The journal, or a feed that it keeps in step, cannot be written: it says why in one line."""


class JournalFile:
    """A journal that is open: what SQLite says of it is a JournalError that starts with *label*."""

    def __init__(self, connection: sqlite3.Connection, label: str, name: str = NAME) -> None:
        self.connection = connection
        self.label = label
        self._name = name  # of the file

    def run(self, statement: str, values: tuple[object, ...] = ()) -> list[Any]:
        """One statement, which is a transaction of its own."""
        try:
            return self.connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise JournalError(f"{self.label}: {_fault(error, self._name)}") from error

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Several statements: all of them, or none."""
        try:
            self.connection.execute("BEGIN IMMEDIATE")
            yield self.connection
            self.connection.execute("COMMIT")
        except BaseException as error:
            if self.connection.in_transaction:
                with suppress(sqlite3.Error):
                    self.connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise JournalError(f"{self.label}: {_fault(error, self._name)}") from error
            raise

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self.connection.close()


def _label_of(folder: Path) -> str:
    return f"JOBDIR={str(folder)!r}"


def open_temporary() -> JournalFile:
    """A journal that nobody else sees: SQLite's own temporary file, made when memory is short.

    It has no name, so nothing is left of it whatever way the process ends.
    """
    connection = sqlite3.connect("", isolation_level=None)
    for statement in (_SMALL_CACHE, "PRAGMA journal_mode = MEMORY", *_TABLES, *_PARKED):
        connection.execute(statement)
    return JournalFile(connection, "temporary journal")


def open_kept(folder: Path, *, sync: bool, name: str = NAME, label: str = "") -> JournalFile:
    """The journal in *folder*, which is made if it is missing. ValueError says why not.

    That of something else than a crawl has another *name*, and a *label* for messages.
    """

    def opened() -> sqlite3.Connection:
        try_folder(folder)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / name
        if not os.path.lexists(path):
            _make(path)
        connection = _open(path)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(_SMALL_CACHE)
            # Without fsync what was written outlives the process, but not the power.
            connection.execute(f"PRAGMA synchronous = {'FULL' if sync else 'NORMAL'}")
            for statement in _PARKED:
                connection.execute(statement)
        except BaseException:
            connection.close()
            raise
        return connection

    label = label or _label_of(folder)
    return JournalFile(_told(label, opened, name), label, name)


def look_into(folder: Path) -> JournalFile | None:
    """The journal in *folder* to be read; None where there is none and one could be made."""

    def opened() -> sqlite3.Connection | None:
        try_folder(folder)
        path = folder / NAME
        return _open(path) if os.path.lexists(path) else None

    connection = _told(_label_of(folder), opened, NAME)
    return JournalFile(connection, _label_of(folder)) if connection else None


def reason(error: BaseException) -> str:
    """What SQLite or the system says, in one line."""
    return " ".join(str(getattr(error, "strerror", None) or error or type(error).__name__).split())


def _told(label: str, opened: Callable[[], T], name: str) -> T:
    try:
        return opened()
    except ValueError as error:  # also of a name with a NUL
        raise ValueError(f"{label}: {error}") from None
    except sqlite3.Error as error:
        raise ValueError(f"{label}: {_fault(error, name)}") from None
    except OSError as error:
        raise ValueError(f"{label}: cannot write to it ({reason(error)})") from None


def _fault(error: sqlite3.Error, name: str) -> str:
    """What is wrong with a journal, for a person."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return f"another {'crawl' if name == NAME else 'command'} is using it"
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return f"{name} is damaged ({reason(error)})"
    return f"{name} cannot be used ({reason(error)})"


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=0, isolation_level=None
    )
    # The lock is taken by the first look into the file, and kept: no other process gets in.
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    return connection


def _open(path: Path) -> sqlite3.Connection:
    """Open, lock and check a journal that is there.

    The file is looked at by SQLite alone: whoever else opens and closes it lets its locks go.
    """
    if not path.is_file():
        raise ValueError(f"{path.name} is not a file")
    if not path.stat().st_size:
        raise ValueError(f"{path.name} is damaged (it is empty)")
    if not os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise ValueError(f"{path.name} is read-only")
    for attempt in range(_TRIES):
        connection = _connect(path, "rw")
        try:
            _check(connection, path.name)
        except BaseException as error:
            connection.close()
            # Two that start at the same moment may be in each other's way.
            busy = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
            if not busy or attempt == _TRIES - 1:
                raise
            time.sleep(0.002 + (os.getpid() * (attempt + 1)) % 17 / 1000)
        else:
            return connection
    raise AssertionError


def _check(connection: sqlite3.Connection, name: str) -> None:
    (kind,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if kind != _KIND:
        raise ValueError(f"{name} is a file of another program")
    if version != VERSION:
        raise ValueError(
            f"{name} is from another version of tplspider"
            f" (its tables have number {version}, and here it is {VERSION})"
        )
    connection.execute("BEGIN EXCLUSIVE")
    connection.execute("COMMIT")
    found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise ValueError(f"{name} is damaged ({reason(Exception(found))})")


def _make(path: Path) -> None:
    """Make a journal under another name first: whoever is killed here leaves no half of one.

    The other name is locked as well, so of two that start at once one goes on.
    """
    new = path.with_name(f"{path.name}.new")
    with closing(_connect(new, "rwc")) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        if os.path.lexists(path):  # made by another while we came here
            connection.execute("ROLLBACK")
            new.unlink(missing_ok=True)
            return
        for statement in _TABLES:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_KIND}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
        new.chmod(0o600)  # there may be passwords in the lines that are in flight
        for ending in ("-journal", "-shm", "-wal"):  # of a journal that somebody has deleted
            path.with_name(f"{path.name}{ending}").unlink(missing_ok=True)
        new.rename(path)
    for folder in (path.parent, path.absolute().parent.parent):
        sync_to_disk(folder)
