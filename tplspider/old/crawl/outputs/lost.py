"""Outputs that cannot be stored after all: one line for each, and the crawl is known as failed.

Scrapy logs a traceback for each item and each feed, leaves out the feeds that come after one that
cannot be written, and takes the crawl for a success.
"""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from scrapy import signals
from scrapy.extensions.feedexport import FeedExporter, FileFeedStorage, StdoutFeedStorage
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.misc import build_from_crawler, load_object

from tplspider.old.crawl.config import PRIORITY
from tplspider.old.crawl.outputs.names import without_password
from tplspider.old.crawl.outputs.trial import whereabouts
from tplspider.old.crawl.tally import tally_of

if TYPE_CHECKING:
    from typing import IO

    from scrapy import Spider
    from scrapy.crawler import Crawler

    from tplspider.old.crawl.outputs.resumable import FeedFiles

logger = logging.getLogger(__name__)

LOST = "tplspider/lost_outputs"


def count_lost(crawler: Crawler, search_id: str = "") -> None:
    """Remember that an output is lost: the commands end with exit status 1 then.

    With a *search_id*, it was lost on the way out: another try may do better.
    """
    crawler.stats.inc_value(LOST)
    tally = tally_of(crawler)
    tally.lost += 1
    if search_id:
        tally.unwritten.add(search_id)


class LostOutputError(Exception):
    """Says in one line which output is lost, and why."""


class OutputWatch:
    """Stands between Scrapy's feeds and their storages, in one crawl alone.

    With *feed_files*, which have started, local files go on where a journal says.
    """

    def __init__(self, crawler: Crawler, feed_files: FeedFiles | None = None) -> None:
        self.crawler = crawler
        self.feed_files = feed_files
        self.opened: set[tuple[object, ...]] = set()  # local files that feeds write to
        if crawler.settings.frozen:
            return  # the crawl has not begun, or is over
        known = crawler.settings.getwithbase("FEED_STORAGES")
        schemes = {urlsplit(uri).scheme for uri in crawler.settings.getdict("FEEDS")}
        storages = {
            **crawler.settings.getdict("FEED_STORAGES"),
            **{name: WatchedStorage(load_object(known[name]), self) for name in schemes & {*known}},
        }
        crawler.settings.set("FEED_STORAGES", storages, priority=PRIORITY)
        crawler.signals.connect(self.spider_opened, signal=signals.spider_opened)
        # Scrapy logs what a storage raises, with a traceback.
        logging.getLogger(FeedExporter.__module__).addFilter(_in_one_line)

    def spider_opened(self) -> None:
        """Say so if Scrapy, for whatever reason, will not write any feed."""
        if self.crawler.settings["FEEDS"] and not self.crawler.get_extension(FeedExporter):
            logger.error("No feed will be written: Scrapy's FeedExporter is switched off")
            count_lost(self.crawler)


@dataclass(frozen=True)
class WatchedStorage:
    """In the place of a class of storages: its storages, with what goes wrong kept for the end."""

    storage_class: Any
    watch: OutputWatch = field(repr=False)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.from_crawler(self.watch.crawler, *args, **kwargs)

    def from_crawler(self, crawler: Crawler, uri: str, **kwargs: Any) -> Any:
        """Build a storage as Scrapy does."""
        storage = build_from_crawler(self.storage_class, crawler, uri, **kwargs)
        name = without_password(uri)
        if isinstance(storage, FileFeedStorage):
            name = storage.path
        elif isinstance(storage, StdoutFeedStorage):
            name = "standard output"
        # Its own methods are led through ours: it stays of its class, whose name is in the stats.
        open_file, store, feed_files = storage.open, storage.store, self.watch.feed_files

        def opened(spider: Spider) -> IO[bytes]:
            if not isinstance(storage, FileFeedStorage):
                return cast("IO[bytes]", open_file(spider))
            path = Path(storage.path)
            self._claim(path)
            file = feed_files.open(path) if feed_files else open_file(spider)
            self.watch.opened.add(whereabouts(path))
            return file

        def watched_open(spider: Spider) -> WatchedFile:
            try:
                file = WatchedFile(opened(spider))
            except Exception as error:  # noqa: BLE001 - the other feeds are to have their items
                nowhere = Path(os.devnull).open("wb")  # noqa: SIM115 - closed by the storage
                file = WatchedFile(nowhere, error)
            if feed_files:
                feed_files.opened(Path(name), file)
            return file

        async def watched_store(file: WatchedFile) -> None:
            try:
                if file.fault is None and isinstance(storage, StdoutFeedStorage):
                    file.flush()  # the last moment
                if file.fault is not None:
                    raise file.fault  # noqa: TRY301 - as what follows
                await ensure_awaitable(store(file.inner))
            except Exception as error:
                file.fault = error
                _let_go(file.inner)
                count_lost(crawler)
                why = getattr(error, "strerror", None) or error or type(error).__name__
                raise LostOutputError(f"{name} cannot be written: {why}") from error

        storage.open, storage.store = watched_open, watched_store
        return storage

    def _claim(self, path: Path) -> None:
        """Two names may have become one file since they were compared."""
        if path.exists() and path.is_file() and whereabouts(path) in self.watch.opened:
            raise OSError("it is the file of another output")


class WatchedFile:
    """A file for an exporter, which never fails: the first fault is kept, and no more written."""

    def __init__(self, inner: IO[bytes], fault: Exception | None = None) -> None:
        self.inner = inner
        self.fault = fault

    def write(self, data: bytes) -> int:
        if self.fault is None:
            try:
                return self.inner.write(data)
            except OSError as error:
                self.fault = error
        return len(data)

    def flush(self) -> None:
        if self.fault is None:
            try:
                self.inner.flush()
            except OSError as error:
                self.fault = error

    def close(self) -> None:
        """What a storage does with it comes later."""
        self.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def _let_go(file: IO[bytes]) -> None:
    if sys.stdout is not None and file is sys.stdout.buffer:
        # Python would write what is left of it at its end, and complain.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        return
    with suppress(OSError):
        file.close()


def _in_one_line(record: logging.LogRecord) -> bool:
    """What there is to know of an output that is lost."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, LostOutputError):
        record.msg, record.args, record.exc_info = "%s", (str(error),), None
    return True
