import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from scrapy import signals

from tests.support.crawls import Serve
from tests.support.site_server import Handler
from tests.support.stub_crawls import stub_crawl
from tplspider.politeness import retry_after

Route = Callable[[Handler], object]


class Watched:
    """A server with pages on all paths: its address, what was asked for, and when."""

    def __init__(self, serve: Serve, **routes: Route) -> None:
        self.paths: list[str] = []
        self.times: list[float] = []
        names = ["/robots.txt", "/a", "/b", "/c"]
        self.url = serve("menu", {name: partial(self._answer, routes) for name in names}).url
        self.links = [self.url + name for name in names[1:]]

    def _answer(self, routes: dict[str, Route], request: Handler) -> None:
        self.paths.append(request.path)
        self.times.append(time.monotonic())
        name = request.path[1:].removesuffix(".txt")
        if name in routes:
            routes[name](request)
        else:
            request.answer(200, b"page")


def robots(delay: str) -> Route:
    text = f"User-agent: *\nCrawl-delay: {delay}\n".encode()
    return lambda request: request.answer(200, text, Content_Type="text/plain")


def at_first(wait: str, status: int = 429) -> Route:
    waits = [wait]

    def answer(request: Handler) -> None:
        if waits:
            request.answer(status, Retry_After=waits.pop())
        else:
            request.answer(200)

    return answer


def hang(request: Handler) -> None:
    time.sleep(20)


class ForgetfulSlots:
    """Drops the slots after each answer, as Scrapy does when they were idle for a minute."""

    def __init__(self, crawler: Any) -> None:
        self.crawler = crawler
        crawler.signals.connect(self.forget, signal=signals.response_received)

    from_crawler = classmethod(lambda cls, crawler: cls(crawler))

    def forget(self) -> None:
        self.crawler.engine.downloader.slots.clear()


def test_crawl_delay_is_kept(serve: Serve) -> None:
    server = Watched(serve, robots=robots("1"))
    extensions = {"tests.test_politeness.ForgetfulSlots": 1}
    done = stub_crawl(server.links, ROBOTSTXT_OBEY=True, EXTENSIONS=extensions)
    assert done.ends == ["200"] * 3
    assert server.paths == ["/robots.txt", "/a", "/b", "/c"]
    assert server.times[-1] - server.times[0] > 2.5  # a busy machine may be late with the first


def test_a_long_crawl_delay_is_cut_and_ends_with_the_search(serve: Serve) -> None:
    server = Watched(serve, robots=robots("600"))
    done = stub_crawl(server.links, {server.url: 4.0}, ROBOTSTXT_OBEY=True)
    assert "cut to 30 s" in done.log
    assert done.ends == ["timeout"] * 3
    assert server.paths == ["/robots.txt"]
    assert done.seconds < 18


@pytest.mark.parametrize(("status", "retries"), [(429, True), (503, False)])
def test_retry_after_holds_for_the_host(serve: Serve, status: int, *, retries: bool) -> None:
    server = Watched(serve, a=at_first("2", status))
    done = stub_crawl(server.links[:2], RETRY_ENABLED=retries)
    assert sorted(done.ends) == ["200", "200" if retries else str(status)]
    assert sorted(server.paths) == ["/a", "/a", "/b"] if retries else ["/a", "/b"]
    assert server.times[1] - server.times[0] > 1.9


@pytest.mark.quick
def test_a_long_retry_after_is_not_waited_for(serve: Serve) -> None:
    server = Watched(serve, a=at_first("31"))
    done = stub_crawl(server.links)
    assert done.ends == ["429", "200", "200"]
    assert server.paths == ["/a", "/b", "/c"]
    assert done.seconds < 18


@pytest.mark.parametrize(
    ("routes", "paths"),
    [
        ({"a": at_first("20")}, ["/robots.txt", "/a"]),
        ({"robots": hang, "a": hang}, ["/robots.txt"]),
    ],
)
def test_nothing_outlasts_the_search(
    serve: Serve, routes: dict[str, Route], paths: list[str]
) -> None:
    server = Watched(serve, **routes)
    done = stub_crawl([*server.links, "data:,results"], {server.url: 4.0}, ROBOTSTXT_OBEY=True)
    assert sorted(done.ends) == ["200"] + ["timeout"] * 3
    assert server.paths == paths
    assert done.seconds < 18


@pytest.mark.quick
def test_requests_have_the_time_of_their_search_and_none_without_one(serve: Serve) -> None:
    server = Watched(serve)
    short, free = server.url + "/?short", server.url + "/?free"
    links = list(zip([short, free, "gone"], server.links, strict=True))
    done = stub_crawl(links, {short: 5.0, free: None}, DOWNLOAD_TIMEOUT=9)
    assert done.ends == ["200", "200", "timeout"]
    assert 2 < done.rows[0]["timeout"] <= 5
    assert done.rows[1]["timeout"] == 9
    assert server.paths == ["/a", "/b"]


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        *[("120", 120), (" 7 ", 7), ("soon", None), ("-5", None), ("9" * 5000, None)],
        *[("Wed, 21 Oct 2026 07:28:30 GMT", 30), ("Wed, 21 Oct 2026 07:27:00 GMT", 0)],
        *[("Wed, 32 Oct 2026 25:61:61 GMT", None), ("Fri, 31 Dec 9999 23:59:59 -2359", None)],
    ],
)
def test_retry_after_is_read(value: str, seconds: float | None) -> None:
    assert retry_after(value, datetime(2026, 10, 21, 7, 28, tzinfo=UTC)) == seconds
