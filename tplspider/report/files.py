"""Reports as files: one page, or a folder of pages with an index."""

from __future__ import annotations

import re
import time
from secrets import token_hex
from typing import TYPE_CHECKING

from tplspider.report.index_entry import index_entry, page_of
from tplspider.report.index_rows import IndexRows
from tplspider.report.model import make_report
from tplspider.report.rendering import render_index, render_report

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet
    from pathlib import Path
    from typing import Any

    from tplspider.items import CandidateSearch, PageTemplate

    Summary = CandidateSearch | Mapping[str, Any]
    Template = PageTemplate | Mapping[str, Any]

INDEX = "index.html"
ROWS = ".index.sqlite"  # what the index is made of
_OURS = re.compile(
    r"(?:[0-9a-f]{16}|index)\.html|\.index\.sqlite(?:-journal)?"
    r"|\.(?:[0-9a-f]{16}|index)\.html\.[0-9a-f]{8}\.part"
)
_LEFT = 60  # seconds after which nobody is writing to a file any more


def write_report(path: Path, summary: Summary, template: Template | None = None) -> None:
    """Write the report of a search to a file.

    Raises ValueError, in one line, for what is not a summary of this version, and OSError.
    """
    _write(path, [render_report(make_report(summary, template))])


class ReportFolder:
    """A folder with the report of each search in SEARCH_ID.html, and an index of all.

    What was added before stays, until it is cleared: a crawl may go on after a restart.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self._rows = IndexRows(path / ROWS)

    def __contains__(self, search_id: str) -> bool:
        return self._rows.has(search_id) and (self.path / page_of(search_id)).exists()

    def add(
        self, summary: Summary, template: Template | None = None, *, replace: bool = True
    ) -> None:
        """Write the report of a search, and remember its row of the index.

        A line that could not be searched has a row alone. Where it is not to *replace* a page,
        one that is there stays: that of another line with the same search, which has a template.
        """
        report = make_report(summary, template)
        entry = index_entry(report.summary)
        if entry.page and (replace or not (self.path / entry.page).exists()):
            _write(self.path / entry.page, [render_report(report)])
        self._rows.put(entry, alone=replace)

    def clear(self) -> None:
        """Begin a new index. Pages stay until others take their places; what a kill left goes."""
        self._rows.clear()
        for path in self.path.glob(".*.part"):
            if time.time() - path.stat().st_mtime > _LEFT:
                path.unlink(missing_ok=True)

    def rebuild(self, summaries: Iterable[Summary]) -> None:
        """Make the rows anew from a summary feed, which is what was really answered.

        A page that is missing is made; one that is there stays, for it may have a template.
        """
        self.clear()
        for summary in summaries:
            self.add(summary, replace=False)

    def write_index(self) -> None:
        """Write the index of what was added so far, by line."""
        _write(self.path / INDEX, render_index(self._rows, self._rows.counts()))

    def close(self) -> None:
        """Let go of the file with the rows."""
        self._rows.close()


def is_of_report_folder(name: str, names: AbstractSet[str]) -> bool:
    """Whether a file may be one of a folder of reports, by its name and those beside it."""
    return bool(_OURS.fullmatch(name)) and (name != INDEX or ROWS in names)


def _write(path: Path, pieces: Iterable[str]) -> None:
    """Write a file beside its place, and put it there when it is whole."""
    beside = path.parent / f".{path.name[:50]}.{token_hex(4)}.part"
    try:
        with beside.open("x", encoding="utf-8", errors="replace", newline="\n") as file:
            file.writelines(pieces)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
