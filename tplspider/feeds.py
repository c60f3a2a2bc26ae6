"""Where a crawl writes: feeds by kind of item, folders and files; how feeds are stored and written.

Feeds have no buffer and no formulas, and no row of them is lost without an ERROR line.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import re
import sys
from dataclasses import dataclass, fields, is_dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy.exporters import CsvItemExporter, XmlItemExporter
from scrapy.extensions.feedexport import FileFeedStorage, StdoutFeedStorage
from scrapy.utils.misc import load_object
from w3lib.url import file_uri_to_path

from tplspider.arguments import feed_format
from tplspider.items import CandidateSearch, PageTemplate, TemplateCandidate
from tplspider.saved_pages import check_folder
from tplspider.web.text import safe_cell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from tplspider.arguments import Arguments, Config

logger = logging.getLogger(__name__)

_NO_NAME = re.compile(r"[^\w.-]|^(?=[\d.-])", re.ASCII)  # what no name in XML has
PRIORITY = 50  # of settings that follow from arguments: above the command line's 40


@dataclass(frozen=True)
class Outputs:
    """What a crawl writes: feeds for Scrapy, folders, and files of ours; None for none."""

    feeds: dict[str, dict[str, Any]]
    save_html: Path | None
    report: Path | None
    warc: Path | None

    def wants(self, item_class: type) -> bool:
        """Whether a feed asks for this kind of item."""
        asked = (path for feed in self.feeds.values() for path in feed.get("item_classes") or ())
        return any(issubclass(item_class, load_object(path)) for path in asked)

    def local_files(self) -> dict[str, bool]:
        """The files of local feeds, and whether they are overwritten."""
        found = {
            str(path): bool(options.get("overwrite"))
            for uri, options in self.feeds.items()
            if (path := local_path(uri))
        }
        return {**found, str(self.warc): True} if self.warc else found


def plan_outputs(
    settings: BaseSettings, arguments: Arguments, config: Config, job: str = ""
) -> Outputs:
    """Work out all outputs; ValueError if one cannot be written."""
    feeds: dict[str, dict[str, Any]] = {}
    try:
        "\U0001f6b2".encode(settings.get("FEED_EXPORT_ENCODING") or "utf-8")
    except (LookupError, UnicodeEncodeError):
        raise ValueError("FEED_EXPORT_ENCODING: expected an encoding such as utf-8") from None
    taken = {Path(arguments.urls).absolute()} if arguments.urls else set()
    chosen = settings.getdictorlist("FEED_EXPORT_FIELDS") or None
    asked = [
        (label, uri, {"fields": chosen, **options})
        for label, uri, options in feeds_of_settings(settings, TemplateCandidate)
    ]
    can_go_on = bool(settings.get("JOBDIR"))
    asked += _feeds_of_arguments(arguments, config, job, resumable=can_go_on)
    for label, uri, options in asked:
        path = local_path(uri)
        if uri in feeds or path in taken:
            raise ValueError(f"{label}: in use for another feed, or as the list of key pages")
        if path:
            taken.add(path)
            try_to_open(label, path)
        if can_go_on:
            can_be_cut = options["format"] in ("jl", "jsonl", "jsonlines", "csv")
            if not path or not can_be_cut or options.get("postprocessing"):
                why = "with JOBDIR, give a local file .jl or .csv, not compressed"
                raise ValueError(f"{label}: {why}")
        feeds[uri] = _with_columns(options)
    save_html = argument_path("save_html", arguments.save_html, config)
    report = argument_path("report", arguments.report, config)
    warc = argument_path("warc", arguments.warc, config)
    many = not arguments.url
    if save_html:
        check_folder(save_html, many=many or can_go_on)
    if report:
        from tplspider.report.writer import check_place  # imported lazily: few crawls need it

        check_place(arguments.report, report, many=many)
    if warc:
        if not warc.name.endswith((".warc.gz", ".warc")):
            raise ValueError("warc: expected a file that ends in .warc.gz")
        if find_spec("warcio") is None:
            raise ValueError("warc: needs an extra: in a clone, pip install -e '.[archive]'")
        try_to_open("warc", warc)
    return Outputs(feeds, save_html, report, warc)


def argument_path(label: str, name: str, config: Config) -> Path | None:
    """The local file or folder that an argument names.

    Where arguments are confined (TPLSPIDER_CONFINE), it must be inside TPLSPIDER_FEEDS_DIR.
    """
    if not name:
        return None
    path = Path(name)
    if config.confine:
        folder = Path(config.feeds_dir)
        if not config.feeds_dir or path.is_absolute() or ".." in path.parts or ":" in name:
            raise ValueError(f"{label}: expected a relative name inside TPLSPIDER_FEEDS_DIR")
        path = folder / path
        if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
            raise ValueError(f"{label}: a symbolic link leads out of TPLSPIDER_FEEDS_DIR")
    elif "://" in name:
        raise ValueError(f"{label}: expected a local file or folder, not an address")
    return path.absolute()


def feeds_of_settings(
    settings: BaseSettings, item_class: type
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Scrapy's feeds (``-O``); those that ask for no kind of item get that of *item_class*."""
    for name, given in settings.getdict("FEEDS").items():
        uri = str(name.absolute() if isinstance(name, Path) else name)
        options = dict(given)
        if not options.keys() & {"item_classes", "item_filter"}:
            options["item_classes"] = [item_class]
        options.setdefault("format", feed_format(uri))
        options.setdefault("encoding", settings["FEED_EXPORT_ENCODING"] or "utf-8")
        known = [name for name, path in settings.getwithbase("FEED_EXPORTERS").items() if path]
        shown = re.sub(r"(?<=//)[^/@]*@", "", uri)
        if options["format"] not in known:
            raise ValueError(f"{shown}: expected a file that ends in one of {', '.join(known)}")
        yield shown, uri, options


