"""WARC files as they are found: broken in every way, and what can be read of them all the same."""
# ruff: noqa: E501 - tables, a line for each case

from __future__ import annotations

import gzip
import io
import random
import zlib
from collections import Counter
from typing import TYPE_CHECKING, Any

import brotli  # type: ignore[import-untyped]  # no types
import pytest
from backports import zstd

from tests.support.warc_files import HTML, http, packed, record, response
from tplspider.sources.archive import open_archive
from tplspider.sources.records import BROKEN, CUT, WRONG_LENGTH, captures_in
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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

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
LF = PLAIN.replace(b"\r\n", b"\n")
LF_LENGTHS = b"".join(
    record("response", url(name), http(BODY + name.encode()).replace(b"\r\n", b"\n"),
           Content_Type="application/http").replace(b"\r\n", b"\n")
    for name in "abcd"
)  # fmt: skip
ZST = b"".join(map(zstd.compress, (A, B, C, D)))

MIXED: dict[str, Callable[[list[bytes]], bytes]] = {
    "gzip": packed,
    "plain": b"".join,
    "zstd": lambda each: b"".join(map(zstd.compress, each)),
}

# Whole files: what is at /a, /b, /c and /d, and what is said to be wrong.
FILES: dict[str, tuple[bytes, TOLD, set[str]]] = {
    "gzip": (b"".join(GZ), ALL, set()),
    "plain": (PLAIN, ALL, set()),
    "zstd, a frame for each record": (ZST, ALL, set()),
    "zstd, one frame for all": (zstd.compress(PLAIN), ALL, set()),
    "one gzip member for all": (gzip.compress(PLAIN), ALL, set()),
    "two records in a gzip member": (packed([A + B, C, D]), ALL, set()),
    "two records in the last gzip member": (packed([A, B, C + D]), ALL, set()),
    "two records in the only gzip member": (packed([C + D]), without("a", "b"), set()),
    "stored, not compressed": (b"".join(gzip.compress(each, 0) for each in (A, B, C, D)), ALL, set()),
    "a length that is too long, gzip": (packed([A, longer(B, 300), C, D]), ALL, {WRONG_LENGTH}),
    "a length that is too long, plain": (A + longer(B, 300) + C + D, ALL, {WRONG_LENGTH}),
    "a length far too long, gzip": (packed([A, longer(B, 10**15), C, D]), ALL, {WRONG_LENGTH}),
    "a length far too long, plain": (A + longer(B, 10**15) + C + D, ALL, {WRONG_LENGTH}),
    "the start of one more, plain": (PLAIN + A[:28], ALL, {CUT}),
    "the very start of one more, plain": (PLAIN + A[:3], ALL, {BROKEN}),
    "a length beyond the end": (A + B + C + longer(D, 10**9), without("d"), {CUT}),
    "a length that is too short, gzip": (
        packed([A, longer(B, -8), C, D]), ALL | {"b": (TEXT + "b")[:-8]}, {BROKEN},
    ),
    "a length that is too short, plain": (
        A + longer(B, -8) + C + D, ALL | {"b": (TEXT + "b")[:-8]}, {BROKEN},
    ),
    "no length": (A + B.replace(b"Content-Length", b"X-Length") + C + D, without("b"), {CUT}),
    "a length below zero": (A + B.replace(b"h: ", b"h: -") + C + D, without("b"), {CUT}),
    "a length of 30 digits": (A + B.replace(b"h: ", b"h: " + b"9" * 28) + C + D, without("b"), {CUT}),
    "a gzip member with damage inside": (
        GZ[0] + damaged(GZ[1]) + GZ[2] + GZ[3], without("b"), {BROKEN},
    ),
    "a gzip member with a wrong checksum": (
        GZ[0] + GZ[1][:-8] + b"12345678" + GZ[2] + GZ[3], without("b"), {BROKEN},
    ),
    "two bad members, one after the other": (
        GZ[0] + damaged(GZ[1]) + damaged(GZ[2]) + GZ[3], without("b", "c"), {BROKEN},
    ),
    "the first member is bad": (damaged(GZ[0]) + GZ[1] + GZ[2] + GZ[3], without("a"), {BROKEN}),
    "rubbish between members": (GZ[0] + b"rubbish" + GZ[1] + GZ[2] + GZ[3], ALL, {BROKEN}),
    "rubbish before the first": (b"rubbish\n" + b"".join(GZ), ALL, {BROKEN}),
    "zeros between members": (GZ[0] + bytes(5000) + GZ[1] + GZ[2] + GZ[3], ALL, {BROKEN}),
    "zeros in a plain file": (A + bytes(5000) + B + C + D, ALL, {BROKEN}),
    "rubbish in a plain file": (A + b"rubbish\r\nrubbish" + B + C + D, ALL, {BROKEN}),
    "an empty member": (GZ[0] + gzip.compress(b"") + GZ[1] + GZ[2] + GZ[3], ALL, {BROKEN}),
    "a member of blank lines": (
        GZ[0] + gzip.compress(b"\r\n\r\n") + GZ[1] + GZ[2] + GZ[3], ALL, set(),
    ),
    "a member that is not a record": (
        GZ[0] + gzip.compress(b"hello") + GZ[1] + GZ[2] + GZ[3], ALL, {BROKEN},
    ),
    "a frame of zstd with damage": (
        zstd.compress(A) + zstd.compress(B)[:30] + b"~" * 30 + zstd.compress(C) + zstd.compress(D),
        without("b"), {BROKEN},
    ),
    "lines that end in LF alone": (LF_LENGTHS, ALL, set()),
    "cut within a body, gzip": (b"".join(GZ)[:-30], without("d"), {CUT}),
    "cut within a body, plain": (PLAIN[:-30], without("d"), {CUT}),
    "cut within a header, gzip": (b"".join(GZ[:3]) + GZ[3][:60], without("d"), {CUT}),
    "cut within a header, plain": (A + B + C + D[:50], without("d"), {CUT}),
    "cut within a one-member file": (gzip.compress(PLAIN)[:-40], without("d"), {CUT}),
    "a head of 200 kB": (
        packed([A, page("b", BODY + b"b", X_Long="x" * 200_000), C, D]), ALL, set(),
    ),
    "a record's header of 200 kB": (
        packed([A, raw("b", http(BODY + b"b"), X_Long="x" * 200_000), C, D]), ALL, set(),
    ),
    "a head of 3 MB": (
        packed([A, page("b", BODY, X_Long="x" * 3_000_000), C, D]), without("b"), {BROKEN},
    ),
    "a line of a header that is none": (
        A + B.replace(b"WARC-Date", b"no colon\r\nWARC-Date") + C + D, ALL, set(),
    ),
    "names of headers in small letters": (
        PLAIN.replace(b"WARC-Type", b"warc-type").replace(b"WARC-Target-URI", b"warc-target-uri"),
        ALL, set(),
    ),
    "types in capitals": (PLAIN.replace(b"response\r\n", b"RESPONSE\r\n"), ALL, set()),
    "WARC/0.18": (PLAIN.replace(b"WARC/1.0", b"WARC/0.18"), ALL, set()),
    "WARC/1.1": (PLAIN.replace(b"WARC/1.0", b"WARC/1.1"), ALL, set()),
    "an address in angle brackets": (
        PLAIN.replace(b"URI: http://a.example/b", b"URI: <http://a.example/b>"), ALL, set(),
    ),
    "an address with a fragment and a password": (
        PLAIN.replace(b"http://a.example/b", b"http://me:secret@a.example/b#top"), ALL, set(),
    ),
    "blank lines around records": (b"\r\n\r\n".join([b"", A, B, C, D]), ALL, {BROKEN}),
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


@pytest.mark.parametrize(
    "second",
    [B.replace(b"WARC-Type", b"WARC-Tyxe"), B[:-30] + B[-20:]],
    ids=["a name that is damaged", "a length that is too large"],
)
def test_what_follows_a_damaged_record(second: bytes, tmp_path: Path) -> None:
    file = tmp_path / "x.warc"
    file.write_bytes(A + second + C + D)
    archive = open_archive([file])
    with archive.open() as site:
        assert {each: told(site.load(url(each))) for each in "acd"} == {
            each: ALL[each] for each in "acd"
        }
    (indexed,) = archive.files.values()
    assert {*indexed.faults} == {BROKEN}


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


@pytest.mark.parametrize("second", MIXED)
@pytest.mark.parametrize("first", MIXED)
def test_files_whose_records_are_packed_in_two_ways(
    first: str, second: str, tmp_path: Path
) -> None:
    file = tmp_path / "x.warc.gz"
    file.write_bytes(MIXED[first]([A, B]) + MIXED[second]([C]) + MIXED[first]([D]))
    archive = open_archive([file])
    assert [each.faults for each in archive.files.values()] == [{}]
    with archive.open() as site:
        assert {each: told(site.load(url(each))) for each in "abcd"} == ALL


def test_records_far_inside_of_what_is_packed_together(tmp_path: Path) -> None:
    noise = random.Random(0).randbytes(200_000).hex().encode()
    names = [str(number) for number in range(12)]
    whole = b"".join(page(name, BODY + noise + name.encode()) for name in names)
    file = tmp_path / "x.warc.gz"
    file.write_bytes(gzip.compress(whole))
    with open_archive([file]).open() as site:
        for name in reversed(names):
            assert told(site.load(url(name))).endswith(name)


def told(answer: WebPage | Redirect | NoPage) -> str:
    if isinstance(answer, NoPage):
        return answer.reason
    assert isinstance(answer, WebPage)
    return page_fault(answer) or answer.text


BOMB = bytes(11_000_000)

# Single records: what a search is given.
RECORDS: dict[str, tuple[bytes, str]] = {
    "as it is": (page("x"), TEXT),
    "chunked": (page("x", chunked(BODY), Transfer_Encoding="chunked"), TEXT),
    "chunked and cut": (page("x", chunked(BODY)[:-12], Transfer_Encoding="chunked"), TEXT[:-1]),
    "chunked by its header alone": (page("x", Transfer_Encoding="chunked"), TEXT),
    "a page that looks like a chunk": (page("x", b"a\r\n" + BODY, Transfer_Encoding="chunked"), f"a\r\n{TEXT}"),
    "gzip": (page("x", gzip.compress(BODY), Content_Encoding="gzip"), TEXT),
    "gzip, in capitals, with blanks": (page("x", gzip.compress(BODY), Content_Encoding=" GZIP "), TEXT),
    "gzip in two members": (
        page("x", gzip.compress(BODY[:9]) + gzip.compress(BODY[9:]), Content_Encoding="gzip"), TEXT,
    ),
    "gzip by its header alone": (page("x", Content_Encoding="gzip"), TEXT),
    "gzip and chunked": (
        page("x", chunked(gzip.compress(BODY)), Content_Encoding="gzip", Transfer_Encoding="chunked"), TEXT,
    ),
    "gzip by its header, and chunked": (
        page("x", chunked(BODY), Content_Encoding="gzip", Transfer_Encoding="chunked"), TEXT,
    ),
    "gzip that is damaged at its end": (
        page("x", gzip.compress(BODY)[:-8] + b"12345678", Content_Encoding="gzip"), TEXT,
    ),
    "gzip that is damaged throughout": (
        page("x", b"\x1f\x8b\x08" + b"\xff\x00" * 40, Content_Encoding="gzip"), BAD_RESPONSE,
    ),
    "deflate": (page("x", zlib.compress(BODY), Content_Encoding="deflate"), TEXT),
    "deflate without a header": (page("x", deflated(BODY), Content_Encoding="deflate"), TEXT),
    "deflate by its header alone": (page("x", Content_Encoding="deflate"), TEXT),
    "brotli": (page("x", brotli.compress(BODY), Content_Encoding="br"), TEXT),
    "brotli by its header alone": (page("x", Content_Encoding="br"), TEXT),
    "brotli that is cut": (
        page("x", brotli.compress(bytes(range(256)) * 40)[:-9], Content_Encoding="br"), BAD_RESPONSE,
    ),
    "zstd": (page("x", zstd.compress(BODY), Content_Encoding="zstd"), TEXT),
    "zstd by its header alone": (page("x", Content_Encoding="zstd"), TEXT),
    "two layers": (
        page("x", gzip.compress(zlib.compress(BODY)), Content_Encoding="deflate, gzip"), TEXT,
    ),
    "an encoding that nobody knows": (
        page("x", b"\x01\x02\x03" * 50, Content_Encoding="x-own"), NOT_HTML,
    ),
    "an unknown encoding of plain text": (page("x", Content_Encoding="x-own"), TEXT),
    "an unknown encoding, which leaves the type to the body": (
        page("x", Content_Encoding="identity", Content_Type="text/plain"), TEXT,
    ),
    "a bomb of gzip": (page("x", gzip.compress(BOMB), Content_Encoding="gzip"), TOO_LARGE),
    "a bomb of deflate": (page("x", zlib.compress(BOMB), Content_Encoding="deflate"), TOO_LARGE),
    "a bomb of brotli": (page("x", brotli.compress(BOMB, quality=1), Content_Encoding="br"), TOO_LARGE),
    "a bomb of zstd": (page("x", zstd.compress(BOMB), Content_Encoding="zstd"), TOO_LARGE),
    "a bomb as it is": (page("x", BOMB), TOO_LARGE),
    "no body": (page("x", b""), BAD_RESPONSE),
    "no status": (raw("x", http(BODY, "abc")), BAD_RESPONSE),
    "HTTP/2": (raw("x", http(BODY).replace(b"HTTP/1.1", b"HTTP/2")), TEXT),
    "no HTTP head": (raw("x", BODY), BAD_RESPONSE),
    "an HTTP head with LF": (raw("x", http(BODY).replace(b"\r\n", b"\n")), TEXT),
    "no headers at all": (raw("x", b"HTTP/1.1 200 OK\r\n\r\n" + BODY), TEXT),
    "two types, of which the last counts": (
        raw("x", http(BODY).replace(b"Content-Type", b"Content-Type: image/png\r\nContent-Type", 1)), TEXT,
    ),
    "an encoding in the header": (
        page("x", TEXT.encode("latin-1"), Content_Type="text/html; charset=iso-8859-1"), TEXT,
    ),
    "404": (page("x", b"no", "404 Not Found"), "http-404"),
    "204": (page("x", b"", "204 No Content"), "http-204"),
    "an image": (page("x", b"\x89PNG\x00\x01", Content_Type="image/png"), NOT_HTML),
    "a resource": (record("resource", url("x"), BODY, Content_Type=HTML), TEXT),
    "a resource without a type": (record("resource", url("x"), BODY), TEXT),
    "a resource that is not HTML": (
        record("resource", url("x"), b"\x00\x01", Content_Type="image/png"), NOT_HTML,
    ),
    "an outcome": (
        record("metadata", url("x"), b"tplspider-outcome: robots\r\ntplspider-detail: no\r\n",
               Content_Type="application/warc-fields"), ROBOTS,
    ),
    "metadata of others": (record("metadata", url("x"), b"via: http://b.example/\r\n"), NOT_ARCHIVED),
    "a conversion of others": (
        record("conversion", url("x"), BODY, Content_Type=HTML), NOT_ARCHIVED,
    ),
}  # fmt: skip


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
    "of fractions of a second, the newest": (
        [raw("x", http(b"<html>1"), WARC_Date="2024-01-01T00:00:00.5Z"),
         raw("x", http(b"<html>2"), WARC_Date="2024-01-01T00:00:00Z")], "<html>1",
    ),
    "a page, not a later redirect": (
        [raw("x", http(BODY), **OLD), raw("x", http(b"", "301 Moved", Location="/y"), **NEW)], TEXT,
    ),
    "a page, not a later 404": ([raw("x", http(BODY), **OLD), raw("x", http(b"", "404 No"), **NEW)], TEXT),
    "an outcome, not a 503": (
        [raw("x", http(b"", "503 No")), record("metadata", url("x"), b"tplspider-outcome: timeout\r\n", **OLD)],
        "timeout",
    ),
    "a revisit of itself": ([page("x"), revisit("x", url("x"))], TEXT),
    "a revisit without an address": ([page("x"), revisit("x")], TEXT),
    "a revisit that was not modified": ([page("x"), revisit("x", head=http(b"", "304 Not Modified"))], TEXT),
    "a revisit of another address": ([page("y"), revisit("x", url("y"))], TEXT),
    "a revisit of one that comes later": ([revisit("x", url("y")), page("y")], TEXT),
    "a revisit of a revisit": ([page("z"), revisit("y", url("z")), revisit("x", url("y"))], TEXT),
    "revisits of each other": ([revisit("x", url("y")), revisit("y", url("x"))], NOT_ARCHIVED),
    "a revisit of what is not there": ([revisit("x", url("y"))], NOT_ARCHIVED),
    "a page, not a revisit": ([page("x"), page("y", b"<html>y"), revisit("x", url("y"))], TEXT),
    "a revisit that was not found": (
        [page("y"), revisit("x", url("y"), http(b"", "404 Not Found"))], "http-404",
    ),
    "a revisit of a date": (
        [raw("y", http(BODY), **OLD), raw("y", http(b"<html>new"), **NEW),
         revisit("x", url("y"), WARC_Refers_To_Date=OLD["WARC_Date"])], TEXT,
    ),
    "the search's own revisit of nowhere": (
        [OURS, page("x"), revisit("x", "http://[", http(b""), WARC_Refers_To_Date=OLD["WARC_Date"], **OWN)],
        TEXT,
    ),
    "the search's own": (
        [OURS, raw("x", http(b"<html>own"), **OLD, **OWN), raw("x", http(b"<html>other"), **NEW)], "<html>own",
    ),
    "the search's own outcome": (
        [OURS, raw("x", http(BODY)), record("metadata", url("x"), b"tplspider-outcome: robots", **OLD, **OWN)],
        ROBOTS,
    ),
    "the last of the search's own": (
        [OURS, raw("x", http(b"", "503 Later"), **OLD, **OWN), raw("x", http(BODY), **NEW, **OWN)], TEXT,
    ),
    "the page as scripts made it": (
        [OURS, record("conversion", url("x"), BODY, Content_Type=HTML, WARC_Tplspider_Rendered="yes"),
         raw("x", http(b"<html>as it came"), **NEW)], TEXT,
    ),
    "another address, by letters": ([page("x"), page("X", b"<html>X")], TEXT),
    "another address, by a slash": ([page("x"), page("x/", b"<html>/")], TEXT),
}  # fmt: skip


