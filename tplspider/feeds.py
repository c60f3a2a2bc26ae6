"""Feed storages and exporters: no buffer, no formulas, and no row is lost without a word."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exporters import (
    CsvItemExporter,
    JsonItemExporter,
    JsonLinesItemExporter,
    XmlItemExporter,
)
from scrapy.extensions.feedexport import FileFeedStorage, StdoutFeedStorage

from tplspider.items import CandidateSearch
from tplspider.tracker import count_lost
from tplspider.web.text import safe_cell

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Spider
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

_NO_NAME = re.compile(r"[^\w.-]|^(?=[\d.-])", re.ASCII)  # what no name in XML has


class FeedFile(io.FileIO):
    """The file of a feed, without a buffer: what was written is in it when the journal says so.

    The first fault is kept and logged, and nothing more is written, so that one full disk does not
    cost the other feeds.
    """

    in_turns = True  # whether all that follows the last commit is of one search

    def __init__(self, file: str | int, mode: str, crawler: Crawler, label: str) -> None:
        super().__init__(file, mode)
        self.fault = ""
        self.crawler = crawler
        self._label = label

    def write(self, data: Any) -> int:
        rest = memoryview(data)
        try:
            while rest and not self.fault:
                rest = rest[super().write(rest) or 0 :]
        except OSError as error:
            self.fault = error.strerror or str(error)
            logger.error("%s cannot be written: %s", self._label, self.fault)  # noqa: TRY400 - that is all
            for name in ("tplspider/lost_outputs", "tplspider/lost_files"):
                self.crawler.stats.inc_value(name)
        return len(data)


class _OfCrawl:
    """Before a storage of Scrapy's: it keeps the crawler."""

    crawler: Crawler

    @classmethod
    def from_crawler(
        cls, crawler: Crawler, uri: str, *, feed_options: dict[str, Any] | None = None
    ) -> Self:
        storage = cls(uri, feed_options=feed_options)  # type: ignore[call-arg]  # the storage's
        storage.crawler = crawler
        return storage


class FeedFileStorage(_OfCrawl, FileFeedStorage):
    """Local files; with a JOBDIR they go on where the journal says."""

    def open(self, spider: Spider) -> Any:
        path = Path(self.path).absolute()
        path.parent.mkdir(parents=True, exist_ok=True)
        journal = getattr(spider, "journal", None)
        if journal is None or str(path) not in journal.lengths:
            return FeedFile(str(path), self.write_mode, self.crawler, self.path)
        path.touch()
        file = FeedFile(str(path), "rb+", self.crawler, self.path)
        file.truncate(journal.lengths[str(path)])
        file.seek(0, os.SEEK_END)
        journal.files[str(path)] = file
        return file


class FeedStdoutStorage(_OfCrawl, StdoutFeedStorage):
    """Standard output, which may be a pipe that nobody reads any more."""

    def open(self, spider: Spider) -> Any:  # noqa: ARG002 - Scrapy's
        sys.stdout.flush()
        return FeedFile(os.dup(sys.stdout.fileno()), "wb", self.crawler, "standard output")

    def store(self, file: Any) -> None:
        file.close()


class _Exporter:
    """Before an exporter of Scrapy's: a row that cannot be written is counted as lost."""

    def __init__(self, file: Any, **kwargs: Any) -> None:
        super().__init__(file, **kwargs)  # type: ignore[call-arg]  # the exporter's
        self._file = file

    def export_item(self, item: Any) -> None:
        try:
            super().export_item(self.as_row(item))  # type: ignore[misc]  # likewise
        except Exception as error:
            if not isinstance(self._file, FeedFile):
                raise
            logger.error("A row cannot be written: %s", error)  # noqa: TRY400 - it says it all
            count_lost(self._file.crawler, item.search_id)

    def as_row(self, item: Any) -> Any:
        """The item as the format can hold it."""
        return item


class FeedJsonExporter(_Exporter, JsonItemExporter):
    """Scrapy's JSON exporter."""


class FeedJsonLinesExporter(_Exporter, JsonLinesItemExporter):
    """Scrapy's exporter of JSON lines."""


class FeedCsvExporter(_Exporter, CsvItemExporter):
    """Scrapy's CSV exporter, for texts from the web.

    Cells that a spreadsheet would take for a formula start with an apostrophe; lists are JSON. The
    header is written at once, so that a feed without items has it; one that goes on has it already.
    """

    def start_exporting(self) -> None:
        super().start_exporting()
        if columns := self.fields_to_export:
            self.include_headers_line = False
            is_new = not isinstance(self._file, FeedFile) or not self._file.tell()
            if is_new or self._file.mode != "rb+":
                names = columns.values() if isinstance(columns, dict) else columns
                self.csv_writer.writerow(list(names))

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        if isinstance(value, (list, dict)):
            return json.dumps(value, ensure_ascii=False)
        value = super().serialize_field(field, name, value)
        return safe_cell(value) if isinstance(value, str) else value


class FeedXmlExporter(_Exporter, XmlItemExporter):
    """Scrapy's XML exporter: None is an empty element, and columns of the user's become names."""

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        return "" if value is None else super().serialize_field(field, name, value)

    def as_row(self, item: Any) -> Any:
        if isinstance(item, CandidateSearch):
            return replace(item, input=_xml_names(item.input))
        return _xml_names(item)


def _xml_names(value: Any) -> Any:
    if isinstance(value, list):
        return [_xml_names(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {_NO_NAME.sub("_", name) or "_": _xml_names(each) for name, each in value.items()}


FEED_SETTINGS = {
    "FEED_EXPORTERS": {
        **dict.fromkeys(("jl", "jsonl", "jsonlines"), "tplspider.feeds.FeedJsonLinesExporter"),
        "json": "tplspider.feeds.FeedJsonExporter",
        "csv": "tplspider.feeds.FeedCsvExporter",
        "xml": "tplspider.feeds.FeedXmlExporter",
    },
    "FEED_STORAGES": {
        "": "tplspider.feeds.FeedFileStorage",
        "file": "tplspider.feeds.FeedFileStorage",
        "stdout": "tplspider.feeds.FeedStdoutStorage",
    },
}
