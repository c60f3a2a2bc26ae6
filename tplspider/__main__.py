"""``tplspider URL``: the text of a page, and the other commands, for people without Scrapy.

They are the commands of ``scrapy``, with the default profile in place of the settings of any
project is around. Private addresses are refused unless ``--allow-private`` is given.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pkgutil import iter_modules

from scrapy.cmdline import execute
from scrapy.settings import Settings

from tplspider import __version__, command, commands

NAMES = [found.name for found in iter_modules(commands.__path__) if found.name != "crawl"]


def main(arguments: list[str] | None = None) -> None:
    """Run a command; anything else is the address of a page, whose text is printed."""
    command.program = "tplspider"
    given = sys.argv[1:] if arguments is None else arguments
    first = given[0] if given else "--help"
    if first in ("-h", "--help"):
        modules = {name: import_module(f"{commands.__name__}.{name}") for name in NAMES}
        about = "\n".join(f"  {name:<11} {one.Command.summary}" for name, one in modules.items())
        command.print_text(
            "Usage:\n  tplspider URL [URL ...] [options]    the same as tplspider text\n"
            f"  tplspider COMMAND [options]\n\nCommands:\n{about}\n\n"
            '"tplspider COMMAND -h" shows the options of a command.'
        )
    elif first == "--version":
        command.print_text(f"tplspider {__version__}")
    elif first in NAMES:
        _run(first, given[1:])
    elif first.isalpha() and first != "localhost":
        print(f"tplspider: error: unknown command {first!r}: see tplspider -h", file=sys.stderr)
        sys.exit(command.WRONG_USE)
    else:
        _run("text", given)


def _run(name: str, arguments: list[str]) -> None:
    """Run one of our commands as Scrapy does, but for its settings."""
    settings = Settings()
    settings.setmodule("tplspider.profiles.default", priority="project")
    settings.setdict({"LOG_LEVEL": "WARNING", "TPLSPIDER_ALLOW_PRIVATE": False}, "project")
    execute([command.program, name, *arguments], settings)


if __name__ == "__main__":
    main()