@pytest.mark.parametrize("name", SEVERAL)
def test_which_record_counts(name: str, tmp_path: Path) -> None:
    records, expected = SEVERAL[name]
    assert told(load(tmp_path, records, "0123456789abcdef")) == expected


@pytest.mark.parametrize(
    "records",
    [
        [page("x", b"", "301 Moved", Location="/y")],
        # Empty bodies are all alike: this one says itself where it leads.
        [page("z", b""), revisit("x", url("z"), http(b"", "301 Moved", Location="/y"))],
    ],
)
def test_redirects(records: list[bytes], tmp_path: Path) -> None:
    found = load(tmp_path, records)
    assert isinstance(found, WebPage)
    assert (found.status, found.headers["location"]) == (301, "/y")


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


@pytest.mark.parametrize("pack", [packed, lambda records: b"".join(map(zstd.compress, records))])
def test_a_page_about_records_in_a_packed_file(pack: Any, tmp_path: Path) -> None:
    shown = b"<pre>\r\n\r\nWARC/1.0\r\nWARC-Type: response\r\n</pre><p>and more"
    data = pack([page("a", shown), page("b", shown), longer(page("c", shown), 300), D])
    path = tmp_path / "a.warc.gz"
    path.write_bytes(data)
    with open_archive([path]).open() as site:
        for name in "ab":
            found = site.load(url(name))
            assert isinstance(found, WebPage)
            assert found.body == shown


