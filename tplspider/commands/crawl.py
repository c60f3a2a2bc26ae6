"""``scrapy crawl``, which checks the arguments of our spider before anything starts.

Where this package is installed it takes the place of Scrapy's own command, in every project. So it
turns into that command, and nothing of ours is left, unless the spider is one of ours.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

from scrapy.commands.crawl import Command as CrawlCommand
from scrapy.utils.misc import load_object
from scrapy.utils.project import inside_project

from tplspider.old.crawl.own_spider import is_ours

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from scrapy import Spider
    from scrapy.crawler import Crawler, CrawlerProcessBase

logger = logging.getLogger(__name__)

_OUR_SPIDER = "template_candidates"


class Command(CrawlCommand):
    """Scrapy's own command; if the spider is ours, its arguments are checked first."""

    _args: tuple[str, ...] = ()
    _process: CrawlerProcessBase | None = None
    _crawler_of_run: Crawler | None = None
    _refused: Sequence[str] = ()  # the names of settings that a job may not give

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

    @property
    def crawler_process(self) -> CrawlerProcessBase | None:
        """What runs the crawl and loads the spider. Scrapy sets it right before it calls run()."""
        return self._process

    @crawler_process.setter
    def crawler_process(self, process: CrawlerProcessBase | None) -> None:
        self._process = process
        if process and not self._spider_is_ours(process):
            self._check_fields(process)
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

    def _check_fields(self, process: CrawlerProcessBase) -> None:
        """Of a spider that is not ours, check what it asks for, if it does.

        The middleware does so as well, for those who start spiders otherwise; but by then feeds are
        open, and what was in their files may be gone.
        """
        try:
            custom = process.spider_loader.load(*self._args[:1]).custom_settings or {}
        except Exception:  # noqa: BLE001 - as above
            return
        if custom.get("TPLSPIDER_FIELDS") or process.settings.get("TPLSPIDER_FIELDS"):
            from tplspider.addon import is_on
            from tplspider.old.crawl.exit_status import refuse
            from tplspider.old.crawl.fields.check import check_fields

            settings = process.settings.copy()
            settings.setdict(custom, priority="spider")
            try:
                check_fields(settings)
            except ValueError as error:
                refuse("crawl", error, settings)
            if not is_on(settings):
                logger.warning(
                    "TPLSPIDER_FIELDS has no effect: the add-on is not on"
                    ' (ADDONS = {"tplspider.addon.Addon": 500})'
                )

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.settings
        # Before they are in force: a setting can name any code, and the file of the log.
        if (allowed := self.settings.get("TPLSPIDER_JOB_SETTINGS")) is not None:
            from tplspider.old.crawl.outputs.confined import split_settings

            opts.set, self._refused = split_settings(opts.set, allowed)
        super().process_options(args, opts)
        self._args = tuple(args)
        # Here as well as in run(): on a terminal, a wrong argument needs no banner before it.
        is_known = "tplspider.spiders" in self.settings.getlist("SPIDER_MODULES")
        if args == [_OUR_SPIDER] and is_known and not self.settings.get("LOG_FILE"):
            self._check(
                load_object("tplspider.spiders.template_candidates.TemplateCandidatesSpider"), opts
            )

    def _create_crawler(self, spidercls: type[Spider] | str) -> Crawler:
        self._crawler_of_run = super()._create_crawler(spidercls)
        return self._crawler_of_run

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        # Here and not above: every scrapy command imports this module.
        from tplspider.old.crawl.exit_status import LOST, exit_status
        from tplspider.old.crawl.harmless_log import guard_log

        assert self.crawler_process
        guard_log()
        try:
            self._check(self.crawler_process.spider_loader.load(args[0]), opts)
            super().run(args, opts)
        except KeyboardInterrupt:
            logger.error("Ended before the search had begun: nothing was requested or written")  # noqa: TRY400
            self.exitcode = LOST
            return
        if self._crawler_of_run:
            self.exitcode = self.exitcode or exit_status(self._crawler_of_run)

    def _check(self, spider_class: type[Spider], opts: argparse.Namespace) -> None:
        from tplspider.old.crawl.exit_status import refuse
        from tplspider.old.crawl.preflight import check_crawl

        assert self.settings is not None
        if self._refused:
            names = ", ".join(self._refused)
            refuse("crawl", f"settings that jobs may not give here: {names}", self.settings)
        try:
            check_crawl(spider_class, opts.spargs, self.settings)
        except ValueError as error:
            refuse("crawl", error, self.settings)
