"""Folders of saved pages, and what becomes of their files."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tests.support.template_site import page
from tplspider.stripping.addresses import FileAddresses
from tplspider.stripping.listing import Listing
from tplspider.stripping.strip_folder import FolderStripper, StripOptions, look_through
from tplspider.stripping.walk import list_files

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from tplspider.stripping.rows import Row
    from tplspider.stripping.walk import Inode

NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()


def own_text(number: int) -> str:
    """What page *number* has of its own."""
    word = NUMBERS[number % len(NUMBERS)]
    return f"Page {number} is about {word}, its {word} friends, and number {number * 7919}."


def save(path: Path, number: int = 1, **kwargs: str) -> Path:
    """Save page *number* of a site."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(page(own_text(number), **kwargs))
    return path


def save_site(folder: Path, count: int = 6) -> Path:
    """Save the pages of a site."""
    for number in range(count):
        save(folder / f"page-{number}.html", number)
    return folder


def strip(
    folder: Path,
    options: StripOptions | None = None,
    *,
    base_url: str = "",
    without: Collection[Inode] = (),
    between: Callable[[], object] = lambda: None,
) -> list[Row]:
    """The rows of a folder, stripped in this process; something may happen *between* the passes."""
    rows: list[Row] = []
    addresses = FileAddresses(folder, base_url)
    with Listing() as listing:
        list_files(folder, listing, without=without)
        look_through(folder, listing, addresses)
        between()
        options = options or StripOptions(workers=0)
        stripper = FolderStripper(folder, listing, addresses, options)
        asyncio.run(stripper.strip(rows.append))
    return rows


def outcomes(rows: list[Row]) -> dict[str, str]:
    """The outcome of each path."""
    return {str(row["path"]): str(row["outcome"]) for row in rows}
