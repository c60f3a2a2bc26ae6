"""WARC files as they are found: broken in many ways, what is read all the same, and the index."""
# ruff: noqa: E501 - tables, a line for each case

import gzip
import os
import sqlite3
import zlib
from collections.abc import Iterable
from pathlib import Path

import brotli  # type: ignore[import-untyped]  # no types
import pytest
from backports import zstd

from tests.support.crawls import SITES, Serve, run_command
from tests.support.warc_files import HTML, SiteRecords, http, packed, record, response
from tplspider import FolderSite, SearchOptions, search_pages
from tplspider.search.session import SearchLimits
from tplspider.sources.archive import NAME, Archive, IndexFileError, open_archive
from tplspider.sources.records import BROKEN, CUT, PACKED
from tplspider.storages import response_of
from tplspider.web.addresses import identity, place_of
from tplspider.web.page import (
    BAD_RESPONSE,
    NOT_ARCHIVED,
    NOT_HTML,
    ROBOTS,
    TOO_LARGE,
    NoPage,
    Redirect,
    WebPage,
    page_fault,
)

SITE = "http://a.example"
TEXT = "<html><title>T</title><p>Grüße</p></html>"
BODY = TEXT.encode()
TOLD = dict[str, str]


def url(path: str) -> str:
    return f"{SITE}/{path}"


def page(path: str, body: bytes = BODY, status: str = "200 OK", **headers: str) -> bytes:
    return response(url(path), body, status, **headers)


def raw(path: str, content: bytes, **headers: str) -> bytes:
    kind = "application/http; msgtype=response"
    return record("response", url(path), content, Content_Type=kind, **headers)


