"""The spider that loads nothing: it strips the pages of a folder, or of WARC files."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sys
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast
from urllib.parse import urlsplit

from scrapy import Spider
from scrapy import signals as scrapy_signals
from scrapy.exceptions import CloseSpider

from tplspider.arguments import Config, boolean, key_address, option, parsed, whole_number
from tplspider.extraction import Extraction, ExtractionError
from tplspider.feeds import FEED_SETTINGS
from tplspider.items import PageTemplate, StrippedRow
from tplspider.outputs import PRIORITY, feeds_of_settings, local_path, try_to_open
from tplspider.pools.pool import Pool, PooledPage, page_site
from tplspider.pools.store import PoolCache, PoolFolder
from tplspider.pools.strip_job import STRIP, SentPools
from tplspider.profiles import apply_profile
from tplspider.saved_pages import write_page
from tplspider.search.answer import counted
from tplspider.sources.saved_folder import (
    EMPTY,
    UNREADABLE,
    SavedFolder,
    assumed_scheme,
)
from tplspider.tracker import Counts, count_lost
from tplspider.web.page import BAD_RESPONSE, CRASHED, ERROR, TIMEOUT, NoPage, page_fault
from tplspider.web.text import storable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from tplspider.sources.archive import Archive, StoredPage, WarcSite
    from tplspider.sources.saved_folder import Inode
    from tplspider.template.extract import PageSource

logger = logging.getLogger(__name__)

PAGE = "page"
OUT_OF_MEMORY = "out-of-memory"
# Somebody wanted these: the exit status says that they are missing.
LOST = frozenset({UNREADABLE, TIMEOUT, OUT_OF_MEMORY, CRASHED, ERROR})
TEXTS = ("title", "main_text", "content_text", "evidence")
ENDINGS = (".warc", ".warc.gz", ".warc.zst")  # of WARC files
READ_FOR_POOL = 1000  # captures of a site: more are not read, however alike its pages are
_AHEAD = 16  # pages in flight for each worker: rows wait for those before them ...
_AHEAD_BYTES = 50_000_000  # ... and so do their texts
_PAUSE = 16  # files, after which the event loop has its turn
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f]")


def _output_folder(value: object) -> str:
    if (folder := Path(str(value))).exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError("expected a folder that is new or empty")
    return str(value)


def _base_url(value: object) -> str:
    given = str(value)
    url = key_address(given) if given else ""
    if urlsplit(url).query or "#" in given:
        raise ValueError("expected the address of a folder, without ? and #")
    has_scheme = given[:8].lower().startswith(("http:", "https:"))
    return url if has_scheme or not url else assumed_scheme(url)


@dataclass(frozen=True)
class StripArguments:
    """The spider arguments (``-a NAME=VALUE``)."""

    source: str = option("", str, "a folder of saved pages, or a WARC file")
    base_url: str = option("", _base_url, "the address of the folder, if nothing tells it")
    pool: str = option("", str, "a folder with pools of pages, which are used and kept")
    index: str = option("", str, "of WARC files: where the index is, or is made")
    workers: int = option(0, whole_number(1), "processes (default: one for each core)")
    markdown: bool = option(0, boolean, "whether rows have main_markdown")
    html: bool = option(0, boolean, "whether rows have main_html")
    pages: str = option("", _output_folder, "a folder for a file of Markdown for each page")

    @classmethod
    def of(cls, given: dict[str, Any]) -> tuple[Self, tuple[Path, ...]]:
        """The arguments, and the folder or the files; ValueError if something is wrong."""
        values = {name: value for name, value in given.items() if not name.startswith("_")}
        if unknown := values.keys() - {each.name for each in fields(cls)}:
            raise ValueError(f"unknown argument {min(unknown)!r}")
        found = cls(**parsed(cls, values))
        paths = tuple(map(Path, given.get("_sources") or filter(None, [found.source])))
        are_files = bool(paths) and all(map(is_archive, paths))
        if not paths or (len(paths) > 1 and not are_files):
            raise ValueError(f"give one folder, or WARC files ({', '.join(ENDINGS)})")
        try:
            if not are_files:
                os.scandir(paths[0]).close()
            for path in paths if are_files else ():
                path.open("rb").close()
        except OSError as error:
            raise ValueError(f"{str(error.filename)!r}: {error.strerror}") from None
        if found.base_url and are_files:
            raise ValueError("base_url is for a folder: records of WARC files have addresses")
        if found.index and not are_files:
            raise ValueError("index is for WARC files")
        if found.pool:
            PoolFolder(found.pool)
        return found, paths

    def columns(self, paths: tuple[Path, ...]) -> tuple[str, ...]:
        """The columns of rows."""
        more = {
            "main_markdown": self.markdown or bool(self.pages),
            "main_html": self.html,
            "offset": is_archive(paths[0]),
        }
        return (
            "url",
            "path",
            "outcome",
            *TEXTS,
            *(name for name, wanted in more.items() if wanted),
        )


def is_archive(path: Path) -> bool:
    """Whether a path is that of a WARC file, by its name."""
    return path.name.lower().endswith(ENDINGS) and not path.is_dir()


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file, or a record, with its page; or with the outcome if it has none."""

    path: bytes
    url: str
    outcome: str = PAGE
    page: PooledPage | None = None
    offset: int | None = None  # in a WARC file


