"""The file of an archive: whole records, one after the other, whatever happens.

Nothing is buffered, so a record that was written is there however the process ends.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tplspider.old.crawl.outputs.archive_place import claim
from tplspider.old.crawl.outputs.lost import WatchedFile, count_lost
from tplspider.old.crawl.outputs.whole_file import WholeFile

if TYPE_CHECKING:
    from typing import IO

    from scrapy.crawler import Crawler

    from tplspider.old.crawl.outputs.archive_place import ArchivePlace
    from tplspider.old.crawl.outputs.resumable import FeedFiles

logger = logging.getLogger(__name__)


class ArchiveFile:
    """The archive of a crawl; what cannot be written is told once, and the crawl goes on.

    With *feed_files* it goes on where a journal says. Then a fault ends the crawl, because the
    journal finds out about it.
    """

    def __init__(self, crawler: Crawler, place: ArchivePlace, feed_files: FeedFiles | None) -> None:
        self._crawler = crawler
        self.path = place.path
        self._feed_files = feed_files
        self._file: WatchedFile | None = None

    @property
    def is_open(self) -> bool:
        """Whether what is added is written."""
        return self._file is not None and self._file.fault is None

    def open(self) -> None:
        try:
            self._file = WatchedFile(self._opened())
        except OSError as error:
            nowhere = Path(os.devnull).open("wb")  # noqa: SIM115 - closed with the archive
            self._file = WatchedFile(nowhere, error)
            self._tell(error)
        if self._feed_files:
            self._feed_files.opened(self.path, self._file)

    def add(self, records: bytes) -> bool:
        """Write records, all or none of them: whether they are there."""
        if self._file is None or not self.is_open:
            return False
        start = self._file.tell()
        self._file.write(records)
        if fault := self._file.fault:
            with suppress(OSError):
                self._file.truncate(start)  # what there is of a record that is not whole
            self._tell(fault)
        return fault is None

    def close(self) -> None:
        if self._file is not None and not self._file.inner.closed:
            with suppress(OSError):
                self._file.inner.close()
        self._file = None

    def _opened(self) -> IO[bytes]:
        if self._feed_files:
            resumed = self._feed_files.open(self.path)
            claim(resumed.fileno())
            return resumed
        self.path.parent.mkdir(parents=True, exist_ok=True)
        file = WholeFile(self.path, "ab")  # not "wb": another crawl may write to it
        try:
            claim(file.fileno())
            file.truncate(0)
            file.seek(0)
        except OSError:
            file.close()
            raise
        return file

    def _tell(self, fault: Exception) -> None:
        why = getattr(fault, "strerror", None) or fault
        logger.error("%s cannot be written: %s", self.path, why)
        count_lost(self._crawler)
