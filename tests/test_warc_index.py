"""The index of an archive: in step with its files, or made anew; and what it is asked for."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import signal
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.crawls import SITES
from tests.support.full_disk import short_files
from tests.support.warc_files import SiteRecords, http, packed, record, response
from tests.test_warc_reading import told
from tplspider import FolderSite, SearchOptions, search_pages
from tplspider.old.extraction.archive_indexing import reading_by
from tplspider.search.session import SearchLimits
from tplspider.sources.warc_archive import NAME, Archive, open_archive
from tplspider.sources.warc_index import IndexFileError, WarcIndex
from tplspider.web.addresses import identity, place_of
from tplspider.web.page import NOT_ARCHIVED, NoPage

if TYPE_CHECKING:
    from tplspider.sources.warc_archive import Readings

SITE = "http://a.example"
NAMES = ("a", "A", "a/")


def write(path: Path, *names: str, body: str = "") -> Path:
    path.write_bytes(packed(response(f"{SITE}/{each}", f"<html>{body}{each}") for each in names))
    return path


def texts(archive: Archive, *names: str) -> list[str]:
    with archive.open() as site:
        found = [told(site.load(f"{SITE}/{each}")) for each in names]
        assert not site.misfits
        return found


def test_an_index_is_made_once_and_again_for_a_file_that_has_changed(tmp_path: Path) -> None:
    lines: list[str] = []
    read: list[str] = []
    first, second = write(tmp_path / "1.warc.gz", "a"), write(tmp_path / "2.warc.gz", "b")

    def archive() -> Archive:
        return open_archive(
            [first, second], tell=lines.append, seen=lambda path, _: read.append(path.name)
        )

    assert texts(archive(), "a", "b") == ["<html>a", "<html>b"]
    made = (tmp_path / NAME).stat().st_mtime_ns
    assert texts(archive(), "a", "b") == ["<html>a", "<html>b"]
    assert ((tmp_path / NAME).stat().st_mtime_ns, lines) == (made, [])

    write(second, "b", "c", body="new ")
    assert texts(archive(), "a", "b", "c") == ["<html>a", "<html>new b", "<html>new c"]
    assert lines == [f"{second}: it is not as it was when it was indexed: indexed again"]


def test_a_file_of_the_same_size_and_time_that_holds_something_else(tmp_path: Path) -> None:
    lines: list[str] = []
    file = write(tmp_path / "1.warc.gz", "a", "b")
    before = file.stat()
    open_archive([file])
    write(file, "b", "a")
    assert file.stat().st_size == before.st_size
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert texts(open_archive([file], tell=lines.append), "a", "b") == ["<html>a", "<html>b"]
    assert len(lines) == 1


def test_records_that_are_not_what_the_index_says_are_told(tmp_path: Path) -> None:
    file = write(tmp_path / "1.warc.gz", "a", "b")
    archive = open_archive([file])
    write(file, "c", "d")
    with archive.open() as site:
        assert site.load(f"{SITE}/a") == NoPage(NOT_ARCHIVED)
        assert site.misfits == 1


def test_only_the_files_that_are_asked_for(tmp_path: Path) -> None:
    first, second = (
        write(tmp_path / "1.warc.gz", "a"),
        write(tmp_path / "2.warc.gz", "a", "b", body="2"),
    )
    assert texts(open_archive([first, second]), "a", "b") == ["<html>2a", "<html>2b"]
    archive = open_archive([first])
    assert texts(archive, "a", "b") == ["<html>a", NOT_ARCHIVED]
    with archive.open() as site:
        assert site.index.count_pages() == 1
    (tmp_path / "moved").mkdir()
    for each in (first, tmp_path / NAME):  # they keep each other company
        shutil.move(each, tmp_path / "moved")
    read: list[int] = []
    moved = tmp_path / "moved" / first.name
    assert texts(open_archive([moved], seen=lambda *_: read.append(1)), "a") == ["<html>a"]


DAMAGE = {
    "version": "PRAGMA user_version = 99",
    "json": "UPDATE files SET faults = '['",
    "table": "DROP TABLE files",
}


@pytest.mark.parametrize("damage", [*DAMAGE, "bytes"])
def test_an_index_that_is_old_or_damaged_is_made_anew(damage: str, tmp_path: Path) -> None:
    file, lines = write(tmp_path / "1.warc.gz", *map(str, range(3000))), list[str]()
    open_archive([file])
    index = tmp_path / NAME
    if damage in DAMAGE:
        with sqlite3.connect(index) as connection:
            connection.execute(DAMAGE[damage])
        connection.close()
    else:
        data = index.read_bytes()
        index.write_bytes(data[:4096] + b"~" * 8192 + data[12288:])
    assert texts(open_archive([file], tell=lines.append), "1") == ["<html>1"]
    assert [line.endswith(": made anew") for line in lines] == [True]


def test_a_file_that_is_indexed_meanwhile_is_not_asked_for(tmp_path: Path) -> None:
    files = [write(tmp_path / "1.warc.gz", "a")]
    archive = open_archive(files)
    with archive.open() as site:
        open_archive([*files, write(tmp_path / "2.warc.gz", "a", "b", body="new ")])
        assert told(site.load(f"{SITE}/a")) == "<html>a"
        assert told(site.load(f"{SITE}/b")) == NOT_ARCHIVED
        assert [place.file for place in site.pages_of("a.example")] == [*archive.files]


def test_two_that_make_an_index_at_the_same_moment(tmp_path: Path) -> None:
    with WarcIndex(tmp_path / "index") as first:
        first._make()  # as one that has found no file there
        assert first.files() == []


def test_a_copy_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    """Two records in one gzip member are copied: where there is no room, that is all."""
    file = tmp_path / "1.warc.gz"
    noise = random.Random(0).randbytes(500_000).hex()
    both = [response(f"{SITE}/{name}", f"<html>{noise}") for name in "ab"]
    file.write_bytes(gzip.compress(b"".join(both)))
    with short_files(300_000), pytest.raises(OSError, match="large"):
        open_archive([file])
    assert [*(tmp_path / f"{NAME}.copies").iterdir()] == []


def test_a_file_that_is_not_an_index_is_left_alone(tmp_path: Path) -> None:
    file, other = write(tmp_path / "1.warc.gz", "a"), tmp_path / "notes.txt"
    other.write_text("mine " * 1000)
    with pytest.raises(IndexFileError, match="not an index"):
        open_archive([file], other)
    sqlite3.connect(tmp_path / "own.db").execute("CREATE TABLE own (x)").connection.close()
    with pytest.raises(IndexFileError, match="not an index"):
        open_archive([file], tmp_path / "own.db")
    assert other.read_text() == "mine " * 1000
    other.rename(tmp_path / NAME)  # where ours would be: it may be somebody's all the same
    with pytest.raises(IndexFileError, match="not an index of archives: delete it, or give"):
        open_archive([file])
    assert (tmp_path / NAME).read_text() == "mine " * 1000


def test_ten_thousand_captures_of_one_address(tmp_path: Path) -> None:
    file = tmp_path / "1.warc.gz"
    dates = [
        f"20{n // 360:02}-{n // 30 % 12 + 1:02}-{n % 30 + 1:02}T00:00:00Z" for n in range(10_000)
    ]
    kind = "application/http; msgtype=response"
    file.write_bytes(
        packed(
            record(
                "response",
                f"{SITE}/a",
                http(f"<html>{date}".encode()),
                Content_Type=kind,
                WARC_Date=date,
            )
            for date in dates
        )
    )
    archive = open_archive([file])
    assert texts(archive, "a") == [f"<html>{max(dates)}"]
    with archive.open() as site:
        ((number, _),) = site.index.sites()
        assert len(list(site.index.pages_of(number))) == site.index.count_pages() == 1


def test_pages_of_sites_by_their_places(tmp_path: Path) -> None:
    urls = [f"http://{host}/{n}" for host in ("www.a.example", "b.example:8080") for n in range(50)]
    file = tmp_path / "1.warc.gz"
    file.write_bytes(
        packed([*(response(url, "<html>x") for url in urls), response(f"{SITE}/no", "", "404 No")])
    )
    with open_archive([file]).open() as site:
        sites = {name: number for number, name in site.index.sites()}
        assert [*sites] == ["a.example", "b.example:8080"]
        found = [site.url_at(place) for place in site.index.pages_of(sites["a.example"])]
        assert found == sorted(urls[:50], key=lambda url: place_of(identity(url)))


def cdxj(path: Path, file: Path, *rows: tuple[str, int, str, str]) -> Path:
    """A CDXJ as others write it: its keys fold capitals and slashes."""
    with path.open("w") as lines:
        print("!meta {}", file=lines)
        for url, offset, status, mime in rows:
            told = {
                "url": url,
                "mime": mime,
                "status": status,
                "offset": str(offset),
                "length": "9",
            }
            told["filename"] = f"somewhere/{file.name}"
            print(f"example,a)/a 20240506070809 {json.dumps(told)}", file=lines)
    return path


def test_cdxj_spares_reading_the_file_and_tells_no_identity(tmp_path: Path) -> None:
    records = [response(f"{SITE}/{each}", f"<html>{each}") for each in (*NAMES, "hidden")]
    records.append(record("revisit", f"{SITE}/same", http(b""), Content_Type="application/http",
                          WARC_Refers_To_Target_URI=f"{SITE}/A"))  # fmt: skip
    file = tmp_path / "1.warc.gz"
    file.write_bytes(packed(records))
    offsets = [len(packed(records[:n])) for n in range(5)]
    index = cdxj(
        tmp_path / "1.cdxj",
        file,
        *(
            (f"{SITE}/{each}", offsets[n], "200", "text/html")
            for n, each in enumerate(("a", "A", "a/"))
        ),
        (f"{SITE}/same", offsets[4], "-", "warc/revisit"),
        ("http://[broken/", 3, "200", "text/html"),
    )
    archive = open_archive([file], cdxj=[index])
    expected = ["<html>a", "<html>A", "<html>a/", "<html>A", NOT_ARCHIVED]
    assert texts(archive, "a", "A", "a/", "same", "hidden") == expected
    assert [list(each.faults.values()) for each in archive.files.values()] == [[1]]


def test_two_indexes_that_disagree(tmp_path: Path) -> None:
    lines: list[str] = []
    file = write(tmp_path / "1.warc.gz", "a", "b")
    wrong = cdxj(tmp_path / "wrong.cdxj", file, (f"{SITE}/a", 7, "200", "text/html"))
    archive = open_archive([file], cdxj=[wrong], tell=lines.append)
    assert texts(archive, "a", "b") == ["<html>a", "<html>b"]
    assert lines == [f"{file}: CDXJ does not fit it: the file itself is read"]


@pytest.mark.parametrize(
    ("offset", "time"), [(float("inf"), "20240506070809"), (0, "99999999999999")]
)
def test_cdxj_with_numbers_beyond_all_bounds(offset: float, time: str, tmp_path: Path) -> None:
    file = write(tmp_path / "1.warc.gz", "a", "b")
    told = {"url": f"{SITE}/a", "filename": file.name, "offset": offset, "status": "200"}
    index = tmp_path / "1.cdxj"
    index.write_text(f"example,a)/a {time} {json.dumps(told)}\n", "utf-8")
    assert texts(open_archive([file], cdxj=[index]), "a") == ["<html>a"]


@pytest.mark.parametrize("data", [b"not packed 1.warc.gz\n", gzip.compress(b"x" * 99)[:-9]])
def test_cdxj_that_cannot_be_unpacked(data: bytes, tmp_path: Path) -> None:
    index = tmp_path / "1.cdxj.gz"
    index.write_bytes(data)
    with pytest.raises(OSError, match="it cannot be unpacked") as found:
        open_archive([write(tmp_path / "1.warc.gz", "a")], cdxj=[index])
    assert found.value.filename == str(index)


def test_dates_beyond_all_bounds(tmp_path: Path) -> None:
    """SQLite has no such numbers; a page of no known date is older than all others."""
    file = tmp_path / "1.warc.gz"
    kind = "application/http"
    dated = {"9999-12-31T23:59:59Z": b"a", "2024-01-01T00:00:00Z": b"b", "9" * 40: b"c"}
    file.write_bytes(
        packed(
            record("response", f"{SITE}/a", http(body), Content_Type=kind, WARC_Date=date)
            for date, body in dated.items()
        )
    )
    assert texts(open_archive([file]), "a") == ["b"]


def test_whoever_reads_is_not_disturbed_by_a_file_that_is_indexed_again(tmp_path: Path) -> None:
    files = [write(tmp_path / f"{name}.warc.gz", name) for name in "abc"]
    with open_archive(files).open() as site:
        write(files[0], "a", body="new ")
        open_archive(files)
        assert told(site.load(f"{SITE}/a")) == "<html>new a"
        write(tmp_path / "d.warc.gz", "d")
        open_archive([tmp_path / "d.warc.gz"])
        assert told(site.load(f"{SITE}/d")) == NOT_ARCHIVED


def test_an_index_remembers_by_what_a_file_was_indexed(tmp_path: Path) -> None:
    lines: list[str] = []
    file = write(tmp_path / "1.warc.gz", "a", "b")
    part = cdxj(tmp_path / "part.cdxj", file, (f"{SITE}/a", 0, "200", "text/html"))
    other = cdxj(tmp_path / "other.cdxj", tmp_path / "2.warc.gz", (f"{SITE}/a", 0, "200", ""))
    by_file, by_cdxj = ["<html>a", "<html>b"], ["<html>a", NOT_ARCHIVED]
    steps: list[tuple[list[Path], list[str], str]] = [
        ([part], by_cdxj, ""),
        ([part], by_cdxj, ""),
        ([], by_file, "it was indexed by CDXJ: indexed again"),
        ([], by_file, ""),
        ([part], by_cdxj, "it was not indexed by this CDXJ: indexed again"),
        ([other], by_file, "CDXJ tells nothing of it: the file itself is read"),
        ([other], by_file, ""),
        ([], by_file, ""),  # it was read itself
    ]
    for given, expected, line in steps:
        lines.clear()
        assert texts(open_archive([file], cdxj=given, tell=lines.append), "a", "b") == expected
        assert lines[-1:] == ([f"{file}: {line}"] if line else [])


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
    names = "abcdefgh"
    menu = "".join(f"<a href=/{each}>{each}</a>" for each in names)
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
        assert [row["reason"] for row in found.explored[:5]] == [NOT_ARCHIVED] * 5
        # When the budget is spent it is over, as in the crawl that has left the others out.
        few = search_pages(site, f"{SITE}/k", SearchOptions(max_loads=1)).summary
        assert few is not None
        assert (few.loads, few.not_archived, few.reason) == (1, 0, "max_loads")
        lost = search_pages(site, f"{SITE}/gone").summary
        assert lost is not None
        assert lost.key_outcome == NOT_ARCHIVED


def content(index: Path) -> list[list[tuple[object, ...]]]:
    connection = sqlite3.connect(index)
    tables = ("files", "sites", "captures")
    found = [connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables]
    connection.close()
    return found


def several_files(folder: Path) -> list[Path]:
    """Good ones, one that is cut off, one that is not a WARC, one with all in one member."""
    files = [write(folder / f"{i}.warc.gz", *(f"{i}/{k}" for k in range(1500))) for i in range(3)]
    files[1].write_bytes(files[1].read_bytes()[:-20])
    other = [response(f"http://{host}.example/x", "<html>x") for host in "cbad"]
    (folder / "one.warc.gz").write_bytes(gzip.compress(b"".join(other)))
    (folder / "not.warc.gz").write_bytes(b"not a WARC")
    return [*files[:2], folder / "not.warc.gz", folder / "one.warc.gz", files[2]]


@pytest.mark.slow
def test_an_index_is_the_same_with_any_number_of_workers(tmp_path: Path) -> None:
    files = several_files(tmp_path)
    (tmp_path / "gone").mkdir()
    made = []
    for workers in (1, 3):
        lost: list[OSError] = []
        index = tmp_path / f"index-{workers}"
        read = reading_by(workers, least=0)
        wanted = [files[0], tmp_path / "gone", *files[1:]]
        archive = open_archive(wanted, index, reading=read, lost=lost.append)
        assert [error.filename for error in lost] == [str(tmp_path / "gone")]
        assert sorted(file.records for file in archive.files.values()) == [0, 4, 1499, 1500, 1500]
        made.append(content(index))
    assert made[0] == made[1]


def children_of(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def test_a_file_is_read_again_when_its_worker_is_killed(tmp_path: Path) -> None:
    files, killed = several_files(tmp_path), list[int]()
    others = children_of(os.getpid())

    def read(*args: Any) -> Readings:
        for each in reading_by(2, least=0)(*args):
            if not killed:
                # One: a file whose second worker dies as well is left out.
                killed.extend([pid for pid in children_of(os.getpid()) if pid not in others][:1])
                os.kill(killed[0], signal.SIGKILL)
            yield each

    open_archive(files, tmp_path / "index", reading=read)
    open_archive(files, tmp_path / "index-1")
    assert killed
    assert content(tmp_path / "index") == content(tmp_path / "index-1")


@pytest.mark.slow
def test_files_whose_workers_die_again_are_left_out(tmp_path: Path) -> None:
    lost: list[OSError] = []
    files = several_files(tmp_path)
    index = tmp_path / "index"
    archive = open_archive(files, index, reading=reading_by(2, 1, least=0), lost=lost.append)
    assert (archive.files, len(lost)) == ({}, len(files))
    assert "it cannot be indexed: the worker died" in str(lost[0])
    assert content(index) == [[], [], []]


def test_ctrl_c_while_workers_read(tmp_path: Path) -> None:
    file, stuck = write(tmp_path / "1.warc.gz", "a"), tmp_path / "stuck.warc.gz"
    os.mkfifo(stuck)  # whoever reads it waits for ever
    before = {*children_of(os.getpid())}
    workers: set[int] = set()
    held: list[int] = []

    def interrupt() -> None:
        while not workers:
            with suppress(OSError):  # as long as nobody has begun to read it
                held.append(os.open(stuck, os.O_WRONLY | os.O_NONBLOCK))
                workers.update({*children_of(os.getpid())} - before)
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    # Whoever starts the tests may have it ignored, as a shell does in the background.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        Thread(target=interrupt, daemon=True).start()
        with pytest.raises(KeyboardInterrupt):
            open_archive([stuck, file], tmp_path / "index", reading=reading_by(2, least=0))
    finally:
        signal.signal(signal.SIGINT, handler)
        os.close(held[0])
    end = time.monotonic() + 30
    while workers & {*children_of(os.getpid())}:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert texts(open_archive([file], tmp_path / "index"), "a") == ["<html>a"]
