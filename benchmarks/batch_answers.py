"""Answers of crawls of many key pages, to be compared with those of searches by themselves."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from benchmarks.feed_fields import without_fields
from tests.support.made_up_sites import MadeUpSource
from tplspider import SearchOptions, search_pages

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Row = dict[str, Any]

OF_A_LIST = ("line", "input", "shared", "wasted")  # what a search by itself has not, or not so
BY_CHANCE = ("shared", "wasted")  # what another run may have otherwise


def read_rows(file: Path) -> list[Row]:
    """The rows of a feed of JSON lines."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def lines_of(file: Path) -> Counter[bytes]:
    """The lines of a feed, without what may be otherwise another time."""
    return Counter(without_fields(file.name, file.read_bytes(), BY_CHANCE).splitlines())


def by_itself(summary: Mapping[str, Any]) -> Row:
    """A summary as a search by itself has it."""
    return {name: value for name, value in summary.items() if name not in OF_A_LIST}


def in_memory(row: Mapping[str, Any]) -> Row:
    """The summary of a search among the same pages, without a crawl."""
    given = {name[4:]: value for name, value in row.items() if name.startswith("tpl_")}
    session = search_pages(MadeUpSource(), row["url"], SearchOptions(**given))
    assert session.summary
    found: Row = json.loads(json.dumps(asdict(session.summary)))
    return by_itself(found)


def show_difference(found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Print in which fields two summaries differ."""
    print(f"  {expected['requested_url']}:")
    for name in sorted({*by_itself(found), *expected}):
        if found.get(name) != expected.get(name):
            print(f"    {name} is {found.get(name)!r}, in memory {expected.get(name)!r}"[:300])
