"""A row for each file: what it is, and the page without its template."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tplspider.web.text import storable

if TYPE_CHECKING:
    from tplspider.items import PageTemplate

Row = dict[str, str | int | None]

COLUMNS = ("url", "path", "outcome", "title", "main_text", "content_text", "evidence")
MARKDOWN, HTML = "main_markdown", "main_html"
OFFSET = "offset"  # of a record in a WARC file
_OF_THE_FILE = ("url", "path", "outcome")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


def columns(*, markdown: bool = False, html: bool = False, offset: bool = False) -> tuple[str, ...]:
    """The columns of all rows."""
    more = {MARKDOWN: markdown, HTML: html, OFFSET: offset}
    return (*COLUMNS, *(name for name, is_wanted in more.items() if is_wanted))


def wanted_fields(names: tuple[str, ...]) -> frozenset[str]:
    """The fields of a template that these columns need."""
    return frozenset(names) - {*_OF_THE_FILE}


def make_row(
    names: tuple[str, ...], url: str, path: bytes, outcome: str, found: PageTemplate | None = None
) -> Row:
    """The row of a file; without a template its texts are empty, and nothing tells evidence."""
    row: Row = {"url": url, "path": shown_path(path), "outcome": outcome}
    for name in names[len(_OF_THE_FILE) :]:
        if found is None:
            row[name] = None if name == "evidence" else ""
        else:
            value = getattr(found, name)
            row[name] = storable(value) if isinstance(value, str) else value
    return row


def shown_path(path: bytes) -> str:
    r"""A path as text; what is not text, or would steer a terminal, is spelled out.

    >>> shown_path(b"caf\xe9/a\n.html")
    'caf\\xe9/a\\x0a.html'
    """
    # So that no two paths are shown alike.
    text = path.replace(b"\\", b"\\x5c").decode("utf-8", "backslashreplace")
    return storable(_CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text))
