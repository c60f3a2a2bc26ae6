"""Feeds: each kind of item in one of its own, and a CSV that is safe to open."""

from __future__ import annotations

import json
import logging
import re
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exporters import CsvItemExporter, XmlItemExporter
from scrapy.utils.misc import load_object

from tplspider.config import PRIORITY
from tplspider.items import CandidateSearch, PageTemplate, TemplateCandidate
from tplspider.save_html import MANIFEST

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from tplspider.arguments import Arguments

logger = logging.getLogger(__name__)

OURS = (TemplateCandidate, CandidateSearch, PageTemplate)
# What a spreadsheet takes for the start of a formula (OWASP, "CSV Injection").
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def add_feeds(
    settings: BaseSettings, arguments: Arguments, folder: str = "", job: str = ""
) -> None:
    """Give each feed one kind of item: those that ask for none get the candidates.

    The files that the arguments name are feeds of their own. In *folder*, if there is one,
    candidates and summary get files that are named after the *job*.
    """
    check_feeds(settings, arguments)
    feeds = {uri: dict(options) for uri, options in settings.getdict("FEEDS").items()}
    for options in feeds.values():
        if not options.keys() & {"item_classes", "item_filter"}:
            chosen = options.get("fields") or settings["FEED_EXPORT_FIELDS"]
            options.update(_feed_of(TemplateCandidate), **({"fields": chosen} if chosen else {}))
        elif not options.get("fields"):
            # What it asks for, in the same columns also when there is nothing.
            classes = [load_object(path) for path in options.get("item_classes", ())]
            if len(classes) == 1 and classes[0] in OURS:
                options["fields"] = _feed_of(classes[0])["fields"]
        options.setdefault("encoding", settings["FEED_EXPORT_ENCODING"] or "utf-8")
    own: dict[str, type] = {arguments.summary: CandidateSearch, arguments.template: PageTemplate}
    if folder:
        name = str(Path(folder) / (re.sub(r"[^\w.-]", "_", job) or "%(time)s"))
        own |= {f"{name}.json": TemplateCandidate, f"{name}.summary.json": CandidateSearch}
    feeds |= {file: _feed_of(item_class, file) for file, item_class in own.items() if file}
    if not settings.frozen:  # as in a crawl: feeds are opened once the spider is there
        settings.set("FEEDS", feeds, priority=PRIORITY)


def check_feeds(settings: BaseSettings, arguments: Arguments) -> None:
    """Raise ValueError when one of the arguments' files would be written over another."""
    taken = set(map(_path, settings.getdict("FEEDS")))
    for name, file in (("summary", arguments.summary), ("template", arguments.template)):
        if not file:
            continue
        if _path(file) in taken:
            raise ValueError(f"{name}={file!r} is the file of another feed: give it one of its own")
        taken.add(_path(file))
    folder = arguments.save_html
    if folder and _path(Path(folder) / MANIFEST) in taken:
        raise ValueError(f"save_html={folder!r}: a feed is written to {MANIFEST} there")


def is_asked_for(item_class: type, settings: BaseSettings) -> bool:
    """Whether a feed names this class of items, or one that it is derived from."""
    return any(
        issubclass(item_class, load_object(path))
        for options in settings.getdict("FEEDS").values()
        for path in options.get("item_classes") or ()
    )


def _path(uri: str | Path) -> Path:
    return Path(str(uri).removeprefix("file://")).resolve()


def _feed_of(item_class: type, file: str = "") -> dict[str, Any]:
    """What a feed of one kind of items needs; in a *file* of ours, if there is one."""
    feed: dict[str, Any] = {
        "item_classes": [item_class],
        "fields": [field.name for field in fields(item_class)],
    }
    if file:
        ending = Path(file).suffix.removeprefix(".").lower()
        feed |= {"format": ending, "encoding": "utf-8", "overwrite": True, "store_empty": True}
    return feed


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
        if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
            return f"'{value}"
        return value

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
        if self._headers_not_written and self.fields_to_export and not self._file.tell():
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
