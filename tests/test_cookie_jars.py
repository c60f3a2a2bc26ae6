"""Cookies: each search has its own, and those of a robots.txt are nobody's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.crawls import run_scrapy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    from tests.support.crawls import Crawl, FixtureServer
    from tplspider.demo.server import Handler

    Serve = Callable[..., FixtureServer]

KEY = "/docs/guide/four.html"


class Seen:
    """Answers as a site does that sets a cookie with each page, named after where it was set."""

    def __init__(self, server: FixtureServer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cookies: dict[str, str | None] = {}
        self._server = server
        monkeypatch.setattr(server, "respond", self.respond)

    def respond(self, request: Handler) -> None:
        path, _, query = request.path.partition("?")
        self.cookies[request.path] = request.headers["Cookie"]
        name = {"/robots.txt": "robots=1", KEY: f"key=k{query}"}
        found = self._server.find(path)
        request.answer(
            200 if found else 404,
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


def test_searches_of_one_host_have_their_own(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve("menu")
    seen = Seen(server, monkeypatch)
    keys = tmp_path / "keys.txt"
    keys.write_text("".join(f"{server.url}{KEY}?{number}\n" for number in range(4)))
    done = run_scrapy("crawl", "template_candidates", f"-aurls={keys}", folder=tmp_path)
    assert done.code == 0
    assert [seen.cookies[f"{KEY}?{number}"] for number in range(4)] == [None] * 4
    assert seen.cookies["/robots.txt"] is None
    # Links are loaded for the search that asks first, with its cookie.
    of_links = {cookie for path, cookie in seen.cookies.items() if KEY not in path and cookie}
    assert of_links <= {f"key=k{number}" for number in range(4)}
    assert of_links
