"""Result files that go on: their lengths and the position in the stream are one step of SQLite."""

from __future__ import annotations

import json
import logging
import os
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import IO, TYPE_CHECKING

from tplspider.crawl.batch.journal_file import open_kept
from tplspider.crawl.batch.same_crawl import difference
from tplspider.crawl.fleet.results_stream import Position
from tplspider.crawl.outputs.resumable import FeedFile, FeedFiles
from tplspider.search.answer import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from typing import Self

    from scrapy.exporters import BaseItemExporter

    from tplspider.crawl.fleet.result_feeds import ResultFeed
    from tplspider.crawl.fleet.rows import Answer
    from tplspider.crawl.outputs.resumable import FedFile

logger = logging.getLogger(__name__)

ENDING = ".position"

_TAIL = 4096  # bytes that tell whether a file is still the one that was written


@dataclass(slots=True)
class _Open:
    """A file of which a fault is known at once: whatever cannot be written is an OSError."""

    inner: IO[bytes]
    fault: Exception | None = None

    def flush(self) -> None:
        """Nothing is kept back."""


class ResultFiles:
    """The files of one reader of a queue's results.

    Rows that were written and never committed are cut off when the files are opened again.
    """

    def __init__(self, feeds: list[ResultFeed], description: Mapping[str, str]) -> None:
        """Open the files. ValueError, in one line, says why they cannot go on."""
        self._feeds = feeds
        first = feeds[0].path
        name = first.name + ENDING
        is_new = not (first.parent / name).exists()
        self._journal = open_kept(first.parent, sync=True, name=name, label=feeds[0].label)
        self._run = self._journal.run
        self._exporters: dict[type, BaseItemExporter] = {}
        self._opened: list[FedFile] = []
        try:
            found = self._run("SELECT path, length FROM feeds")
            committed = {os.fsdecode(path): length for path, length in found}
            self._files = FeedFiles(committed, self._record)
            self._compare(description)
            self._start()
        except BaseException:
            self.close()
            if is_new:  # it would look as if these files were written by us
                (first.parent / name).unlink(missing_ok=True)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    @property
    def position(self) -> Position:
        """How far the files are."""
        found = self._run("SELECT value FROM facts WHERE name = 'position'")
        return Position(**json.loads(found[0][0])) if found else Position()

    def write(self, answers: Iterable[Answer], behind: Position) -> int:
        """Add the rows of answers, those that are not there yet, and call it done.

        How many answers were new. Rows of one search are written once for each attempt, whoever
        asked for it; what Redis has forgotten and been told again is not written again.
        """
        keys: set[str] = set()
        written = 0
        for answer in answers:
            if not answer.summary or not self._is_new(f"entry {answer.entry}", keys):
                continue
            written += 1
            seen: dict[type, bool] = {}
            for item in answer.items():
                kind = type(item)
                if item is answer.summary:
                    seen[kind] = False
                elif kind not in seen:
                    key = f"{kind.__name__} {item.search_id} {answer.attempt}"
                    seen[kind] = not self._is_new(key, keys)
                if not seen[kind] and kind in self._exporters:
                    self._exporters[kind].export_item(item)
        self._commit(keys, behind)
        return written

    def close(self) -> None:
        """Let the files go; a CSV without rows gets its header."""
        for exporter in self._exporters.values():
            exporter.finish_exporting()
        self._exporters.clear()
        for file in self._opened:
            file.inner.close()
        self._journal.close()

    def _is_new(self, key: str, keys: set[str]) -> bool:
        """Whether a key comes for the first time; it is to be remembered then."""
        found = key in keys or self._run("SELECT 1 FROM searches WHERE search_id = ?", (key,))
        keys.add(key)
        return not found

    def _commit(self, keys: set[str], behind: Position) -> None:
        lengths = self._files.lengths()
        self._files.sync(lengths)
        tails = {path: _tail(path, length) for path, length in lengths.items()}
        facts = {"position": json.dumps(asdict(behind)), "tails": json.dumps(tails)}
        with self._journal.transaction() as connection:
            many = connection.executemany
            many("INSERT OR REPLACE INTO feeds VALUES (?, ?)", _in_bytes(lengths))
            many("INSERT OR REPLACE INTO searches VALUES (?, x'')", ((key,) for key in keys))
            many("INSERT OR REPLACE INTO facts VALUES (?, ?)", facts.items())
        self._files.committed.update(lengths)

    def _compare(self, description: Mapping[str, str]) -> None:
        told = {f"feed {str(feed.path)!r}": feed.description for feed in self._feeds}
        now = {**description, **told}
        found = self._run("SELECT value FROM facts WHERE name = 'description'")
        if not found:
            self._check_new()
            values = (json.dumps(now),)
            self._run("INSERT INTO facts VALUES ('description', ?)", values)
        elif differs := difference(json.loads(found[0][0]), now):
            raise ValueError(
                f"{self._feeds[0].label}: {differs}: give what was given before, or other files"
            )

    def _check_new(self) -> None:
        """Files are never rewritten: those that we begin are new."""
        for feed in self._feeds:
            if _size(feed.path):
                raise ValueError(
                    f"{feed.label}: the file is there already, and its {ENDING} is not: give"
                    " another name, or delete it"
                )

    def _start(self) -> None:
        found = self._run("SELECT value FROM facts WHERE name = 'tails'")
        tails: dict[str, str] = json.loads(found[0][0]) if found else {}
        for feed in self._feeds:
            length = self._files.committed.get(str(feed.path), 0)
            if _size(feed.path) < length or tails.get(str(feed.path), "") != (
                _tail(str(feed.path), length) if tails else ""
            ):
                raise ValueError(
                    f"{feed.label}: the file is not as it was left: put it back, or begin again"
                    " with other files"
                )
            # A CSV without rows was left with its header, which comes again.
            if (surplus := _size(feed.path) - length) and (length or not feed.is_csv):
                logger.warning(
                    "%s: cut off what stood behind the last row, as after a kill: %s",
                    feed.label,
                    counted(surplus, "byte"),
                )
        files = {feed: _feed_file(feed) for feed in self._feeds}
        self._files.start(files.values())
        for feed, file in files.items():
            opened = _Open(self._files.open(feed.path))
            self._opened.append(opened)
            self._files.opened(feed.path, opened)
            has_header = self._files.has_header(file)
            self._exporters[feed.kind] = feed.open_exporter(opened.inner, has_header=has_header)

    def _record(self, lengths: Mapping[str, int]) -> None:
        with self._journal.transaction() as connection:
            connection.executemany("INSERT INTO feeds VALUES (?, ?)", _in_bytes(lengths))


def _feed_file(feed: ResultFeed) -> FeedFile:
    name = str(feed.path)
    return FeedFile(feed.label, name, feed.path, True, feed.is_csv, feed.description)  # noqa: FBT003 - as there


def _in_bytes(lengths: Mapping[str, int]) -> list[tuple[bytes, int]]:
    return [(os.fsencode(path), length) for path, length in lengths.items()]


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _tail(path: str, length: int) -> str:
    """What tells the last bytes of a file of that length from others."""
    if not length:
        return ""
    with open(path, "rb") as file:  # noqa: PTH123 - as FeedFiles has it
        file.seek(max(length - _TAIL, 0))
        return blake2b(file.read(min(_TAIL, length)), digest_size=8).hexdigest()
