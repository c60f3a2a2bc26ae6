"""What becomes of a request is told by a reason: real failures, and those of older Scrapy."""

import gzip

import pytest

from tests.support.hostile_http import BODIES, CONNECTIONS, ENCODINGS, STATUS_LINES
from tests.support.hostile_server import Exchange, HostileServer
from tests.support.stub_crawls import stub_crawl

PATHS = (
    "/empty-reply.html /reset.html /closed-in-header.html /truncated.html /garbage.html"
    " /bad-gzip-data.html /bad-deflate.html /chunk-garbage.html"
).split()
TRAPS = [trap for trap in CONNECTIONS + STATUS_LINES + BODIES + ENCODINGS if trap.path in PATHS]


def bomb(exchange: Exchange) -> None:
    body = gzip.compress(bytes(3_000_000))
    exchange.answer(body, "200 OK", "Content-Encoding: gzip")


@pytest.mark.crawl
def test_reasons_of_real_failures() -> None:
    answers = {trap.path: trap.answer for trap in TRAPS}
    answers["/bomb"] = bomb
    answers["/large"] = lambda exchange: exchange.answer(bytes(3_000_000))
    answers["/slow"] = lambda exchange: exchange.wait(30)
    rules = b"User-agent: *\nDisallow: /no"
    answers["/robots.txt"] = lambda exchange: exchange.answer(rules, kind="text/plain")
    expected = {trap.path: trap.end for trap in TRAPS}
    expected |= {"/bomb": "too-large", "/large": "too-large", "/slow": "timeout", "/no": "robots"}
    with HostileServer(answers) as server:
        urls = [server.url + path for path in expected]
        refused = f"http://localhost:{server.port}/", "http://dead.example.com/", "http://[::1]:1/"
        links: list[str | tuple[str, str]] = [*urls, *refused[:2], ("http://[::1]/", refused[2])]
        limits = {"DOWNLOAD_TIMEOUT": 1, "DOWNLOAD_MAXSIZE": 1_000_000, "RETRY_ENABLED": False}
        keys: dict[str, float | None] = {server.url: None, "http://[::1]/": None}
        done = stub_crawl(links, keys, ROBOTSTXT_OBEY=True, **limits)
    ends = {row["url"].removeprefix(server.url): row["end"] for row in done.rows}
    assert ends == expected | dict(
        zip(refused, ["private-address", "dns", "connection"], strict=True)
    )