def chunked(body: bytes, size: int = 7) -> bytes:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x;x=1\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def deflated(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(body) + packer.flush()


A, B, C, D = (page(name, BODY + name.encode()) for name in "abcd")
ALL = {name: TEXT + name for name in "abcd"}


def without(*names: str) -> TOLD:
    return {each: NOT_ARCHIVED if each in names else text for each, text in ALL.items()}


def longer(data: bytes, by: int) -> bytes:
    """A record that says that it is longer than it is, or shorter."""
    head, _, rest = data.partition(b"Content-Length: ")
    length, _, rest = rest.partition(b"\r\n")
    return b"%sContent-Length: %d\r\n%s" % (head, int(length) + by, rest)


def damaged(member: bytes) -> bytes:
    middle = len(member) // 2
    return member[:middle] + bytes(255 - each for each in member[middle : middle + 8]) + b"~~~"


GZ = [packed([each]) for each in (A, B, C, D)]
PLAIN = b"".join((A, B, C, D))
ZST = b"".join(map(zstd.compress, (A, B, C, D)))


# Whole files: what is at /a, /b, /c and /d, and what is said to be wrong.
FILES: dict[str, tuple[bytes, TOLD, set[str]]] = {
    "gzip": (b"".join(GZ), ALL, set()),
    "plain": (PLAIN, ALL, set()),
    "zstd, a frame for each record": (ZST, ALL, set()),
    "one gzip member for all": (gzip.compress(PLAIN), without("b", "c", "d"), {PACKED}),
    "gzip, then plain": (packed([A, B]) + C + GZ[3], ALL, {BROKEN}),
    "plain, then zstd": (A + B + zstd.compress(C) + D, ALL, {BROKEN}),
    "zstd, then gzip": (ZST[: -len(zstd.compress(D))] + GZ[3], ALL, {BROKEN}),
    "a length that is too long, plain": (
        A + longer(B, 300) + C + D, {name: ALL[name] for name in "acd"}, {BROKEN},
    ),
    "a length beyond the end": (A + B + C + longer(D, 10**9), without("d"), {CUT}),
    "a length that is too short, plain": (
        A + longer(B, -8) + C + D, ALL | {"b": (TEXT + "b")[:-8]}, {BROKEN},
    ),
    "a gzip member with damage inside": (
        GZ[0] + damaged(GZ[1]) + GZ[2] + GZ[3], without("b"), {BROKEN},
    ),
    "a gzip member with a wrong checksum": (
        GZ[0] + GZ[1][:-8] + b"12345678" + GZ[2] + GZ[3], without("b"), {BROKEN},
    ),
    "an empty gzip member": (
        GZ[0] + gzip.compress(b"") + GZ[1] + GZ[2] + GZ[3] + gzip.compress(b""), ALL, {BROKEN},
    ),
    "rubbish between members": (GZ[0] + b"rubbish" + GZ[1] + GZ[2] + GZ[3], ALL, {BROKEN}),
    "rubbish in a plain file": (A + b"rubbish\r\nrubbish" + B + C + D, ALL, {BROKEN}),
    "a frame of zstd with damage": (
        zstd.compress(A) + zstd.compress(B)[:30] + b"~" * 30 + zstd.compress(C) + zstd.compress(D),
        without("b"), {BROKEN},
    ),
    "lines of a head that end in LF alone": (
        A + raw("b", http(BODY + b"b").replace(b"\r\n", b"\n")) + C + D, ALL, set(),
    ),
    "cut within a body, gzip": (b"".join(GZ)[:-30], without("d"), {CUT}),
    "cut within a body, plain": (PLAIN[:-30], without("d"), {CUT}),
    "cut within a header, gzip": (b"".join(GZ)[:-240], without("d"), {CUT}),
    "an address in angle brackets": (
        PLAIN.replace(b"URI: http://a.example/b", b"URI: <http://a.example/b>"), ALL, set(),
    ),
    "an address with a fragment and a password": (
        PLAIN.replace(b"http://a.example/b", b"http://me:secret@a.example/b#top"), ALL, set(),
    ),
    "dns, requests, warcinfo and others": (
        packed([
            record("warcinfo", content=b"software: x\r\n"), A,
            record("response", "dns:a.example", b"20240506\n1.2.3.4", Content_Type="text/dns"),
            record("request", url("b"), b"GET /b HTTP/1.1\r\n\r\n", Content_Type="application/http"),
            B, record("metadata", url("b"), b"fetchTimeMs: 12\r\n"), C,
            record("conversion", url("c"), b"text of it", Content_Type="text/plain"),
            record("continuation", url("c"), b"more"), record("odd", url("c"), b"?"), D,
            record("response", "ftp://a.example/", b"x"), record("response", "", b"x"),
            record("response", "http://[broken/", http(b"x")),
        ]), ALL, set(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_all_that_can_be_read_of_a_file(name: str, tmp_path: Path) -> None:
    data, expected, faults = FILES[name]
    file = tmp_path / "x.warc.gz"
    file.write_bytes(data)
    archive = open_archive([file])
    (indexed,) = archive.files.values()
    with archive.open() as site:
        found = {each: told(site.load(url(each))) for each in expected}
        assert found == expected
        assert all(
            site.is_absent(url(each)) == (text == NOT_ARCHIVED) for each, text in expected.items()
        )
        assert not site.faults
    assert {*indexed.faults} == faults


def told(answer: WebPage | Redirect | NoPage) -> str:
    if isinstance(answer, NoPage):
        return answer.reason
    assert isinstance(answer, WebPage)
    return page_fault(answer) or answer.text


BOMB = bytes(11_000_000)

# Single records: what a search is given.
RECORDS: dict[str, tuple[bytes, str]] = {
    "chunked": (page("x", chunked(BODY), Transfer_Encoding="chunked"), TEXT),
    "chunked and cut": (page("x", chunked(BODY)[:-12], Transfer_Encoding="chunked"), TEXT[:-1]),
    "a chunk that is longer than all": (
        page("x", b"f" * 16 + b"\r\n" + BODY, Transfer_Encoding="chunked"), TEXT,
    ),
    "gzip": (page("x", gzip.compress(BODY), Content_Encoding="gzip"), TEXT),
    "gzip by its header alone": (page("x", Content_Encoding="gzip"), TEXT),
    "gzip that is damaged at its end": (
        page("x", gzip.compress(BODY)[:-8] + b"12345678", Content_Encoding="gzip"), TEXT,
    ),
    "gzip that is damaged throughout": (
        page("x", b"\x1f\x8b\x08" + b"\xff\x00" * 40, Content_Encoding="gzip"), BAD_RESPONSE,
    ),
    "deflate": (page("x", zlib.compress(BODY), Content_Encoding="deflate"), TEXT),
    "deflate without a header": (page("x", deflated(BODY), Content_Encoding="deflate"), TEXT),
    "brotli": (page("x", brotli.compress(BODY), Content_Encoding="br"), TEXT),
    "zstd": (page("x", zstd.compress(BODY), Content_Encoding="zstd"), TEXT),
    "a bomb of gzip": (page("x", gzip.compress(BOMB), Content_Encoding="gzip"), TOO_LARGE),
    "no body": (page("x", b""), BAD_RESPONSE),
    "404": (page("x", b"no", "404 Not Found"), "http-404"),
    "an image": (page("x", b"\x89PNG\x00\x01", Content_Type="image/png"), NOT_HTML),
    "a resource": (record("resource", url("x"), BODY, Content_Type=HTML), TEXT),
    "an outcome": (
        record("metadata", url("x"), b"tplspider-outcome: robots\r\ntplspider-detail: no\r\n",
               Content_Type="application/warc-fields"), ROBOTS,
    ),
}  # fmt: skip


def test_letters_in_a_header(tmp_path: Path) -> None:
    name = "Übersicht \u2013 a".encode()
    found = load(tmp_path, [raw("x", http(BODY).replace(b"\r\n", b"\r\nX: %s\r\n" % name, 1))])
    assert isinstance(found, WebPage)
    assert response_of(found, url("x")).headers["X"] == name


@pytest.mark.parametrize("name", RECORDS)
def test_what_a_record_gives(name: str, tmp_path: Path) -> None:
    data, expected = RECORDS[name]
    assert told(load(tmp_path, [data])) == expected


def load(tmp_path: Path, records: Iterable[bytes], search: str = "") -> WebPage | NoPage | Redirect:
    file = tmp_path / "x.warc.gz"
    file.write_bytes(packed(records))
    with open_archive([file]).open() as site:
        site.search = search
        found = site.load(url("x"))
        assert not site.faults
        return found


def revisit(path: str, of: str = "", head: bytes = http(b""), **headers: str) -> bytes:
    told = {"WARC_Refers_To_Target_URI": of} if of else {}
    return record("revisit", url(path), head, Content_Type="application/http", **told, **headers)


OLD, NEW = ({"WARC_Date": f"{year}-01-01T00:00:00Z"} for year in (2001, 2020))
OWN = {"WARC_Tplspider_Search": "0123456789abcdef"}
OURS = record("warcinfo", content=b"software: tplspider/1\r\n")

# Several records of one address: the one that counts.
SEVERAL: dict[str, tuple[list[bytes], str]] = {
    "the newest page": ([raw("x", http(b"<html>new"), **NEW), raw("x", http(b"<html>old"), **OLD)], "<html>new"),
    "of the same second, the last": ([raw("x", http(b"<html>1")), raw("x", http(b"<html>2"))], "<html>2"),
    "a page, not a later redirect": (
        [raw("x", http(BODY), **OLD), raw("x", http(b"", "301 Moved", Location="/y"), **NEW)], TEXT,
    ),
    "a revisit of itself": ([page("x"), revisit("x", url("x"))], TEXT),
    "a revisit without an address": ([page("x"), revisit("x")], TEXT),
    "a revisit of another address": ([page("y"), revisit("x", url("y"))], TEXT),
    "revisits that all name each other": (
        [revisit(*names, WARC_Date=f"2024-01-01T00:00:{second:02}Z")
         for second in range(60) for names in (("x", url("y")), ("y", url("x")))], NOT_ARCHIVED,
    ),
    "a revisit of what is not there": ([revisit("x", url("y"))], NOT_ARCHIVED),
    "a revisit of a date": (
        [raw("y", http(BODY), **OLD), raw("y", http(b"<html>new"), **NEW),
         revisit("x", url("y"), WARC_Refers_To_Date=OLD["WARC_Date"])], TEXT,
    ),
    "the search's own": (
        [OURS, raw("x", http(b"<html>own"), **OLD, **OWN), raw("x", http(b"<html>other"), **NEW)], "<html>own",
    ),
    "the search's own outcome": (
        [OURS, raw("x", http(BODY)), record("metadata", url("x"), b"tplspider-outcome: robots", **OLD, **OWN)],
        ROBOTS,
    ),
    "the page as scripts made it": (
        [OURS, record("conversion", url("x"), BODY, Content_Type=HTML, WARC_Tplspider_Rendered="yes"),
         raw("x", http(b"<html>as it came"), **NEW)], TEXT,
    ),
    "another address, by letters": ([page("x"), page("X", b"<html>X")], TEXT),
}  # fmt: skip


@pytest.mark.parametrize("name", SEVERAL)
def test_which_record_counts(name: str, tmp_path: Path) -> None:
    records, expected = SEVERAL[name]
    assert told(load(tmp_path, records, "0123456789abcdef")) == expected


def test_a_page_about_records_in_a_plain_file(tmp_path: Path) -> None:
    shown = b"<html><pre>\r\n\r\n" + B + b"</pre></html>"
    file = tmp_path / "x.warc"
    file.write_bytes(page("x", shown) + C)
    archive = open_archive([file])
    with archive.open() as site:
        assert told(site.load(url("x"))) == shown.decode()
        assert site.is_absent(url("b"))
        assert told(site.load(url("c"))) == ALL["c"]
    assert [each.faults for each in archive.files.values()] == [{}]


# The index: in step with its files.


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


def test_an_index_that_is_old_or_cut_is_made_anew(tmp_path: Path) -> None:
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


def test_what_wget_has_written(tmp_path: Path, serve: Serve) -> None:
    server = serve("menu")
    command = ("wget", "-q", "-r", "-e", "robots=off", "--warc-file", "x", f"{server.url}/")
    run_command(*command, folder=tmp_path, env={**os.environ, "no_proxy": "*"})
    archive = open_archive([tmp_path / "x.warc.gz"])
    assert [each.faults for each in archive.files.values()] == [{}]
    with archive.open() as site:
        found = search_pages(site, f"{server.url}/docs/guide/one.html").summary
    assert found is not None
    assert (found.complete, len(found.candidates)) == (True, 3)


@pytest.mark.parametrize("strategy", ["paper", "guided"])
def test_a_search_in_an_archive_is_that_in_the_folder(strategy: str, tmp_path: Path) -> None:
    folder = FolderSite(SITES / "menu")
    start = [folder.address(file) for file in folder.files()]
    file = tmp_path / "1.warc.gz"
    file.write_bytes(packed(SiteRecords(folder, [*start, f"{folder.url}/"])))
    options, limits = SearchOptions(strategy=strategy), SearchLimits(for_template=True)
    with open_archive([file]).open() as site:
        for url in start:
            expected = search_pages(folder, url, options, limits).summary
            assert search_pages(site, url, options, limits).summary == expected
