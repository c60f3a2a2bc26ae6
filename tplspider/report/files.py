"""Reports as files: one page, or a folder of pages with an index."""

from __future__ import annotations

from secrets import token_hex
from typing import TYPE_CHECKING

from tplspider.report.index_entry import index_entry, page_of
from tplspider.report.index_rows import IndexRows
from tplspider.report.model import make_report
from tplspider.report.place import INDEX, ROWS
from tplspider.report.rendering import render_index, render_report

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from typing import Any

    from tplspider.items import CandidateSearch, PageTemplate

    Summary = CandidateSearch | Mapping[str, Any]
    Template = PageTemplate | Mapping[str, Any]


def write_report(path: Path, summary: Summary, template: Template | None = None) -> None:
    """Write the report of a search to a file.

    Raises ValueError, in one line, for what is not a summary of this version, and OSError.
    """
    _write(path, [render_report(make_report(summary, template))])


class ReportFolder:
    """A folder with the report of each search in SEARCH_ID.html, and an index of all.

    What was added before stays. One process may have it at a time. To *mend* one is to begin a new
    index where the old one is damaged.
    """

    def __init__(self, path: Path, *, mend: bool = False) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self._rows = IndexRows(path / ROWS, mend=mend)
        # It is ours alone from here on: nobody is writing to what a kill has left.
        for part in path.glob(".*.html.????????.part"):
            part.unlink(missing_ok=True)

    def __contains__(self, search_id: str) -> bool:
        return self._rows.has(search_id) and (self.path / page_of(search_id)).exists()

    def add(
        self, summary: Summary, template: Template | None = None, *, replace: bool = True
    ) -> None:
        """Write the report of a search, and remember its row of the index.

        A line that could not be searched has a row alone. A page that is there stays if it is not
        to *replace* it: it may have a template.
        """
        report = make_report(summary, template)
        entry = index_entry(report.summary)
        if entry.page and (replace or not (self.path / entry.page).exists()):
            _write(self.path / entry.page, [render_report(report)])
        self._rows.put(entry)

    def count(self) -> int:
        """How many rows there are."""
        return self._rows.counts().total

    def write_index(self) -> None:
        """Write the index of what was added so far, by line."""
        _write(self.path / INDEX, render_index(self._rows, self._rows.counts()))

    def close(self) -> None:
        """Let go of the file with the rows."""
        self._rows.close()


def _write(path: Path, pieces: Iterable[str]) -> None:
    """Write a file beside its place, and put it there when it is whole."""
    beside = path.parent / f".{path.name[:50]}.{token_hex(4)}.part"
    try:
        with beside.open("x", encoding="utf-8", errors="replace", newline="\n") as file:
            file.writelines(pieces)
        beside.replace(path)
    except BaseException as error:
        beside.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno and error.filename is None:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
