"""A folder of reports: rows of its index on disk, and pages that are whole."""

from __future__ import annotations

import os
import sqlite3
import stat
import tracemalloc
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.summaries import row
from tplspider.items import CandidateSearch
from tplspider.report.files import ReportFolder
from tplspider.report.place import ROWS, check_file, check_folder, names_folder
from tplspider.report.rendering import Counts, IndexRows, index_entry, render_index
from tplspider.search.answer import EMPTY_ANSWER
from tplspider.web.html import parse_html, visible_text

if TYPE_CHECKING:
    from pathlib import Path

IDS = [f"{number:016x}" for number in range(1, 6)]


def summary(search_id: str = IDS[0], line: int | None = None, title: str = "") -> CandidateSearch:
    return CandidateSearch(
        key_url="http://example.org/",
        requested_size=3,
        cs_size=0,
        complete=False,
        reason="links_exhausted",
        key_outcome="ok",
        loads=1,
        links=0,
        search_id=search_id,
        line=line,
        key_title=title,
    )


def index_of(folder: Path) -> str:
    return (folder / "index.html").read_text()


def test_each_search_is_listed_once(tmp_path: Path) -> None:
    with closing(ReportFolder(tmp_path)) as folder:
        for line, search_id in enumerate(IDS):
            folder.add(summary(search_id, 9 - line, f"Title{line}"))
        folder.add(summary(IDS[0], 4, "Again"))  # for another line, after a kill
        folder.write_index()
        text = index_of(tmp_path)
        assert text.count(".html") == 5
        assert "Title0" not in text
        assert text.index("Again") < text.index("Title4") < text.index("Title1")
        assert "Again" in (tmp_path / f"{IDS[0]}.html").read_text()
        assert IDS[0] in folder
        assert "f" * 16 not in folder
    with closing(ReportFolder(tmp_path)) as folder:  # as after a restart
        folder.write_index()
        assert index_of(tmp_path) == text


def found(pages: int) -> dict[str, Any]:
    """What a summary says of an answer of that many pages."""
    ranks = list(range(1, pages + 1))
    rows = [row(rank, ranks) for rank in ranks]
    return {"cs_size": pages, "explored": rows, "candidates": [each["url"] for each in rows]}


def test_the_first_line_of_an_index_counts_everything(tmp_path: Path) -> None:
    ends: list[dict[str, Any]] = [
        {"complete": True, **found(3)},
        found(2),
        {},
        {"key_outcome": "robots"},
        {"key_outcome": "robots"},
        {"key_outcome": "http-404"},
        {"key_outcome": "bad-response", "hint": EMPTY_ANSWER},
        {"key_outcome": "bad-input", "requested_size": 0, "search_id": ""},
    ]
    with closing(ReportFolder(tmp_path)) as folder:
        for line, end in enumerate(ends):
            folder.add(replace(summary(f"{line:016x}", line), **end))
        folder.write_index()
    text = visible_text(parse_html(index_of(tmp_path))).replace("\xa0", " ")
    assert (
        "8 searches 1 complete, 1 partial, 6 without an answer: robots.txt forbids it (2),"
        " no other page was found (1), the answer is empty (1), the line of the list cannot be"
        " understood (1), the server answered with status 404 (1)."
    ) in text
    assert "0 of 0" not in text
    many = Counts(45, 0, 0, tuple((f"reason {number}", 3) for number in range(15)))
    shown = visible_text(parse_html("".join(render_index([], many)))).replace("\xa0", " ")
    assert "reason 11 (3), other reasons (9)." in shown


def test_a_page_that_is_not_to_be_replaced(tmp_path: Path) -> None:
    with closing(ReportFolder(tmp_path)) as folder:
        folder.add(summary(line=1, title="First"))
        folder.add(summary(line=2, title="Second"), replace=False)
        folder.write_index()
    assert "First" in (tmp_path / f"{IDS[0]}.html").read_text()
    assert index_of(tmp_path).count(f"{IDS[0]}.html") == 1


@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    with closing(ReportFolder(tmp_path)) as folder:
        folder.add(summary())
        folder.write_index()
    entry = index_entry(summary(search_id="", title="A title"))
    with closing(IndexRows(tmp_path / ROWS)) as rows:
        for number in range(3000):
            rows.put(replace(entry, line=number + 1))
    with closing(ReportFolder(tmp_path)) as folder:
        tracemalloc.start()
        try:
            folder.write_index()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    size = (tmp_path / "index.html").stat().st_size
    assert size > 500_000
    assert peak < size / 4


