"""The list of searches in an SQLite file, which survives any end of the server."""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from tplspider.plugins.ui.access import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    Answer = dict[str, Any]  # summary, candidates, and the text or None

MOST = 20_000  # searches in the list
LOST = "the server ended before the search was over"

_TABLE = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE, is_open INT, record TEXT,
    answer BLOB, report BLOB
);
CREATE INDEX IF NOT EXISTS open_runs ON runs (is_open);
"""


@dataclass(eq=False)
class Run:
    """A search in the list. The same search again is another run.

    It is *waiting*, then *searching*. Its outcome is *complete*, *partial* (fewer pages than asked
    for), *none* (no other page was found), *failed* (the key page cannot be used), or *stopped*
    (it ended before anything was found).
    """

    id: str
    url: str
    n: int
    strategy: str
    created: float
    state: str = "waiting"
    started: float | None = None
    ended: float | None = None
    key_url: str = ""  # after redirects
    title: str = ""
    links: int = 0  # on the key page
    tried: int = 0
    loads: int = 0
    members: list[dict[str, Any]] = field(default_factory=list)  # rank, url, title
    headline: str = ""  # the answer in a sentence
    note: str = ""  # further remarks
    advice: str = ""  # what to try
    length: int = 0  # characters of the text
    has_answer: bool = False
    has_report: bool = False
    number: int = 0  # in the list: the newer, the higher


class Store:
    """The file, which one process uses. Raises RefusedError if it cannot be read or written."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "list.sqlite"
        with self._errors():
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
            self._file = sqlite3.connect(self._path)
            self._file.executescript(_TABLE)
            # What was open when the server was killed.
            with self._file:
                self._file.execute(
                    "UPDATE runs SET is_open = 0,"
                    " record = json_set(record, '$.state', 'stopped', '$.note', ?) WHERE is_open",
                    (LOST,),
                )

    def add(self, runs: Sequence[Run]) -> None:
        """Add new runs, all or none, number them, and delete the oldest beyond the limit."""
        with self._errors(), self._file:
            for run in runs:
                values = run.id, json.dumps(asdict(run))
                insert = "INSERT INTO runs (id, is_open, record) VALUES (?, 1, ?)"
                run.number = self._file.execute(insert, values).lastrowid or 0
            self._file.execute(
                "DELETE FROM runs WHERE NOT is_open AND number <="
                " (SELECT number FROM runs ORDER BY number DESC LIMIT 1 OFFSET ?)",
                (MOST,),
            )

    def save(self, runs: Sequence[Run], answer: Answer | None = None, report: bytes = b"") -> None:
        """Save finished runs; a single one with its answer and report."""
        packed = zlib.compress(json.dumps(answer).encode()) if answer else None
        page = zlib.compress(report) if report else None
        with self._errors(), self._file:
            self._file.executemany(
                "UPDATE runs SET is_open = 0, record = ?, answer = ?, report = ? WHERE id = ?",
                [(json.dumps(asdict(run)), packed, page, run.id) for run in runs],
            )

    def closed(self, before: int, most: int) -> list[Run]:
        """The newest finished runs, or those older than the number *before*."""
        with self._errors():
            rows = self._file.execute(
                "SELECT number, record FROM runs WHERE NOT is_open AND number < ?"
                " ORDER BY number DESC LIMIT ?",
                (before or 1 << 62, most),
            ).fetchall()
        return [_run(*row) for row in rows]

    def get(self, run_id: str) -> Run | None:
        with self._errors():
            rows = self._file.execute("SELECT number, record FROM runs WHERE id = ?", (run_id,))
            return next((_run(*row) for row in rows), None)

    def answer(self, run_id: str) -> Answer | None:
        return next(self.answers("WHERE id = ?", (run_id,)), None)

    def report(self, run_id: str) -> bytes | None:
        with self._errors():
            row = self._file.execute("SELECT report FROM runs WHERE id = ?", (run_id,)).fetchone()
            return zlib.decompress(row[0]) if row and row[0] else None

    def answers(
        self, which: str = "ORDER BY number", values: tuple[str, ...] = ()
    ) -> Iterator[Answer]:
        """What searches gave, the oldest first. It may be read in another thread."""
        with self._errors(), closing(sqlite3.connect(self._path)) as file:
            for (packed,) in file.execute(f"SELECT answer FROM runs {which}", values):  # noqa: S608 - our own words
                if packed:
                    yield json.loads(zlib.decompress(packed))

    def close(self) -> None:
        self._file.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, zlib.error, ValueError) as error:
            raise RefusedError(507, f"{self._path} cannot be used: {error}") from error


def _run(number: int, record: str) -> Run:
    return Run(**json.loads(record) | {"number": number})
