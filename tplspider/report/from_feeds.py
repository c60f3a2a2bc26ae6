"""Reports of searches that are over, made of the feeds that hold their summaries and templates."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tplspider.report.files import ReportFolder, write_report
from tplspider.report.model import check_template, make_report
from tplspider.report.place import INDEX, check_file, check_folder, names_folder
from tplspider.report.reading import read_summaries, read_templates, wrong_kind
from tplspider.search.answer import counted

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence


def report_feeds(
    summaries: Sequence[Path], report: str, template: Path | None = None, search_id: str = ""
) -> str:
    """Write the reports of all searches in some files, or of one; says what was written.

    *report* is a file of HTML, for one search, or a folder. Of several summaries of one search the
    last counts. Raises ValueError, in one line, for what cannot be read, and then nothing is
    written; OSError for what cannot be written.
    """
    # Where links lead: a report takes the place of what is there and does not write to it.
    place = Path(os.path.realpath(report))
    try:
        is_folder = names_folder(report, place)
        (check_folder if is_folder else check_file)(place)
    except ValueError as error:
        raise ValueError(f"{report}: {error}") from None
    last = _check(summaries, search_id)
    if not last:
        what = f"search {search_id!r}" if search_id else "search"
        raise ValueError(f"there is no {what} in {', '.join(map(str, summaries))}")
    templates = _templates(template, last) if template else {}
    rows = _last_rows(summaries, search_id, last)
    if not is_folder:
        if len(last) > 1:
            why = f"there are {len(last)} searches: choose one by --search ID, or name a folder"
            raise ValueError(f"{report}: {why}")
        row = next(rows)
        place.parent.mkdir(parents=True, exist_ok=True)
        write_report(place, row, templates.get(row["search_id"]))
        return report
    return _write_folder(place, rows, templates, len(last))


def _write_folder(
    place: Path, rows: Iterator[dict[str, Any]], templates: dict[str, dict[str, Any]], number: int
) -> str:
    with closing(ReportFolder(place)) as folder:
        try:
            for row in rows:
                folder.add(row, templates.get(row["search_id"]))
        finally:  # also when somebody ends it: what is written is listed
            folder.write_index()
        total = folder.count()
    told = counted(number, "search").replace("searchs", "searches")
    return f"{place / INDEX} ({told}{f', {total} in the folder' if total != number else ''})"


def _check(summaries: Sequence[Path], search_id: str) -> dict[str, tuple[int, int]]:
    """Where the last summary of each search is: in which file, and in which row of it.

    All files are read once, so that nothing is written where one of them will not do.
    """
    found = {}
    for number, path in enumerate(summaries):
        for place, row in enumerate(read_summaries([path], search_id), 1):
            try:
                summary = make_report(row).summary
            except ValueError as error:
                told = (
                    wrong_kind(row, "summaries") or f"row {place} is not of this version: {error}"
                )
                raise ValueError(f"{path}: {told}") from None
            found[summary.search_id or f"row {place} of {number}"] = (number, place)
    return found


def _last_rows(
    summaries: Sequence[Path], search_id: str, last: dict[str, tuple[int, int]]
) -> Iterator[dict[str, Any]]:
    wanted = {*last.values()}
    for number, path in enumerate(summaries):
        for place, row in enumerate(read_summaries([path], search_id), 1):
            if (number, place) in wanted:
                yield row


def _templates(path: Path, searches: Container[str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for place, row in enumerate(read_templates(path), 1):
        try:
            search = check_template(row).search_id
        except ValueError as error:
            told = wrong_kind(row, "templates") or f"row {place} is not of this version: {error}"
            raise ValueError(f"{path}: {told}") from None
        if search in searches:
            found[search] = row
    if not found:
        raise ValueError(f"{path}: there is no template of these searches")
    return found
