"""The spider that strips the pages of a folder, or of WARC files. It requests nothing."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sqlite3
from collections import Counter, deque
from contextlib import closing
from dataclasses import dataclass, fields
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Spider
from scrapy import signals as scrapy_signals
from scrapy.exceptions import CloseSpider

from tplspider.arguments import Config, boolean, key_address, option, parsed, whole_number
from tplspider.extraction import Extraction, ExtractionError
from tplspider.feeds import FEED_SETTINGS, PRIORITY, feeds_of_settings, local_path, try_to_open
from tplspider.hooks import before_closing
from tplspider.items import PageTemplate, StrippedRow
from tplspider.profiles import apply_profile
from tplspider.search.answer import counted
from tplspider.sources.saved_folder import UNREADABLE, SavedFolder
from tplspider.tracker import Counts, count_lost
from tplspider.web.page import BAD_RESPONSE, CRASHED, ERROR, TIMEOUT, NoPage, page_fault
from tplspider.web.text import storable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from tplspider.pools.pool import PooledPage
    from tplspider.sources import archive
    from tplspider.sources.saved_folder import SavedFile

    StoredPage = archive.StoredPage | SavedFile
    StoredPages = archive.WarcSite | SavedFolder

logger = logging.getLogger(__name__)

# Pools are imported where they are used: each crawl of a project imports all of its spiders.
PAGE = "page"
EMPTY = "empty"
OUT_OF_MEMORY = "out-of-memory"
# These pages are missing: the exit status says so.
LOST = frozenset({UNREADABLE, TIMEOUT, OUT_OF_MEMORY, CRASHED, ERROR})
COLUMNS = "url path outcome title main_text content_text evidence".split()
ENDINGS = (".warc", ".warc.gz", ".warc.zst")  # of WARC files
_AHEAD = 16  # pages in flight for each worker: rows wait for those before them ...
_AHEAD_BYTES = 50_000_000  # ... and so do their texts
_POOLS = 4  # of the sites met last: files come in the order of their paths
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f]")


def _base_url(value: object) -> str:
    given = str(value)
    url = key_address(given) if given else ""
    if urlsplit(url).query or "#" in given:
        raise ValueError("expected the address of a folder, without ? and #")
    return url


@dataclass(frozen=True)
class StripArguments:
    """The spider arguments (``-a NAME=VALUE``)."""

    source: str = option("", str, "a folder of saved pages, or a WARC file")
    base_url: str = option("", _base_url, "the address that the folder was saved from otherwise")
    pool: str = option("", str, "a folder with pools of pages, which are used and kept")
    index: str = option("", str, "of WARC files: where the index is, or is made")
    workers: int = option(0, whole_number(1), "processes (default: one for each core)")
    markdown: bool = option(0, boolean, "whether rows have main_markdown")
    html: bool = option(0, boolean, "whether rows have main_html")
    paths: tuple[Path, ...] = ()

    @classmethod
    def of(cls, given: dict[str, Any]) -> Self:
        """Check arguments; ValueError if something is wrong. A command passes ``_sources``."""
        values = {name: value for name, value in given.items() if not name.startswith("_")}
        if unknown := values.keys() - {each.name for each in fields(cls)}:
            raise ValueError(f"unknown argument {min(unknown)!r}")
        paths = given.get("_sources") or filter(None, [values.get("source")])
        found = cls(**parsed(cls, values), paths=tuple(map(Path, paths)))
        if len(found.paths) != 1 and not found.are_archives:
            raise ValueError(f"give one folder, or WARC files ({', '.join(ENDINGS)})")
        try:
            for path in found.paths:
                path.open("rb").close() if found.are_archives else os.scandir(path).close()
        except OSError as error:
            raise ValueError(f"{str(error.filename)!r}: {error.strerror}") from None
        if found.are_archives and find_spec("fastwarc") is None:
            raise ValueError("WARC files need an extra: in a clone, pip install -e '.[archive]'")
        if found.base_url and found.are_archives:
            raise ValueError("base_url is for a folder: records of WARC files have addresses")
        if found.index and not found.are_archives:
            raise ValueError("index is for WARC files")
        if found.pool:
            from tplspider.pools.store import PoolFolder

            PoolFolder(found.pool)
        return found

    @property
    def are_archives(self) -> bool:
        """Whether the paths are those of WARC files, by their names."""
        return bool(self.paths) and all(
            path.name.lower().endswith(ENDINGS) and not path.is_dir() for path in self.paths
        )

    def columns(self) -> list[str]:
        """The columns of rows."""
        more = {"main_markdown": self.markdown, "main_html": self.html, "offset": self.are_archives}
        return [*COLUMNS, *(name for name, is_wanted in more.items() if is_wanted)]


def read_page(stored: StoredPage) -> tuple[str, PooledPage | None, str]:
    """The address of what is stored, its page, and the outcome, which says why there is none."""
    from tplspider.pools.pool import PooledPage

    found = stored.read()
    if isinstance(found, NoPage):
        return stored.url, None, found.reason
    if fault := page_fault(found):
        unreadable = UNREADABLE if found.body else EMPTY
        return found.url, None, unreadable if fault == BAD_RESPONSE else fault
    return found.url, PooledPage.of(found.url, found.text), PAGE


def plan_feeds(settings: BaseSettings, columns: list[str]) -> dict[str, dict[str, Any]]:
    """The feeds of rows; ValueError if one cannot be written."""
    feeds = {}
    for label, uri, options in feeds_of_settings(settings, StrippedRow):
        if path := local_path(uri):
            try_to_open(label, path)
        chosen = settings.getlist("FEED_EXPORT_FIELDS")
        feeds[uri] = {"fields": chosen or columns, "store_empty": True, **options}
    return feeds


def row_of(
    stored: StoredPage, url: str, outcome: str, found: PageTemplate | None, columns: Iterable[str]
) -> StrippedRow:
    """A row for a feed; if there is no text, its texts are empty and its evidence is None."""
    row = StrippedRow(url=url, path=shown_path(stored.path), outcome=outcome)
    for name in columns:
        if name == "offset":
            row[name] = stored.offset
        elif name not in row:
            value = getattr(found, name, None if name == "evidence" else "")
            row[name] = storable(value) if isinstance(value, str) else value
    return row


class TemplateStripSpider(Spider):
    """Strips the pages of a folder, or of WARC files: a row for each file, or page.

    Rows come in order, from :meth:`start`: nothing is requested.
    """

    name = "template_strip"
    is_list = True
    config: Config
    columns: list[str]
    feeds: dict[str, dict[str, Any]]
    line_count: int | None = None  # of rows, once it is known

    def __init__(self, name: str | None = None, **kwargs: Any) -> None:
        self.arguments = StripArguments.of(kwargs)
        super().__init__(name, source=self.arguments.source)
        self.counts = Counts()
        self.outcomes: Counter[str] = Counter()
        self.phase, self.done = "listed", 0  # for the progress
        self._is_closing = False
        self._extraction: Extraction | None = None
        self._store: PoolFolder | None = None
        if pool := self.arguments.pool:
            from tplspider.pools.store import PoolFolder

            self._store = PoolFolder(pool)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        settings = crawler.settings
        if Config.of(settings).confine:
            raise ValueError("TPLSPIDER_CONFINE is on: jobs may not read files of the server")
        spider = super().from_crawler(crawler, *args, **kwargs)
        has_affinity = hasattr(os, "sched_getaffinity")
        cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
        settings.set("TPLSPIDER_EXTRACT_WORKERS", cores, priority="default")
        spider.config = Config.of(settings)
        spider.columns = spider.arguments.columns()
        spider.feeds = plan_feeds(settings, spider.columns)
        settings.set("FEEDS", spider.feeds, priority=PRIORITY)
        connect = crawler.signals.connect
        connect(spider.spider_opened, signal=scrapy_signals.spider_opened)
        for signal in (scrapy_signals.item_dropped, scrapy_signals.item_error):
            connect(spider.item_lost, signal=signal)
        return spider

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        super().update_settings(settings)
        apply_profile(settings)
        for name, classes in FEED_SETTINGS.items():
            settings.set(name, {**classes, **settings.getdict(name)}, priority="spider")
        extensions = {
            "tplspider.log_sanitizer.LogSanitizer": -1,
            "tplspider.progress.PageProgress": 500,
            **settings.getdict("EXTENSIONS"),
        }
        settings.set("EXTENSIONS", extensions, priority="spider")

    @classmethod
    def check(cls, given: dict[str, Any], settings: BaseSettings) -> None:
        """Raise ValueError if a run with these arguments cannot begin."""
        settings = settings.copy()
        apply_profile(settings)
        Config.of(settings)
        arguments = StripArguments.of(given)
        if not plan_feeds(settings, arguments.columns()):
            raise ValueError("no output: give -O FILE for the rows")
        if arguments.markdown:
            from tplspider.template.markdown import check_markdown  # imported lazily: optional

            check_markdown()
        folder = arguments.paths[0]
        if not arguments.are_archives and not any(files for _, _, files in os.walk(folder)):
            raise ValueError(f"{str(folder)!r}: the folder is empty")

    async def start(self) -> AsyncIterator[Any]:
        try:
            storage = await self._open()
            with closing(storage):
                self.line_count, self.phase = storage.count_pages(), "stripped"
                async for row in self._rows(storage):
                    if self._is_closing:
                        return
                    self._count(row["outcome"])
                    yield row
                    self.done += 1
                    if self.crawler.stats.get_value("tplspider/lost_files"):
                        raise CloseSpider("output_lost")
                for fault, count in getattr(storage, "faults", {}).items():
                    logger.error("%s (%d times)", fault, count)
                    count_lost(self.crawler)
        except (ValueError, OSError, sqlite3.Error) as error:  # the index, or the folder
            logger.error("%s", error)  # noqa: TRY400 - the message is complete
            count_lost(self.crawler)
            return
        self.counts.is_finished = True

    def summary(self) -> str:
        """How many files became what."""
        in_order = sorted(self.outcomes.items(), key=lambda each: (-each[1], each[0]))
        found = [f"{count} {'stripped' if name == PAGE else name}" for name, count in in_order]
        whole = counted(self.line_count or 0, "page" if self.arguments.are_archives else "file")
        early = "" if self.counts.is_finished else f"ended early: {self.done} of "
        return f"{early}{whole}: {', '.join(found) or 'none'}"

    async def _open(self) -> StoredPages:
        arguments = self.arguments
        if not arguments.are_archives:
            folder = partial(SavedFolder, without=self._outputs())
            return await asyncio.to_thread(folder, arguments.paths[0], arguments.base_url)
        from tplspider.sources.archive import open_archive  # imported lazily: an extra

        archive = await asyncio.to_thread(open_archive, arguments.paths, arguments.index or None)
        for path, file in archive.files.items():
            for fault, count in file.faults.items():
                logger.warning("%s: %s (%d)", path, fault, count)
            if not file.records:
                logger.error("%s: no pages in it", path)
                count_lost(self.crawler)
        return archive.open()

    async def _rows(self, storage: StoredPages) -> AsyncIterator[StrippedRow]:
        from tplspider.pools.site_templates import STRIP, StripJob

        wanted = frozenset(self.columns) & {each.name for each in fields(PageTemplate)}
        count, config = self.arguments.workers or self.config.extract_workers, self.config
        self._extraction = Extraction(STRIP, workers=count, megabytes=config.extract_mb)
        pool_of = lru_cache(_POOLS)(partial(self._pool, storage))
        waiting: deque[tuple[asyncio.Task[StrippedRow], int]] = deque()  # with the size of a page
        try:
            for stored in storage.pages():
                url, page, outcome = read_page(stored)
                pool = pool_of(stored.site) if page else ()
                job: Any = StripJob(page, stored.site, wanted) if page else None
                row = asyncio.create_task(self._row(stored, url, outcome, job, pool))
                waiting.append((row, page.size if page else 0))
                while waiting and (
                    waiting[0][0].done()
                    or len(waiting) > _AHEAD * count
                    or sum(size for _, size in waiting) > _AHEAD_BYTES
                ):
                    yield await waiting.popleft()[0]
                await asyncio.sleep(0)  # the workers have their turn
            while waiting:
                yield await waiting.popleft()[0]
        finally:
            for row, _ in waiting:
                row.cancel()

    def _pool(self, storage: StoredPages, site: str) -> tuple[PooledPage, ...]:
        """The pool of a site, as of all its pages."""
        from tplspider.pools.pool import draw

        store = self._store if site else None
        pages = (read_page(stored)[1] for stored in storage.pages(site))
        known = tuple(store.load(site)) if store else ()
        pool = draw(pages, known).pages
        if store and pool != known:
            store.save(site, pool)
        return pool

    async def _row(
        self, stored: StoredPage, url: str, outcome: str, job: Any, pool: Any
    ) -> StrippedRow:
        """The row of a page, or of what is none: then there is no *job*."""
        assert self._extraction
        found = None
        try:
            if job:
                found = await self._extraction.extract(job, pool)
        except ExtractionError as error:
            outcome = error.outcome
            label = url if self.arguments.are_archives else shown_path(stored.path)
            logger.error("%s: %s", label, error)  # noqa: TRY400
        return row_of(stored, url, outcome, found, self.columns)

    def _count(self, outcome: str) -> None:
        self.outcomes[outcome] += 1
        self.counts.answered += 1
        self.crawler.stats.inc_value(f"tplspider/outcome/{outcome}")
        if outcome in LOST:
            count_lost(self.crawler)

    def _outputs(self) -> list[Path]:
        """Files that this run writes: they have no rows if they are in the folder."""
        paths = [path for feed in self.feeds if (path := local_path(feed))]
        return [*paths, Path(self.arguments.pool)] if self.arguments.pool else paths

    def spider_opened(self) -> None:
        before_closing(self.crawler, self._let_items_out)

    async def _let_items_out(self, reason: str) -> None:
        """Wait for the items in the pipelines: Scrapy would wait for ever for those of start()."""
        self._is_closing = True
        scraper = self.crawler.engine.scraper
        while scraper.slot and scraper.slot.itemproc_size:  # noqa: ASYNC110 - there is no signal
            await asyncio.sleep(0.01)

    def item_lost(self, item: Any) -> None:
        count_lost(self.crawler)

    async def closed(self, reason: str) -> None:
        if self._extraction:
            await self._extraction.close()


def shown_path(path: bytes) -> str:
    r"""A path as text; what is not text, or would steer a terminal, is spelled out.

    >>> shown_path(b"caf\xe9/a\n.html")
    'caf\\xe9/a\\x0a.html'
    """
    # So that no two paths are shown alike.
    text = path.replace(b"\\", b"\\x5c").decode("utf-8", "backslashreplace")
    return storable(_CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text))
