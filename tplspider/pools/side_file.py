"""A temporary file beside the memory, for what is not needed all the time."""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkstemp
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_PRAGMAS = (
    "PRAGMA journal_mode = MEMORY",
    "PRAGMA synchronous = OFF",  # nobody goes on with it
    "PRAGMA locking_mode = EXCLUSIVE",
    "PRAGMA cache_size = -256",  # kB
)


class SideFileError(Exception):
    """The disk is full, no folder can be written, or worse; it says so in one line."""


class SideFile:
    """Tables of SQLite in a file in TMPDIR, which is made when it is needed first.

    It has no name: the system takes it away, whatever way the process ends. What rows leave behind
    is used again. A process that is forked off begins with an empty one of its own: two would spoil
    it for each other. It may be used by one thread at a time.
    """

    def __init__(self, *tables: str) -> None:
        self._tables = tables
        self._opened: tuple[int, sqlite3.Connection] | None = None  # by which process

    @property
    def is_open(self) -> bool:
        """Whether there is a file, of this process."""
        return self._opened is not None and self._opened[0] == os.getpid()

    def run(self, statement: str, *values: object) -> list[Any]:
        """Run a statement; its rows. Raises SideFileError, and then nothing was changed."""
        with _faults():
            return self._connection().execute(statement, values).fetchall()

    def add(self, statement: str, *values: object) -> int:
        """Run a statement that adds a row; its number."""
        with _faults():
            return self._connection().execute(statement, values).lastrowid or 0

    def change(self, *statements: tuple[str, list[tuple[Any, ...]]]) -> None:
        """Run each statement with each of its rows, all of them or, with SideFileError, none."""
        with _faults(), self._connection() as connection:
            connection.execute("BEGIN")
            for statement, rows in statements:
                connection.executemany(statement, rows)

    def close(self) -> None:
        """Let go of the file and all that is in it."""
        if self._opened is not None and self.is_open:
            self._opened[1].close()
        self._opened = None

    def _connection(self) -> sqlite3.Connection:
        if self._opened is None or not self.is_open:
            self._opened = os.getpid(), _new(self._tables)
        return self._opened[1]


def _new(tables: tuple[str, ...]) -> sqlite3.Connection:
    # SQLite has files without a name as well. But it writes them when its cache is full, not when
    # something is changed: on a full disk, what was taken already could not be read any more.
    descriptor, name = mkstemp(prefix="tplspider-")
    os.close(descriptor)
    try:
        if os.name == "nt":  # where a file that is in use keeps its name
            Path(name).unlink()
            name = ""
        made = sqlite3.connect(name, isolation_level=None, check_same_thread=False)
        try:
            for statement in (*_PRAGMAS, *tables):
                made.execute(statement)
        except sqlite3.Error:
            made.close()
            raise
        return made
    finally:
        with suppress(OSError):
            Path(name).unlink()


@contextmanager
def _faults() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise SideFileError(" ".join(str(error).split())) from error