class Storage(Protocol):
    """Pages to be stripped, with the pools of their sites."""

    unit: str
    total: int | None

    def look_through(self) -> Iterator[int]:
        """Get ready; gives how far it is."""

    def files(self) -> Iterator[StoredFile]:
        """All files, in the order of the rows."""

    def pool(self, site: str) -> tuple[PooledPage, ...]:
        """The pool of a site."""


class FolderStorage:
    """The pages of a folder. It is read once for the pools, then once more for the rows."""

    unit = "file"

    def __init__(self, folder: SavedFolder, store: PoolFolder | None) -> None:
        self.total: int | None = None
        self._folder = folder
        self._pools = PoolCache(most=50, megabytes=32, file_megabytes=4000, store=store)

    def look_through(self) -> Iterator[int]:
        count = 0
        for count, file in enumerate(self.files(), start=1):
            if file.page:
                self._pools.add(page_site(file.page.url), file.page)
                for _ in self._pools.make_room():
                    pass
            yield count
        self.total = count
        self._pools.save()

    def files(self) -> Iterator[StoredFile]:
        for file in self._folder.files():
            if file.outcome:
                yield StoredFile(file.path, file.url, file.outcome)
            else:
                yield StoredFile(file.path, file.url, page=PooledPage.of(file.url, file.html))

    def pool(self, site: str) -> tuple[PooledPage, ...]:
        return self._pools.pages(site)


class ArchiveStorage:
    """The pages of WARC files, site by site: the index knows them, so none is read before."""

    unit = "page"

    def __init__(self, archive: Archive, store: PoolFolder | None) -> None:
        self.total: int | None = None
        self._archive = archive
        self._opened: WarcSite | None = None
        self._store = store

    def look_through(self) -> Iterator[int]:
        self._opened = self._archive.open()
        self.total = self._opened.count_pages()
        yield 0

    def files(self) -> Iterator[StoredFile]:
        assert self._opened
        with self._opened as opened:
            for stored in opened.pages():
                yield _read(stored)

    def pool(self, site: str) -> tuple[PooledPage, ...]:
        assert self._opened
        store = self._store if site else None
        pool, changed = Pool(store.load(site) if store else ()), False
        for number, stored in enumerate(self._opened.pages(site)):
            page = _read(stored).page
            if number >= READ_FOR_POOL or (page and not pool.takes(page.place)):
                break
            changed |= page is not None and pool.add(page)
        if store and changed:
            store.save(site, pool.pages)
        return pool.pages


def _read(stored: StoredPage) -> StoredFile:
    found, path = stored.read(), os.fsencode(stored.file.name)
    if isinstance(found, NoPage):
        return StoredFile(path, stored.url, found.reason, offset=stored.offset)
    if fault := page_fault(found):
        fault = (UNREADABLE if found.body else EMPTY) if fault == BAD_RESPONSE else fault
        return StoredFile(path, found.url, fault, offset=stored.offset)
    page = PooledPage.of(found.url, found.text)
    return StoredFile(path, found.url, page=page, offset=stored.offset)


