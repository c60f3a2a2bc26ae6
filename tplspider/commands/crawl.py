"""``scrapy crawl``, which checks the spider's arguments before anything starts."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.commands.crawl import Command as CrawlCommand
from scrapy.exceptions import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from scrapy import Spider
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)


class Command(CrawlCommand):
    """Scrapy's own command; a spider with a ``check_arguments`` method has it called first."""

    _refused: Sequence[str] = ()  # the names of settings that a job may not give
    _crawler_of_run: Crawler | None = None

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.settings
        # Before they are in force: a setting can name any code, and the file of the log.
        if (allowed := self.settings.get("TPLSPIDER_JOB_SETTINGS")) is not None:
            from tplspider.confined import split_settings

            opts.set, self._refused = split_settings(opts.set, allowed)
        super().process_options(args, opts)

    def _create_crawler(self, spidercls: type[Spider] | str) -> Crawler:
        self._crawler_of_run = super()._create_crawler(spidercls)
        return self._crawler_of_run

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.crawler_process
        loader = self.crawler_process.spider_loader
        if len(args) == 1 and args[0] in loader.list():
            fault = self._fault(loader.load(args[0]), opts.spargs)
            if fault:
                logger.error(fault)
                raise UsageError(fault, print_help=False)
        super().run(args, opts)
        watch = getattr(self._crawler_of_run and self._crawler_of_run.spider, "output_watch", None)
        if watch and watch.any_lost:
            self.exitcode = 1

    def _fault(self, spider_class: type[Spider], arguments: dict[str, str]) -> str:
        check = getattr(spider_class, "check_arguments", None)
        if self._refused:
            return f"settings that jobs may not give here: {', '.join(self._refused)}"
        try:
            if check:
                check(arguments, self.settings)
        except ValueError as error:
            return str(error)
        return ""