def test_zstd_that_gives_nothing_before_a_long_block_is_whole(tmp_path: Path) -> None:
    """Most pages are longer than what is looked at first, and no better packed."""
    draw = random.Random(7)
    bodies = {
        name: BODY + " ".join(f"{draw.getrandbits(60):x}" for _ in range(9_000)).encode()
        for name in "abcdef"
    }
    frames = [zstd.compress(page(name, body)) for name, body in bodies.items()]
    whole = zstd.compress(b"".join(page(name, body) for name, body in bodies.items()))
    broken = b"".join([*frames[:2], frames[2][:20_000], b"~" * 9, *frames[3:]])
    for data, lost in ((b"".join(frames), ""), (whole, ""), (broken, "c")):
        path = tmp_path / f"{len(data)}.warc.zst"
        path.write_bytes(data)
        archive = open_archive([path], tmp_path / f"{len(data)}.index")
        with archive.open() as site:
            found = {name: site.load(url(name)) for name in bodies}
        assert {name for name, each in found.items() if not isinstance(each, WebPage)} == {*lost}
        assert [bool(each.faults) for each in archive.files.values()] == [bool(lost)]


class Counted(io.BytesIO):
    """A file that knows how much of it was read."""

    asked = 0

    def read(self, size: int | None = -1, /) -> bytes:
        found = super().read(size)
        self.asked += len(found)
        return found


