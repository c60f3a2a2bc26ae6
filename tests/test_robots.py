"""The robots.txt of a search: loaded once for all that wait for it, whatever becomes of it."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

import pytest
from scrapy.utils.test import get_crawler

from tests.support.asker import OTHERS
from tests.support.internet_crawls import GUARD, ask, ends
from tplspider.old.crawl.robots import TicketRobotsTxtMiddleware

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.crawls import FixtureServer
    from tplspider.demo.server import Handler

    Serve = Callable[..., FixtureServer]

pytestmark = pytest.mark.crawl  # processes of their own

PAGES = ["about.html", "docs/guide/four.html", "index.html", "docs/"]
FORBIDDING = b"User-agent: *\nDisallow: /about.html\nDisallow: /index.html\nDisallow: /docs/$\n"
TOGETHER = {
    "CONCURRENT_REQUESTS": "8",
    "CONCURRENT_REQUESTS_PER_DOMAIN": "8",
    "DOWNLOADER_MIDDLEWARES": json.dumps(
        {
            **json.loads(GUARD["DOWNLOADER_MIDDLEWARES"]),
            "tests.support.components.CancellingMiddleware": 5,
        }
    ),
}


class Robots:
    """Answers with a robots.txt; the first time, only when the test is over."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.asked = 0

    def __call__(self, request: Handler) -> None:
        self.asked += 1
        if self.asked == 1:
            self.over.wait(60)
        request.answer(200, FORBIDDING)


def test_all_that_wait_for_it_are_told(serve: Serve, tmp_path: Path) -> None:
    server = serve("menu")
    server.routes["/robots.txt"] = lambda request: request.answer(200, FORBIDDING)
    urls = [f"{server.url}/{page}" for page in PAGES]
    done = ask(*urls, folder=tmp_path, settings=TOGETHER)
    assert [ends(done)[url] for url in urls] == ["IgnoreRequest", "200"] + ["IgnoreRequest"] * 2
    assert server.log.count("/robots.txt") == 1


@pytest.mark.parametrize("cancelled", ["robots.txt", "about.html"])
def test_one_that_is_cancelled(serve: Serve, tmp_path: Path, cancelled: str) -> None:
    """With the page that it is for, the next page asks for it; else it is as if it had failed."""
    robots = Robots()
    server = serve("menu", {"/robots.txt": robots})
    urls = [f"{server.url}/{page}" for page in PAGES]
    done = ask(*urls, folder=tmp_path, settings={**TOGETHER, "CANCELLED": cancelled})
    robots.over.set()
    found = [ends(done)[url] for url in urls]
    if cancelled == "robots.txt":
        assert found == ["200"] * 4
        assert robots.asked == 1
    else:
        assert found == ["CancelledError", "200", "IgnoreRequest", "IgnoreRequest"]
        assert robots.asked == 2
    assert "Traceback" not in done.log


def test_one_that_cannot_be_loaded(serve: Serve, tmp_path: Path) -> None:
    def hang_up(request: Handler) -> None:
        request.close_connection = True

    server = serve("menu", {"/robots.txt": hang_up})
    done = ask(f"{server.url}/about.html", folder=tmp_path, settings=TOGETHER)
    assert ends(done) == {f"{server.url}/about.html": "200"}
    assert done.log.count("/robots.txt cannot be loaded, so nothing is forbidden: ") == 1
    assert "Traceback" not in done.log


def test_others_have_one_of_their_own(serve: Serve, tmp_path: Path) -> None:
    """A site may give another robots.txt to those who come under another name."""
    agents: list[str] = []

    def robots(request: Handler) -> None:
        agents.append(request.headers["User-Agent"])
        body = FORBIDDING if "tplspider" in agents[-1] else b""
        request.answer(200, body)

    server = serve("menu", {"/robots.txt": robots})
    urls = [f"{OTHERS}{server.url}/about.html", f"{server.url}/about.html"]
    table = json.loads(TOGETHER["DOWNLOADER_MIDDLEWARES"])
    table["tplspider.old.crawl.user_agent.UserAgentMiddleware"] = 10
    settings = {
        "DOWNLOADER_MIDDLEWARES": json.dumps(table),
        "SPIDER_MODULES": "tests.support.asker",
    }
    done = ask(*urls, folder=tmp_path, settings={**settings, "BOT_NAME": "other"})
    assert ends(done) == {urls[0]: "200", urls[1]: "IgnoreRequest"}
    assert len(agents) == 2
    assert agents[0].startswith("Scrapy/")


def test_what_is_forgotten() -> None:
    """A host with all its ports and spellings, but never what is under way."""
    robots = TicketRobotsTxtMiddleware(get_crawler(settings_dict={"ROBOTSTXT_OBEY": True}))
    known = ["a.example", "A.example:8080", "b.a.example", "[::1]:80", "xn--bcher-kva.example"]
    robots._found = dict.fromkeys(known)
    robots.forget("a.example")
    assert list(robots._found) == known[2:]
    robots.forget("bücher.example")
    robots._waiting["[::1]:80"] = []
    robots.forget("::1")
    assert list(robots._found) == ["b.a.example", "[::1]:80"]
    robots._waiting.clear()
    robots.forget("::1")
    assert list(robots._found) == ["b.a.example"]
