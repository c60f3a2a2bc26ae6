"""``scrapy ui``: search from the browser."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, NoReturn

from scrapy.commands import ScrapyCommand

if TYPE_CHECKING:
    import argparse

    from scrapy.crawler import AsyncCrawlerProcess


class Command(ScrapyCommand):
    """Serves a page on loopback, and makes the searches. It needs no project.

    In another project the searches go by its settings, but are not for its pipelines and feeds.
    """

    requires_crawler_process = False

    def syntax(self) -> str:
        return "[options]"

    def short_desc(self) -> str:
        return "Search from the browser: serve a page on this machine"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        from tplspider.profiles import profile_names  # every scrapy command imports this module

        super().add_options(parser)
        names = ", ".join(profile_names())
        add = parser.add_argument_group(title="Page").add_argument
        add("--open", action="store_true", help="open the page in the browser")
        add("--port", metavar="PORT", help="the port, which is remembered (default 8765)")
        add("--host", metavar="HOST", default="127.0.0.1", help="listen there (default 127.0.0.1)")
        add("--dir", metavar="DIR", help="the folder for searches and the token")
        add("--new-token", action="store_true", help="make a new token")
        # In Scrapy it is a file for the profiler, of which this command has no use.
        add("--profile", dest="search_profile", metavar="NAME", help=f"how to crawl ({names})")
        add("--extension", metavar="DIR", help="write the browser extension to a folder, and end")
        parser.set_defaults(profile=None)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        from tplspider.profiles import answer_by_command

        super().process_options(args, opts)
        assert self.settings is not None
        answer_by_command(self.settings)
        if opts.search_profile is not None:
            self.settings.set("TPLSPIDER_PROFILE", opts.search_profile, priority="cmdline")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        from tplspider.commands.crawl import print_text
        from tplspider.profiles import profile_names

        assert self.settings is not None
        if args and args[0].startswith("-"):
            self._refuse(f"unknown option {args[0]!r}")
        if args:
            self._refuse(f"{args[0]!r}: addresses go into the page that scrapy ui --open shows")
        if opts.search_profile is not None and opts.search_profile not in profile_names():
            names = ", ".join(profile_names())
            self._refuse(f"--profile {opts.search_profile!r}: expected one of {names}")
        try:
            from tplspider.plugins.ui.server import give_extension, prepare, run_ui
            from tplspider.plugins.ui.store import StoreError
        except ImportError as error:
            self._refuse(f"{error.name} is not installed: in a clone, pip install -e '.[ui]'")
        try:
            if opts.extension is not None:
                print_text(give_extension(opts))
                return
            prepare(self.settings)
            run_ui(opts, self._make_process, print_text)
        except (ValueError, StoreError) as error:
            self._refuse(error)
        except OSError as error:
            self._refuse(f"{error.filename}: {error.strerror}" if error.filename else error)

    def _make_process(self) -> AsyncCrawlerProcess:
        from scrapy.crawler import AsyncCrawlerProcess
        from scrapy.settings import SETTINGS_PRIORITIES

        from tplspider.log_sanitizer import guard_log

        assert self.settings is not None
        os.environ["TQDM_DISABLE"] = "1"  # the progress bar is for crawls
        process = AsyncCrawlerProcess(self.settings)
        guard_log()
        if (self.settings.getpriority("LOG_LEVEL") or 0) < SETTINGS_PRIORITIES["cmdline"]:
            # The UI says why a page failed; Scrapy would print a traceback.
            logging.getLogger("scrapy").setLevel(logging.CRITICAL)
        return process

    def _refuse(self, why: object) -> NoReturn:
        from tplspider.commands.crawl import refuse

        assert self.settings is not None
        refuse("ui", str(why), self.settings)