@pytest.mark.slow
@pytest.mark.parametrize("pack", [b"".join, packed], ids=["plain", "packed"])
def test_lengths_without_end_do_not_make_it_read_the_rest_each_time(pack: Any) -> None:
    """So much for each record, however many follow."""
    noise = random.Random(0).randbytes(20_000).hex().encode()
    found: list[float] = []
    for count in (100, 400):
        file = Counted(pack([longer(page(str(each), noise), 10**15) for each in range(count)]))
        faults: Counter[str] = Counter()
        records = sum(1 for _ in captures_in(file, faults))
        assert count - 1 <= records == faults[WRONG_LENGTH]  # the last may be cut off
        found.append(file.asked / count)
    assert found[1] < 1.5 * found[0]


@pytest.mark.parametrize("pack", [b"".join, packed], ids=["plain", "packed"])
def test_heads_without_end_are_not_read_again_from_each(pack: Any) -> None:
    """What follows is read, and so much for each head, however many there are."""
    found: list[float] = []
    for count in (4000, 16000):
        file = Counted(pack([*[b"WARC/1.0\r\nWARC-\r\n"] * count, A]))
        assert sum(1 for _ in captures_in(file, Counter())) == 1
        found.append(file.asked / count)
    assert found[1] < 1.5 * found[0]


