"""Runs the benchmarks: ``python -m benchmarks``. Exits with 1 when a figure misses its bound."""

from __future__ import annotations

from benchmarks import clique_step, in_flight, read_page, sort_links

if __name__ == "__main__":
    results = [benchmark.run() for benchmark in (sort_links, clique_step, read_page, in_flight)]
    raise SystemExit(not all(results))
