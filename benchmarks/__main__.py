"""Runs the benchmarks: ``python -m benchmarks``. Exits with 1 when a figure misses its bound."""

from __future__ import annotations

from benchmarks import (
    clique_step,
    extraction,
    guided,
    hostile_pages,
    in_flight,
    long_hosts,
    read_page,
    sort_links,
)

if __name__ == "__main__":
    results = [
        benchmark()
        for benchmark in (
            sort_links.run,
            guided.run,
            clique_step.run,
            read_page.run,
            long_hosts.run,
            hostile_pages.run,
            extraction.run,
            in_flight.run,
        )
    ]
    raise SystemExit(not all(results))
