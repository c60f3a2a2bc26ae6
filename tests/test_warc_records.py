"""What a crawl archives, record by record: others can read it, and nothing secret is in it."""

from __future__ import annotations

import asyncio
import zlib
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse, Response
from scrapy.utils.test import get_crawler

from tplspider.old.crawl.credentials import read_credentials
from tplspider.old.crawl.outputs.archive_place import ArchivePlace
from tplspider.old.crawl.ticket import META_KEY, Ticket
from tplspider.old.crawl.warc.http_heads import plain_address, request_bytes, response_head
from tplspider.old.crawl.warc.recorder import CrawlArchive
from tplspider.old.crawl.warc.records import Clock
from tplspider.search.session import SearchLimits, SearchOptions, SearchSession
from tplspider.sources.base import limits_of
from tplspider.sources.warc_archive import open_archive
from tplspider.sources.warc_extra import ArchiveIterator, WarcRecord
from tplspider.spiders.template_candidates import TemplateCandidatesSpider
from tplspider.web.page import NoPage, WebPage

if TYPE_CHECKING:
    from pathlib import Path

URL = "http://example.org/page"
BODY = b"<p>" + b"words and more words " * 100


def members(data: bytes) -> list[bytes]:
    """The gzip members of a file, each unpacked: all of it must be members."""
    found = []
    while data:
        unpacker = zlib.decompressobj(31)
        found.append(unpacker.decompress(data))
        assert unpacker.eof
        data = unpacker.unused_data
    return found


def records(path: Path) -> list[WarcRecord]:
    """All records, as FastWARC reads them, their digests checked."""
    data = path.read_bytes()
    found = []
    for record in ArchiveIterator(BytesIO(data), parse_http=False):
        record.freeze()
        is_answer = record.headers["WARC-Type"] in ("response", "revisit")
        if is_answer:
            assert record.verify_block_digest(consume=False)
        if is_answer or record.headers["WARC-Type"] == "request":
            record.parse_http()
        if record.headers["WARC-Type"] == "response":
            assert record.verify_payload_digest(consume=False)
        found.append(record)
    # One record in each member, and nothing else.
    assert len(found) == len(members(data))
    return found


class Kept:
    """An archive without a crawl, for a search of one page."""

    def __init__(self, path: Path, *, secrets: bool = False, user: str = "") -> None:
        settings = {"TPLSPIDER_WARC_SECRETS": secrets}
        self.crawler = get_crawler(TemplateCandidatesSpider, settings)
        self.archive = CrawlArchive(self.crawler, ArchivePlace("warc", path.name, path))
        self.session = SearchSession(URL)
        credentials = read_credentials(f"http://{user}example.org/", URL)
        self.ticket = Ticket(self.session, None, credentials)
        self.archive.spider_opened()
        self.path = path

    def give(self, response: Response, **more: Any) -> None:
        request = Request(response.url, meta={META_KEY: self.ticket}, **more)
        asyncio.run(self._give(request, response))

    async def _give(self, request: Request, response: Response) -> None:
        assert await self.archive.process_response(request, response) is response

    def records(self) -> list[WarcRecord]:
        self.archive.spider_closed()
        return records(self.path)


def test_an_answer_and_its_request(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "a.warc.gz")
    packed = zlib.compress(BODY, wbits=31)
    headers = {"Content-Encoding": "gzip", "Transfer-Encoding": "chunked", "X": ["1", "2"]}
    kept.give(Response(URL, headers=headers, body=packed, status=203))
    info, response, request = kept.records()
    assert info.headers["WARC-Type"] == "warcinfo"
    assert info.headers["WARC-Filename"] == "a.warc.gz"
    assert b"software: tplspider/" in info.reader.read()
    assert response.headers["WARC-Target-URI"] == URL
    assert response.headers["WARC-Tplspider-Search"] == kept.session.search_id
    assert response.headers["WARC-Warcinfo-ID"] == info.headers["WARC-Record-ID"]
    http = response.http_headers
    assert http.status_line == "HTTP/1.1 203 Non-Authoritative Information"
    # As it came, but in one piece.
    assert dict(http) == {
        "Content-Encoding": "gzip",
        "X": "1",  # the first of two
        "Content-Length": str(len(packed)),
    }
    assert list(http.items_bytes())[1:3] == [(b"X", b"1"), (b"X", b"2")]
    assert response.reader.read() == packed
    assert request.headers["WARC-Concurrent-To"] == response.headers["WARC-Record-ID"]
    assert request.http_headers.status_line == "GET /page HTTP/1.1"
    assert kept.crawler.stats.get_value("tplspider/archived") == 1
    assert kept.crawler.stats.get_value("tplspider/archived_bytes") == kept.path.stat().st_size


