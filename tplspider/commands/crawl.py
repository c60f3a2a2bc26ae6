"""``scrapy crawl``, which checks the spider's arguments before anything starts."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.commands.crawl import Command as CrawlCommand
from scrapy.exceptions import UsageError

if TYPE_CHECKING:
    import argparse

    from scrapy import Spider

logger = logging.getLogger(__name__)


class Command(CrawlCommand):
    """Scrapy's own command; a spider with a ``check_arguments`` method has it called first."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.crawler_process
        loader = self.crawler_process.spider_loader
        if len(args) == 1 and args[0] in loader.list():
            fault = self._fault(loader.load(args[0]), opts.spargs)
            if fault:
                logger.error(fault)
                raise UsageError(fault, print_help=False)
        super().run(args, opts)

    def _fault(self, spider_class: type[Spider], arguments: dict[str, str]) -> str:
        check = getattr(spider_class, "check_arguments", None)
        try:
            if check:
                from tplspider.harmless_log import guard_log

                guard_log()
                check(arguments, self.settings)
        except ValueError as error:
            return str(error)
        return ""