def plan_feeds(settings: BaseSettings, columns: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """The feeds of rows; ValueError if one cannot be written."""
    feeds = {}
    for label, uri, options in feeds_of_settings(settings, StrippedRow):
        if path := local_path(uri):
            try_to_open(label, path)
        chosen = settings.getlist("FEED_EXPORT_FIELDS")
        feeds[uri] = {"fields": [*(chosen or columns)], "store_empty": True, **options}
    return feeds


def _worker_count(settings: BaseSettings, config: Config) -> int:
    """How many processes to use: as many as are set, or one for each core."""
    if settings.get("TPLSPIDER_EXTRACT_WORKERS") is not None:
        return config.extract_workers
    has_affinity = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1


class _Worker:
    """A process, and what it was sent of the pools of sites."""

    def __init__(self, config: Config, wanted: frozenset[str]) -> None:
        self.extraction = Extraction(
            STRIP, workers=1, seconds=config.extract_seconds, megabytes=config.extract_mb
        )
        self.waiting = 0
        self._sent = SentPools(wanted)

    async def strip(self, page: PooledPage, pool: tuple[PooledPage, ...]) -> PageTemplate:
        """The page without its template; raises ExtractionError."""
        site = page_site(page.url)
        for _ in range(2):  # a process that was started anew has no pools
            job, added = self._sent.job(site, page, pool)
            found = await self.extraction.extract(
                cast("PageSource", job), cast("list[PageSource]", added)
            )
            if found is not None:
                return found
            self._sent.forget(site)
        raise ExtractionError("the worker does not keep the pool of its site")


class TemplateStripSpider(Spider):
    """Strips the pages of a folder, or of WARC files: a row for each file, or page.

    Rows come in order, from :meth:`start`: nothing is requested.
    """

    name = "template_strip"
    is_list = True
    unit = "file"
    config: Config
    columns: tuple[str, ...]
    feeds: dict[str, dict[str, Any]]
    line_count: int | None = None  # of rows, once it is known

    def __init__(self, name: str | None = None, **kwargs: Any) -> None:
        self.arguments, self.paths = StripArguments.of(kwargs)
        super().__init__(name, source=self.arguments.source)
        self.counts = Counts()
        self.outcomes: Counter[str] = Counter()
        self.phase, self.done = "looked at", 0  # for the progress
        self._workers: list[_Worker] = []

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        settings = crawler.settings
        spider.config = Config.of(settings)
        spider.columns = spider.arguments.columns(spider.paths)
        spider.feeds = plan_feeds(settings, spider.columns)
        settings.set("FEEDS", spider.feeds, priority=PRIORITY)
        for signal in (scrapy_signals.item_dropped, scrapy_signals.item_error):
            crawler.signals.connect(spider.item_lost, signal=signal)
        return spider

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        super().update_settings(settings)
        apply_profile(settings)
        for name, classes in FEED_SETTINGS.items():
            settings.set(name, {**classes, **settings.getdict(name)}, priority="spider")
        extensions = {"tplspider.log_sanitizer.LogSanitizer": -1}
        extensions["tplspider.progress.PageProgress"] = 500
        given = settings.getdict("EXTENSIONS")
        settings.set("EXTENSIONS", {**extensions, **given}, priority="spider")

    @classmethod
    def check(cls, given: dict[str, Any], settings: BaseSettings) -> None:
        """Raise ValueError if a run with these arguments cannot begin."""
        settings = settings.copy()
        apply_profile(settings)
        Config.of(settings)
        arguments, paths = StripArguments.of(given)
        if not plan_feeds(settings, arguments.columns(paths)) and not arguments.pages:
            raise ValueError("give -O FILE for the rows, or -O FOLDER/ with --markdown")
        if arguments.markdown or arguments.pages:
            from tplspider.template.markdown import check_markdown  # imported lazily: optional

            check_markdown()
        if not is_archive(paths[0]) and next(SavedFolder(paths[0]).files(), None) is None:
            raise ValueError(f"{str(paths[0])!r}: there is no file in it")

    async def start(self) -> AsyncIterator[Any]:
        try:
            storage = await asyncio.to_thread(self._open)
            for self.done in storage.look_through():
                if self.done % _PAUSE == 0:
                    await asyncio.sleep(0)
            self.line_count, self.unit = storage.total, storage.unit
            self.phase, self.done = "stripped", 0
            async for row in self._rows(storage):
                yield row
                self.done += 1
                if self.crawler.stats.get_value("tplspider/lost_outputs"):
                    raise CloseSpider("output_lost")
        except (ValueError, OSError) as error:  # the index, or the folder
            logger.error("%s", error)  # noqa: TRY400 - it says it all
            count_lost(self.crawler)
            return
        self.counts.is_finished = True

    def summary(self) -> str:
        """How many files became what."""
        in_order = sorted(self.outcomes.items(), key=lambda each: (-each[1], each[0]))
        found = [f"{count} {'stripped' if name == PAGE else name}" for name, count in in_order]
        early = "" if self.counts.is_finished else "ended early: "
        of = f"{self.done} of " if early else ""
        return (
            f"{early}{of}{counted(self.line_count or 0, self.unit)}: {', '.join(found) or 'none'}"
        )

    def _open(self) -> Storage:
        arguments = self.arguments
        store = PoolFolder(arguments.pool) if arguments.pool else None
        if not is_archive(self.paths[0]):
            folder = SavedFolder(self.paths[0], arguments.base_url, self._inodes())
            return FolderStorage(folder, store)
        from tplspider.sources.archive import open_archive  # imported lazily: an extra

        archive = open_archive(self.paths, arguments.index or None)
        for path, file in archive.files.items():
            for fault, count in file.faults.items():
                logger.warning("%s: %s (%d)", path, fault, count)
            if not file.records:
                logger.error("%s: there is no page in it", path)
                count_lost(self.crawler)
        return ArchiveStorage(archive, store)

    async def _rows(self, storage: Storage) -> AsyncIterator[StrippedRow]:
        wanted = frozenset(self.columns) & {each.name for each in fields(PageTemplate)}
        count = self.arguments.workers or _worker_count(self.settings, self.config)
        self._workers = [_Worker(self.config, wanted) for _ in range(count)]
        waiting: deque[tuple[StoredFile, asyncio.Task[PageTemplate] | None]] = deque()
        size, site = 0, "?"
        pool: tuple[PooledPage, ...] = ()
        try:
            for file in storage.files():
                task = None
                if file.page:
                    size += file.page.size
                    if site != (site := page_site(file.page.url)):
                        pool = storage.pool(site)
                    task = asyncio.create_task(self._strip(file.page, pool))
                waiting.append((file, task))
                while waiting and (
                    not waiting[0][1]
                    or waiting[0][1].done()
                    or len(waiting) > _AHEAD * count
                    or size > _AHEAD_BYTES
                ):
                    first, task = waiting.popleft()
                    size -= first.page.size if first.page else 0
                    yield await self._row(first, task)
                await asyncio.sleep(0)  # the workers have their turn
            while waiting:
                yield await self._row(*waiting.popleft())
        finally:
            for _, task in waiting:
                if task:
                    task.cancel()

    async def _strip(self, page: PooledPage, pool: tuple[PooledPage, ...]) -> PageTemplate:
        worker = min(self._workers, key=lambda each: each.waiting)
        worker.waiting += 1
        try:
            return await worker.strip(page, pool)
        finally:
            worker.waiting -= 1

    async def _row(self, file: StoredFile, task: asyncio.Task[PageTemplate] | None) -> StrippedRow:
        """The row of a file; if it is no page, its texts are empty and its evidence is None."""
        outcome, found, path = file.outcome, None, shown_path(file.path)
        try:
            found = await task if task else None
        except ExtractionError as error:
            outcome = error.outcome
            logger.error("%s: %s", path if file.offset is None else file.url, error)  # noqa: TRY400
        self.outcomes[outcome] += 1
        self.counts.answered += 1
        self.crawler.stats.inc_value(f"tplspider/outcome/{outcome}")
        if outcome in LOST:
            count_lost(self.crawler)
        row = StrippedRow(url=file.url, path=path, outcome=outcome)
        for name in self.columns[len(row) :]:
            empty = None if name == "evidence" else ""
            value = getattr(found, name) if found and name != "offset" else empty
            row[name] = storable(value) if isinstance(value, str) else value
        if file.offset is not None:
            row["offset"] = file.offset
        if found and self.arguments.pages:
            try:
                write_page(Path(self.arguments.pages), row)
            except OSError as error:
                logger.error("The page %s cannot be written: %s", file.url, error.strerror)  # noqa: TRY400
                raise CloseSpider("output_lost") from None
        return row

    def _inodes(self) -> set[Inode]:
        """What has no row, should it be in the folder: all that is written meanwhile."""
        arguments, found = self.arguments, set()
        paths = [path for feed in self.feeds if (path := local_path(feed))]
        paths += [Path(name) for name in (arguments.pool, arguments.pages) if name]
        for path in paths:
            with suppress(OSError):
                status = path.stat()
                found.add((status.st_dev, status.st_ino))
        with suppress(OSError, ValueError, AttributeError):  # closed, or not a file of the system
            status = os.fstat(sys.stdout.fileno())
            found.add((status.st_dev, status.st_ino))
        return found

    def item_lost(self, item: Any) -> None:
        count_lost(self.crawler)

    async def closed(self, reason: str) -> None:
        await asyncio.gather(*(worker.extraction.close() for worker in self._workers))


def shown_path(path: bytes) -> str:
    r"""A path as text; what is not text, or would steer a terminal, is spelled out.

    >>> shown_path(b"caf\xe9/a\n.html")
    'caf\\xe9/a\\x0a.html'
    """
    # So that no two paths are shown alike.
    text = path.replace(b"\\", b"\\x5c").decode("utf-8", "backslashreplace")
    return storable(_CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text))
