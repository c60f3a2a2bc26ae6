"""``tplspider URL``: the text of a page, and the other commands, for people without Scrapy.

They are the commands of ``scrapy``, with the default profile in place of the settings of whatever
project is around. Private addresses are refused unless ``--allow-private`` is given.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from scrapy.cmdline import ScrapyArgumentParser
from scrapy.commands import ScrapyHelpFormatter
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.exceptions import UsageError
from scrapy.settings import Settings

from tplspider import __version__, commands
from tplspider.commands import crawl
from tplspider.profiles import profile_names

NAMES = [found.name for found in iter_modules(commands.__path__) if found.name != "crawl"]


def main(arguments: list[str] | None = None) -> None:
    """Run a command; what is no command is a page, whose text is wanted."""
    crawl.program = "tplspider"
    given = sys.argv[1:] if arguments is None else arguments
    first = given[0] if given else "--help"
    if first in ("-h", "--help"):
        about = "\n".join(f"  {name:<11} {_command(name).short_desc()}" for name in NAMES)
        crawl.print_text(
            "Usage:\n  tplspider URL [URL ...] [options]    the same as tplspider text\n"
            f"  tplspider COMMAND [options]\n\nCommands:\n{about}\n\n"
            '"tplspider COMMAND -h" shows the options of a command.'
        )
    elif first == "--version":
        crawl.print_text(f"tplspider {__version__}")
    elif first in NAMES:
        _run(first, given[1:])
    elif first.isalpha() and first != "localhost":
        print(f"tplspider: error: unknown command {first!r}: see tplspider -h", file=sys.stderr)
        sys.exit(crawl.WRONG_USE)
    else:
        _run("text", given)


def _command(name: str) -> Any:
    return import_module(f"{commands.__name__}.{name}").Command()


def _run(name: str, arguments: list[str]) -> None:
    """Run one of our commands as Scrapy does, but for its settings."""
    settings = Settings()
    settings.setmodule("tplspider.profiles.default", priority="project")
    settings.setdict({"LOG_LEVEL": "WARNING", "TPLSPIDER_ALLOW_PRIVATE": False}, "project")
    command = _command(name)
    command.settings = settings
    parser = ScrapyArgumentParser(
        formatter_class=ScrapyHelpFormatter,
        prog="tplspider",
        usage=f"tplspider {name} {command.syntax()}",
        conflict_handler="resolve",
        description=command.long_desc(),
    )
    command.add_options(parser)
    # In Scrapy it is a file for the profiler.
    profiles = f"how to crawl ({', '.join(profile_names())})"
    parser.add_argument("--profile", dest="search_profile", metavar="NAME", help=profiles)
    private = "load pages at private addresses, such as 127.0.0.1"
    parser.add_argument("--allow-private", action="store_true", help=private)
    options, rest = parser.parse_known_args(arguments)
    if options.allow_private:
        settings.set("TPLSPIDER_ALLOW_PRIVATE", value=True, priority="cmdline")
    if options.search_profile is not None:
        settings.set("TPLSPIDER_PROFILE", options.search_profile, priority="cmdline")
    try:
        command.process_options(rest, options)
        if command.requires_crawler_process:
            command.crawler_process = AsyncCrawlerProcess(settings)
        command.run(rest, options)
    except UsageError as error:
        parser.error(str(error))
    sys.exit(command.exitcode)


if __name__ == "__main__":
    main()
