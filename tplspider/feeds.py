"""Feeds: candidates in one, the summary in another, and a CSV that is safe to open."""

from __future__ import annotations

import json
import logging
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy.exporters import CsvItemExporter

from tplspider.items import CandidateSearch, TemplateCandidate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

# Above the command line (40), whose -o and -O know nothing of item classes.
PRIORITY = 50
# What a spreadsheet takes for the start of a formula (OWASP, "CSV Injection").
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def add_feeds(settings: BaseSettings, summary: str, folder: str = "", job: str = "") -> None:
    """Give each feed one kind of item: those that ask for none get the candidates.

    *summary* is a file for the summary, which gets a feed of its own; '' for none. In *folder*, if
    there is one, both kinds get a file of their own, named after the *job*.
    """
    feeds = {uri: dict(options) for uri, options in settings.getdict("FEEDS").items()}
    check_feeds(settings, summary)
    for options in feeds.values():
        if not options.keys() & {"item_classes", "item_filter"}:
            options.update(_feed_of(TemplateCandidate, options))
    if summary:
        feeds[summary] = _feed_of(CandidateSearch, {}) | {"overwrite": True}
    if folder:
        name = str(Path(folder) / (job or "%(time)s"))
        feeds[f"{name}.json"] = _feed_of(TemplateCandidate, {}) | {"overwrite": True}
        feeds[f"{name}.summary.json"] = _feed_of(CandidateSearch, {}) | {"overwrite": True}
    if not settings.frozen:  # as in a crawl: feeds are opened once the spider is there
        settings.set("FEEDS", feeds, priority=PRIORITY)


def check_feeds(settings: BaseSettings, summary: str) -> None:
    """Raise ValueError when the summary would be written over another feed."""
    if summary and _path(summary) in map(_path, settings.getdict("FEEDS")):
        raise ValueError(f"summary={summary!r} is the file of another feed: give it one of its own")


def _path(uri: str | Path) -> Path:
    return Path(str(uri).removeprefix("file://")).absolute()


def _feed_of(item_class: type, options: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "item_classes": [item_class],
        "fields": options.get("fields") or [field.name for field in fields(item_class)],
        "encoding": options.get("encoding") or "utf-8",
        "store_empty": options.get("store_empty", True),
    }


class CandidateCsvItemExporter(CsvItemExporter):
    """Scrapy's CSV exporter, for items whose texts come from the web and may hold lists.

    Cells that a spreadsheet would take for a formula start with an apostrophe; lists are JSON; a
    feed without items is its header line; items of a second class are refused, not mixed in.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._item_class: type | None = None

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        if isinstance(value, (list, dict)):
            return json.dumps(value, ensure_ascii=False)
        value = super().serialize_field(field, name, value)
        if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
            return f"'{value}"
        return value

    def export_item(self, item: Any) -> None:
        item_class = ItemAdapter(item).item.__class__
        if self._item_class not in (None, item_class):
            logger.warning(
                "A CSV feed holds one kind of item: %s not written to one of %s",
                item_class.__name__,
                self._item_class.__name__,
            )
            return
        self._item_class = item_class
        super().export_item(item)

    def finish_exporting(self) -> None:
        if self._headers_not_written and self.fields_to_export:
            self._write_headers_and_set_fields_to_export(None)
        super().finish_exporting()
