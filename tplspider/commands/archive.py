"""``scrapy archive``: a crawl of a list whose pages come from WARC files, not from a network."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from argparse import SUPPRESS
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from scrapy.commands import BaseRunSpiderCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Collection

    from scrapy.settings import BaseSettings

    from tplspider.keylist import KeyLine, KeyList
    from tplspider.sources.archive import Archive

logger = logging.getLogger(__name__)

ENDINGS = (".warc", ".warc.gz", ".warc.zst")
# The others do nothing for pages that are there already, and cost a third of the time.
_NEEDED = ("HttpCacheMiddleware", "StartSpiderMiddleware")
_OF_NETWORKS = (
    *("tplspider.politeness.Politeness", "tplspider.politeness.TimeLeft"),
    "tplspider.private_addresses.PrivateAddressMiddleware",
    "tplspider.browser.BrowserMiddleware",  # what it made of a page is archived
)
SETTINGS: dict[str, Any] = {
    "HTTPCACHE_ENABLED": True,
    "HTTPCACHE_STORAGE": "tplspider.storages.WarcStorage",
    "HTTPCACHE_IGNORE_MISSING": True,
    "ROBOTSTXT_OBEY": False,
    "DOWNLOAD_DELAY": 0,
}


class Command(BaseRunSpiderCommand):
    """Runs the spider on a list of key pages, with archived pages in place of a network."""

    def syntax(self) -> str:
        return "FILE.warc.gz [...] -i KEYPAGES -O FILE [options]"

    def short_desc(self) -> str:
        return "Search among the pages of web archives"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument_group(title="Archive").add_argument
        add("-i", dest="keys", metavar="FILE", help="a list of key pages (- for standard input)")
        add("--every", metavar="K", help="in place of a list, K pages of each host")
        only = "only key pages of this host (may be repeated)"
        add("--host", dest="hosts", action="append", default=[], metavar="NAME", help=only)
        add("--summary", metavar="FILE", help="a file for the summaries")
        add("--texts", metavar="FILE", help="a file for the texts, which are made for it")
        add("--report", metavar="DIR", help="reports to look at; of one key page, a file")
        add("--index", metavar="FILE", help="the index; it is beside the first file")
        add("--workers", metavar="N", help="processes (one for each core)")
        add("--part", help=SUPPRESS)  # which hosts (I/N): for processes of this command
        add("-n", metavar="N", help="how many pages to find (3)")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        from tplspider.profiles import apply_profile, keep_apart

        assert self.settings is not None
        keep_apart(self.settings)
        super().process_options(args, opts)
        apply_profile(self.settings)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        from tplspider.commands.crawl import check, exit_status, refuse
        from tplspider.keylist import KeyList
        from tplspider.log_sanitizer import guard_log
        from tplspider.spiders.template_candidates import TemplateCandidatesSpider

        assert self.crawler_process
        assert self.settings is not None
        settings = self.settings
        guard_log()
        try:
            arguments, hosts = _arguments(opts), {_site_of(each) for each in opts.hosts}
            every = _whole_number("--every", opts.every) if opts.every else 0
            cores = len(os.sched_getaffinity(0))
            workers = _whole_number("--workers", opts.workers) if opts.workers else cores
            files = archive_files(args)
            given = {"_keys": None} if every else {}
            check(TemplateCandidatesSpider, "archive", arguments | given, settings)
            archive, empty = _open_archive(files, opts.index)
            missing = _missing_hosts(archive, hosts) if every else []
            if missing and len(missing) == len(hosts):
                raise ValueError(f"--host {missing[0]}: no page of it is archived")  # noqa: TRY301
        except ValueError as error:
            refuse("archive", str(error), settings)
        lost = int(bool(empty or missing))
        outputs = shared_outputs(settings, arguments) if workers > 1 and not opts.part else {}
        if outputs and _is_long(opts, archive, every):
            self.exitcode = run_parts(workers, outputs) or lost
            return
        if every or hosts or opts.part:
            part = Part.of(opts.part)
            if opts.part:
                part.rename(settings, arguments)
            if every:
                arguments["_keys"] = _of_each_host(archive, every, hosts, part)
            else:
                lines = KeyList(arguments.pop("urls"), arguments.pop("column", ""))
                arguments["_keys"] = _of_hosts(lines, hosts, part)
        told: dict[str, Any] = {
            "TPLSPIDER_ARCHIVES": [str(file) for file in archive.files],
            "TPLSPIDER_ARCHIVE_INDEX": str(archive.index),
        }
        for name in ("DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES"):
            idle = [each for each in settings[f"{name}_BASE"] if not each.endswith(_NEEDED)]
            idle += _OF_NETWORKS if name.startswith("DOWN") else ()
            told[name] = settings.getdict(name) | dict.fromkeys(idle)
        # Scrapy writes a line for every request, which handlers leave out.
        logging.getLogger("scrapy").setLevel(settings.get("LOG_LEVEL"))
        settings.setdict(SETTINGS | told, priority="cmdline")
        crawler = self.crawler_process.create_crawler(TemplateCandidatesSpider)
        self.crawler_process.crawl(crawler, **arguments)
        self.crawler_process.start()
        self.exitcode = exit_status(crawler) or lost


def archive_files(names: Collection[str]) -> list[Path]:
    """The files that are given, each once; of a folder, the WARC files in it.

    Raises ValueError if one cannot be read.
    """
    if unknown := [name for name in names if name.startswith("-")]:
        raise ValueError(f"unknown option {unknown[0]!r}")
    if not names:
        raise ValueError("give one or more WARC files")
    found: dict[Path, Path] = {}
    for name in names:
        path = Path(name)
        if "://" in name and not path.exists():
            raise ValueError(f"{name!r}: expected WARC files; give key pages with -i FILE")
        try:
            is_folder = path.is_dir()
            files = sorted(path.iterdir()) if is_folder else [path]
            files = [f for f in files if not is_folder or f.name.lower().endswith(ENDINGS)]
            if not files:
                raise ValueError(f"{name!r}: there is no WARC file in this folder")
            for file in files:
                if not file.is_file():
                    raise ValueError(f"{str(file)!r}: there is no such plain file")
                file.open("rb").close()
                found[file.resolve()] = file
        except OSError as error:
            raise ValueError(f"{error.filename!r}: cannot be read ({error.strerror})") from None
    return list(found.values())


def _open_archive(files: list[Path], index: str | None) -> tuple[Archive, int]:
    """The archive of some files, with what is wrong with them logged; how many are of no use."""
    try:
        from tplspider.sources.archive import open_archive
    except ImportError as error:
        raise ValueError(str(error)) from None
    lost: list[OSError] = []
    logger.info("Reading what the index does not know of %d files", len(files))
    archive = open_archive(files, index, lost=lost.append)
    for each in lost:
        logger.error("%s: %s", each.filename, each.strerror)
    empty = len(lost)
    for path, file in archive.files.items():
        for what, count in file.faults.items():
            logger.warning("%s: %s: %d", path, what, count)
        if not file.records:
            logger.warning("%s: there is no page in it", path)
            empty += bool(file.faults or not file.size)
    if not any(file.records for file in archive.files.values()):
        raise ValueError("none of the files can be read as a WARC file, or has a page")
    return archive, empty


def _arguments(opts: argparse.Namespace) -> dict[str, Any]:
    if bool(opts.keys) == bool(opts.every):
        raise ValueError("give key pages: a list with -i FILE, or some of each host, --every K")
    arguments: dict[str, Any] = dict(opts.spargs)
    if unknown := arguments.keys() & {"url", "urls", "warc"}:
        raise ValueError(f"-a {min(unknown)}: not for archives; give key pages with -i FILE")
    if opts.keys:
        arguments["urls"] = opts.keys
    for name in ("summary", "texts", "report", "n"):
        if (value := getattr(opts, name)) is not None:
            arguments[name] = value
    if not (
        opts.output or opts.overwrite_output or arguments.keys() & {"summary", "texts", "report"}
    ):
        raise ValueError("give at least one of -O, --summary, --texts and --report")
    return arguments


def _whole_number(name: str, given: str) -> int:
    from tplspider.arguments import whole_number

    try:
        return whole_number(1)(given)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _site_of(host: str) -> str:
    """What the archive calls a host, which may be given with ``www.``, or as an address."""
    from tplspider.pools.pool import page_site

    if not (site := page_site(host if "//" in host else f"http://{host}/")):
        raise ValueError(f"--host {host!r}: expected the name of a host")
    return site


def _missing_hosts(archive: Archive, hosts: Collection[str]) -> list[str]:
    with archive.open() as site:
        return [host for host in sorted(hosts) if next(site.pages(host), None) is None]


async def _of_each_host(
    archive: Archive, most: int, hosts: Collection[str], part: Part
) -> AsyncIterator[KeyLine]:
    """Some pages of each host, or of these: those with the smallest sample keys."""
    from tplspider.keylist import key_line

    number = 0
    with archive.open() as site:
        for host in sorted(hosts) or site.sites():
            for page in islice(site.pages(host), most):
                number += 1
                if part.has(host) and (url := page.url):
                    yield key_line(number, {"url": url}, "url", url)


async def _of_hosts(lines: KeyList, hosts: Collection[str], part: Part) -> AsyncIterator[KeyLine]:
    """The lines of a list that are of some hosts, if any are given; malformed lines stay."""
    from tplspider.pools.pool import page_site

    for line in lines:
        url = line.address
        site = page_site(url if "//" in url else f"https://{url}")
        if part.has(site) and (line.fault or not hosts or site in hosts):
            yield line


# Several processes: the hosts are divided among them, and what they write is joined.

_LEAST = 400  # key pages: fewer are searched before another process has started


def _is_long(opts: argparse.Namespace, archive: Archive, every: int) -> bool:
    """Whether there are so many key pages that several processes are faster."""
    from tplspider.keylist import STANDARD_INPUT, KeyList

    if every:
        with archive.open() as site:
            count = sum(1 for _ in site.sites()) * every
    else:
        if opts.keys == STANDARD_INPUT:
            return False
        count = KeyList(opts.keys, opts.spargs.get("column", "")).count()
    return count >= _LEAST


@dataclass(frozen=True)
class Part:
    """The hosts of one process of several."""

    number: int = 0
    count: int = 1

    @classmethod
    def of(cls, given: str | None) -> Part:
        return cls(*map(int, given.split("/"))) if given else cls()

    def has(self, host: str) -> bool:
        return crc32(host.encode()) % self.count == self.number

    def name(self, path: str) -> str:
        """The file of this part of an output."""
        return str(Path(path).with_suffix(f".part{self.number}{Path(path).suffix}"))

    def rename(self, settings: BaseSettings, arguments: dict[str, Any]) -> None:
        """Let outputs go to files of this part."""
        feeds = settings.getdict("FEEDS")
        feeds = {self.name(uri): options for uri, options in feeds.items()}
        settings.set("FEEDS", feeds, priority="cmdline")
        for name in {"summary", "texts"} & arguments.keys():
            arguments[name] = self.name(arguments[name])


def shared_outputs(settings: BaseSettings, arguments: dict[str, Any]) -> dict[str, str]:
    """The outputs that parts can be joined to, with their formats; none if one cannot be."""
    from tplspider.arguments import feed_format

    feeds = settings.getdict("FEEDS")
    names = {uri: options["format"] for uri, options in feeds.items() if options.get("overwrite")}
    for name in {"summary", "texts"} & arguments.keys():
        names[arguments[name]] = feed_format(arguments[name])
    is_plain = len(names) >= len(feeds) and not any(":" in name or "%(" in name for name in names)
    is_alone = settings.get("JOBDIR") or arguments.keys() & {"report", "save_html"}
    return names if is_plain and not is_alone else {}


def run_parts(count: int, outputs: dict[str, str]) -> int:
    """Run the command in several processes, and join what they write; the exit status."""
    # Scrapy took its name from sys.argv.
    command = [sys.executable, "-m", "scrapy", "archive", *sys.argv[1:]]
    running = [
        subprocess.Popen([*command, "--part", f"{number}/{count}"], process_group=0)  # noqa: S603 - ours
        for number in range(count)
    ]

    def end(*_: object) -> None:
        for process in running:
            process.terminate()

    # Each writes what it has found so far.
    signal.signal(signal.SIGINT, end)
    signal.signal(signal.SIGTERM, end)
    statuses = {process.wait() for process in running}
    for name, how in outputs.items():
        parts = [Path(Part(number, count).name(name)) for number in range(count)]
        join(Path(name), [part for part in parts if part.exists()], how)
        for part in parts:
            part.unlink(missing_ok=True)
    return next((status for status in (1, 2, 3, 0) if status in statuses), 1)


def join(path: Path, parts: list[Path], how: str) -> None:
    """Write one feed from its parts."""
    contents = [part.read_bytes() for part in parts]
    if how == "csv":  # one header
        contents = contents[:1] + [each.partition(b"\n")[2] for each in contents[1:]]
    elif how == "json":
        rows = [each.strip()[1:-1].strip() for each in contents]
        contents = [b"[\n", b",\n".join(filter(None, rows)), b"\n]"]
    elif how == "xml":
        start = contents[0].partition(b"<items>")[0]
        rows = [each.partition(b"<items>")[2].rpartition(b"</items>")[0] for each in contents]
        contents = [start, b"<items>", *rows, b"</items>"]
    path.write_bytes(b"".join(contents))