def test_the_same_again_is_named(tmp_path: Path) -> None:
    """A search of the same host, to which an answer is given again, has a record of its own."""
    kept = Kept(tmp_path / "a.warc.gz")
    kept.give(Response(URL, body=BODY))
    kept.give(Response(URL, body=BODY, flags=["shared"]))
    kept.give(Response(URL, body=BODY, flags=["cached"], headers={"Age": "1"}))
    kept.give(Response(URL + "/other", body=BODY, flags=["shared"]))
    _, first, _, again, changed, other = kept.records()
    assert again.headers["WARC-Type"] == "revisit"
    assert again.headers["WARC-Tplspider-Search"] == kept.session.search_id
    assert again.headers["WARC-Refers-To"] == first.headers["WARC-Record-ID"]
    assert again.headers["WARC-Refers-To-Date"] == first.headers["WARC-Date"]
    assert again.headers["WARC-Refers-To-Target-URI"] == URL
    assert again.headers["WARC-Payload-Digest"] == first.headers["WARC-Payload-Digest"]
    for record in (changed, other):
        assert record.headers["WARC-Type"] == "response"
        assert record.reader.read() == BODY


def test_each_search_has_its_own_answer(tmp_path: Path) -> None:
    """The newest, also where it is only named, and where others had another one since."""
    kept = Kept(tmp_path / "a.warc.gz")
    sessions = [SearchSession(URL, SearchOptions(n=n)) for n in (1, 2, 3, 4, 5)]
    for session, word in zip(sessions, (b"one ", b"two ", b"one ", b"not "), strict=False):
        kept.ticket = Ticket(session)
        kept.give(Response(URL, body=word + BODY, headers={"Content-Type": "text/html"}))
    kept.archive.keep_outcome(kept.ticket, URL, NoPage("too-large", "why"))
    kinds = [record.headers["WARC-Type"] for record in kept.records()]
    assert kinds.count("revisit") == 1
    with open_archive([kept.path]).open() as site:
        found = []
        for session in sessions:
            site.search = session.search_id
            answer = site.load(URL)
            found.append(answer.body[:3] if isinstance(answer, WebPage) else answer)
        # To a search that was not in the crawl, it is an archive like others.
        assert found == [b"one", b"two", b"one", NoPage("too-large", "why"), b"not"]
        long = f"{URL}?{'x' * 3000}"
        is_absent = limits_of(site, SearchLimits(longest_url=2083)).is_absent
        assert is_absent
        assert site.is_absent(long)
        assert not is_absent(long)


def test_why_nothing_came(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "a.warc.gz")
    kept.archive.keep_outcome(kept.ticket, URL + "#part", NoPage("timeout", "two\r\nlines"))
    _, record = kept.records()
    assert record.headers["WARC-Type"] == "metadata"
    assert record.headers["WARC-Target-URI"] == URL
    assert record.headers["Content-Type"] == "application/warc-fields"
    assert record.headers["WARC-Tplspider-Search"] == kept.session.search_id
    assert record.reader.read() == b"tplspider-outcome: timeout\r\ntplspider-detail: two lines\r\n"


