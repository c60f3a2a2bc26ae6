"""``scrapy shard``: a list of key pages in parts for several machines, and their results joined."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tplspider.command import LOST, OurCommand, whole_number

if TYPE_CHECKING:
    import argparse


class Command(OurCommand):
    """Splits a list by host, or joins the results of its parts. Nothing is crawled."""

    requires_crawler_process = False
    usage = "LIST -O DIR --count N | [DIR] --join RESULTS -O FILE"
    summary = "Split a list of key pages for several machines, and join the results"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument_group(title="Shard").add_argument
        add("-O", dest="output", metavar="DIR|FILE", help="a folder; with --join, a .jl or .csv")
        add("--count", metavar="N", help="how many shards to write")
        add("--pages", metavar="N", help="or: about how many lines each shard has")
        about = "what stays together (default host)"
        add("--scope", choices=["host", "domain"], default="host", help=about)
        add("--column", default="", help="the column with the addresses (default url)")
        add("--join", metavar="RESULTS", help="a folder with a result for each shard of DIR")

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        import sqlite3
        import zlib

        from tplspider.log_sanitizer import printable

        faults: list[str] = []
        try:
            if opts.join:
                faults = _join(args, opts)
            else:
                self.print(_split(args, opts))
        # A damaged list, a full disk.
        except (OSError, EOFError, zlib.error, sqlite3.Error) as error:
            faults = [str(error)]
        for fault in faults:
            print(f"scrapy shard: error: {printable(fault)}", file=sys.stderr)
            self.exitcode = LOST


def _split(args: list[str], opts: argparse.Namespace) -> str:
    from tplspider.keylist import KeyList
    from tplspider.shards import split

    if len(args) != 1 or not opts.output:
        raise ValueError("give a list and a folder: scrapy shard LIST -O DIR --count N")
    if (opts.count is None) == (opts.pages is None):
        raise ValueError("give --count or --pages")
    name = "pages" if opts.count is None else "count"
    size = {name: whole_number(f"--{name}", getattr(opts, name))}
    folder = Path(opts.output)
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise ValueError(f"{folder}: expected a new or empty folder")
    try:
        lines = KeyList(args[0], opts.column)
    except ValueError as error:
        raise ValueError(f"{args[0]}: {error}") from None
    made = split(lines, folder, **size, scope=opts.scope)
    largest = max(shard["lines"] for shard in made["shards"])
    return (
        f"{made['lines']} lines and {made['sites']} hosts, none of them split, in"
        f" {len(made['shards'])} shards in {folder}; the largest has {largest} lines"
    )


def _join(args: list[str], opts: argparse.Namespace) -> list[str]:
    from tplspider.shards import join

    if len(args) > 1 or not str(opts.output).endswith((".jl", ".csv")):
        raise ValueError("give a file .jl or .csv: scrapy shard DIR --join RESULTS -O all.jl")
    results = Path(opts.join)
    return join(results, Path(opts.output), Path(args[0]) if args else results)
