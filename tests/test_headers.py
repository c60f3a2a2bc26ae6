"""Responses whose headers have no end: broken off, at once and for good."""

from __future__ import annotations

import time
from itertools import count, repeat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from scrapy.settings import Settings

from tests.support.hostile_http import CHUNKED, OK
from tests.support.hostile_pages import html, page
from tests.support.hostile_server import Exchange, HostileServer
from tests.support.measured_crawl import run_measured
from tplspider.addon import Addon
from tplspider.old.crawl.download_handler import MAX_HEAD_SIZE
from tplspider.old.crawl.private_network.address_guard import ASYNCIO_HANDLER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Answer = Callable[[Exchange], None]

HANDLER = "tplspider.old.crawl.download_handler.BoundedDownloadHandler"
LAST_CHUNK = CHUNKED + b"5\r\n<p>hi\r\n0\r\n"
LINE = b"X-Again: and again\r\n"


def endless(head: bytes, parts: Iterable[bytes]) -> Answer:
    """What is sent until the client hangs up."""

    def answer(exchange: Exchange) -> None:
        exchange.send(head)
        exchange.send_all(parts)

    return answer


def slow(exchange: Exchange) -> None:
    exchange.send(OK)
    while True:
        exchange.send(b"X-Slow: " + b"y" * 8000 + b"\r\n")
        time.sleep(0.01)


ENDLESS: dict[str, Answer] = {
    "/headers": endless(OK, repeat(LINE * 1000)),
    "/other-headers": endless(OK, (b"X-%d: y\r\n" % number for number in count())),
    "/one-line": endless(OK + b"X: ", repeat(b"x" * 65536)),
    "/status-line": endless(b"HTTP/1.1 200 ", repeat(b"x" * 65536)),
    "/informational": endless(b"", repeat(b"HTTP/1.1 103 Hint\r\nX: y\r\n\r\n" * 1000)),
    "/folded": endless(OK + b"X: y\r\n", repeat(b" and more\r\n" * 1000)),
    "/no-colon": endless(OK, repeat(b"no colon\r\n" * 1000)),
    "/slow": slow,
    "/trailers": endless(LAST_CHUNK, repeat(LINE * 1000)),
    "/trailer-line": endless(LAST_CHUNK, repeat(b"x" * 65536)),
}


def many_headers(exchange: Exchange) -> None:
    """Nine tenths of what is allowed, over one connection with the pages before and after."""
    lines = MAX_HEAD_SIZE * 9 // 10 // len(LINE)
    exchange.answer(html("Many"), "200 OK", *[LINE.decode().strip()] * lines)


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="memory is read off /proc"
)


@pytest.mark.slow
@needs_proc
def test_headers_without_end(tmp_path: Path) -> None:
    links = [*ENDLESS, "/many", "/last"]
    key_page = html("".join(f"<a href={link}>x</a>" for link in links))
    answers: dict[str, Answer] = {
        **ENDLESS,
        "/": lambda exchange: exchange.answer(key_page),
        "/many": many_headers,
        "/last": page(),
    }
    with HostileServer(answers) as server:
        done, megabytes = run_measured(server.url + "/", tmp_path, {"RETRY_TIMES": "1"})
    assert done.code == 0, done.log[-5000:]
    ended = {
        row["link"].removeprefix(server.url): row["reason"] for row in done.summary["explored"]
    }
    assert ended == {**dict.fromkeys(ENDLESS, "too-large"), "/many": "", "/last": ""}
    # Once: a second time would bring the same.
    assert sorted(server.log) == sorted(["/robots.txt", "/", *links])
    assert done.log.count("Broken off:") == len(ENDLESS)
    for word in ("Traceback", "Unhandled", "never retrieved"):
        assert word not in done.log
    assert megabytes < 200


@pytest.mark.slow
@needs_proc
def test_the_key_page_and_its_robots_txt(tmp_path: Path) -> None:
    answers = dict.fromkeys(("/robots.txt", "/"), ENDLESS["/headers"])
    with HostileServer(answers) as server:
        done, megabytes = run_measured(server.url + "/", tmp_path, {"RETRY_TIMES": "1"})
    assert done.code == 0, done.log[-5000:]
    assert done.summary["key_outcome"] == "too-large"
    assert server.log == ["/robots.txt", "/"]
    assert megabytes < 200


@pytest.mark.parametrize(
    ("given", "handlers"),
    [
        ({}, {"http": HANDLER, "https": HANDLER}),
        (
            {"DOWNLOAD_HANDLERS": {"http": "their.Handler", "s3": None}},
            {"http": "their.Handler", "s3": None, "https": HANDLER},
        ),
        (
            {"TWISTED_REACTOR_ENABLED": False},
            {"http": ASYNCIO_HANDLER, "https": ASYNCIO_HANDLER},
        ),
    ],
)
def test_handlers_of_a_project_stay(given: dict[str, object], handlers: dict[str, object]) -> None:
    settings = Settings(given)
    Addon().update_settings(settings)
    assert settings.getdict("DOWNLOAD_HANDLERS") == handlers
