"""``scrapy crawl`` in this project: arguments are checked first, exit statuses say how it ended.

| status | meaning |
|---|---|
| 0 | every key page is answered: complete, partial or unusable |
| 1 | something is lost: an output, an item, a line of a list; or there is no text to print |
| 2 | wrong use: nothing was requested |
| 3 | with TPLSPIDER_FAIL: a key page that is unusable, or an answer that is not complete |
"""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, NoReturn

from scrapy.commands.crawl import Command as CrawlCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

LOST, WRONG_USE, NOT_FOUND = 1, 2, 3

program = "scrapy"  # its name in messages


class Command(CrawlCommand):
    """Scrapy's own command; if the spider is ours, its arguments are checked first."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        from tplspider.addon import is_ours
        from tplspider.log_sanitizer import guard_log

        assert self.crawler_process
        assert self.settings is not None
        name = args[0] if len(args) == 1 else ""
        if name not in self.crawler_process.spider_loader.list():
            super().run(args, opts)
            return
        spider_class: Any = self.crawler_process.spider_loader.load(name)
        if not is_ours(spider_class, any_of_them=True):
            super().run(args, opts)
            return
        guard_log()
        check(spider_class, "crawl", opts.spargs, self.settings)
        crawler = self.crawler_process.create_crawler(spider_class)
        self.crawler_process.crawl(crawler, **opts.spargs)
        self.crawler_process.start()
        self.exitcode = exit_status(crawler)


def check(
    spider_class: Any, command: str, arguments: Mapping[str, Any], settings: BaseSettings
) -> None:
    """End a command whose spider cannot begin with these arguments."""
    _allow_open_files()
    try:
        spider_class.check(dict(arguments), settings)
    except ValueError as error:
        refuse(command, str(error), settings)


def _allow_open_files() -> None:
    """Scrapy keeps a connection to each site for four minutes: a list may need many files."""
    with suppress(ImportError, OSError, ValueError):  # not on Windows
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def refuse(command: str, why: str, settings: BaseSettings) -> NoReturn:
    """End a command that cannot do what it was asked for, with one line that says why.

    Where the log goes to a file, as on a server, the line is there as well.
    """
    from tplspider.log_sanitizer import printable

    if settings.get("LOG_FILE"):
        logger.error(why)
    print(f"{program} {command}: error: {printable(why)}", file=sys.stderr)
    raise SystemExit(WRONG_USE)


def exit_status(crawler: Crawler) -> int:
    """The exit status for a crawl of ours that is over."""
    from tplspider.web.page import BAD_INPUT

    counts = getattr(crawler.spider, "counts", None)
    if counts is None or (not counts.answered and not counts.is_finished):
        if counts is None or not counts.lost:
            logger.error("Interrupted before the crawl started")
        return LOST
    if not counts.is_finished and not counts.lost:
        logger.warning("Ended early: not all key pages were answered")
    names = [n for n in crawler.stats.get_stats() if n.startswith("feedexport/failed_count")]
    lost = counts.lost or crawler.stats.get_value("tplspider/lost_outputs") or names
    before = counts.earlier
    if not counts.answered and before:
        wrong = f", {before[BAD_INPUT]} as {BAD_INPUT}" if before[BAD_INPUT] else ""
        logger.info("All lines were answered in earlier runs%s", wrong)
    if lost or not counts.is_finished or BAD_INPUT in {*counts.unusable, *before}:
        return LOST
    fail = crawler.settings.get("TPLSPIDER_FAIL")
    unusable = counts.unusable or before.keys() - {"complete", "partial"}
    if (fail and unusable) or (fail == "incomplete" and (counts.partial or before["partial"])):
        return NOT_FOUND
    return 0


def print_text(text: str) -> bool:
    """Print what a terminal of any encoding can show; whether that could be done.

    A reader that has gone, as in ``| head``, has read enough.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        print(text, flush=True)
    except OSError as error:
        # Python would flush once more at its end, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return True
        print(f"{program}: error: standard output: {error}", file=sys.stderr)
        return False
    return True
