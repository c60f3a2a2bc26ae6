"""``scrapy ui``: search from the browser."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tplspider.command import OurCommand, add_profile

if TYPE_CHECKING:
    import argparse

    from scrapy.crawler import AsyncCrawlerProcess


class Command(OurCommand):
    """Serves a page on loopback, and makes the searches."""

    requires_crawler_process = False

    usage = "[options]"
    summary = "Search from the browser: serve a page on this machine"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument_group(title="Page").add_argument
        add("--open", action="store_true", help="open the page in the browser")
        add("--port", metavar="PORT", help="the port, which is remembered (default 8765)")
        add("--dir", metavar="DIR", help="the folder for searches and the token")
        add("--extension", metavar="DIR", help="write the browser extension to a folder, and end")
        add_profile(parser)

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        from tplspider.command import check, print_text
        from tplspider.spiders.template_candidates import TemplateCandidatesSpider

        if args:
            raise ValueError(f"{args[0]!r}: addresses go into the page that scrapy ui --open shows")
        try:
            from tplspider.plugins.ui.server import give_extension, prepare, run_ui
        except ImportError as error:
            missing = f"{error.name} is not installed: in a clone, pip install -e '.[ui]'"
            raise ValueError(missing) from None
        if opts.extension is not None:
            self.print(give_extension(opts))
        else:
            prepare(self.settings)
            check(TemplateCandidatesSpider, self.name, {"_keys": None}, self.settings)
            run_ui(opts, self._make_process, print_text)

    def _make_process(self) -> AsyncCrawlerProcess:
        from scrapy.crawler import AsyncCrawlerProcess

        from tplspider.log_sanitizer import guard_log

        os.environ["TQDM_DISABLE"] = "1"  # the progress bar is for crawls
        process = AsyncCrawlerProcess(self.settings)
        guard_log()
        self.silence_scrapy()
        return process
