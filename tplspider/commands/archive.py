"""``scrapy archive``: a crawl of a list whose pages come from WARC files, not from a network."""

from __future__ import annotations

import logging
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.commands import BaseRunSpiderCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Collection

    from tplspider.keylist import KeyLine, KeyList
    from tplspider.sources.archive import Archive

logger = logging.getLogger(__name__)

ENDINGS = (".warc", ".warc.gz", ".warc.zst")
# What does nothing for pages that are there already.
_IDLE = (
    *("offsite.OffsiteMiddleware", "robotstxt.RobotsTxtMiddleware"),
    *("httpauth.HttpAuthMiddleware", "downloadtimeout.DownloadTimeoutMiddleware"),
    *("defaultheaders.DefaultHeadersMiddleware", "useragent.UserAgentMiddleware"),
    *("retry.RetryMiddleware", "redirect.MetaRefreshMiddleware", "redirect.RedirectMiddleware"),
    *("httpcompression.HttpCompressionMiddleware", "cookies.CookiesMiddleware"),
    *("httpproxy.HttpProxyMiddleware", "stats.DownloaderStats"),
)
_OURS = (
    *("politeness.Politeness", "politeness.TimeLeft", "archiver.Archiver"),
    "private_addresses.PrivateAddressMiddleware",
)
IDLE = {f"scrapy.downloadermiddlewares.{name}": None for name in _IDLE}
IDLE |= {f"tplspider.{name}": None for name in _OURS}


class Command(BaseRunSpiderCommand):
    """Runs the spider on a list of key pages, with archived pages in place of a network.

    It needs no project.
    """

    def syntax(self) -> str:
        return "FILE.warc.gz [...] -i KEYPAGES -O FILE [options]"

    def short_desc(self) -> str:
        return "Search among the pages of web archives"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument_group(title="Archive").add_argument
        add("-i", dest="keys", metavar="FILE", help="a list of key pages (- for standard input)")
        add("--every", metavar="K", help="in place of a list, K pages of each host")
        add(
            "--host",
            dest="hosts",
            action="append",
            default=[],
            metavar="NAME",
            help="only key pages of this host (may be repeated)",
        )
        add("--summary", metavar="FILE", help="a file for the summaries")
        add("--texts", metavar="FILE", help="a file for the texts, which are made for it")
        add("--report", metavar="DIR", help="reports to look at; of one key page, a file")
        add("--index", metavar="FILE", help="the index (default: beside the first file)")
        add("--workers", metavar="N", help="processes that make texts (default: one)")
        add("-n", metavar="N", help="how many pages to find (default: 3)")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        from tplspider.profiles import apply_default_outside_projects, apply_profile

        super().process_options(args, opts)
        assert self.settings is not None
        apply_default_outside_projects(self.settings)
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
            if opts.workers:
                workers = _whole_number("--workers", opts.workers)
                settings.set("TPLSPIDER_EXTRACT_WORKERS", workers, priority="cmdline")
            files = archive_files(args)
        except ValueError as error:
            refuse("archive", str(error), settings)
        given = {"_keys": None} if every else {}
        check(TemplateCandidatesSpider, "archive", arguments | given, settings)
        try:
            archive, empty = _open_archive(files, opts.index)
            if every or hosts:
                missing = _missing_hosts(archive, hosts) if every else []
                if missing and len(missing) == len(hosts):
                    raise ValueError(f"--host {missing[0]}: no page of it is archived")  # noqa: TRY301
                empty += len(missing)
                if every:
                    arguments["_keys"] = _of_each_host(archive, every, hosts)
                else:
                    lines = KeyList(arguments.pop("urls"), arguments.pop("column", ""))
                    arguments["_keys"] = _of_hosts(lines, hosts)
        except ValueError as error:
            refuse("archive", str(error), settings)
        told = {
            "TPLSPIDER_ARCHIVES": [str(file) for file in archive.files],
            "TPLSPIDER_ARCHIVE_INDEX": str(archive.index),
            "HTTPCACHE_ENABLED": True,
            "HTTPCACHE_STORAGE": "tplspider.storages.WarcStorage",
            "HTTPCACHE_IGNORE_MISSING": True,
            "ROBOTSTXT_OBEY": False,
            "DOWNLOAD_DELAY": 0,
            "DOWNLOADER_MIDDLEWARES": {**settings.getdict("DOWNLOADER_MIDDLEWARES"), **IDLE},
        }
        settings.setdict(told, priority="cmdline")
        crawler = self.crawler_process.create_crawler(TemplateCandidatesSpider)
        self.crawler_process.crawl(crawler, **arguments)
        self.crawler_process.start()
        self.exitcode = exit_status(crawler) or int(empty > 0)


def archive_files(names: Collection[str]) -> list[Path]:
    """The files that are given, each once; of a folder, the WARC files in it.

    Raises ValueError if one cannot be read.
    """
    if unknown := [name for name in names if name.startswith("-")]:
        raise ValueError(f"unknown option {unknown[0]!r}")
    if not names:
        raise ValueError("give one or more WARC files")
    found: list[Path] = []
    for name in names:
        path = Path(name)
        if "://" in name and not path.exists():
            raise ValueError(f"{name!r}: expected WARC files; give key pages with -i FILE")
        files = [path]
        if path.is_dir():
            files = sorted(each for each in path.iterdir() if each.name.lower().endswith(ENDINGS))
            if not files:
                raise ValueError(f"{name!r}: there is no WARC file in this folder")
        for file in files:
            try:
                if not file.is_file():
                    raise ValueError(f"{str(file)!r}: there is no such plain file")
                file.open("rb").close()
            except OSError as error:
                raise ValueError(f"{str(file)!r}: cannot be read ({error.strerror})") from None
        found += files
    return list({file.resolve(): file for file in found}.values())


def _open_archive(files: list[Path], index: str | None) -> tuple[Archive, int]:
    """The archive of some files, with what is wrong with them logged; how many are of no use."""
    try:
        from tplspider.sources.archive import open_archive
    except ImportError as error:
        raise ValueError(str(error)) from None
    lost: list[OSError] = []
    logger.info("Reading what the index does not know of %d files", len(files))
    archive = open_archive(files, index, lost=lost.append)
    for error in lost:
        logger.error("%s: %s", error.filename, error.strerror)
    empty = len(lost)
    for path, file in archive.files.items():
        for fault, count in file.faults.items():
            logger.warning("%s: %s: %d", path, fault, count)
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
    if not (given.isascii() and given.isdecimal() and int(given[:9]) > 0):
        raise ValueError(f"{name}: expected a whole number, 1 or more")
    return int(given[:9])


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
    archive: Archive, most: int, hosts: Collection[str]
) -> AsyncIterator[KeyLine]:
    """Some pages of each host, or of these: those with the smallest sample keys."""
    from tplspider.keylist import key_line

    number = 0
    with archive.open() as site:
        for host in sorted(hosts) or site.sites():
            urls = (url for page in site.pages(host) if (url := page.url))
            for url in islice(urls, most):
                number += 1
                yield key_line(number, {"url": url}, "url", url)


async def _of_hosts(lines: KeyList, hosts: Collection[str]) -> AsyncIterator[KeyLine]:
    """The lines of a list that are of some hosts; malformed lines stay."""
    from tplspider.pools.pool import page_site

    for line in lines:
        url = line.address
        if line.fault or page_site(url if "//" in url else f"https://{url}") in hosts:
            yield line
