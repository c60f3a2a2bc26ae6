"""Reports as files: one page, or a folder of pages with an index."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from secrets import token_hex
from typing import TYPE_CHECKING, Any, get_type_hints

from tplspider.report.field_types import check_fields
from tplspider.report.index_entry import IndexEntry, index_entry
from tplspider.report.model import check_search_id, make_report
from tplspider.report.rendering import render_index, render_report

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from tplspider.items import CandidateSearch, PageTemplate

    Summary = CandidateSearch | Mapping[str, Any]
    Template = PageTemplate | Mapping[str, Any]

INDEX = "index.html"
ENTRIES = "entries.jl"  # what the index is made of, a line for each row


def write_report(path: Path, summary: Summary, template: Template | None = None) -> None:
    """Write the report of a search to a file.

    Raises ValueError, in one line, for what is not a summary of this version, and OSError.
    """
    _write(path, render_report(make_report(summary, template)))


class ReportFolder:
    """A folder with the report of each search in SEARCH_ID.html, and an index of all.

    What was added before stays: a crawl may go on after a restart, and another one join it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self._entries = {_key(entry): entry for entry in _read_entries(path / ENTRIES)}
        self._searches = {entry.search_id for entry in self._entries.values()}

    def add(self, summary: Summary, template: Template | None = None) -> None:
        """Write the report of a search, and remember its row of the index.

        A line that could not be searched has a row alone. The same search again, for another line
        of a list, has another row; without a template, it leaves a page that is there as it is.
        """
        report = make_report(summary, template)
        entry = index_entry(report.summary)
        page = self.path / entry.page if entry.page else None
        is_again = entry.search_id in self._searches
        if page and not (template is None and is_again and page.exists()):
            _write(page, render_report(report))
        self._entries[_key(entry)] = entry
        self._searches.add(entry.search_id)
        with (self.path / ENTRIES).open("a", encoding="utf-8") as file:
            file.write(_line(entry))

    def rebuild(self, summaries: Iterable[Summary]) -> None:
        """Make the rows anew from a summary feed, which is what was really answered.

        A page that is missing is made; one that is there stays, for it may have a template.
        """
        self._entries.clear()
        for summary in summaries:
            report = make_report(summary)
            entry = index_entry(report.summary)
            if entry.page and not (self.path / entry.page).exists():
                _write(self.path / entry.page, render_report(report))
            self._entries[_key(entry)] = entry
        self._searches = {entry.search_id for entry in self._entries.values()}
        _write(self.path / ENTRIES, "".join(map(_line, self._entries.values())))

    def write_index(self) -> None:
        """Write the index of what was added so far, by line."""
        _write(self.path / INDEX, render_index(sorted(self._entries.values(), key=_place)))


def _key(entry: IndexEntry) -> tuple[str, int | None]:
    return entry.search_id, entry.line


def _place(entry: IndexEntry) -> tuple[bool, int]:
    return entry.line is None, entry.line or 0


def _line(entry: IndexEntry) -> str:
    return json.dumps(asdict(entry), ensure_ascii=True) + "\n"


def _read_entries(path: Path) -> list[IndexEntry]:
    """The rows that were remembered. The last line may have been cut by a kill."""
    hints = get_type_hints(IndexEntry)
    names = [field.name for field in fields(IndexEntry)]
    found = []
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return []
    for line in lines:
        try:
            values = json.loads(line)
            check_fields(values, hints, "a row")
            entry = IndexEntry(**{name: values[name] for name in names})
            if entry.search_id:
                check_search_id(entry.search_id)
        except (ValueError, RecursionError):
            continue
        page = f"{entry.search_id}.html" if entry.search_id else ""
        if entry.page == page:  # nothing leads out of the folder
            found.append(entry)
    return found


def _write(path: Path, text: str) -> None:
    """Write a file beside its place, and put it there when it is whole."""
    beside = path.parent / f".{path.name[:50]}.{token_hex(4)}.part"
    try:
        with beside.open("x", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
