"""Archives that crawls have written, searched again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.support.crawls import Crawl, run_scrapy

if TYPE_CHECKING:
    from pathlib import Path

# What depends on time, and on other searches.
_NOT_COMPARED = ("wasted", "shared")


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a feed, by key page and rank, as far as they can be compared."""
    text = path.read_text("utf-8")
    found = json.loads(text) if path.suffix == ".json" else map(json.loads, text.splitlines())
    shown = [{k: v for k, v in row.items() if k not in _NOT_COMPARED} for row in found]
    return sorted(shown, key=lambda row: (row["requested_url"], row["search_id"], str(row)))


def search_again(folder: Path, archive: Path, keys: Path, *options: str) -> Crawl:
    """Search in an archive, without a network; feeds go to *folder*."""
    folder.mkdir()
    done = run_scrapy(
        *("archive", str(archive), f"-i{keys}", f"-O{folder / 'out.jl'}", *options),
        f"--summary={folder / 'summary.jl'}",
        folder=folder,
    )
    assert "Traceback" not in done.log, done.log
    return done
