"""What is done of a list, what is under way, and how long the feeds were then: all in one step."""

from __future__ import annotations

import json
import os
import zlib
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tplspider.old.crawl.batch.journal_file import (
    JournalError,
    look_into,
    open_kept,
    open_temporary,
    reason,
)
from tplspider.old.crawl.batch.same_crawl import difference
from tplspider.old.crawl.outputs.resumable import FeedFiles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path
    from typing import Self

    from tplspider.old.crawl.batch.journal_file import JournalFile
    from tplspider.old.crawl.outputs.resumable import FeedFile


@dataclass(frozen=True, slots=True)
class Suspect:
    """A search in flight when the process died: *deaths* times, *died_alone* of them alone."""

    search_id: str
    record: str
    deaths: int
    died_alone: int


class Journal:
    """A journal in a folder (JOBDIR), or a temporary one. Every method is quick and synchronous.

    Whatever cannot be written or read is a JournalError, and the journal is as it was before.
    """

    def __init__(self, file: JournalFile, *, kept: bool = True, sync: bool = False) -> None:
        self._file = file
        self._run = file.run
        self.is_kept = kept
        self._sync = sync
        self.parked = 0  # lines that wait
        self._arrivals = 0
        found = self._run("SELECT path, length FROM feeds")
        self.feeds = FeedFiles({os.fsdecode(path): n for path, n in found}, self._record)

    @classmethod
    def open(cls, folder: Path | None, *, sync: bool = False) -> Self:
        """Open the journal in *folder*, or a temporary one that nobody else sees.

        ValueError, in one line, says what is wrong. What was in flight when the process died has
        one death more from here on.
        """
        if folder is None:
            return cls(open_temporary(), kept=False)
        file = open_kept(folder, sync=sync)
        try:
            journal = cls(file, sync=sync)
            journal._run(
                "UPDATE begun SET running = 0, deaths = deaths + 1,"
                " died_alone = died_alone + alone WHERE running"
            )
        except JournalError as error:
            file.close()
            raise ValueError(str(error)) from None
        return journal

    @classmethod
    def check(
        cls, folder: Path, description: Mapping[str, str], files: Iterable[FeedFile] = ()
    ) -> None:
        """Raise ValueError, in one line, if a crawl cannot begin, or go on, with this JOBDIR.

        Nothing is made, counted or cut back.
        """
        file = look_into(folder)
        if file is None:
            return
        with closing(file):
            try:
                journal = cls(file)
                journal._compare(description)
                journal.feeds.check(files)
            except JournalError as error:
                raise ValueError(str(error)) from None

    def bind(self, description: Mapping[str, str]) -> None:
        """Remember what the crawl is; ValueError if it was another at the first start."""
        if not self._compare(description):
            text = json.dumps(dict(description))
            self._run("INSERT INTO facts VALUES ('description', ?)", (text,))

    def _compare(self, description: Mapping[str, str]) -> bool:
        """Whether there is a description yet; ValueError if it is another."""
        found = self._run("SELECT value FROM facts WHERE name = 'description'")
        if not found:
            return False
        if differs := difference(json.loads(found[0][0]), description):
            raise ValueError(
                f"{self._file.label}: {differs}:"
                " give what was given at its first start, or another JOBDIR"
            )
        return True

    def is_done(self, line: int, mark: bytes) -> bool:
        """Whether that line is done; ValueError if it was another line then."""
        found = self._run("SELECT mark FROM done WHERE line = ?", (line,))
        if found and found[0][0] != mark:
            raise ValueError(
                f"{self._file.label}: line {line} is not the one that was searched:"
                " give the list as it was, or another JOBDIR"
            )
        return bool(found)

    def done(self) -> int:
        """How many lines are done."""
        return int(self._run("SELECT count(*) FROM done")[0][0])

    def search_ids(self) -> Iterator[str]:
        """The ids of all searches that are done, one at a time."""
        found = self._file.connection.execute("SELECT search_id FROM searches")
        return (str(search_id) for (search_id,) in found)

    def outcomes(self) -> Counter[str]:
        """How many of the lines that are done have each outcome."""
        return Counter(dict(self._run("SELECT outcome, count(*) FROM done GROUP BY outcome")))

    def summary(self, search_id: str) -> dict[str, Any] | None:
        """The summary of a search that is done."""
        found = self._run("SELECT summary FROM searches WHERE search_id = ?", (search_id,))
        if not found:
            return None
        try:
            summary: dict[str, Any] = json.loads(zlib.decompress(found[0][0]))
        except (zlib.error, ValueError):
            raise JournalError(
                f"{self._file.label}: the journal is damaged (search {search_id})"
            ) from None
        return summary

    def begin(self, search_id: str, record: str, *, alone: bool) -> None:
        """Remember that a search is in flight, for the case that the process dies of it."""
        if self.is_kept:
            self._run(
                "INSERT INTO begun (search_id, record, running, alone) VALUES (?, ?, 1, ?)"
                " ON CONFLICT (search_id) DO UPDATE"
                " SET record = excluded.record, running = 1, alone = excluded.alone",
                (search_id, record, int(alone)),
            )

    def suspects(self) -> list[Suspect]:
        """The searches of which the process may have died, those that were rarely alone first."""
        rows = self._run(
            "SELECT search_id, record, deaths, died_alone FROM begun WHERE deaths AND NOT running"
            " ORDER BY died_alone, deaths, search_id"
        )
        return [Suspect(*row) for row in rows]

    def forget_begun(self) -> None:
        """Say that nobody is to blame for this end. Deaths of earlier starts stay known."""
        if self.is_kept:
            with self._file.transaction() as connection:
                connection.execute("DELETE FROM begun WHERE NOT deaths")
                connection.execute("UPDATE begun SET running = 0")

    def commit(
        self,
        *,
        lines: Iterable[tuple[int, bytes]],
        search_id: str = "",
        summary: Mapping[str, Any] | None = None,
        outcome: str = "",
    ) -> None:
        """Call lines, and a search, done: what the feeds hold now will be there after a restart.

        The *outcome* is what the lines count as, in :meth:`outcomes`.
        """
        try:
            lengths = self.feeds.lengths()
            if self._sync:
                self.feeds.sync(lengths)
        except OSError as error:
            raise JournalError(reason(error)) from error
        changed = {p: n for p, n in lengths.items() if self.feeds.committed.get(p) != n}
        with self._file.transaction() as connection:
            execute, many = connection.execute, connection.executemany
            many("INSERT OR REPLACE INTO feeds VALUES (?, ?)", _in_bytes(changed))
            many(
                "INSERT OR REPLACE INTO done VALUES (?, ?, ?)",
                ((line, mark, outcome) for line, mark in lines),
            )
            if summary is not None:
                packed = zlib.compress(json.dumps(dict(summary)).encode())
                execute("INSERT OR REPLACE INTO searches VALUES (?, ?)", (search_id, packed))
            execute("DELETE FROM begun WHERE search_id = ?", (search_id,))
        self.feeds.committed.update(changed)

    def park(self, host: str, record: str) -> None:
        """Put a line aside whose host is busy; it is gone with the process."""
        self._arrivals += 1
        self._run("INSERT INTO temp.parked VALUES (?, ?, ?)", (host, self._arrivals, record))
        self.parked += 1

    def unpark(self, host: str) -> str | None:
        """The line of that host that has waited longest."""
        found = self._run(
            "SELECT number, record FROM temp.parked WHERE host = ? ORDER BY number LIMIT 1", (host,)
        )
        if not found:
            return None
        number, record = found[0]
        self._run("DELETE FROM temp.parked WHERE host = ? AND number = ?", (host, number))
        self.parked -= 1
        return str(record)

    def close(self) -> None:
        """Let the journal go: another crawl may have it."""
        self._file.close()

    def _record(self, lengths: Mapping[str, int]) -> None:
        with self._file.transaction() as connection:
            connection.executemany("INSERT INTO feeds VALUES (?, ?)", _in_bytes(lengths))


def _in_bytes(lengths: Mapping[str, int]) -> Iterable[tuple[bytes, int]]:
    """Names of files need not be text."""
    return ((os.fsencode(path), length) for path, length in lengths.items())
