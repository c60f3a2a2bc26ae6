"""Reports written while a crawl goes on: one file, or a folder with an index."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.summaries import row, summary, template
from tplspider.items import CandidateSearch, PageTemplate
from tplspider.report.files import ReportFolder
from tplspider.report.writer import ReportWriter

if TYPE_CHECKING:
    from pathlib import Path

IDS = [f"{number:016x}" for number in range(1, 4)]
TEXT = {"content_text": "What it is about", "main_text": "What it is about"}


def made(search_id: str = "", **more: Any) -> CandidateSearch:
    return CandidateSearch(**summary([row(1, [])], [1], search_id=search_id, **more))


def test_one_file(tmp_path: Path) -> None:
    path = tmp_path / "new" / "report.html"

    async def run() -> None:
        ReportWriter.check(str(path), path, many=False)
        assert not path.parent.exists()
        writer = ReportWriter(str(path), path)
        await writer.write(made(), None)
        assert "What it is about" not in path.read_text()
        await writer.write(made(), PageTemplate(**template(search_id="", **TEXT)))
        await writer.close()
        assert "What it is about" in path.read_text()
        assert writer.page == path

    asyncio.run(run())
    assert [each.name for each in path.parent.iterdir()] == ["report.html"]


def test_a_folder_goes_on_with_what_is_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "reports"

    async def run(ids: list[str]) -> None:
        ReportWriter.check("reports", folder, many=True)
        writer = ReportWriter("reports", folder)
        for search_id in ids:
            await writer.write(made(search_id), None)
            assert (folder / f"{search_id}.html").exists()
        assert writer.page.read_text().count(".html") >= 1  # written early, and not each time
        await writer.close()

    asyncio.run(run(IDS[:2]))
    asyncio.run(run(IDS[1:]))
    index = (folder / "index.html").read_text()
    assert [index.count(f"{search_id}.html") for search_id in IDS] == [1, 1, 1]


def test_what_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for given, many, words in (
        ("report.html", True, "many key pages need a folder"),
        ("report.pdf", False, "expected a file that ends in .html, or a folder"),
        ("file/report.html", False, "cannot write to this file"),
        ("file/folder", False, "cannot write to this folder"),
        ("file", False, "expected a file that ends in .html, or a folder"),
        (".", False, "there are other files in this folder"),
    ):
        with pytest.raises(ValueError, match=words) as caught:
            ReportWriter.check(given, tmp_path / given, many=many)
        assert "\n" not in str(caught.value)

    async def run() -> None:
        for given in ("file/report.html", "file/folder", "reports"):
            writer = ReportWriter(given, tmp_path / given)
            with pytest.raises(OSError, match=r"."):
                await writer.write(made(IDS[0]), None)

    other = ReportFolder(tmp_path / "reports")  # another crawl has it
    asyncio.run(run())
    other.close()
