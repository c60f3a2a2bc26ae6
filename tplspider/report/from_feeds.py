"""Reports of searches that are over, made of the feeds that hold their summaries and templates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tplspider.report.files import INDEX, ReportFolder, write_report
from tplspider.report.model import make_report
from tplspider.report.reading import read_summaries, read_templates
from tplspider.search.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def report_feeds(
    summaries: Sequence[Path], report: Path, template: Path | None = None, search_id: str = ""
) -> str:
    """Write the reports of all searches in some files, or of one; says what was written.

    *report* is a file of HTML, for one search, or a folder. Raises ValueError, in one line, for
    what cannot be read, and then nothing is written; OSError for what cannot be written.
    """
    is_file = report.suffix.lower() in (".html", ".htm")
    if not is_file and report.exists() and not report.is_dir():
        raise ValueError(f"{report}: expected a file .html, or a folder")
    searches = _check(summaries, search_id)
    if not searches:
        what = f"search {search_id!r}" if search_id else "search"
        raise ValueError(f"there is no {what} in {', '.join(map(str, summaries))}")
    templates = _templates(template, searches) if template else {}
    rows = read_summaries(summaries, search_id)
    if is_file:
        if len(searches) > 1:
            why = f"there are {len(searches)} searches: choose one by --search ID, or name a folder"
            raise ValueError(f"{report}: {why}")
        row = next(rows)
        report.parent.mkdir(parents=True, exist_ok=True)
        write_report(report, row, templates.get(row["search_id"]))
        return str(report)
    folder = ReportFolder(report)
    written: set[str] = set()
    for row in rows:
        search = row["search_id"]
        folder.add(row, templates.get(search), replace=search not in written)
        written.add(search)
    folder.write_index()
    folder.close()
    return f"{report / INDEX} ({counted(len(searches), 'search').replace('searchs', 'searches')})"


def _check(summaries: Sequence[Path], search_id: str) -> set[str]:
    """Read all files once, so that nothing is written where one of them will not do."""
    found = set()
    for path in summaries:
        for place, row in enumerate(read_summaries([path], search_id), 1):
            try:
                summary = make_report(row).summary
            except ValueError as error:
                raise ValueError(f"{path}: row {place} is not of this version: {error}") from None
            found.add(summary.search_id or f"line {summary.line}")
    return found


def _templates(path: Path, searches: set[str]) -> dict[str, dict[str, Any]]:
    found = {row.get("search_id", ""): row for row in read_templates(path)}
    wanted = {search: row for search, row in found.items() if search in searches}
    if not wanted:
        raise ValueError(f"{path}: there is no template of these searches")
    return wanted
