"""The files that results go to, one for each kind of row, written by the exporters of feeds."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from scrapy.utils.misc import load_object

from tplspider.crawl.arguments import FEED_FORMATS, feed_format
from tplspider.crawl.fleet.rows import Candidate, Summary, Template
from tplspider.crawl.outputs.check import check_outputs
from tplspider.crawl.outputs.feeds import CandidateCsvItemExporter, CandidateXmlItemExporter
from tplspider.crawl.outputs.names import final_path, local_path
from tplspider.crawl.outputs.plan import Output

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from scrapy.exporters import BaseItemExporter
    from scrapy.settings import BaseSettings

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


def result_feeds(
    names: Mapping[str, str], settings: BaseSettings, *, growing: bool
) -> list[ResultFeed]:
    """The files that options name (``-O``, ``--summary``, ``--template``).

    Raises ValueError, in one line, for one that will not do: those that are *growing*, with what
    comes later, are JSON lines or CSV.
    """
    kinds = {"-O": Candidate, "--summary": Summary, "--template": Template}
    feeds = [
        _feed(option, names[option], kinds[option], settings) for option in kinds & names.keys()
    ]
    feeds.sort(key=lambda feed: [*kinds.values()].index(feed.kind))
    for feed in feeds:
        if growing and feed.format not in GROWING:
            raise ValueError(
                f"{feed.label}: a file of this kind cannot be added to: make it .jl or .csv,"
                " or give --final"
            )
    outputs = [Output(feed.label, str(feed.path), (feed.path,)) for feed in feeds]
    check_outputs(outputs, None, log=settings.get("LOG_FILE") or "")
    return feeds


def _feed(option: str, name: str, kind: type, settings: BaseSettings) -> ResultFeed:
    label = f"{option} {name!r}"
    ending = feed_format(name)
    if ending not in FEED_FORMATS or name.startswith("-:"):
        raise ValueError(f"{label}: expected a file that ends in one of {FEED_FORMATS}")
    path = final_path(local_path(label, name))
    if path.exists() and not path.is_file():
        raise ValueError(f"{label}: it is not a plain file")
    theirs = settings.getdict("FEED_EXPORTERS").get(ending)
    exporter = theirs or OURS.get(ending) or settings.getwithbase("FEED_EXPORTERS")[ending]
    return ResultFeed(label, path, kind, ending, load_object(exporter))


def feed_of(feeds: Iterable[ResultFeed], item: object) -> ResultFeed | None:
    """The feed that an item belongs to."""
    return next((feed for feed in feeds if feed.kind is type(item)), None)