def test_a_page_that_was_rendered(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "a.warc.gz")
    page = HtmlResponse(URL, body="<p>é".encode("cp1252"), encoding="cp1252")
    request = Request(URL, meta={META_KEY: kept.ticket})
    asyncio.run(kept.archive.keep_rendered(request, page))
    _, record = kept.records()
    assert record.headers["WARC-Type"] == "conversion"
    assert record.headers["WARC-Tplspider-Rendered"] == "yes"
    assert record.headers["WARC-Tplspider-Search"] == kept.session.search_id
    assert record.headers["Content-Type"] == "text/html; charset=cp1252"
    assert record.reader.read() == b"<p>\xe9"


def test_requests_of_others_are_not_ours_to_keep(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "a.warc.gz")
    response = Response(URL, body=BODY)
    asyncio.run(kept.archive.process_response(Request(URL), response))
    assert len(kept.records()) == 1


@pytest.mark.parametrize("secrets", [False, True])
def test_what_is_secret(tmp_path: Path, *, secrets: bool) -> None:
    kept = Kept(tmp_path / "a.warc.gz", secrets=secrets, user="me:hidden@")
    kept.give(
        Response(
            URL,
            status=302,
            headers={
                "Set-Cookie": ["a=hidden", "b=hidden"],
                "Location": "http://me:hidden@example.org/x@y",
                "Content-Security-Policy": "report-uri https://hidden@example.org/",
            },
        ),
        headers={"Cookie": "a=hidden", "Proxy-Authorization": "hidden", "X": "shown"},
    )
    _, response, request = kept.records()
    location = "http://me:hidden@example.org/x@y" if secrets else "http://example.org/x@y"
    assert response.http_headers.get("Location") == location
    assert request.http_headers.get("X") == "shown"
    assert ("Authorization" in request.http_headers) is secrets
    assert (request.http_headers.get("Cookie") == "a=hidden") is secrets
    text = b"".join(members(kept.path.read_bytes()))
    assert text.count(b"hidden") == (6 if secrets else 0)
    # Neither in another origin's requests, whatever is wanted.
    other = Request("https://example.org/", meta={META_KEY: kept.ticket})
    assert b"Authorization" not in kept.archive._sent(other, kept.ticket)


def test_heads_that_would_be_more_than_one() -> None:
    response = Response(URL, headers={"X": b"1\r\n\r\n<script>", "Y": b"\xff"}, status=999)
    head = response_head(response, secrets=False)
    assert head == b"HTTP/1.1 999 \r\nX: 1    <script>\r\nY: \xff\r\n\r\n"
    request = Request("http://me:hidden@example.org:8080?q=1#x", method="POST", body="ab")
    sent = request_bytes(request, None, secrets=True)
    assert plain_address(request.url) == "http://example.org:8080/?q=1"
    assert sent == b"POST /?q=1 HTTP/1.1\r\nHost: example.org:8080\r\nContent-Length: 2\r\n\r\nab"


def test_dates_are_in_order() -> None:
    clock = Clock()
    dates = [clock.now() for _ in range(1000)]
    assert dates == sorted(set(dates))
    assert len({len(date) for date in dates}) == 1


def test_an_archive_that_cannot_be_opened(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "a.warc.gz").mkdir()  # since it was tried
    kept = Kept(tmp_path / "a.warc.gz")
    kept.give(Response(URL, body=BODY))
    kept.archive.spider_closed()
    (line,) = [r.getMessage() for r in caplog.records if r.levelname == "ERROR"]
    assert line == f"{kept.path} cannot be written: Is a directory"
    assert kept.crawler.stats.get_value("tplspider/lost_outputs") == 1


def test_a_second_crawl_leaves_the_archive_to_the_first(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = Kept(tmp_path / "a.warc.gz")
    first.give(Response(URL, body=BODY, flags=["cached"]))
    second = Kept(tmp_path / "a.warc.gz")
    second.give(Response(URL, body=b"other"))
    second.archive.spider_closed()
    first.give(Response(URL + "/other", body=BODY, flags=["cached"]))
    told = [record.headers.get("WARC-Target-URI") for record in first.records()]
    assert told == [None, URL, URL + "/other"]
    (line,) = [r.getMessage() for r in caplog.records if r.levelname == "ERROR"]
    assert line == f"{first.path} cannot be written: another crawl writes to it"
