"""Folders of saved pages: a row for each file, whatever it is, compared with its whole site."""

from __future__ import annotations

import asyncio
import os
import socket
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.saved_folders import outcomes, own_text, save, save_site, strip
from tplspider.pools.pool import Pool, PooledPage
from tplspider.stripping.addresses import FileAddresses
from tplspider.stripping.folder_pools import FolderPools
from tplspider.stripping.listing import Listing
from tplspider.stripping.rows import COLUMNS, columns, wanted_fields
from tplspider.stripping.saved_page import LARGEST
from tplspider.stripping.strip_folder import FolderStripper, StripOptions, look_through
from tplspider.stripping.walk import list_files

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def test_every_page_is_compared_with_its_site(tmp_path: Path) -> None:
    rows = strip(save_site(tmp_path / "site"))
    assert [tuple(row) for row in rows] == [COLUMNS] * 6
    for number, row in enumerate(rows):
        assert row["url"] == f"http://site/page-{number}.html"
        assert row["main_text"] == row["content_text"] == own_text(number)
        assert row["outcome"] == "page"
        assert row["evidence"] == 3


def test_columns_on_request(tmp_path: Path) -> None:
    options = StripOptions(columns=columns(html=True), workers=0)
    row = strip(save_site(tmp_path, 4), options)[0]
    assert [*row] == [*COLUMNS, "main_html"]
    assert f"<p>{own_text(0)}</p>" in str(row["main_html"])
    assert columns(markdown=True) == (*COLUMNS, "main_markdown")
    assert wanted_fields(columns(markdown=True)) == frozenset(
        {"title", "main_text", "content_text", "evidence", "main_markdown"}
    )