def test_revisits_that_all_name_each_other(tmp_path: Path) -> None:
    """Each way from one to the other would be tried, without a bound."""
    others = {"a": "b", "b": "a"}
    path = tmp_path / "a.warc"
    path.write_bytes(
        b"".join(
            record(
                "revisit", url(name), WARC_Refers_To_Target_URI=url(other),
                WARC_Date=f"2024-01-01T00:00:{second:02}Z",
            )
            for second in range(60)
            for name, other in others.items()
        )
        + C
    )  # fmt: skip
    with open_archive([path]).open() as site:
        assert site.load(url("a")) == NoPage(NOT_ARCHIVED)
        assert site.is_absent(url("a"))
        assert isinstance(site.load(url("c")), WebPage)


def test_bodies_of_very_many_members_or_damaged_late(tmp_path: Path) -> None:
    """What is left is not copied again and again."""
    noise = gzip.compress(random.Random(1).randbytes(3_000_000), 1)
    many = gzip.compress(b"", mtime=0) * 100_000 + gzip.compress(BODY)
    path = tmp_path / "a.warc.gz"
    path.write_bytes(
        packed(
            [
                page("a", many, Content_Encoding="gzip"),
                page("b", noise[:-8] + bytes(8), Content_Encoding="gzip"),
            ]
        )
    )
    with open_archive([path]).open() as site:
        found = site.load(url("a"))
        assert isinstance(found, WebPage)
        assert found.body == BODY
        damaged_late = site.load(url("b"))
        assert isinstance(damaged_late, WebPage)
        assert len(damaged_late.body) > 2_990_000


def test_outcomes_that_nobody_knows(tmp_path: Path) -> None:
    """They are shown in a terminal, and anybody can write them."""
    path = tmp_path / "a.warc"
    path.write_bytes(record("metadata", url("a"), b"tplspider-outcome: \x1b[31mred\r\n") + B)
    with open_archive([path]).open() as site:
        assert site.load(url("a")) == NoPage(BAD_RESPONSE)
