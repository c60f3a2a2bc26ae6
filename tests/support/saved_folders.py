"""Folders of saved pages, and what becomes of their files."""

import os
from pathlib import Path

from tests.support.template_site import page
from tplspider.sources.saved_folder import SavedFile, SavedFolder
from tplspider.web.page import WebPage

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


def saved_files(folder: Path, base_url: str = "") -> dict[str, SavedFile]:
    """The files of a folder, by their paths and in their order."""
    return {os.fsdecode(each.path): each for each in SavedFolder(folder, base_url).pages()}


def texts(folder: Path) -> dict[str, str]:
    """The text of each page of a folder."""
    pages = {path: each.read() for path, each in saved_files(folder).items()}
    return {path: page.text for path, page in pages.items() if isinstance(page, WebPage)}
