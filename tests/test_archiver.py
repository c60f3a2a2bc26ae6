"""Crawls that write archives: searched again, without a network, these give the same answers."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fastwarc.warc import WarcRecord

from tests.support.browsers import html as give
from tests.support.crawls import SITES, Routes, Serve, crawl_list, run_scrapy
from tests.support.site_server import Handler
from tests.support.template_site import pages_of, routes_of
from tests.support.warc_files import records, rows, search_again

HTML = {"Content_Type": "text/html"}


def odd_site() -> Routes:
    """A site whose links are as odd as those of a real one."""
    names = "packed moved gone busy cookie umlaut refresh large denied refused plain".split()
    links = "".join(f"<p><a href=/{name}>{name}</a></p>" for name in names)
    asked: Counter[str] = Counter()

    def packed(request: Handler) -> None:
        request.answer(200, gzip.compress(pages["b"]), Content_Encoding="gzip", **HTML)

    def busy(request: Handler) -> None:
        asked["busy"] += 1
        # Of those that ask for it, every second one has to ask again.
        request.answer(503 if asked["busy"] % 2 else 200, pages["c"] + b"<p>Busy", **HTML)

    def cookie(request: Handler) -> None:
        if "seen=yes" in (request.headers["Cookie"] or ""):
            request.answer(200, pages["c"] + b"<p>Crumbs", **HTML)
        else:
            moved = {"Location": "/cookie", "Set_Cookie": "seen=yes; Path=/"}
            request.answer(302, b"", **moved)

    def umlaut(request: Handler) -> None:
        moved = "HTTP/1.1 301 Moved\r\nLocation: /ü?to=http://a@b/\r\nContent-Length: 0\r\n\r\n"
        request.wfile.write(moved.encode())

    def refused(request: Handler) -> None:
        request.close_connection = True  # without a word

    pages = pages_of(more=links)
    return {
        **routes_of(pages),
        "/robots.txt": give(b"User-agent: *\nDisallow: /denied\n", "text/plain"),
        "/packed": packed,
        "/moved": lambda request: request.answer(301, b"", Location="//me:hidden@elsewhere.test/"),
        "/gone": lambda request: request.answer(404, b"<p>Gone", **HTML),
        "/busy": busy,
        "/cookie": cookie,
        "/umlaut": umlaut,
        "/%C3%BC?to=http://a@b/": give(pages["a"] + b"<p>Umlauts"),
        "/refresh": give(b"<meta http-equiv=refresh content='0; url=/a'>"),
        "/large": give(pages["a"] + b"<p>More of it" * 20_000),
        "/refused": refused,
        "/plain": give(b"text", "text/plain"),
    }


def test_every_page_of_the_fixture_sites(tmp_path: Path, serve: Serve) -> None:
    """All of them in one list: shared answers, key pages that cannot be used, options of lines."""
    keys: list[dict[str, object]] = []
    for site in sorted(SITES.iterdir()):
        url = serve(site.name).url
        pages = sorted(page.relative_to(site) for page in site.rglob("*.html"))
        keys += [{"url": f"{url}/{page}", "id": str(page)} for page in pages]
    odd_server = serve("menu", odd_site())
    odd = odd_server.url
    keys += [{"url": f"{odd}/", "tpl_n": 9}]
    keys += [{"url": f"{odd}/a", "tpl_n": 9, "tpl_strategy": "guided"}]
    keys += [{"url": f"{odd}/b", "tpl_max_loads": 3}]
    keys += [{"url": f"{odd}/{name}"} for name in ("moved", "gone", "refused", "plain", "denied")]
    keys += [{"url": odd.removeprefix("http://")}, {"url": "ftp://example.org/"}]
    keys += [{"url": odd.replace("//", "//me:hidden@")}]
    listed, archive = tmp_path / "keys.jl", tmp_path / "a.warc.gz"
    listed.write_text("".join(f"{json.dumps(key)}\n" for key in keys))
    there, here = tmp_path, tmp_path / "again"
    done = crawl_list(
        *(there, listed, f"-awarc={archive}", f"-atexts={there / 'texts.jl'}"),
        settings={"RETRY_TIMES": "1"},
    )
    assert done.code == 1  # of the malformed line
    again = search_again(here, archive, listed, f"--texts={here / 'texts.jl'}")
    assert again.code == 1
    for name in ("summary.jl", "out.jl", "texts.jl"):
        assert _comparable(here / name) == _comparable(there / name)
    assert len(rows(here / "summary.jl")) == len(keys)
    assert {row["reason"] for row in rows(there / "summary.jl")} >= {"max_loads", "links_exhausted"}
    outcomes = Counter(row["key_outcome"] for row in rows(there / "summary.jl"))
    assert {"http-404", "connection", "not-html", "robots", "bad-input"} <= outcomes.keys()
    reasons = {e["reason"] for row in rows(there / "summary.jl") for e in row["explored"]}
    assert {"robots", "connection", "http-404", "offsite-redirect", "not-html"} <= reasons

    assert "/%C3%BC?to=http://a@b/" in odd_server.log
    found = records(archive)
    kinds = Counter(record.headers["WARC-Type"] for record in found)
    assert kinds["revisit"] > 0
    assert kinds["response"] > kinds["request"]  # the same answer is for several searches
    text = gzip.decompress(archive.read_bytes())
    assert b"hidden" not in text
    assert b"seen=yes" not in text
    packed, *_ = [
        record
        for record in found
        if record.headers["WARC-Type"] == "response"
        and record.headers["WARC-Target-URI"] == f"{odd}/packed"
    ]
    assert gzip.decompress(packed.reader.read()).startswith(b"<!DOCTYPE html>")


def _comparable(path: Path) -> list[dict[str, Any]]:
    """The rows of a feed, but not why a line cannot be searched: each command says it its way."""
    return [
        {**row, "hint": ""} if row.get("key_outcome") == "bad-input" else row for row in rows(path)
    ]


@pytest.mark.quick
def test_records(tmp_path: Path, serve: Serve) -> None:
    """What there is of a load: the response as it came, the request, or why there is none."""
    server = serve("menu", odd_site())
    archive = tmp_path / "a.warc.gz"
    done = run_scrapy(
        *("crawl", "template_candidates", f"-aurl={server.url}/", f"-awarc={archive}", "-an=9"),
        folder=tmp_path,
        settings={"RETRY_TIMES": "0"},
    )
    assert done.code == 0, done.log
    info, *found = records(archive)
    assert info.headers["WARC-Filename"] == "a.warc.gz"
    by_path: dict[str, list[WarcRecord]] = {}
    for record in found:
        path = record.headers["WARC-Target-URI"].removeprefix(server.url)
        by_path.setdefault(path, []).append(record)
    assert "WARC-Tplspider-Search" not in by_path["/robots.txt"][0].headers
    response, request = by_path["/packed"]
    assert len(response.headers["WARC-Tplspider-Search"]) == 16
    assert response.headers["WARC-IP-Address"] == "127.0.0.1"
    assert response.http_headers.status_line == "HTTP/1.1 200 OK"
    assert response.http_headers.get("Content-Encoding") == "gzip"
    assert request.headers["WARC-Concurrent-To"] == response.headers["WARC-Record-ID"]
    assert request.http_headers.status_line == "GET /packed HTTP/1.1"
    assert request.http_headers.get("Host") == server.url.removeprefix("http://")
    assert by_path["/gone"][0].http_headers.status_code == 404
    # Both answers of the page that wants a cookie, which is not there.
    statuses = [each.http_headers.status_code for each in by_path["/cookie"][::2]]
    assert statuses == [302, 200]
    assert "Set-Cookie" not in by_path["/cookie"][0].http_headers
    assert by_path["/moved"][0].http_headers.get("Location") == "//elsewhere.test/"
    for path, reason in (("/denied", "robots"), ("/refused", "connection")):
        (record,) = by_path[path]
        assert record.headers["WARC-Type"] == "metadata"
        assert record.headers["Content-Type"] == "application/warc-fields"
        assert record.reader.read() == f"tplspider-outcome: {reason}\r\n".encode()
