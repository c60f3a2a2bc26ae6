"""``scrapy archive``: a crawl of a list whose pages come from WARC files."""

from __future__ import annotations

import logging
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.commands import BaseRunSpiderCommand

from tplspider.command import OurCommand, check, given, whole_number

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Collection

    from tplspider.keylist import KeyLine
    from tplspider.sources.archive import Archive

logger = logging.getLogger(__name__)

ENDINGS = (".warc", ".warc.gz", ".warc.zst")
# The others do nothing for archived pages, and cost a third of the time.
_NEEDED = ("HttpCacheMiddleware", "StartSpiderMiddleware")
_OF_NETWORKS = (
    "tplspider.politeness.Politeness",
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


class Command(OurCommand, BaseRunSpiderCommand):
    """Runs the spider on a list of key pages, with archived pages in place of a network."""

    usage = "FILE.warc.gz [...] -i KEYPAGES -O FILE [options]"
    summary = "Search among the pages of web archives"
    logs_all = True

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument_group(title="Archive").add_argument
        add("-i", dest="keys", metavar="FILE", help="a list of key pages")
        add("--every", metavar="K", help="in place of a list: K pages of each host")
        add("--summary", metavar="FILE", help="a file for the summaries")
        add("--texts", metavar="FILE", help="a file for the texts")
        add("--report", metavar="DIR", help="a folder for reports; for one key page, a file")
        add("--index", metavar="FILE", help="where the index is (default: beside the first file)")
        add("-n", metavar="N", help="how many pages to find (default 3)")

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        from tplspider.profiles import apply_profile
        from tplspider.spiders.template_candidates import TemplateCandidatesSpider

        apply_profile(settings := self.settings)
        arguments = _arguments(opts)
        every = whole_number("--every", opts.every) if opts.every else 0
        files = archive_files(args)
        keys = {"_keys": None} if every else {}
        check(TemplateCandidatesSpider, "archive", arguments | keys, settings)
        archive, empty = _open_archive(files, opts.index)
        if every:
            arguments["_keys"] = _of_each_host(archive, every)
        changes: dict[str, Any] = {
            "TPLSPIDER_ARCHIVES": [str(file) for file in archive.files],
            "TPLSPIDER_ARCHIVE_INDEX": str(archive.index),
        }
        for name in ("DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES"):
            idle = [each for each in settings[f"{name}_BASE"] if not each.endswith(_NEEDED)]
            idle += _OF_NETWORKS if name.startswith("DOWN") else ()
            changes[name] = settings.getdict(name) | dict.fromkeys(idle)
        # Scrapy writes a line for every request, which handlers leave out.
        logging.getLogger("scrapy").setLevel(settings.get("LOG_LEVEL"))
        settings.setdict(SETTINGS | changes, priority="cmdline")
        self.crawl(TemplateCandidatesSpider, arguments)
        self.exitcode = self.exitcode or int(empty > 0)


def archive_files(names: Collection[str]) -> list[Path]:
    """The files that are given; of a folder, the WARC files in it.

    Raises ValueError if one cannot be opened.
    """
    found: list[Path] = []
    for path in map(Path, names):
        try:
            is_folder = path.is_dir()
            files = sorted(path.iterdir()) if is_folder else [path]
            files = [f for f in files if not is_folder or f.name.lower().endswith(ENDINGS)]
            for file in files:
                file.open("rb").close()
        except OSError as error:
            raise ValueError(f"{error.filename!r}: {error.strerror}") from None
        found += files
    if not found:
        raise ValueError("give one or more WARC files")
    return found


def _open_archive(files: list[Path], index: str | None) -> tuple[Archive, int]:
    """Open the archive and log the faults of its files; also returns how many have no page."""
    try:
        from tplspider.sources.archive import open_archive
    except ImportError as error:
        raise ValueError(str(error)) from None
    lost: list[OSError] = []
    logger.info("Indexing: %d files", len(files))
    archive = open_archive(files, index, lost=lost.append)
    for each in lost:
        logger.error("%s: %s", each.filename, each.strerror)
    empty = len(lost)
    for path, file in archive.files.items():
        for what, count in file.faults.items():
            logger.warning("%s: %s: %d", path, what, count)
        if not file.records:
            logger.warning("%s: no pages in it", path)
            empty += bool(file.faults or not file.size)
    if not any(file.records for file in archive.files.values()):
        raise ValueError("no file is a readable WARC file with pages")
    return archive, empty


def _arguments(opts: argparse.Namespace) -> dict[str, Any]:
    if bool(opts.keys) == bool(opts.every):
        raise ValueError("give key pages: a list (-i FILE), or K pages of each host (--every K)")
    arguments: dict[str, Any] = dict(opts.spargs)
    if unknown := arguments.keys() & {"url", "urls", "warc"}:
        raise ValueError(f"-a {min(unknown)}: not for archives; give key pages with -i FILE")
    arguments |= given(opts, "summary", "texts", "report", "n")
    if opts.keys:
        arguments["urls"] = opts.keys
    if not (
        opts.output or opts.overwrite_output or arguments.keys() & {"summary", "texts", "report"}
    ):
        raise ValueError("give at least one of -O, --summary, --texts and --report")
    return arguments


async def _of_each_host(archive: Archive, most: int) -> AsyncIterator[KeyLine]:
    """The pages of each host with the smallest sample keys."""
    from tplspider.keylist import key_line

    number = 0
    with archive.open() as site:
        for host in site.sites():
            for page in islice(site.pages(host), most):
                if url := page.url:
                    number += 1
                    yield key_line(number, {"url": url}, "url", url)
