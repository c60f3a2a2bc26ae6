"""Searches without a crawl: among pages in memory, in a folder, or loaded by somebody else."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import literal
from tests.support import hostile_pages, hostile_redirects
from tests.support.crawls import SITES
from tests.support.examples import examples
from tests.support.hostile_server import HostileServer
from tests.support.http_source import HttpSource
from tests.support.plain_site import ROOT, TOLD, PlainSite, refusing_sites, sites
from tplspider import (
    FolderSite,
    MemorySite,
    NoPage,
    SearchOptions,
    WebPage,
    search_pages,
)
from tplspider.search.session import (
    Event,
    LinkSettled,
    SearchEnded,
    SearchLimits,
    SearchSession,
    SearchStarted,
    search_id,
)
from tplspider.sources.base import drive

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.crawls import Crawl, FixtureServer
    from tests.support.hostile_server import Exchange

# Of the spider's traps, those that are a matter of pages. Here nobody keeps cookies.
TRAPS = [
    trap for trap in (*hostile_redirects.TRAPS, *hostile_pages.TRAPS) if trap.path != "/cookie.html"
]


def test_redirects_and_pages_end_as_they_do_in_a_crawl() -> None:
    def key_page(exchange: Exchange) -> None:
        hrefs = [trap.href or escape(trap.path) for trap in TRAPS]
        links = "".join(f'<p><a href="{href}">x</a></p>' for href in hrefs)
        exchange.answer(hostile_pages.html(links), kind="text/html; charset=utf-8")

    answers = {
        **hostile_redirects.STEPS,
        **{trap.path: trap.answer for trap in TRAPS},
        **dict.fromkeys(("/", "/copy.html"), key_page),
    }
    with HostileServer(answers) as server:
        limits = SearchLimits(in_flight=8, longest_url=2083)
        session = search_pages(
            HttpSource(), server.url + "/", SearchOptions(n=99, max_loads=0), limits
        )
        assert not server.other_port_was_asked()
    assert session.summary
    ended = {
        row["link"].removeprefix(server.url): row["reason"].replace(server.url, "")
        for row in session.summary.explored
    }
    expected = {trap.path: trap.end.removeprefix("page") for trap in TRAPS}
    assert {path: ended.get(path) for path in expected} == expected


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
    session = search_pages(PlainSource(site), ROOT + "/", options, limits)
    assert session.summary
    found = session.summary
    assert (found.reason, found.loads, found.candidates) == (
        expected.reason,
        expected.loads,
        expected.members,
    )
    told = [{k: v for k, v in row.items() if k in TOLD} for row in found.explored]
    assert told == expected.explored


def page(url: str, body: str, **more: Any) -> WebPage:
    return WebPage(url, body.encode(), headers={"content-type": "text/html"}, **more)


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("http://[/", ""),
        ("javascript:alert(1)", ""),
        ("data:,x", ""),
        ("http://me:secret@example.org/b", "http-404"),
        ("/other", "http-404"),
        ("http://example.net/", "offsite-redirect"),
    ],
)
def test_where_a_meta_refresh_leads(target: str, reason: str) -> None:
    refresh = f"<meta http-equiv=refresh content='0; url={target}'>x"
    site = MemorySite(
        [
            page("http://example.org/", "<a href=a>a</a>"),
            page("http://example.org/a", refresh),
        ]
    )
    found = search_pages(site, "http://example.org/", SearchOptions(n=1)).summary
    assert found
    assert [row["reason"] for row in found.explored] == [reason]
    assert "secret" not in repr(found.explored)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (NoPage("not-archived"), "not-archived"),
        (WebPage("http://example.org/", b"x", 404), "http-404"),
        (WebPage("http://example.org/", b"%PDF", headers={"content-type": "text/x"}), "not-html"),
        (WebPage("http://example.org/", b""), "bad-response"),
        (WebPage("http://example.org/", status=301, headers={"location": "/"}), "bad-response"),
        (
            WebPage("http://example.org/", status=301, headers={"location": "x:y"}),
            "offsite-redirect",
        ),
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


def test_what_comes_after_the_end_changes_nothing() -> None:
    site = FolderSite(SITES / "menu")
    session = search_pages(site, f"{site.url}/docs/guide/four.html")
    before = session.summary
    session.stop("late")
    session.fail(NoPage("error"))
    session.tell(1, NoPage("error"))
    session.open(page(session.url, "<a href=x>x</a>"))
    assert session.take() == []
    assert session.awaited == []
    assert session.summary is before


def test_a_folder_gives_what_a_crawl_of_it_gives(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer]
) -> None:
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


def test_a_search_has_a_name_of_its_own() -> None:
    url = "https://example.org/"
    names = {
        search_id(url, options)
        for options in (
            SearchOptions(),
            SearchOptions(n=4),
            SearchOptions(strategy="guided"),
            SearchOptions(scope="domain"),
            SearchOptions(max_loads=5),
            SearchOptions(max_seconds=5),
        )
    }
    assert len(names) == 6
    assert all(len(name) == 16 and int(name, 16) >= 0 for name in names)
    assert search_id(url, SearchOptions(max_seconds=5)) == search_id(
        url, SearchOptions(max_seconds=5.0)
    )
    assert search_id(url, SearchOptions()) != search_id(url + "a", SearchOptions())


class Careless:
    """A source that gives None for what it does not have: the natural mistake."""

    def load(self, url: str) -> Any:
        pages = {"http://example.org/": page("http://example.org/", "<a href=a>a</a>")}
        return pages.get(url)


def test_what_is_not_an_answer_is_told() -> None:
    with pytest.raises(TypeError, match="gave a NoneType: expected a WebPage, a Redirect or a NoP"):
        search_pages(Careless(), "http://example.org/")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n": 0}, "n=0: expected a whole number, 1 or more"),
        ({"n": "3"}, "n='3': expected a whole number"),
        ({"strategy": "best"}, "strategy: expected guided, paper"),
        ({"scope": "world"}, "scope='world': expected one of host, domain"),
    ],
)
def test_wrong_options(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        SearchSession("http://example.org/", SearchOptions(**options))


def test_a_witness_is_asked_for_by_its_address_as_written() -> None:
    """Those that only explored pages lead to are known by their identities."""
    names = "".join(f"<i class=c{number}>x</i>" for number in range(9))
    menu = "<a href=/m1>1</a><a href=/m2>2</a><a href=/?id=b&a>b</a>"
    site = MemorySite(
        [
            page("http://example.org/?id=a&a", f"{names}<a href=/m1>1</a><a href=/m2>2</a>"),
            page("http://example.org/?id=b&a", f"{names}other"),
            page("http://example.org/m1", f"one {menu}"),
            page("http://example.org/m2", f"two {menu}"),
        ]
    )
    options, limits = SearchOptions(n=2), SearchLimits(for_template=True)
    found = search_pages(site, "http://example.org/?id=a&a", options, limits).summary
    assert found
    assert [row["url"] for row in found.witnesses] == ["http://example.org/?id=b&a"]
    assert [row["outcome"] for row in found.witnesses] == ["page"]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    site = FolderSite(tmp_path / "none")
    with pytest.raises(NotADirectoryError, match="there is no such folder"):
        search_pages(site, f"{site.url}/")
