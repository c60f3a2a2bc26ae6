from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import literal
from tests.support.crawls import SITES, RunCrawl, Serve
from tests.support.kinds import examples
from tests.support.plain_site import ROOT, TOLD, PlainSite, refusing_sites, sites
from tplspider import FolderSite, MemorySite, NoPage, SearchOptions, WebPage, search_pages
from tplspider.search.session import (
    Event,
    LinkSettled,
    SearchEnded,
    SearchLimits,
    SearchSession,
    SearchStarted,
)
from tplspider.sources.base import drive


class PlainSource:
    """A site on plain dicts as answers over HTTP; its redirects are followed by nobody yet."""

    def __init__(self, site: PlainSite) -> None:
        self.site = site

    def load(self, url: str) -> WebPage | NoPage:
        path = url.removeprefix(ROOT)
        if path in self.site.failures:
            return NoPage(self.site.failures[path])
        if path in self.site.redirects:
            return WebPage(url, status=302, headers={"location": self.site.redirects[path]})
        page = self.site.load(url)
        if isinstance(page, str):
            return NoPage(page)
        return WebPage(url, page.html.encode(), given_encoding="utf-8", given_html=True)


@examples(200)
@given(
    sites() | refusing_sites(),
    st.integers(1, 5),
    st.sampled_from([0, 1, 2, 4, 7]),
    st.sampled_from([10, 2, 0]),
    st.integers(1, 8),
)
def test_the_loop_for_sources_is_that_of_the_literal_reading(
    site: PlainSite, n: int, max_loads: int, max_refusals: int, in_flight: int
) -> None:
    expected = literal.search(site.load, ROOT + "/", n, max_loads, max_refusals=max_refusals)
    limits = SearchLimits(in_flight=in_flight, max_redirects=site.max_redirects)
    options = SearchOptions(n=n, max_loads=max_loads, max_refusals=max_refusals)
    found = search_pages(PlainSource(site), ROOT + "/", options, limits).summary
    assert found
    theirs = (expected.reason, expected.loads, expected.members)
    assert (found.reason, found.loads, found.candidates) == theirs
    told = [{k: v for k, v in row.items() if k in TOLD} for row in found.explored]
    assert told == expected.explored


def page(url: str, body: str, **more: Any) -> WebPage:
    return WebPage(url, body.encode(), headers={"content-type": "text/html"}, **more)


def test_events_come_in_order_and_tell_all() -> None:
    events: list[Event] = []
    site = FolderSite(SITES / "menu")
    session = SearchSession(f"{site.url}/docs/guide/four.html", listener=events.append)
    assert session.phase == "waiting"
    drive(session, site)
    assert isinstance(events[0], SearchStarted)
    assert isinstance(events[-1], SearchEnded)
    settled = [event.visit for event in events if isinstance(event, LinkSettled)]
    assert len(settled) == len(events) - 2
    assert session.search
    assert settled == session.search.visits
    assert events[-1].summary is session.summary


def test_a_folder_gives_what_a_crawl_of_it_gives(crawl: RunCrawl, serve: Serve) -> None:
    server = serve("menu")
    done = crawl(server.url + "/", {"ROBOTSTXT_OBEY": "False"})
    site = FolderSite(SITES / "menu")
    session = search_pages(site, f"{site.url}/")
    assert session.summary
    crawled = done.summary
    for key in ("reason", "key_outcome", "loads", "links", "complete", "similarity"):
        assert getattr(session.summary, key) == crawled[key]
    here = [url.removeprefix(site.url) for url in session.summary.candidates]
    assert here == [url.removeprefix(server.url) for url in crawled["candidates"]]
    rows = [
        {k: v.replace(server.url, site.url) if isinstance(v, str) else v for k, v in row.items()}
        for row in crawled["explored"]
    ]
    assert session.summary.explored == rows


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    site = FolderSite(tmp_path / "none")
    with pytest.raises(NotADirectoryError, match="no such folder"):
        search_pages(site, f"{site.url}/")


AWAY = WebPage("http://example.org/", status=301, headers={"location": "x:y"})


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (NoPage("not-archived"), "not-archived"),
        (WebPage("http://example.org/", b"x", 404), "http-404"),
        (WebPage("http://example.org/", b"%PDF", headers={"content-type": "text/x"}), "not-html"),
        (WebPage("http://example.org/", b""), "bad-response"),
        (WebPage("http://example.org/", status=301, headers={"location": "/"}), "bad-response"),
        (AWAY, "offsite-redirect"),
    ],
)
def test_a_key_page_that_cannot_be_used(answer: WebPage | NoPage, outcome: str) -> None:
    site = MemorySite()
    site.answers["http://example.org/"] = answer
    session = search_pages(site, "http://example.org/")
    assert session.phase == "over"
    assert session.summary
    assert (session.summary.reason, session.summary.key_outcome) == ("key_page_unusable", outcome)
    assert session.candidates() == []
