"""A report of 300 explored pages: its size, and the time to make it and to open it in Chromium."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks.timing import side_by_side
from tests.support.browser_profile import CHROMIUM
from tests.support.summaries import random_summary
from tplspider.report.model import make_report
from tplspider.report.rendering import render_report
from tplspider.report.writer import write_report

if TYPE_CHECKING:
    from playwright.sync_api import Page

PAGES, MEMBERS = 300, 5
DENSITIES = (0.05, 0.5)  # of the links between them: a large site, and one with a large menu
_ROUNDS = 7
_EMPTY = "<!DOCTYPE html><html lang=en><title>Nothing</title>"


def run() -> bool:
    """Print the figures. None has a bound: they are for people to judge."""
    print(f"A report of {PAGES} explored pages")
    with TemporaryDirectory() as folder:
        empty = Path(folder) / "empty.html"
        empty.write_text(_EMPTY)
        for density in DENSITIES:
            print(f" each page links to {density:.0%} of them")
            summary = json.dumps(random_summary(PAGES, MEMBERS, density))
            path = Path(folder) / f"{density}.html"
            write_report(path, json.loads(summary))
            _print("its size", path.stat().st_size / 1000, " kB")
            found = json.loads(summary)
            read, make = side_by_side(
                lambda text=summary: json.loads(text),  # type: ignore[misc]  # bound now
                lambda found=found: render_report(make_report(found)),  # type: ignore[misc]  # too
            )
            _print("making it, as a multiple of reading its summary as JSON", make / read, "x")
            _print("making it", make, " s")
            if CHROMIUM is not None:
                nothing, opened = _open(empty, path)
                _print("opening it, as a multiple of opening an empty page", opened / nothing, "x")
                _print("opening it", opened, " s")
    return True


def _open(*paths: Path) -> list[float]:
    """The shortest time in which Chromium opens each of some files, and lays it out."""
    from tests.support.opened_pages import chromium  # playwright may be missing

    times = [float("inf")] * len(paths)
    with chromium() as browser:
        page = browser.new_page()
        for _ in range(_ROUNDS):
            for place, path in enumerate(paths):
                times[place] = min(times[place], _open_once(page, path))
    return times


def _open_once(page: Page, path: Path) -> float:
    page.goto("about:blank")
    start = perf_counter()
    page.goto(path.as_uri())
    page.evaluate("document.body.getBoundingClientRect().height")
    return perf_counter() - start


def _print(what: str, figure: float, unit: str) -> None:
    print(f"  {what:<64} {figure:8.2f}{unit}")


if __name__ == "__main__":
    run()
