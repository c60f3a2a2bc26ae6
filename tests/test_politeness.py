from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tplspider import __version__
from tplspider.old.crawl.politeness import retry_after, user_agent

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.crawls import Crawl, FixtureServer
    from tplspider.demo.server import Handler

KEY = "/docs/guide/four.html"


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_waited_for(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer], status: int
) -> None:
    seen: list[float] = []
    server = serve("menu")
    page = server.site / "docs" / "guide" / "one.html"

    def respond(request: Handler) -> None:
        seen.append(time.monotonic())
        if len(seen) == 1:
            request.answer(status, Retry_After="1")
        else:
            request.answer(200, page.read_bytes(), Content_Type="text/html")

    server.routes["/docs/guide/one.html"] = respond
    done = crawl(server.url + KEY)
    assert done.summary["complete"]
    assert seen[1] - seen[0] >= 1
    assert done.summary["loads"] == 5


def test_a_long_retry_after_is_not_waited_for(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer]
) -> None:
    server = serve(
        "menu", {"/docs/guide/one.html": lambda request: request.answer(429, Retry_After="120")}
    )
    done = crawl(server.url + KEY)
    reasons = {row["link"].rpartition("/")[2]: row["reason"] for row in done.summary["explored"]}
    assert reasons["one.html"] == "http-429"
    assert server.pages_asked.count("/docs/guide/one.html") == 1


@pytest.mark.parametrize(("asked", "kept"), [("1", 1.0), ("600", 1.5)])
def test_crawl_delay_is_kept_up_to_a_limit(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer], asked: str, kept: float
) -> None:
    robots = f"User-agent: *\nCrawl-delay: {asked}\n".encode()
    times: list[float] = []
    server = serve("menu")

    def respond(request: Handler) -> None:
        times.append(time.monotonic())
        request.answer(200, robots, Content_Type="text/plain")

    def page(request: Handler) -> None:
        times.append(time.monotonic())
        found = server.find(request.path)
        assert found
        request.answer(200, found.read_bytes(), Content_Type="text/html")

    server.routes.update({"/robots.txt": respond, KEY: page, "/docs/guide/one.html": page})
    done = crawl(server.url + KEY, {"TPLSPIDER_RETRY_AFTER_MAX": "1.5"}, n=1, max_loads=3)
    assert done.code == 0
    assert len(times) == 3
    assert times[2] - times[1] >= kept - 0.05
    assert ("robots.txt of" in done.log) == (asked == "600")


def test_the_user_agent(crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer]) -> None:
    agents: list[str | None] = []

    def key_page(request: Handler) -> None:
        agents.append(request.headers.get("User-Agent"))
        request.answer(200, b"<p>nothing</p>", Content_Type="text/html")

    server = serve("menu", {"/k": key_page})
    plain = crawl(server.url + "/k")
    named = crawl(server.url + "/k", {"TPLSPIDER_CONTACT": "https://example.org/bot"})
    own = crawl(server.url + "/k", {"USER_AGENT": "mine"})
    assert agents == [
        f"tplspider/{__version__}",
        f"tplspider/{__version__} (+https://example.org/bot)",
        "mine",
    ]
    assert "Set TPLSPIDER_CONTACT" in plain.log
    assert "Set TPLSPIDER_CONTACT" not in named.log
    assert own.code == 0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120),
        ("0", 0),
        (" 7 ", 7),
        ("Wed, 21 Oct 2026 07:28:30 GMT", 30),
        ("Wed, 21 Oct 2026 07:27:00 GMT", 0),
        ("soon", None),
        ("-5", None),
        ("", None),
        ("31622400", 31622400),
        ("31622401", None),
        ("9" * 5000, None),
        ("1e3", None),
        ("١٢٠", None),
        ("²", None),
        ("Wed, 21 Oct 1 07:28:30 GMT", 0),
        ("Wed, 21 Oct 2026 07:28:30 +2359", 0),
        ("Wed, 21 Oct 2026 07:28:30 +9999", None),
        ("Fri, 31 Dec 9999 23:59:59 GMT", None),
        ("Fri, 31 Dec 9999 23:59:59 -2359", None),
        ("Sat, 01 Jan 0001 00:00:00 +2359", 0),
        ("Wed, 21 Oct 10000 07:28:30 GMT", None),
        ("Wed, 21 Oct 99999999999999999999 07:28:30 GMT", None),
        ("Wed, 21 Oct 2026 99999999999999999999:28:30 GMT", None),
        ("Wed, 21 Oct 2026 07:28:30 +99999999999999999999", None),
        (f"Wed, 21 Oct {'9' * 5000} 07:28:30 GMT", None),
        ("Wed, 32 Oct 2026 25:61:61 GMT", None),
    ],
)
def test_retry_after_is_read(value: str, seconds: float | None) -> None:
    assert retry_after(value, datetime(2026, 10, 21, 7, 28, tzinfo=UTC)) == seconds


PIECES = st.sampled_from(
    [*" ,:-+/.", "Wed", "21", "Oct", "2026", "07:28:30", "GMT", "+0100", "-9999", "\u0661", "é"]
)


@examples(500)
@given(
    st.one_of(
        st.text(max_size=20),
        st.lists(PIECES | st.integers().map(str), max_size=12).map(" ".join),
        st.lists(PIECES, max_size=12).map("".join),
    )
)
def test_whatever_retry_after_says_is_a_wait_or_nonsense(value: str) -> None:
    seconds = retry_after(value)
    assert seconds is None or 0 <= seconds <= 366 * 86400


@pytest.mark.parametrize("value", ["9" * 400, "Wed, 21 Oct 99999999999 07:28:00 GMT"])
def test_a_nonsensical_retry_after_is_ignored(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer], value: str
) -> None:
    server = serve("menu")
    page = server.site / "docs" / "guide" / "one.html"
    asked: list[str] = []

    def respond(request: Handler) -> None:
        asked.append(request.path)
        if len(asked) == 1:
            request.answer(503, Retry_After=value)
        else:
            request.answer(200, page.read_bytes(), Content_Type="text/html")

    server.routes["/docs/guide/one.html"] = respond
    done = crawl(server.url + KEY)
    assert len(asked) == 2
    assert done.summary["complete"]
    assert done.summary["loads"] == 5
    assert "Traceback" not in done.log


def test_user_agent_without_a_contact() -> None:
    assert user_agent("") == f"tplspider/{__version__}"
