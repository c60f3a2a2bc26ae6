"""The outputs of ``scrapy archive``: rows of candidates, of templates, of summaries."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from scrapy.utils.misc import load_object

from tplspider.items import CandidateSearch, PageTemplate, TemplateCandidate
from tplspider.old.crawl.arguments import FEED_FORMATS, feed_format
from tplspider.old.crawl.outputs.feeds import CandidateCsvItemExporter, CandidateXmlItemExporter
from tplspider.old.crawl.outputs.names import STANDARD_OUTPUT, final_path, local_path
from tplspider.old.crawl.outputs.plan import Output
from tplspider.old.crawl.outputs.resumable import FeedFile
from tplspider.old.crawl.outputs.whole_file import WholeFile
from tplspider.old.crawl.pipelines import CleanTextPipeline

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scrapy.exporters import BaseItemExporter
    from scrapy.settings import BaseSettings

    from tplspider.old.crawl.batch.journal import Journal

OURS = {"csv": CandidateCsvItemExporter, "xml": CandidateXmlItemExporter}
GROWING = ("jl", "jsonl", "jsonlines", "csv")


@dataclass(frozen=True, slots=True)
class ResultFeed:
    """A file for one kind of row."""

    label: str
    path: Path
    kind: type
    format: str
    exporter: type[BaseItemExporter]

    @property
    def is_csv(self) -> bool:
        return self.format == "csv"

    @property
    def columns(self) -> list[str]:
        return [each.name for each in fields(self.kind)]

    @property
    def description(self) -> str:
        """What has to be the same for the file to go on."""
        return " ".join([self.format, *self.columns])

    def open_exporter(self, file: Any, *, has_header: bool = False) -> BaseItemExporter:
        """What writes rows to an open file."""
        options: dict[str, Any] = {"include_headers_line": False} if has_header else {}
        build: Any = self.exporter
        opened: BaseItemExporter = build(
            file, fields_to_export=self.columns, encoding="utf-8", **options
        )
        opened.start_exporting()
        return opened


def feed_of(feeds: Iterable[ResultFeed], item: object) -> ResultFeed | None:
    """The feed that an item belongs to."""
    return next((feed for feed in feeds if feed.kind is type(item)), None)


_KINDS = {"-O": TemplateCandidate, "--summary": CandidateSearch, "--template": PageTemplate}
_PRINTED = Path(os.devnull)  # in the place of a path, for standard output


class FeedError(OSError):
    """Rows cannot be written; it says why in one line."""


def archive_feeds(
    names: Mapping[str, str | None], settings: BaseSettings, *, growing: bool
) -> list[ResultFeed]:
    """The feeds that options name; ValueError, in one line, for one that will not do."""
    feeds = [
        _feed(option, name, kind, settings, growing=growing)
        for option, kind in _KINDS.items()
        if (name := names.get(option))
    ]
    if sum(is_printed(feed) for feed in feeds) > 1:
        raise ValueError("standard output is for one kind of row: give the others files")
    return feeds


def outputs_of(feeds: Iterable[ResultFeed]) -> list[Output]:
    """The feeds, as they are compared with other outputs, and tried."""
    return [
        Output(feed.label, STANDARD_OUTPUT)
        if is_printed(feed)
        else Output(feed.label, str(feed.path), (feed.path,), overwrite=True)
        for feed in feeds
    ]


def is_printed(feed: ResultFeed) -> bool:
    """Whether a feed goes to standard output."""
    return feed.path is _PRINTED


def _feed(
    option: str, name: str, kind: type, settings: BaseSettings, *, growing: bool
) -> ResultFeed:
    label, ending = f"{option} {name!r}", feed_format(name)
    if ending not in FEED_FORMATS:
        raise ValueError(
            f"{label}: expected a file that ends in one of {FEED_FORMATS},"
            " or -:jl and the like for standard output"
        )
    if growing and (ending not in GROWING or name.startswith("-:")):
        raise ValueError(f"{label} cannot go on after a restart (JOBDIR): make it .jl or .csv")
    path = _PRINTED if name.startswith("-:") else final_path(local_path(label, name))
    theirs = settings.getdict("FEED_EXPORTERS").get(ending)
    exporter = theirs or OURS.get(ending) or settings.getwithbase("FEED_EXPORTERS")[ending]
    return ResultFeed(label, path, kind, ending, load_object(exporter))


@dataclass(slots=True)
class _Open:
    """A file of which a fault is known at once."""

    inner: IO[bytes]
    fault: Exception | None = None

    def flush(self) -> None:
        """Nothing is kept back."""


class RowFeeds:
    """Feeds that are open. With a *journal* that is kept, they go on where it says they were."""

    def __init__(self, feeds: list[ResultFeed], journal: Journal) -> None:
        self._feeds = feeds
        self._journal = journal
        self._clean = CleanTextPipeline()
        self._files: list[IO[bytes]] = []
        self._exporters: dict[ResultFeed, BaseItemExporter] = {}

    def open(self) -> None:
        """Open the files; ValueError for one that has lost what it held, and FeedError."""
        kept = self._journal.feeds if self._journal.is_kept else None
        files = {feed: feed_file(feed) for feed in self._feeds}
        if kept:
            kept.start(files.values())
        for feed, file in files.items():
            try:
                if is_printed(feed):
                    sys.stdout.flush()
                    opened: IO[bytes] = WholeFile(os.dup(sys.stdout.fileno()), "wb")
                elif kept:
                    opened = kept.open(feed.path)
                    kept.opened(feed.path, _Open(opened))
                else:
                    feed.path.parent.mkdir(parents=True, exist_ok=True)
                    opened = WholeFile(feed.path, "wb")
                self._files.append(opened)
                has_header = kept is not None and kept.has_header(file)
                self._exporters[feed] = feed.open_exporter(opened, has_header=has_header)
            except OSError as error:
                raise _fault(feed, error) from None

    def write(self, items: Iterable[TemplateCandidate | PageTemplate | CandidateSearch]) -> None:
        """Write what one key page gave."""
        for item in items:
            if feed := feed_of(self._exporters, item):
                try:
                    self._exporters[feed].export_item(self._clean.process_item(item))
                except BrokenPipeError:
                    raise
                except OSError as error:
                    raise _fault(feed, error) from None

    def close(self) -> None:
        """End the files in good form."""
        try:
            for feed, exporter in self._exporters.items():
                try:
                    exporter.finish_exporting()
                except OSError as error:
                    raise _fault(feed, error) from None
        finally:
            for file in self._files:
                with suppress(OSError):
                    file.close()


def feed_file(feed: ResultFeed) -> FeedFile:
    """A feed as the journal knows it."""
    return FeedFile(
        feed.label,
        str(feed.path),
        feed.path,
        overwrite=True,
        is_csv=feed.is_csv,
        description=feed.description,
    )


def _fault(feed: ResultFeed, error: OSError) -> FeedError:
    return FeedError(f"{feed.label} cannot be written: {error.strerror or error}")
