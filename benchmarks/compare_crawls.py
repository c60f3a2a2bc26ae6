"""Compares what one crawl costs in two checkouts: time, CPU and memory, imports included.

    python -m benchmarks.compare_crawls OLD NEW [--pairs 15] [--template]

The two take turns, and so do their places in a turn: a machine that gets busy slows both down.
Each runs in an environment of its own, as with :mod:`benchmarks.compare_feeds`. Each figure is the
median of the ratios NEW / OLD of the pairs. Without a template it exits with 1 where a median is
over the bound; with one the crawl has a worker, whose CPU is included.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import time
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

from benchmarks.checkouts import Checkout, add_options, chosen_checkouts
from benchmarks.compared_sites import compared_sites
from benchmarks.timing import report

BOUND = 1.05


@dataclass(frozen=True)
class Cost:
    """What a crawl took, by the operating system's account."""

    seconds: float
    cpu_seconds: float
    megabytes: float  # of the largest process, at its largest


def crawl(checkout: Checkout, url: str, *, template: bool) -> Cost:
    """Crawl a key page once."""
    with TemporaryDirectory(dir=checkout.scratch) as folder:
        arguments: dict[str, object] = {"url": url, "summary": f"{folder}/summary.json"}
        if template:
            arguments["template"] = f"{folder}/template.json"
        start = time.perf_counter()
        with Path(folder, "log").open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 - our own command
                [*checkout.crawl_command(arguments), "-O", f"{folder}/candidates.json"],
                cwd=checkout.folder,
                env=checkout.environment(),
                stderr=log,
            )
            # Not of all children, and with the workers that the crawl has waited for.
            _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(Path(folder, "log").read_text("utf-8", "replace")[-3000:])
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def measure(old: Checkout, new: Checkout, pairs: int, *, template: bool) -> list[tuple[Cost, Cost]]:
    """The costs of both, pair by pair."""
    (demo,) = (site for site in compared_sites() if site.name == "demo")
    found = []
    with demo.serve() as server:
        (url,) = demo.urls(server)
        for checkout in (old, new):  # modules are compiled and files cached from now on
            crawl(checkout, url, template=template)
        for turn in range(pairs):
            order = (old, new) if turn % 2 == 0 else (new, old)
            costs = {id(checkout): crawl(checkout, url, template=template) for checkout in order}
            found.append((costs[id(old)], costs[id(new)]))
    return found


def show(found: list[tuple[Cost, Cost]], *, bounded: bool) -> bool:
    """Print medians, ratios and their spread; whether all is within the bound."""
    holds = True
    columns = zip(*(zip(*map(astuple, pair), strict=True) for pair in found), strict=True)
    for field, column in zip(fields(Cost), columns, strict=True):
        before, after = (median(side) for side in zip(*column, strict=True))
        ratios = sorted(new / old for old, new in column)
        low, _, high = quantiles(ratios, n=4)
        name = field.name.replace("_", " ")
        print(f"  {name}: old {before:.3f}, new {after:.3f}; ratios {ratios[0]:.3f} to", end=" ")
        print(f"{ratios[-1]:.3f}, the middle half {low:.3f} to {high:.3f}")
        if bounded:
            holds &= report(f"median of new / old, {name}", median(ratios), BOUND)
        else:
            print(f"  median of new / old, {name}: {median(ratios):.3f}")
    return holds


def main() -> None:
    """Compare as the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add_options(parser)
    parser.add_argument("--pairs", default=15, type=int, help="at least 2 (default: %(default)s)")
    parser.add_argument("--template", action="store_true", help="ask for the template as well")
    options = parser.parse_args()
    with chosen_checkouts(options) as (old, new):
        found = measure(old, new, options.pairs, template=options.template)
    print(f"One crawl of the demo's website, {options.pairs} pairs in turns:")
    raise SystemExit(not show(found, bounded=not options.template))


if __name__ == "__main__":
    main()