def _feeds_of_arguments(
    arguments: Arguments, config: Config, job: str, *, resumable: bool
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The feeds that arguments name; and those of a scrapyd job in TPLSPIDER_FEEDS_DIR."""
    asked: dict[str, tuple[str, type]] = {
        "summary": (arguments.summary, CandidateSearch),
        "texts": (arguments.texts, PageTemplate),
    }
    for label, (name, item_class) in asked.items():
        if name.startswith("-:") and not config.confine:
            yield label, "stdout:", _own_feed(item_class, name)
        elif path := argument_path(label, name, config):
            yield label, str(path), _own_feed(item_class, name)
    if folder := config.feeds_dir:
        stem = re.sub(r"[^\w.-]", "_", job) or "%(time)s"
        endings: dict[str, type] = {"": TemplateCandidate, ".summary": CandidateSearch}
        if config.texts:
            endings[".texts"] = PageTemplate
        for ending, item_class in endings.items():
            path = Path(folder, f"{stem}{ending}.{'jl' if resumable else 'json'}").absolute()
            yield "TPLSPIDER_FEEDS_DIR", str(path), _own_feed(item_class, path.name)


def _own_feed(item_class: type, name: str) -> dict[str, Any]:
    return {
        "item_classes": [item_class],
        "format": feed_format(name),
        "encoding": "utf-8",
        "store_empty": True,
        "overwrite": not name.startswith("-:"),
    }


def _with_columns(options: dict[str, Any]) -> dict[str, Any]:
    """Give a feed the columns of its items, so that it has them without an item, too."""
    classes = [load_object(path) for path in options.get("item_classes", ())]
    if options.get("fields") or len(classes) != 1 or not is_dataclass(classes[0]):
        return options
    return {**options, "fields": [each.name for each in fields(classes[0])]}


def local_path(uri: str) -> Path | None:
    """The local file of a feed; None for one elsewhere, or whose name is not final."""
    scheme = urlsplit(uri).scheme
    if scheme not in ("", "file") or "%(" in uri:
        return None
    return Path(file_uri_to_path(uri) if scheme else uri).absolute()


def try_to_open(label: str, path: Path) -> None:
    """Raise ValueError if a file cannot be opened for writing."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        is_new = not path.exists()
        path.open("ab").close()
        if is_new:
            path.unlink()
    except OSError as error:
        raise ValueError(f"{label}: cannot be written: {error.strerror}") from None


# How feeds are stored and written.


class FeedFile(io.FileIO):
    """The file of a feed, without a buffer: what was written is in it when the journal says so.

    The first fault is kept and logged, and nothing more is written, so that one full disk does not
    cost the other feeds. A pipe without a reader ends the crawl.
    """

    in_turns = True  # whether all that follows the last commit is of one search
    start = 0  # where rows start, after a header

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
            if isinstance(error, BrokenPipeError):
                self._stopping = asyncio.ensure_future(self.crawler.stop_async())
        return len(data)


class FeedFileStorage(FileFeedStorage):
    """Local files; with a JOBDIR they go on where the journal says."""

    def open(self, spider: Spider) -> Any:
        path = Path(self.path).absolute()
        path.parent.mkdir(parents=True, exist_ok=True)
        journal = getattr(spider, "journal", None)
        if journal is None or str(path) not in journal.lengths:
            return FeedFile(str(path), self.write_mode, spider.crawler, self.path)
        path.touch()
        file = FeedFile(str(path), "rb+", spider.crawler, self.path)
        file.truncate(journal.lengths[str(path)])
        file.seek(0, os.SEEK_END)
        journal.files[str(path)] = file
        return file


class FeedStdoutStorage(StdoutFeedStorage):
    """Standard output, which may be a pipe without a reader."""

    def open(self, spider: Spider) -> Any:
        sys.stdout.flush()
        return FeedFile(os.dup(sys.stdout.fileno()), "wb", spider.crawler, "standard output")

    def store(self, file: Any) -> None:
        file.close()


class FeedCsvExporter(CsvItemExporter):
    """Scrapy's CSV exporter, for texts from the web.

    Cells that a spreadsheet would take for a formula start with an apostrophe; lists are JSON. The
    header is written at once, so that a feed without items has it; one that goes on has it already.
    """

    def __init__(self, file: Any, **kwargs: Any) -> None:
        super().__init__(file, **kwargs)
        self._file = file

    def start_exporting(self) -> None:
        super().start_exporting()
        if columns := self.fields_to_export:
            self.include_headers_line = False
            goes_on = getattr(self._file, "mode", "wb") != "wb" and self._file.tell()
            if not goes_on:
                names = columns.values() if isinstance(columns, dict) else columns
                self.csv_writer.writerow(list(names))
                if isinstance(self._file, FeedFile) and self._file.seekable():
                    self._file.start = self._file.tell()

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        if isinstance(value, (list, dict)):
            return json.dumps(value, ensure_ascii=False)
        value = super().serialize_field(field, name, value)
        return safe_cell(value) if isinstance(value, str) else value


class FeedXmlExporter(XmlItemExporter):
    """Scrapy's XML exporter: None is an empty element, and columns of the user's become names."""

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        return "" if value is None else super().serialize_field(field, name, value)

    def export_item(self, item: Any) -> None:
        if isinstance(item, CandidateSearch):
            item = replace(item, input=_xml_names(item.input))
        super().export_item(_xml_names(item))


def _xml_names(value: Any) -> Any:
    if isinstance(value, list):
        return [_xml_names(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {_NO_NAME.sub("_", name) or "_": _xml_names(each) for name, each in value.items()}


FEED_SETTINGS = {
    "FEED_EXPORTERS": {
        "csv": "tplspider.feeds.FeedCsvExporter",
        "xml": "tplspider.feeds.FeedXmlExporter",
    },
    "FEED_STORAGES": {
        "": "tplspider.feeds.FeedFileStorage",
        "file": "tplspider.feeds.FeedFileStorage",
        "stdout": "tplspider.feeds.FeedStdoutStorage",
    },
}
