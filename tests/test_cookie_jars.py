"""Cookies: each search has its own, and those of a robots.txt are nobody's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.test_host_memory import KEY, crawl_sites

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from tests.support.crawls import Crawl, FixtureServer
    from tplspider.demo.server import Handler

    Serve = Callable[..., FixtureServer]


class Seen:
    """Answers as a site does that sets a cookie with each page, named after where it was set."""

    def __init__(self, server: FixtureServer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cookies: dict[str, str | None] = {}
        self._server = server
        monkeypatch.setattr(server, "respond", self.respond)

    def respond(self, request: Handler) -> None:
        path, _, query = request.path.partition("?")
        self.cookies[request.path] = request.headers["Cookie"]
        count = self._server.log.count("/robots.txt")
        name = {"/robots.txt": f"robots{count}=1", "/login": "login=1", KEY: f"key=k{query}"}
        found = self._server.find(path)
        request.answer(
            200 if found or path == "/login" else 404,
            found.read_bytes() if found else b"",
            Content_Type="text/html",
            **({"Set_Cookie": f"{name[path]}; Path=/"} if path in name else {}),
        )


def test_links_have_the_cookies_of_their_key_page(
    crawl: Callable[..., Crawl], serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve("menu")
    seen = Seen(server, monkeypatch)
    crawl(server.url + KEY)
    assert seen.cookies.pop("/robots.txt") is None
    assert seen.cookies.pop(KEY) is None
    assert set(seen.cookies.values()) == {"key=k"}


def test_without_cookies(
    crawl: Callable[..., Crawl], serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve("menu")
    seen = Seen(server, monkeypatch)
    assert crawl(server.url + KEY, {"COOKIES_ENABLED": "False"}).summary["complete"]
    assert set(seen.cookies.values()) == {None}


def test_searches_of_one_host_have_their_own(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """But all have what somebody else has put into the common jar before, by logging in."""
    server = serve("menu")
    seen = Seen(server, monkeypatch)
    others = ["http://one.example:PORT/login"]
    found = crawl_sites(
        server, f"http://one.example:PORT{KEY}?*", sites=3, at_once=3, others=others
    )
    # The first robots.txt is that of the login.
    assert server.log.count("/robots.txt") == 2
    key_pages = [seen.cookies[f"{KEY}?{number}"] for number in range(3)]
    assert key_pages == ["robots1=1; login=1"] * 3
    assert seen.cookies["/robots.txt"] is None
    assert found["jars"] == 1  # the common one
