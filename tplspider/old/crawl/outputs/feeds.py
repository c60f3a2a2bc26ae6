"""Feeds: each kind of item in one of its own, and a CSV that is safe to open."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exporters import CsvItemExporter, XmlItemExporter
from scrapy.utils.misc import load_object

from tplspider.items import CandidateSearch, PageTemplate, TemplateCandidate
from tplspider.old.crawl.arguments import Arguments, feed_format
from tplspider.old.crawl.config import PRIORITY, Config
from tplspider.old.crawl.outputs.archive_place import ArchivePlace, archive_place
from tplspider.old.crawl.outputs.check import check_outputs
from tplspider.old.crawl.outputs.names import Fields, without_password
from tplspider.old.crawl.outputs.plan import Feed, OutputNames
from tplspider.old.crawl.outputs.report_place import ReportPlace, check_report, report_place
from tplspider.old.crawl.outputs.resumable import FeedFile, FeedFiles, check_resumable
from tplspider.old.crawl.outputs.saved_folder import check_contents
from tplspider.web.text import safe_cell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Spider
    from scrapy.settings import BaseSettings


logger = logging.getLogger(__name__)

OURS = (TemplateCandidate, CandidateSearch, PageTemplate)


@dataclass(frozen=True)
class OutputPlan:
    """What a crawl will write: feeds for Scrapy, with names that are final, and a folder."""

    feeds: dict[str, dict[str, Any]]
    pages: str  # the folder of save_html, '' for none
    files: tuple[FeedFile, ...] = ()  # of the feeds, where they are to go on after a restart
    report: ReportPlace | None = None
    archive: ArchivePlace | None = None


def plan_outputs(
    settings: BaseSettings,
    arguments: Arguments,
    spider: Spider,
    *,
    printed: str = "",
    journal: Path | None = None,
) -> OutputPlan:
    """Work out all outputs and try them; ValueError, in one line, if one of them will not do.

    *printed* is what a command itself writes to standard output. With a *journal*, which is that
    file, feeds are to go on after a restart.
    """
    config = Config.of(settings)
    names = OutputNames(settings, config, Fields(spider, settings["FEED_URI_PARAMS"]))
    job = str(vars(spider).get("job", ""))
    wanted = [*_feeds_of(settings), *_own_feeds(arguments, config, job)]
    for feed in wanted:
        _choose_fields(feed.options, settings.getdictorlist("FEED_EXPORT_FIELDS"))
    most_items = arguments.n + 2 if arguments.url else sys.maxsize
    outputs = [names.of(feed, most_items) for feed in wanted]
    folder = None
    if arguments.save_html:
        label = f"save_html={arguments.save_html!r}"
        folder = label, names.argument(label, arguments.save_html)
    archive = archive_place(names, arguments.warc)
    files = []
    if journal:
        files = [
            check_resumable(feed, output, settings, config.feeds_dir)
            for feed, output in zip(wanted, outputs, strict=True)
        ]
        files += [archive.resumable(config.feeds_dir)] if archive else []
    log = settings.get("LOG_FILE") or ""
    report = report_place(names, arguments.report, many=not arguments.url)
    outputs_and_archive = [*outputs, *([archive.output] if archive else ())]
    with_report = [*outputs_and_archive, *(report.outputs if report else ())]
    keys = {Path(arguments.urls): "the list of key pages"} if arguments.urls else {}
    check_outputs(with_report, folder, printed=printed, log=log, journal=journal, inputs=keys)
    if report:
        others = {"the log": Path(log) if log else None, "the journal (JOBDIR)": journal}
        check_report(report, outputs_and_archive, folder, others)
    if folder:
        check_contents(*folder, of_many=not arguments.url)
    feeds = {output.uri: feed.options for output, feed in zip(outputs, wanted, strict=True)}
    pages = str(Path.cwd() / folder[1]) if folder else ""
    return OutputPlan(feeds, pages, tuple(files), report, archive)


def add_feeds(
    settings: BaseSettings, plan: OutputPlan, feed_files: FeedFiles | None = None
) -> None:
    """Let Scrapy write what was planned, and nothing else.

    *feed_files* have started: a CSV with content has its header.
    """
    for file in plan.files:
        if feed_files and feed_files.has_header(file):
            kwargs = plan.feeds[file.uri].get("item_export_kwargs", {})
            plan.feeds[file.uri]["item_export_kwargs"] = {**kwargs, "include_headers_line": False}
    if not settings.frozen:  # as in a crawl: feeds are opened once the spider is there
        settings.set("FEEDS", plan.feeds, priority=PRIORITY)
        settings.set("FEED_URI", None, priority=PRIORITY)


def _feeds_of(settings: BaseSettings) -> Iterator[Feed]:
    """Scrapy's feeds, each with one kind of item: those that ask for none get the candidates."""
    feeds = {
        str(name.absolute() if isinstance(name, Path) else name): dict(options)
        for name, options in settings.getdict("FEEDS").items()
    }
    if name := settings.get("FEED_URI"):  # Scrapy's old way to ask for one
        feeds.setdefault(str(name), {"format": settings["FEED_FORMAT"]})
    for name, options in feeds.items():
        if not options.keys() & {"item_classes", "item_filter"}:
            options["item_classes"] = [TemplateCandidate]
        options.setdefault("encoding", settings["FEED_EXPORT_ENCODING"] or "utf-8")
        yield Feed(f"feed {without_password(name)!r}", name, options)