def test_one_row_for_whatever_there_is(tmp_path: Path) -> None:
    folder = save_site(tmp_path / "site", 3)
    (folder / "empty.html").touch()
    (folder / "large.html").write_bytes(b"<html>" + b" " * LARGEST)
    (folder / "tags.html").write_bytes(b"<p>" * 600_000)
    (folder / "style.css").write_text("p {}")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    (folder / "picture.html").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\1\2\3")
    (folder / "to-a-file").symlink_to("page-0.html")
    (folder / "to-nothing.html").symlink_to("nothing")
    (folder / "loop").symlink_to(".")
    os.mkfifo(folder / "pipe.html")
    # The names of sockets are short.
    here = os.open(folder, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(f"/proc/self/fd/{here}/socket.html")
        os.close(here)
        rows = strip(folder)
    assert outcomes(rows) == {
        "empty.html": "empty",
        "large.html": "too-large",
        "loop": "link",
        "page-0.html": "page",
        "page-1.html": "page",
        "page-2.html": "page",
        "picture.html": "not-html",
        "picture.png": "not-html",
        "pipe.html": "special",
        "socket.html": "special",
        "style.css": "not-html",
        "tags.html": "too-large",
        "to-a-file": "link",
        "to-nothing.html": "link",
    }
    (empty,) = [row for row in rows if row["path"] == "empty.html"]
    assert empty == {
        "url": "http://site/empty.html",
        "path": "empty.html",
        "outcome": "empty",
        "title": "",
        "main_text": "",
        "content_text": "",
        "evidence": None,
    }


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read(tmp_path: Path) -> None:
    folder = save_site(tmp_path / "site", 3)
    (folder / "page-1.html").chmod(0)
    (folder / "closed").mkdir(mode=0)
    try:
        found = outcomes(strip(folder))
    finally:
        (folder / "closed").chmod(0o700)
    assert found["page-1.html"] == found["closed/"] == "unreadable"
    assert found["page-0.html"] == "page"


def test_the_order_is_that_of_names(tmp_path: Path) -> None:
    names = ["b.html", "a.html", "a/b.html", "a/a/z.html", "a-b.html", "B.html", "é.html"]
    for number, name in enumerate(names):
        save(tmp_path / name, number)
    rows = strip(tmp_path)
    assert [row["path"] for row in rows] == [
        *("B.html", "a/a/z.html", "a/b.html", "a-b.html", "a.html", "b.html", "é.html")
    ]


def test_hostile_names(tmp_path: Path) -> None:
    folder = save_site(tmp_path / "site", 3)
    names = [b"new\nline.html", b"caf\xe9.html", b"a" * 250 + b".html", b"-O.html", b"..x.html"]
    names += [b"\x1b[31m.html", b"=1+1.html", b"%zz.html", b"\xff\xfe", b"a\\b.html", b"a#b.html"]
    for number, name in enumerate(names):
        (folder / os.fsdecode(name)).write_bytes(b"<html><body><p>Page %d" % number)
    rows = {str(row["path"]): row for row in strip(folder)}
    assert {row["outcome"] for row in rows.values()} == {"page"}
    assert len(rows) == 3 + len(names)
    assert rows["new\\x0aline.html"]["url"] == "http://site/new%0Aline.html"
    assert rows["caf\\xe9.html"]["url"] == "http://site/caf%E9.html"
    assert rows["\\xff\\xfe"]["url"] == "http://site/%FF%FE"
    assert rows["%zz.html"]["url"] == "http://site/%25zz.html"
    assert rows["a#b.html"]["url"] == "http://site/a%23b.html"
    assert "\\x1b[31m.html" in rows


def test_pages_by_what_they_are(tmp_path: Path) -> None:
    page = b"<p>Words.</p></body></html>"
    files = {
        "about": b"<!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0//EN'><html>" + page,
        "view.pl?id=3": b"\xef\xbb\xbf <!-- a --> <html lang=en>" + page,
        "feed.xml": b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'>" + page,
        "utf16.html": ("\ufeff<html><title>caf\u00e9</title>" + page.decode()).encode("utf-16-le"),
        "japanese.html": "<html><title>日本語</title>".encode("iso2022_jp") + page,
        "latin.html": b"<meta charset=iso-8859-1><title>caf\xe9</title>" + page,
        "nul.html": b"<html>\0<title>n\0ul</title>" + page,
        "index.html@p=3": b"<p>No more than this",
    }
    others = {
        "rss.xml": b"<?xml version='1.0'?><rss><p>&lt;html></p></rss>",
        "script.js": b"document.write('<html>')",
        "data.bin": b"\1\2\3<html>",
        "notes.txt": b"The element <html> is the root.",
        "README": b"Words without a mark.",
    }
    for name, body in {**files, **others}.items():
        (tmp_path / name).write_bytes(body)
    rows = {str(row["path"]): row for row in strip(tmp_path)}
    assert {name for name, row in rows.items() if row["outcome"] == "page"} == {*files}
    assert {row["outcome"] for name, row in rows.items() if name in others} == {"not-html"}
    assert rows["utf16.html"]["title"] == rows["latin.html"]["title"] == "café"


def test_hostile_comments_take_no_time(tmp_path: Path) -> None:
    """Each of them would keep a careless pattern busy for hours."""
    (tmp_path / "a").write_bytes(b"<!--a-->" * 600 + b"<")
    (tmp_path / "b.html").write_bytes(b"<!-- Mirrored from " + b" " * 4900 + b"by HTTrack")
    (tmp_path / "c.html").write_bytes(b"<!-- Mirrored from a" * 300)
    (tmp_path / "d.html").write_bytes(b"<?xml " * 1000)
    found = outcomes(strip(tmp_path))
    assert found == {"a": "not-html", "b.html": "page", "c.html": "page", "d.html": "page"}


def test_a_folder_that_changes_meanwhile(tmp_path: Path) -> None:
    folder = save_site(tmp_path / "site", 9)

    def change() -> None:
        (folder / "page-0.html").unlink()
        for name in ("page-1.html", "page-2.html", "page-3.html"):
            (folder / name).unlink()
        os.mkfifo(folder / "page-1.html")
        (folder / "page-2.html").symlink_to("page-8.html")
        (folder / "page-3.html").mkdir()
        (folder / "page-4.html").write_bytes(b"")
        save(folder / "page-5.html", 55)
        save(folder / "page-9.html", 9)

    rows = {str(row["path"]): row for row in strip(folder, between=change)}
    found = outcomes([*rows.values()])
    assert [found.pop(f"page-{number}.html") for number in range(5)] == [
        *("unreadable", "special", "link", "special", "empty")
    ]
    assert found == {f"page-{number}.html": "page" for number in range(5, 9)}
    assert rows["page-5.html"]["main_text"] == own_text(55)
    assert rows["page-8.html"]["evidence"] == 3


def test_what_is_written_is_not_read(tmp_path: Path) -> None:
    save_site(tmp_path, 3)
    (tmp_path / "out.jl").write_text("rows of yesterday")
    save_site(tmp_path / "pools", 2)
    skipped = [(tmp_path / name).stat() for name in ("out.jl", "pools")]
    rows = strip(tmp_path, without={(found.st_dev, found.st_ino) for found in skipped})
    assert [row["path"] for row in rows] == [f"page-{number}.html" for number in range(3)]


def test_several_sites_in_one_folder(tmp_path: Path) -> None:
    for number in range(5):
        save(tmp_path / "www.example.org" / f"{number}.html", number, menu="Blue")
        save(tmp_path / "example.net:8080" / f"{number}.html", number, menu="Red")
    save(tmp_path / "alone.html", 1, menu="Red")
    rows = {str(row["url"]): row for row in strip(tmp_path, base_url="https://me.example/x/")}
    assert rows.pop("https://me.example/x/alone.html")["evidence"] == 0
    assert {row["evidence"] for row in rows.values()} == {3}
    assert {*rows} == {
        f"{origin}/{number}.html"
        for origin in ("https://www.example.org", "http://example.net:8080")
        for number in range(5)
    }


class Kept:
    """Pools that are kept in memory."""

    def __init__(self) -> None:
        self.pools: dict[str, tuple[PooledPage, ...]] = {}
        self.saved: list[str] = []

    def load(self, site: str) -> Iterable[PooledPage]:
        return self.pools.get(site, ())

    def save(self, site: str, pages: Iterable[PooledPage]) -> None:
        self.saved.append(site)
        self.pools[site] = tuple(pages)


def test_pools_are_used_and_kept(tmp_path: Path) -> None:
    kept = Kept()
    options = StripOptions(workers=0, store=kept)
    strip(save_site(tmp_path / "a"), options, base_url="http://example.org/")
    assert kept.saved == ["example.org"]
    assert len(kept.pools["example.org"]) == 6
    save(tmp_path / "b" / "new.html", 77)
    (row,) = strip(tmp_path / "b", options, base_url="http://example.org/")
    assert (row["evidence"], row["main_text"]) == (3, own_text(77))
    assert len(kept.pools["example.org"]) == 7
    assert len(kept.saved) == 2
    strip(tmp_path / "b", options, base_url="http://example.org/")
    assert len(kept.saved) == 2  # there is nothing new


# Few contents, so that there are copies; each address has one of them.
contents = st.lists(st.integers(0, 9), min_size=1, max_size=30)


@given(contents=contents, kept=contents, most=st.integers(1, 6))
def test_the_pool_is_what_all_pages_make(
    tmp_path_factory: pytest.TempPathFactory, contents: list[int], kept: list[int], most: int
) -> None:
    folder = tmp_path_factory.mktemp("site")
    for number, content in enumerate(contents):
        save(folder / f"{number}.html", content)
    base, addresses = "http://example.org", FileAddresses(folder, "http://example.org/")
    own = [
        PooledPage.of(f"{base}/{number}.html", (folder / f"{number}.html").read_bytes().decode())
        for number in range(len(contents))
    ]
    store = Kept()
    others = [
        PooledPage.of(f"{base}/old-{number}.html", f"<p>{n}") for number, n in enumerate(kept)
    ]
    store.pools["example.org"] = Pool(others, most=most).pages
    with Listing() as listing:
        list_files(folder, listing)
        look_through(folder, listing, addresses)
        plain = FolderPools(folder, listing, addresses, most=most)
        with_store = FolderPools(folder, listing, addresses, store=store, most=most)
        found = asyncio.run(plain.of("example.org"))
        merged = asyncio.run(with_store.of("example.org"))
        digests = {page.digest for batch in listing.in_order() for page in batch}
    assert digests == {page.digest for page in own}
    assert found == Pool(own, most=most).pages
    assert merged == Pool([*store.load("example.org"), *own], most=most).pages


@pytest.mark.slow
def test_memory_does_not_grow_with_the_folder(tmp_path: Path) -> None:
    """What Python holds at most, ten times as many files; SQLite has a cache of four megabytes."""
    few, many = (tmp_path / f"{size}.example.org" for size in (1_500, 15_000))
    peaks = []
    save_site(tmp_path / "warm" / "folder", 5)
    strip(tmp_path / "warm")  # tables that are made once
    for folder in (few, many):
        for number in range(int(folder.stem.partition(".")[0])):
            path = folder / str(number % 100) / f"{number}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        save_site(folder, 40)
        addresses = FileAddresses(folder)
        tracemalloc.start()
        with Listing() as listing:
            list_files(folder, listing)
            look_through(folder, listing, addresses)
            stripper = FolderStripper(folder, listing, addresses, StripOptions(workers=0))
            asyncio.run(stripper.strip(lambda _: None))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 200_000
