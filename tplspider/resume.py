"""What is done of a list, and how long the feeds were then, so that a killed crawl can go on.

With a JOBDIR the journal is a file in it; without, a temporary one that only answers lines that ask
for a search that was made before.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tplspider.feeds import FeedFile

_TABLES = """
BEGIN EXCLUSIVE;
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE IF NOT EXISTS done (line INTEGER PRIMARY KEY, mark BLOB, outcome TEXT);
CREATE TABLE IF NOT EXISTS searches (search_id TEXT PRIMARY KEY, summary TEXT, row TEXT);
CREATE TABLE IF NOT EXISTS feeds (path TEXT PRIMARY KEY, length INTEGER);
COMMIT;
"""


class Journal:
    """The journal of a crawl. ValueError says why a crawl cannot begin, or go on, with it.

    Between two commits nothing is done: rows written since the last one are cut off at the next
    start. So every line has its rows once, whenever the process is killed.
    """

    def __init__(self, folder: Path | None) -> None:
        self.is_kept = folder is not None
        self.files: dict[str, FeedFile] = {}  # open feeds, by path
        try:
            if folder:
                folder.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(folder / "tplspider.sqlite" if folder else "", timeout=0)
            self._db.isolation_level = None
            # SIGKILL takes nothing that was written; a loss of power is not provided for.
            self._db.execute("PRAGMA synchronous = OFF")
            self._db.execute("PRAGMA locking_mode = EXCLUSIVE")  # for this crawl alone
            self._db.execute(f"PRAGMA journal_mode = {'WAL' if folder else 'OFF'}")
            self._db.executescript(_TABLES)
            self.lengths: dict[str, int] = dict(self._db.execute("SELECT * FROM feeds"))
        except (OSError, sqlite3.Error) as error:
            is_locked = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
            why = "another crawl is using it" if is_locked else error
            raise ValueError(f"JOBDIR: {why}") from None

    def bind(self, description: Mapping[str, str]) -> None:
        """Remember what the crawl is; ValueError if it was another one at the first start."""
        self._db.execute(
            "INSERT OR IGNORE INTO facts VALUES ('crawl', ?)", (json.dumps(dict(description)),)
        )
        found = self._db.execute("SELECT value FROM facts WHERE name = 'crawl'").fetchone()[0]
        if changed := dict(json.loads(found).items() ^ description.items()):
            names = ", ".join(changed)
            raise ValueError(f"JOBDIR: {names} changed since the first start: use another JOBDIR")

    def start_feeds(self, feeds: Mapping[str, bool]) -> None:
        """Cut the files of feeds back to what is done; *feeds* says which are overwritten."""
        for path, overwrite in feeds.items():
            size = Path(path).stat().st_size if Path(path).exists() else 0
            length = self.lengths.setdefault(path, 0 if overwrite else size)
            if size < length:
                raise ValueError(f"JOBDIR: {path} is missing, or shorter than before")
            if size > length:
                os.truncate(path, length)
        self._db.executemany("INSERT OR REPLACE INTO feeds VALUES (?, ?)", self.lengths.items())

    def is_done(self, line: int, mark: bytes) -> bool:
        """Whether a line is done; ValueError if it was another line then."""
        found = self._db.execute("SELECT mark FROM done WHERE line = ?", (line,)).fetchone()
        if found and found[0] != mark:
            raise ValueError(f"JOBDIR: line {line} of the list has changed: use another JOBDIR")
        return bool(found)

    def outcomes(self) -> Counter[str]:
        """How many of the lines that are done have each outcome."""
        found = self._db.execute("SELECT outcome, count(*) FROM done GROUP BY outcome")
        return Counter(dict(found.fetchall()))

    def earlier(self, search_id: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """The summary of a search that is done, and its row in a table of texts."""
        found = self._db.execute(
            "SELECT summary, row FROM searches WHERE search_id = ?", (search_id,)
        ).fetchone()
        return (json.loads(found[0]), json.loads(found[1])) if found else None

    def commit(
        self,
        line: int,
        mark: bytes,
        outcome: str,
        summary: Mapping[str, Any] | None = None,
        row: Mapping[str, Any] | None = None,
    ) -> None:
        """Mark a line as done, and its search, if a *summary* is given. OSError if feeds failed."""
        for path, file in self.files.items():
            if file.fault:
                raise OSError(f"{path}: {file.fault}")
            if not file.closed:
                self.lengths[path] = file.tell()
        self._db.execute("BEGIN")
        if self.is_kept:
            self._db.executemany("INSERT OR REPLACE INTO feeds VALUES (?, ?)", self.lengths.items())
        if line:
            self._db.execute("INSERT OR REPLACE INTO done VALUES (?, ?, ?)", (line, mark, outcome))
        if summary:
            values = (summary["search_id"], json.dumps(summary), json.dumps(row or {}))
            self._db.execute("INSERT OR REPLACE INTO searches VALUES (?, ?, ?)", values)
        self._db.execute("COMMIT")

    def cut_back(self) -> None:
        """Take back the rows that were written since the last commit."""
        for path, file in self.files.items():
            if file.closed or file.fault or not file.in_turns:
                continue
            length = max(file.start, self.lengths.get(path, 0))
            if file.tell() > length:
                file.truncate(length)
                file.seek(length)

    def close(self) -> None:
        self._db.close()