def _choose_fields(options: dict[str, Any], chosen: Any) -> None:
    """Give a feed of ours its columns, the same also when there is nothing to write.

    FEED_EXPORT_FIELDS is for all feeds: each takes from it what its items have.
    """
    classes = [load_object(path) for path in options.get("item_classes", ())]
    if options.get("fields") or len(classes) != 1 or classes[0] not in OURS:
        return
    names = [field.name for field in fields(classes[0])]
    if isinstance(chosen, Mapping):
        wanted: Any = {name: column for name, column in chosen.items() if name in names}
    else:
        wanted = [name for name in chosen or () if name in names]
    options["fields"] = wanted or names


def _own_feeds(arguments: Arguments, config: Config, job: str) -> Iterator[Feed]:
    """The files that arguments name; and in TPLSPIDER_FEEDS_DIR those that the *job* names."""
    if name := arguments.summary:
        yield Feed(f"summary={name!r}", name, _feed_of(CandidateSearch, name), "argument")
    if name := arguments.template:
        yield Feed(f"template={name!r}", name, _feed_of(PageTemplate, name), "argument")
    if folder := config.feeds_dir:
        stem = re.sub(r"[^\w.-]", "_", job) or "%(time)s"
        classes: dict[str, type] = {".json": TemplateCandidate, ".summary.json": CandidateSearch}
        if config.template and not arguments.template:
            classes[".template.json"] = PageTemplate
        for ending, item_class in classes.items():
            name = f"{stem}{ending}"
            label = f"TPLSPIDER_FEEDS_DIR={folder!r}, {name}"
            yield Feed(label, name, _feed_of(item_class, name), "feeds_dir")


def is_asked_for(item_class: type, settings: BaseSettings) -> bool:
    """Whether a feed names this class of items, or one that it is derived from."""
    return any(
        issubclass(item_class, load_object(path))
        for options in settings.getdict("FEEDS").values()
        for path in options.get("item_classes") or ()
    )


def _feed_of(item_class: type, file: str) -> dict[str, Any]:
    """What a feed of one kind of items needs, in a file of ours."""
    return {
        "item_classes": [item_class],
        "format": feed_format(file),
        "encoding": "utf-8",
        "store_empty": True,
        "batch_item_count": 0,
        "overwrite": not file.startswith("-:"),
    }


class CandidateCsvItemExporter(CsvItemExporter):
    """Scrapy's CSV exporter, for our items, whose texts come from the web and may hold lists.

    Cells that a spreadsheet would take for a formula start with an apostrophe; lists are JSON; a
    feed without items is its header line; items of a second class are refused, not mixed in.
    """

    def __init__(self, file: Any, **kwargs: Any) -> None:
        super().__init__(file, **kwargs)
        self._file = file
        self._item_class: type | None = None

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        if self._item_class is None:
            return super().serialize_field(field, name, value)
        if isinstance(value, (list, dict)):
            return json.dumps(value, ensure_ascii=False)
        value = super().serialize_field(field, name, value)
        return safe_cell(value) if isinstance(value, str) else value

    def export_item(self, item: Any) -> None:
        if isinstance(item, OURS):
            if self._item_class not in (None, type(item)):
                logger.warning(
                    "A CSV feed holds one kind of item: %s not written to one of %s",
                    type(item).__name__,
                    self._item_class.__name__,
                )
                return
            self._item_class = type(item)
        super().export_item(item)

    def finish_exporting(self) -> None:
        if self._headers_not_written and self.fields_to_export and not _has_content(self._file):
            self._write_headers_and_set_fields_to_export(None)
        super().finish_exporting()


class CandidateXmlItemExporter(XmlItemExporter):
    """Scrapy's XML exporter, but a field of ours without a value is empty, not the word "None"."""

    _ours = False  # the item that is written

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        if self._ours and value is None:
            return ""
        return super().serialize_field(field, name, value)

    def export_item(self, item: Any) -> None:
        self._ours = isinstance(item, OURS)
        super().export_item(item)


def _has_content(file: Any) -> bool:
    try:
        return bool(file.tell())
    except OSError:  # a pipe
        return False
