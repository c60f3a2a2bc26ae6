"""The index of an archive: in step with its files, never written through a link; its pages."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.crawls import SITES
from tests.support.warc_files import SiteRecords, http, packed, record, response
from tests.test_warc_reading import told
from tplspider import FolderSite, SearchOptions, open_archive, search_pages
from tplspider.search.session import SearchLimits
from tplspider.sources.archive import NAME, IndexFileError
from tplspider.web.addresses import identity, place_of
from tplspider.web.page import NOT_ARCHIVED, NoPage, WebPage

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.crawls import FixtureServer
    from tplspider.sources.archive import Archive

SITE = "http://a.example"


def write(path: Path, *names: str, body: str = "") -> Path:
    path.write_bytes(packed(response(f"{SITE}/{each}", f"<html>{body}{each}") for each in names))
    return path


def texts(archive: Archive, *names: str) -> list[str]:
    with archive.open() as site:
        found = [told(site.load(f"{SITE}/{each}")) for each in names]
        assert not site.faults
        return found


def test_an_index_is_made_once_and_again_for_a_file_that_has_changed(tmp_path: Path) -> None:
    first, second = write(tmp_path / "1.warc.gz", "a"), write(tmp_path / "2.warc.gz", "b")

    def archive() -> Archive:
        return open_archive([first, second])

    assert texts(archive(), "a", "b") == ["<html>a", "<html>b"]
    with archive().open() as before:
        write(second, "b", "c", body="new ")
        assert texts(archive(), "a", "b", "c") == ["<html>a", "<html>new b", "<html>new c"]
        assert told(before.load(f"{SITE}/a")) == "<html>a"  # who reads is not disturbed
    assert texts(open_archive([first]), "a", "b") == ["<html>a", NOT_ARCHIVED]
    assert sorted(path.name for path in tmp_path.iterdir()) == [first.name, second.name, NAME]


def test_an_index_is_never_written_through_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "files").mkdir()
    file, mine = write(tmp_path / "files" / "1.warc.gz", "a"), tmp_path / "mine"
    mine.touch()
    (tmp_path / "files" / NAME).symlink_to(mine)
    archive = open_archive([file])
    assert texts(archive, "a") == ["<html>a"]
    assert archive.index.parent == tmp_path / "cache" / "tplspider"
    assert mine.stat().st_size == 0


def test_a_file_that_is_not_an_index_is_left_alone(tmp_path: Path) -> None:
    file, other = write(tmp_path / "1.warc.gz", "a"), tmp_path / "notes.txt"
    other.write_text("mine " * 1000)
    with sqlite3.connect(tmp_path / "own.db") as connection:
        connection.execute("CREATE TABLE own (x)")
    connection.close()
    for index in (other, tmp_path / "own.db", tmp_path / "no" / "index"):
        with pytest.raises(IndexFileError):
            open_archive([file], index)
    assert other.read_text() == "mine " * 1000


def test_an_index_that_is_old_or_damaged_is_made_anew(tmp_path: Path) -> None:
    file, index = write(tmp_path / "1.warc.gz", *map(str, range(3000))), tmp_path / NAME
    open_archive([file])
    with sqlite3.connect(index) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    assert texts(open_archive([file]), "1") == ["<html>1"]
    index.write_bytes(index.read_bytes()[:5000])
    assert texts(open_archive([file]), "1") == ["<html>1"]


def test_records_that_are_not_what_the_index_says_are_counted(tmp_path: Path) -> None:
    file = write(tmp_path / "1.warc.gz", "a", "b")
    archive = open_archive([file])
    write(file, "c", "d")
    with archive.open() as site:
        assert site.load(f"{SITE}/a") == NoPage(NOT_ARCHIVED)
        ((fault, count),) = site.faults.items()
        assert str(file) in fault
        assert count == 1


def test_a_file_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    lost: list[OSError] = []
    file = write(tmp_path / "1.warc.gz", "a")
    (tmp_path / "2.warc.gz").mkdir()
    # The last one can be opened, but not read.
    files = [file, tmp_path / "2.warc.gz", tmp_path / "3.warc.gz", Path("/proc/self/mem")]
    for count in (3, 6):
        archive = open_archive(files, lost=lost.append)
        assert [*archive.files] == [file]
        assert len(lost) == count


def test_pages_of_sites_by_their_sample_keys(tmp_path: Path) -> None:
    urls = [f"http://{host}/{n}" for host in ("www.a.example", "b.example:8080") for n in range(50)]
    refers = {"WARC_Refers_To_Target_URI": urls[0], "Content_Type": "application/http"}
    copy = "http://www.a.example/copy"
    file = tmp_path / "1.warc.gz"
    dates = [f"20{n:02}-01-01T00:00:00Z" for n in range(20)]
    file.write_bytes(
        packed(
            [
                *(response(url, f"<html>{url}") for url in urls),
                response("http://a.example/no", "", "404 No"),
                record("revisit", copy, http(b""), **refers),
                *(record("response", urls[1], http(date.encode()), Content_Type="application/http",
                         WARC_Date=date) for date in dates),
            ]
        )
    )  # fmt: skip
    with open_archive([file]).open() as site:
        assert [*site.sites()] == ["a.example", "b.example:8080"]
        found = [page.url for page in site.pages("a.example")]
        assert found == sorted([*urls[:50], copy], key=lambda url: place_of(identity(url)))
        assert len([*site.pages()]) == site.count_pages() == 101
        pages = {page.url: page.read() for page in site.pages()}
        read = pages[copy]
        assert isinstance(read, WebPage)
        assert (read.url, read.text) == (copy, f"<html>{urls[0]}")


@pytest.mark.parametrize("strategy", ["paper", "guided"])
@pytest.mark.parametrize("name", ["menu", "partial", "alone"])
def test_a_search_in_an_archive_is_that_in_the_folder(
    name: str, strategy: str, tmp_path: Path
) -> None:
    folder = FolderSite(SITES / name)
    start = [folder.address(file) for file in folder.files()]
    file = tmp_path / "1.warc.gz"
    file.write_bytes(packed(SiteRecords(folder, [*start, f"{folder.url}/"])))
    options, limits = SearchOptions(strategy=strategy), SearchLimits(for_template=True)
    with open_archive([file]).open() as site:
        for url in start:
            expected = search_pages(folder, url, options, limits).summary
            assert search_pages(site, url, options, limits).summary == expected


def test_a_link_that_is_not_archived_is_free(tmp_path: Path) -> None:
    menu = "".join(f"<a href=/{each}>{each}</a>" for each in "abcdefgh")
    pages = {each: f"<html><title>{each}</title>{menu}<p>{each}</p>" for each in "kfgh"}
    file = tmp_path / "1.warc.gz"
    moved = response(f"{SITE}/e", "", "301 Moved", Location="/gone")
    file.write_bytes(packed([*(response(f"{SITE}/{n}", page) for n, page in pages.items()), moved]))
    with open_archive([file]).open() as site:
        found = search_pages(site, f"{SITE}/k", SearchOptions(max_loads=5)).summary
        assert found is not None
        assert found.candidates == [f"{SITE}/{each}" for each in "fgh"]
        # a to d cost nothing; e is there, but leads to what is not.
        assert (found.loads, found.not_archived, found.reason) == (5, 4, "complete_subdigraph")


def test_what_wget_has_written(tmp_path: Path, serve: Callable[..., FixtureServer]) -> None:
    server = serve("menu")
    command = ["wget", "-q", "-r", "-e", "robots=off", "--warc-file", "x", f"{server.url}/"]
    subprocess.run(
        command, cwd=tmp_path, check=False, env={**os.environ, "no_proxy": "*"}
    )  # 8: 404s
    archive = open_archive([tmp_path / "x.warc.gz"])
    assert [each.faults for each in archive.files.values()] == [{}]
    with archive.open() as site:
        found = search_pages(site, f"{server.url}/docs/guide/one.html").summary
    assert found is not None
    assert (found.complete, len(found.candidates)) == (True, 3)
