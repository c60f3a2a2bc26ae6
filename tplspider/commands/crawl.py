"""``scrapy crawl``, which checks the arguments of our spider before anything starts.

Where this package is installed it takes the place of Scrapy's own command, in every project. So it
turns into that command, and nothing of ours is left, unless the spider is one of ours.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

from scrapy.commands.crawl import Command as CrawlCommand
from scrapy.exceptions import UsageError
from scrapy.utils.project import inside_project

from tplspider.own_spider import is_ours

if TYPE_CHECKING:
    import argparse

    from scrapy.crawler import CrawlerProcessBase

logger = logging.getLogger(__name__)


class Command(CrawlCommand):
    """Scrapy's own command; if the spider is ours, its arguments are checked first."""

    _args: tuple[str, ...] = ()
    _process: CrawlerProcessBase | None = None

    def short_desc(self) -> str:
        # Scrapy lists commands of installed packages everywhere, also those that need a project.
        where = "" if inside_project() else " (inside a project)"
        return super().short_desc() + where

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Outside of a project, say what Scrapy says of its own command there."""
        if not inside_project():
            # Not above: if Scrapy renames them, no other command of the environment shall break.
            from scrapy.cmdline import _get_project_only_cmds, _print_header

            assert self.settings is not None
            _print_header(self.settings, inproject=False)
            names = sorted({*_get_project_only_cmds(self.settings), "crawl"})
            print("The crawl command is not available from this location.")
            print(f"These commands are only available from within a project: {', '.join(names)}.\n")
            print('Use "scrapy" to see available commands')
            sys.exit(2)
        super().add_options(parser)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        self._args = tuple(args)

    @property
    def crawler_process(self) -> CrawlerProcessBase | None:
        """What runs the crawl and loads the spider. Scrapy sets it right before it calls run()."""
        return self._process

    @crawler_process.setter
    def crawler_process(self, process: CrawlerProcessBase | None) -> None:
        self._process = process
        if process and not self._spider_is_ours(process):
            # Not even a traceback shows that this command was here.
            self.__class__ = CrawlCommand  # type: ignore[assignment]  # what it is derived from
            self.crawler_process = process

    def _spider_is_ours(self, process: CrawlerProcessBase) -> bool:
        if len(self._args) != 1:
            return False
        try:
            return is_ours(process.spider_loader.load(self._args[0]))
        except Exception:  # noqa: BLE001 - Scrapy's own command meets it again
            return False

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.crawler_process
        spider_class = self.crawler_process.spider_loader.load(args[0])
        try:
            spider_class.check_arguments(opts.spargs, self.settings)  # type: ignore[attr-defined]
        except ValueError as error:
            logger.error(error)  # noqa: TRY400 - one line
            raise UsageError(str(error), print_help=False) from None
        super().run(args, opts)
