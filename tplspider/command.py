"""What our commands share: wrong use, a crawl, the exit status.

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
from abc import abstractmethod
from contextlib import suppress
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, NoReturn

from scrapy.commands import ScrapyCommand
from scrapy.settings import SETTINGS_PRIORITIES

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from tplspider.results import SearchAnswer

logger = logging.getLogger(__name__)

LOST, WRONG_USE, NOT_FOUND = 1, 2, 3

program = "scrapy"  # its name in messages


class OurCommand(ScrapyCommand):
    """A command that needs no project, and reports wrong use.

    In another project it goes by its settings, but its rows are not for its pipelines and feeds.
    Commands import what they need when they run: every ``scrapy`` command loads all of them.
    """

    usage = summary = ""
    logs_all = False  # or warnings only, unless a log level is set
    settings: Any  # set by Scrapy, as is the process
    crawler_process: Any

    def syntax(self) -> str:
        return self.usage

    def short_desc(self) -> str:
        return self.summary

    @property
    def name(self) -> str:
        return type(self).__module__.rpartition(".")[2]

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        if program == "tplspider":
            parser.prog, parser.usage = program, f"{program} {self.name} {self.usage}"
            private = "load pages at private addresses, such as 127.0.0.1"
            parser.add_argument("--allow-private", action="store_true", help=private)
            add_profile(parser)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        from tplspider.profiles import keep_apart

        keep_apart(self.settings)
        if not self.logs_all:
            self.settings.set("LOG_LEVEL", "WARNING", priority=30)
        super().process_options(args, opts)
        if getattr(opts, "allow_private", False):
            self.settings.set("TPLSPIDER_ALLOW_PRIVATE", value=True, priority="cmdline")
        if (profile := getattr(opts, "search_profile", None)) is not None:
            self.settings.set("TPLSPIDER_PROFILE", profile, priority="cmdline")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        from tplspider.log_sanitizer import guard_log

        guard_log()
        if unknown := [each for each in args if each.startswith("-")]:
            guess = ": did you mean -O?" if unknown[0] == "-o" and "-O" in self.usage else ""
            refuse(self.name, f"unknown option {unknown[0]!r}{guess}", self.settings)
        try:
            self.work(args, opts)
        except ValueError as error:
            refuse(self.name, str(error), self.settings)
        except OSError as error:
            named = f"{error.filename}: {error.strerror}" if error.filename else str(error)
            refuse(self.name, named, self.settings)

    @abstractmethod
    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        """Run the command. Raises ValueError or OSError if that fails."""

    def crawl(
        self,
        spider_class: Any,
        arguments: Mapping[str, Any],
        take: Callable[[SearchAnswer], object] | None = None,
    ) -> None:
        """Check the arguments, and run a spider of ours; *take* gets the answers."""
        self.exitcode = crawl(self.crawler_process, self.name, spider_class, arguments, take)

    def print(self, text: str) -> None:
        """Print an answer; if that fails, it is lost."""
        if not print_text(text):
            self.exitcode = LOST

    def silence_scrapy(self) -> None:
        """Leave out Scrapy's tracebacks: we report in a line why a page failed."""
        if (self.settings.getpriority("LOG_LEVEL") or 0) < SETTINGS_PRIORITIES["cmdline"]:
            logging.getLogger("scrapy").setLevel(logging.CRITICAL)


def add_profile(parser: Any) -> None:
    """Add the option for a profile; in Scrapy's commands it is a file for the profiler."""
    from tplspider.profiles import profile_names

    help_text = f"how to crawl ({', '.join(profile_names())})"
    parser.add_argument("--profile", dest="search_profile", metavar="NAME", help=help_text)
    parser.set_defaults(profile=None)


def given(opts: argparse.Namespace, *names: str) -> dict[str, Any]:
    """The options of these names that are on the command line, as arguments of a spider."""
    return {name: value for name in names if (value := getattr(opts, name)) is not None}


def whole_number(name: str, value: str) -> int:
    """The value of an option that is a whole number above 0."""
    from tplspider.arguments import whole_number as parser

    try:
        return parser(1)(value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def crawl(
    process: Any,
    command: str,
    spider_class: Any,
    arguments: Mapping[str, Any],
    take: Callable[[SearchAnswer], object] | None = None,
) -> int:
    """Check the arguments, run a spider of ours, and return the exit status."""
    from tplspider import signals

    check(spider_class, command, arguments, process.settings)
    crawler = process.create_crawler(spider_class)
    if take:
        crawler.signals.connect(take, signal=signals.line_answered)
    process.crawl(crawler, **arguments)
    process.start()
    return exit_status(crawler)


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
    """End a command that cannot do its work, with the reason.

    Where the log goes to a file, as on a server, the line is there as well.
    """
    from tplspider.log_sanitizer import printable

    if settings.get("LOG_FILE"):
        logger.error(why)
    print(f"{program} {command}: error: {printable(why)}", file=sys.stderr)
    raise SystemExit(WRONG_USE)


def exit_status(crawler: Crawler) -> int:
    """The exit status of a finished crawl of ours."""
    from tplspider.web.page import BAD_INPUT

    counts = getattr(crawler.spider, "counts", None)
    if counts is None or (not counts.answered and not counts.is_finished):
        if counts is None or not counts.lost:
            logger.error("Interrupted before the first answer")
        return LOST
    if not counts.is_finished and not counts.lost:
        logger.warning("Ended early: not all key pages were answered")
    names = [n for n in crawler.stats.get_stats() if n.startswith("feedexport/failed_count")]
    lost = counts.lost or crawler.stats.get_value("tplspider/lost_outputs") or names
    before = counts.earlier
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
