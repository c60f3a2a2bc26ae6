"""``scrapy queue``: the queue of a fleet, filled, watched and emptied."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from scrapy.commands import ScrapyCommand

if TYPE_CHECKING:
    import argparse

# The actions, and the options that each of them knows beside -q.
_ACTIONS = {
    "put": ("column", "label"),
    "status": ("watch", "metrics"),
    "results": ("candidates", "summary", "template", "final", "follow", "trim", "rest"),
    "retry": (),
    "clear": ("yes", "force"),
}


class Command(ScrapyCommand):
    """Everything but the workers, which are crawls with ``-a queue=NAME``. It needs no project."""

    requires_crawler_process = False

    def syntax(self) -> str:
        return f"{'|'.join(_ACTIONS)} [FILE] [options]"

    def short_desc(self) -> str:
        return "Fill, watch and empty the queue of a fleet"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument_group(title="Queue").add_argument
        add(
            "-q",
            "--queue",
            metavar="NAME",
            default="tplspider",
            help="the queue (tplspider if none is given)",
        )
        add("--column", metavar="NAME", help="for put, where the addresses are, if not in url")
        add("--as", dest="label", metavar="NAME", help="for put, by what name the list is known")
        add("--watch", action="store_true", help="for status, again and again, until Ctrl-C")
        add("--metrics", action="store_true", help="for status, for Prometheus")
        add(
            "-O",
            dest="candidates",
            metavar="FILE",
            help="for results, the candidates (.jl or .csv)",
        )
        add("--summary", metavar="FILE", help="for results, the summaries")
        add("--template", metavar="FILE", help="for results, the templates, if workers make them")
        add(
            "--final", action="store_true", help="for results, wait for the end, last attempts only"
        )
        add(
            "--follow", action="store_true", help="for results, go on with what comes, until Ctrl-C"
        )
        add("--trim", action="store_true", help="for results, delete in Redis what is on the disk")
        add("--rest", action="store_true", help="for results, although some were deleted unread")
        add("--yes", action="store_true", help="for clear, do it")
        add("--force", action="store_true", help="for clear, although workers are at it")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        # Here and not above: every scrapy command imports this module.
        from tplspider.crawl.exit_status import LOST
        from tplspider.crawl.fleet.actions import run_action
        from tplspider.crawl.fleet.interrupted import run_until_interrupted
        from tplspider.crawl.fleet.link import QueueError, QueueLostError
        from tplspider.crawl.fleet.open_queue import StoppedError
        from tplspider.crawl.harmless_log import guard_log, harmless
        from tplspider.crawl.printing import print_error

        guard_log()
        action = self._checked(args, opts)
        assert self.settings is not None
        try:
            self.exitcode = run_until_interrupted(run_action(action, args[1:], opts, self.settings))
        except (StoppedError, QueueLostError) as error:
            print_error(f"scrapy queue: {harmless(str(error))}")
            self.exitcode = LOST
        except (ValueError, QueueError, OSError) as error:
            self._refuse(error)
        except KeyboardInterrupt:
            self.exitcode = 0 if opts.watch or opts.follow else LOST

    def _checked(self, args: list[str], opts: argparse.Namespace) -> str:
        if unknown := [arg for arg in args if arg.startswith("-") and arg != "-"]:
            self._refuse(f"unknown option {unknown[0]!r}")
        if not args or args[0] not in _ACTIONS:
            self._refuse(f"expected one of {', '.join(_ACTIONS)}")
        action, *more = args
        if len(more) != (action == "put"):
            self._refuse("put FILE: give one list" if action == "put" else f"{action}: no {more}")
        for owner, options in _ACTIONS.items():
            for name in options:
                if owner != action and getattr(opts, name):
                    option = {"label": "--as", "candidates": "-O"}.get(name, f"--{name}")
                    self._refuse(f"{option} is an option of {owner}, not of {action}")
        if action == "results" and not (opts.candidates or opts.summary or opts.template):
            self._refuse("results: give at least one of -O, --summary and --template")
        if opts.final and (opts.follow or opts.trim):
            self._refuse("--final: not together with --follow or --trim")
        if opts.watch and opts.metrics:
            self._refuse("--watch: not together with --metrics")
        return action

    def _refuse(self, why: object) -> NoReturn:
        from tplspider.crawl.exit_status import refuse

        assert self.settings is not None
        refuse("queue", why, self.settings)
