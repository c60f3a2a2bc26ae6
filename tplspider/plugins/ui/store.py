"""The list of searches on disk, with their answers: a file of SQLite that survives any end."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import zlib
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from tplspider.items import CandidateSearch
from tplspider.plugins.ui.run import Run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

logger = logging.getLogger(__name__)

NAME = "searches.sqlite"

_TABLES = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE, record TEXT, answer BLOB
);
CREATE TABLE IF NOT EXISTS sessions (mark TEXT PRIMARY KEY, until REAL);
"""


def _for_reading(path: Path) -> sqlite3.Connection:
    # What it finds may be taken by one thread after the other, never by two at a time.
    # If the file is gone, it is not made anew.
    name = f"{path.absolute().as_uri()}?mode=rw"
    return sqlite3.connect(name, uri=True, timeout=10, check_same_thread=False)


class StoreError(Exception):
    """Something cannot be kept, or read: one line for the user."""


class RunStore:
    """The file. It is used from the event loop, and read from threads by connections of their own.

    A file that is damaged is put aside, and *fault* says so.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self.fault = ""
        try:
            self._file = self._open()
            self._file.executescript(_TABLES)
            if (found := self._file.execute("PRAGMA quick_check(1)").fetchone()) != ("ok",):
                raise sqlite3.DatabaseError(*found)  # noqa: TRY301 - as SQLite itself would say it
            self._file.execute("SELECT count(*), max(length(record)) FROM runs").fetchall()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise StoreError(f"{self._path}: {error}") from error
            self._put_aside()
            self.fault = f"{self._path} is damaged ({error}): it was put aside, the list is empty"

    def _open(self) -> sqlite3.Connection:
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        self._path.chmod(0o600)
        return sqlite3.connect(self._path, isolation_level=None)

    def _put_aside(self) -> None:
        self._file.close()
        self._path.replace(self._path.with_suffix(".damaged"))
        for ending in ("-wal", "-shm"):
            self._path.with_name(self._path.name + ending).unlink(missing_ok=True)
        self._file = self._open()
        self._file.executescript(_TABLES)

    def runs(self) -> Iterator[Run]:
        """All that are kept, the oldest first."""
        # As bytes: where one letter is damaged, SQLite would not give the others either.
        rows = self._run("SELECT number, CAST(record AS BLOB) FROM runs ORDER BY number")
        for number, record in rows:
            with suppress(ValueError, TypeError, RecursionError):  # of another version: left out
                yield Run.of_record(json.loads(record), number)

    def add(self, runs: Iterable[Run]) -> None:
        """Keep new ones, all or none, and give them their numbers."""
        added: list[tuple[Run, int]] = []
        with self._whole():
            for run in runs:
                values = run.id, json.dumps(run.record())
                self._run("INSERT INTO runs (id, record) VALUES (?, ?)", values)
                ((number,),) = self._run("SELECT last_insert_rowid()")
                added.append((run, number))
        for run, number in added:
            run.number = number

    def save(self, answers: Mapping[Run, Mapping[str, Any] | None]) -> None:
        """Keep what has become of some, with what they gave, if anything; all or none."""
        with self._whole():
            for run, answer in answers.items():
                record = json.dumps(run.record())
                self._run("UPDATE runs SET record = ? WHERE id = ?", (record, run.id))
                if answer:
                    packed = zlib.compress(json.dumps(answer).encode())
                    self._run("UPDATE runs SET answer = ? WHERE id = ?", (packed, run.id))

    def drop(self, runs: Iterable[Run]) -> None:
        """Forget some of them."""
        with self._whole():
            for run in runs:
                self._run("DELETE FROM runs WHERE id = ?", (run.id,))

    def answer(self, run_id: str) -> dict[str, Any] | None:
        """What a search gave; it may be called in a thread."""
        for found in self.answers("WHERE id = ?", (run_id,)):
            return found
        return None

    def answers(
        self, which: str = "ORDER BY number", values: tuple[Any, ...] = ()
    ) -> Iterator[dict[str, Any]]:
        """What all searches gave, the oldest first; in whatever thread."""
        try:
            with closing(_for_reading(self._path)) as file:
                for (packed,) in file.execute(f"SELECT answer FROM runs {which}", values):  # noqa: S608 - our own words
                    if packed and (answer := self._unpacked(packed)):
                        yield answer
        except sqlite3.Error as error:
            raise StoreError(f"{self._path}: {error}") from error

    def _unpacked(self, packed: object) -> dict[str, Any]:
        """An answer; nothing where it is damaged, so that it does not cost the others."""
        try:
            answer = json.loads(zlib.decompress(packed))  # type: ignore[arg-type]  # or TypeError
            CandidateSearch(**answer["summary"])
            _ = [*answer["candidates"]], answer["template"]
        except (zlib.error, ValueError, TypeError, KeyError, RecursionError) as error:
            logger.warning("An answer in %s is damaged, and left out: %s", self._path, error)
            return {}
        return dict(answer)

    def add_session(self, mark: str, until: float, most: int) -> None:
        """Keep the mark of somebody who may come again, until then; of so many at most."""
        self._run("INSERT OR REPLACE INTO sessions VALUES (?, ?)", (mark, until))
        self._run(
            "DELETE FROM sessions WHERE mark NOT IN"
            " (SELECT mark FROM sessions ORDER BY until DESC LIMIT ?)",
            (most,),
        )

    def sessions(self, now: float) -> dict[str, float]:
        """The marks that still count, and until when."""
        return dict(self._run("SELECT mark, until FROM sessions WHERE until > ?", (now,)))

    def forget_sessions(self) -> None:
        """Let nobody in any more who was here before."""
        self._run("DELETE FROM sessions")

    def close(self) -> None:
        """Let go of the file."""
        with suppress(sqlite3.Error):
            self._file.close()

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """All of it, or nothing."""
        self._run("BEGIN")
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self._file.execute("ROLLBACK")
            raise

    def _run(self, statement: str, values: tuple[Any, ...] = ()) -> list[Any]:
        with self._told():
            return self._file.execute(statement, values).fetchall()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(f"{self._path} cannot be used: {error}") from error