def test_rows_that_somebody_has_changed(tmp_path: Path) -> None:
    with closing(ReportFolder(tmp_path)) as folder:
        folder.add(summary(title="Good"))
    for wrong in ('{"page": "../../etc/passwd"}', "[" * 100_000, "no JSON"):
        with closing(sqlite3.connect(tmp_path / ROWS)) as file, file:
            file.execute("INSERT OR REPLACE INTO rows VALUES ('x', 1, '', ?)", (wrong,))
        with closing(ReportFolder(tmp_path)) as folder:
            folder.write_index()
        assert index_of(tmp_path).count(f"{IDS[0]}.html") == 1
        assert "passwd" not in index_of(tmp_path)
    (tmp_path / ROWS).write_bytes(b"not a database, but long enough to be one" * 100)
    with pytest.raises(OSError, match="file is not a database"):
        ReportFolder(tmp_path)
    with closing(ReportFolder(tmp_path, mend=True)) as folder:  # who has a journal makes it anew
        assert folder.count() == 0


def test_lines_that_could_not_be_searched_are_all_listed(tmp_path: Path) -> None:
    with closing(ReportFolder(tmp_path)) as folder:
        for title in ("One", "Two", "Two"):
            folder.add(summary("", 3, title))
            folder.add(summary("", None, title))
        assert folder.count() == 4


def test_a_folder_is_for_one_process(tmp_path: Path) -> None:
    with closing(ReportFolder(tmp_path)):
        with pytest.raises(OSError, match="another crawl or report is writing to this folder"):
            ReportFolder(tmp_path)
        with pytest.raises(ValueError, match="another crawl or report is writing to this folder"):
            check_folder(tmp_path)
    check_folder(tmp_path)
    (tmp_path / ROWS).rename(tmp_path.parent / "rows")
    (tmp_path / ROWS).symlink_to(tmp_path.parent / "rows")
    with pytest.raises(ValueError, match="other files in this folder"):
        check_folder(tmp_path)
    with pytest.raises(OSError, match="symbolic link"):
        ReportFolder(tmp_path)


def test_what_is_written_has_the_rights_of_other_files(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with closing(ReportFolder(tmp_path)) as folder:
            folder.add(summary())
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / f"{IDS[0]}.html").stat().st_mode) == 0o640


def test_what_a_kill_leaves_is_swept_away(tmp_path: Path) -> None:
    ours, other = tmp_path / f".{IDS[0]}.html.0123abcd.part", tmp_path / "c.part"
    for path in (ours, other):
        path.write_text("")
    ReportFolder(tmp_path).close()
    assert not ours.exists()
    assert other.exists()


def test_names_of_a_folder_of_reports(tmp_path: Path) -> None:
    with closing(ReportFolder(tmp_path)) as folder:
        folder.add(summary())
        folder.write_index()
    check_folder(tmp_path)
    (tmp_path / ROWS).unlink()  # the index is still known as ours
    check_folder(tmp_path)
    (tmp_path / "index.html").write_text("<title>My site</title>")
    with pytest.raises(ValueError, match=r"other files in this folder \('index.html'\)"):
        check_folder(tmp_path)
    for name in ("notes.txt", "abc.html", ".htaccess", f"{IDS[0]}.html.part"):
        (tmp_path / "index.html").unlink(missing_ok=True)
        (tmp_path / name).write_text("")
        with pytest.raises(ValueError, match="other files in this folder"):
            check_folder(tmp_path)
        (tmp_path / name).unlink()


def test_files_and_folders_by_their_names(tmp_path: Path) -> None:
    for name in ("reports", "2024.01", "example.org/", "v1.2"):
        assert names_folder(name, tmp_path / name)
    assert not names_folder("a.HTM", tmp_path / "a.HTM")
    for name in ("x.pdf", "x.html.gz", "q.json", "-", "-x.html", ""):
        with pytest.raises(ValueError, match=r"expected a file that ends in \.html, or a folder"):
            names_folder(name, tmp_path / name)
    (tmp_path / "x.d").mkdir()
    assert names_folder("x.d", tmp_path / "x.d")
    ReportFolder(tmp_path).close()
    with pytest.raises(ValueError, match="its folder is one of reports"):
        check_file(tmp_path / "x.html")
