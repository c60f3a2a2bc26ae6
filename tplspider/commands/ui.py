"""``scrapy ui``: search from the browser."""

from __future__ import annotations

import argparse
from typing import NoReturn

from scrapy.commands import ScrapyCommand


class Command(ScrapyCommand):
    """Serves a page on loopback; a process beside it makes the searches. It needs no project.

    In another project the searches go by its settings, but are not for its pipelines and feeds.
    """

    requires_crawler_process = False

    def syntax(self) -> str:
        return "[options]"

    def short_desc(self) -> str:
        return "Search from the browser: a page on this machine"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        # Here and not above: every scrapy command imports this module.
        from tplspider.profiles import profile_names

        super().add_options(parser)
        names = ", ".join(profile_names())
        add = parser.add_argument_group(title="Page").add_argument
        add("--open", action="store_true", help="open it in the browser")
        add("--port", metavar="PORT", help="the port, from now on (8765 if none was ever given)")
        add("--host", metavar="HOST", default="127.0.0.1", help="listen there (127.0.0.1)")
        add("--dir", metavar="DIR", help="where searches and the token are kept")
        add("--new-token", action="store_true", help="make a new token, and sign all browsers out")
        # In Scrapy it is a file for the profiler, of which this command has no use.
        add("--profile", dest="search_profile", metavar="NAME", help=f"how to crawl ({names})")
        add("--extension", metavar="DIR", help="write the button for browsers to a folder, and end")
        add("--worker", action="store_true", help=argparse.SUPPRESS)
        parser.set_defaults(profile=None)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        from tplspider.profiles import answer_by_command

        super().process_options(args, opts)
        assert self.settings is not None
        answer_by_command(self.settings)
        # The page tells of each search what could not be loaded.
        self.settings.set("RETRY_GIVE_UP_LOG_LEVEL", "INFO", priority=30)
        if opts.search_profile is not None:
            self.settings.set("TPLSPIDER_PROFILE", opts.search_profile, priority="cmdline")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        from scrapy.utils.log import configure_logging

        from tplspider.log_sanitizer import guard_log
        from tplspider.old.crawl.ui.extension import give_extension
        from tplspider.old.crawl.ui.serve import (
            check_settings,
            run_ui,
            turn_settings,
            worker_command,
        )
        from tplspider.old.crawl.ui.worker import run_worker
        from tplspider.plugins.ui.store import StoreError
        from tplspider.profiles import profile_names
        from tplspider.spiders.template_candidates import TemplateCandidatesSpider

        assert self.settings is not None
        if args:
            if args[0].startswith("-"):
                self._refuse(f"unknown option {args[0]!r}")
            self._refuse(f"{args[0]!r}: addresses go into the page that scrapy ui --open shows")
        if opts.search_profile is not None and opts.search_profile not in profile_names():
            names = ", ".join(profile_names())
            self._refuse(f"--profile {opts.search_profile!r}: expected one of {names}")
        turn_settings(self.settings)
        if opts.worker:
            run_worker(self.settings, TemplateCandidatesSpider)
            return
        configure_logging(self.settings)
        guard_log()
        try:
            if opts.extension is not None:
                give_extension(opts)
                return
            check_settings(TemplateCandidatesSpider, self.settings)
            run_ui(opts, worker_command(_passed_on(opts)))
        except (ValueError, StoreError) as error:
            self._refuse(error)
        except OSError as error:
            self._refuse(f"{error.filename}: {error.strerror}" if error.filename else error)

    def _refuse(self, why: object) -> NoReturn:
        from tplspider.commands.crawl import refuse

        assert self.settings is not None
        refuse("ui", str(why), self.settings)


def _passed_on(opts: argparse.Namespace) -> list[str]:
    """The options that the worker goes by, as they were given."""
    given = [f"--set={pair}" for pair in opts.set]
    given += [f"--loglevel={opts.loglevel}"] if opts.loglevel else []
    given += [f"--logfile={opts.logfile}"] if opts.logfile else []
    given += ["--nolog"] if opts.nolog else []
    profile = opts.search_profile
    return [*given, *([f"--profile={profile}"] if profile is not None else [])]
