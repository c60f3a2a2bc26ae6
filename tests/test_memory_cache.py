from typing import Any

import pytest
from scrapy import Request
from scrapy.http import Response
from scrapy.settings import Settings

from tests.support.crawls import Serve
from tests.support.stub_crawls import stub_crawl
from tplspider import storages
from tplspider.storages import MOST_BYTES, MemoryCacheStorage

PAGE = "http://a.example/"
STORAGE = "tplspider.storages.MemoryCacheStorage"
CACHE = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_STORAGE": STORAGE}
SPIDER: Any = None


def test_searches_share_pages_but_not_failures(serve: Serve) -> None:
    server = serve(
        "menu",
        {
            "/page": lambda request: request.answer(200, b"page", Content_Type="text/html"),
            "/moved": lambda request: request.answer(302, Location="/page"),
            "/cookie": lambda request: request.answer(200, b"page", Set_Cookie="a=b; Path=/x"),
            "/busy": lambda request: request.answer(503),
        },
    )
    keys: dict[str, float | None] = {server.url: None, server.url + "/?other": None}
    links = [(key, server.url + path) for key in keys for path in server.routes]
    done = stub_crawl(links, keys, **CACHE)
    ends = sorted(
        (row["url"].removeprefix(server.url), row["end"], *row["flags"]) for row in done.rows
    )
    assert ends == [
        *[("/busy", "503")] * 2,
        *[("/cookie", "200")] * 2,
        *[("/moved", "302"), ("/moved", "302", "cached")],
        *[("/page", "200"), ("/page", "200", "cached")],
    ]
    asked = {path: server.log.count(path) for path in server.routes}
    assert asked == {"/page": 1, "/moved": 1, "/cookie": 2, "/busy": 4}  # each is retried once


def keeps(
    request: Request, again: Request | None = None, status: int = 200, **headers: str
) -> bool:
    storage = MemoryCacheStorage(Settings())
    named: dict[str, Any] = {name.replace("_", "-"): value for name, value in headers.items()}
    storage.store_response(SPIDER, request, Response(request.url, status, named, b"x"))
    return storage.retrieve_response(SPIDER, again or request) is not None


def test_what_is_kept_and_for_whom() -> None:
    plain, signed = Request(PAGE), Request(PAGE, headers={"Authorization": "Basic x"})
    assert keeps(plain)
    assert keeps(plain, Request(PAGE + "#top"))
    assert keeps(plain, Vary="Accept-Encoding")
    assert not keeps(plain, Request(PAGE, headers={"Cookie": "a=b"}))
    assert not keeps(plain, signed)
    assert not keeps(signed)
    assert not keeps(Request(PAGE, method="POST"))
    assert not any(keeps(plain, status=status) for status in (204, 304, 404, 429, 503))
    assert not any(keeps(plain, Vary=value) for value in ("*", "Cookie", "Accept, referer"))
    assert not keeps(plain, Set_Cookie="a=b")


def test_size_and_age_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = MemoryCacheStorage(Settings())
    requests = [Request(f"{PAGE}{number}") for number in range(6)]
    for request in [*requests, requests[-1]]:  # a second copy takes the place of the first
        storage.store_response(
            SPIDER, request, Response(request.url, body=bytes(MOST_BYTES // 4 - 4096))
        )
    large = Response(PAGE, body=bytes(MOST_BYTES // 4))
    storage.store_response(SPIDER, Request(PAGE), large)
    kept = [storage.retrieve_response(SPIDER, each) for each in [*requests, Request(PAGE)]]
    assert [bool(each) for each in kept] == [False] * 2 + [True] * 4 + [False]
    monkeypatch.setattr(storages, "OLDEST", 0.0)
    assert storage.retrieve_response(SPIDER, requests[-1]) is None
