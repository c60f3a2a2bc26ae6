"""``scrapy crawl`` in this project: of our spiders, the arguments are checked first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.commands.crawl import Command as CrawlCommand

if TYPE_CHECKING:
    import argparse


class Command(CrawlCommand):
    """Scrapy's own command; for our spiders, exit statuses say how the crawl ended."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        from tplspider.addon import is_ours
        from tplspider.command import crawl
        from tplspider.log_sanitizer import guard_log

        process: Any = self.crawler_process
        known = len(args) == 1 and args[0] in process.spider_loader.list()
        spider_class = process.spider_loader.load(args[0]) if known else None
        if spider_class is None or not is_ours(spider_class, any_of_them=True):
            super().run(args, opts)
            return
        guard_log()
        self.exitcode = crawl(process, "crawl", spider_class, opts.spargs)
