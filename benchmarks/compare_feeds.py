"""Compares what two checkouts write, by their commands alone: rows, log lines, stats.

    python -m benchmarks.compare_feeds OLD NEW [--parts crawls,list] [--quick]
        [--ignore search_id,requested_url] [--rename n=size,TPLSPIDER_FAIL=FAIL_ON]

Each runs in an environment of its own, made from its requirements and kept; both ask the same
servers, on loopback. Exits with 1 when something differs, and says which rows do, and in which
columns. ``--ignore`` takes columns out of the rows of both, and stats; or an output, such as
``log``. ``--rename`` is for what NEW calls otherwise: arguments, settings, commands; columns of
lists (``column:n=tpl_n``) and of rows (``row:members=candidates``). Times are not compared, nor is
what depends on the order of arrival, where several requests are in flight.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING

from benchmarks.checkouts import Checkout, add_options, chosen_checkouts
from benchmarks.compared_archives import archive_part, strip_part, warc_part
from benchmarks.compared_crawls import crawls_part, demo_part
from benchmarks.compared_lists import list_part, templates_part
from benchmarks.compared_projects import fields_part
from benchmarks.compared_rows import differences, with_columns_renamed

if TYPE_CHECKING:
    from benchmarks.compared_commands import Case

PARTS = {
    "demo": demo_part,
    "crawls": crawls_part,
    "list": list_part,
    "templates": templates_part,
    "warc": warc_part,
    "archive": archive_part,
    "strip": strip_part,
    "fields": fields_part,
}


def compare(checkouts: tuple[Checkout, Checkout], options: argparse.Namespace) -> int:
    """Print what differs, part by part; how many cases differ."""
    return sum(compare_part(name, checkouts, options) for name in options.parts)


def compare_part(
    name: str, checkouts: tuple[Checkout, Checkout], options: argparse.Namespace
) -> int:
    """Print what differs in one part; how many of its cases do."""
    start = time.monotonic()
    old, new = checkouts

    def pair(case: Case) -> list[str]:
        ignored = {*options.ignore, *case.ignored}
        before = with_columns_renamed(case.run(old), new.renames)
        return [*differences(before, case.run(new), ignored, ordered=case.ordered)]

    differing = 0
    with ExitStack() as stack, ThreadPoolExecutor(options.jobs) as threads:
        todo = [*PARTS[name](stack, options)]
        for case, found in zip(todo, threads.map(pair, todo), strict=True):
            if found:
                differing += 1
                print(f"DIFFERENT: {name}: {case.title}", *found, sep="\n  ", flush=True)
    seconds = time.monotonic() - start
    print(f"{name}: {differing or 'none'} of {len(todo)} different ({seconds:.0f} s)", flush=True)
    return differing


def main() -> None:
    """Compare as the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add_options(parser)
    every = ",".join(PARTS)
    parser.add_argument(
        "--parts", default=[*PARTS], type=_parts, help=f"only these, with commas: {every}"
    )
    parser.add_argument(
        "--ignore", default=[], type=_names, help="columns, stats and outputs, with commas"
    )
    parser.add_argument("--sites", default=[], type=_names, help="of crawls, only these")
    parser.add_argument("--jobs", default=2, type=int, help="cases at once (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="fewer cases of each part")
    parser.add_argument(
        "--all-options", action="store_true", help="of crawls, all combinations of options"
    )
    options = parser.parse_args()
    with chosen_checkouts(options) as checkouts:
        raise SystemExit(compare(checkouts, options) > 0)


def _names(text: str) -> list[str]:
    return text.split(",")


def _parts(text: str) -> list[str]:
    names = _names(text)
    if unknown := {*names} - {*PARTS}:
        raise argparse.ArgumentTypeError(f"no such part: {', '.join(sorted(unknown))}")
    return names


if __name__ == "__main__":
    main()
