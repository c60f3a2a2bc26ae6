"""Every way in which a request can end, each on a link of one key page."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING

import pytest

from tests.support.crawls import SITES, Crawl, FixtureServer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tplspider.demo.server import Handler

LONG = "long?" + "x" * 2100
HTML = {"Content_Type": "text/html"}


def closed_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port: int = unused.getsockname()[1]
        return port


def key_page(request: Handler) -> None:
    html = (SITES / "hooks" / "index.html").read_text("utf-8")
    html = html.replace("PORT", str(request.connection.getsockname()[1]))
    html = html.replace("CLOSED", str(closed_port())).replace("LONG", LONG)
    request.answer(200, html.encode(), **HTML)


def truncated(request: Handler) -> None:
    request.send_response(200)
    request.send_header("Content-Type", "text/html")
    request.send_header("Content-Length", "1000")
    request.end_headers()
    request.wfile.write(b"<p>only this")
    request.close_connection = True


def slow(request: Handler) -> None:
    time.sleep(2.5)
    request.answer(200, b"late", **HTML)


def hang_up(request: Handler) -> None:
    request.close_connection = True


def redirect(target: str) -> Callable[[Handler], None]:
    return lambda request: request.answer(302, Location=target)


ROUTES: dict[str, Callable[[Handler], object]] = {
    "/": key_page,
    "/empty": lambda request: request.answer(200, b"", **HTML),
    "/no-content": lambda request: request.answer(204),
    "/pdf": lambda request: request.answer(200, b"%PDF-1.4", Content_Type="application/pdf"),
    "/image": lambda request: request.answer(200, b"\x89PNG\r\n", Content_Type="image/png"),
    "/moved": redirect("/target.html"),
    "/refreshed": lambda request: request.answer(
        200, b"<meta http-equiv=refresh content='0; url=/refresh-target.html'>", **HTML
    ),
    "/moved-to-seen": redirect("/target.html"),
    "/moved-to-key": redirect("/"),
    "/moved-to-itself": redirect("/moved-to-itself"),
    "/forbidden": lambda request: request.answer(403),
    "/not-modified": lambda request: request.answer(304),
    "/nowhere": lambda request: request.answer(302),
    "/failing": lambda request: request.answer(500),
    "/slow": slow,
    "/closed": hang_up,
    "/truncated": truncated,
    "/huge": lambda request: request.answer(200, b"<p>" + b"x" * 300_000, **HTML),
    "/bad-gzip": lambda request: request.answer(200, b"no", Content_Encoding="gzip", **HTML),
    "/moved-to-private": redirect("/private/other"),
    "/moved-offsite": redirect("http://other.example.net/"),
    "/stumble": lambda request: request.answer(200, b"<p>A page.</p>", **HTML),
}

EXPECTED = {
    "empty": ("none", "bad-response"),
    "no-content": ("none", "http-204"),
    "pdf": ("none", "not-html"),
    "image": ("none", "not-html"),
    "moved": ("page", ""),
    "refreshed": ("page", ""),
    "moved-to-seen": ("duplicate", "duplicate-of /target.html"),
    "moved-to-key": ("duplicate", "key-page"),
    "moved-to-itself": ("none", "bad-response"),
    "not-found": ("none", "http-404"),
    "forbidden": ("none", "http-403"),
    "not-modified": ("none", "http-304"),
    "nowhere": ("none", "http-302"),
    "failing": ("none", "http-500"),
    "slow": ("none", "timeout"),
    "dead": ("none", "dns"),
    "refused": ("none", "connection"),
    "closed": ("none", "connection"),
    "truncated": ("none", "bad-response"),
    "huge": ("none", "too-large"),
    "bad-gzip": ("none", "bad-response"),
    "private/page": ("none", "robots"),
    "moved-to-private": ("none", "robots"),
    "moved-offsite": ("none", "offsite-redirect"),
    "long": ("none", "too-long"),
    "stumble": ("none", "error"),
    "menu/a.html": ("page", ""),
    "menu/b.html": ("page", ""),
    "menu/c.html": ("page", ""),
}


def name_of(link: str, site: str) -> str:
    if "dead" in link:
        return "dead"
    if LONG in link:
        return "long"
    if "/menu/" in link:
        return link[link.index("menu/") :]
    return link.removeprefix(site + "/") if link.startswith(site) else "refused"


@pytest.mark.slow
def test_every_end_is_accounted_for(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer], tmp_path: Path
) -> None:
    server = serve("hooks", ROUTES)
    site = server.url.replace("127.0.0.1", "www.example.com")
    done = crawl(
        site + "/",
        scope="domain",
        settings={
            "DOWNLOAD_TIMEOUT": "1.5",
            "DOWNLOAD_MAXSIZE": "200000",
            "SPIDER_MODULES": "tests.support.components",
            "REDIRECT_MAX_TIMES": "3",
        },
    )
    assert done.code == 0, done.log
    summary = done.summary
    ended = {
        name_of(row["link"], site): (row["outcome"], row["reason"].replace(site, ""))
        for row in summary["explored"]
    }
    assert ended == EXPECTED
    assert summary["complete"]
    assert {name_of(url, site) for url in summary["candidates"]} == {
        "menu/a.html",
        "menu/b.html",
        "menu/c.html",
    }
    assert summary["loads"] == len(EXPECTED) + 1
    assert done.finish_reason == "complete_subdigraph"
    # One retry, and one of the chain that leads to robots.txt's other side.
    assert server.pages_asked.count("/failing") == 2
    assert "/private/other" not in server.pages_asked
    # The address that differs by its fragment, and those that are not links, were never tried.
    assert server.pages_asked.count("/moved") == 1
    assert summary["links"] == len(EXPECTED)
    skipped = {name: count for name, count in done.stats.items() if "skipped" in name}
    assert skipped["tplspider/skipped/bad-response"] == "4"
    assert skipped["tplspider/skipped/http-404"] == "1"


@pytest.mark.quick
def test_a_link_that_vanishes(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer]
) -> None:
    names = ["vanish", "menu/a.html", "vanish/too", "menu/b.html", "menu/c.html"]
    html = "".join(f"<p><a href='/{name}'>x</a></p>" for name in names).encode()
    server = serve("hooks", {"/": lambda request: request.answer(200, html, **HTML)})
    done = crawl(
        server.url + "/",
        settings={"SPIDER_MIDDLEWARES": '{"tests.support.components.DroppingMiddleware": 100}'},
    )
    assert done.code == 0
    assert [(row["rank"], row["reason"]) for row in done.summary["explored"]] == [
        (1, "error"),
        (2, ""),
        (3, "error"),
        (4, ""),
        (5, ""),
    ]
    assert done.summary["candidates"] == [f"{server.url}/menu/{name}.html" for name in "abc"]
    assert done.summary["loads"] == 6
    assert server.pages_asked == ["/", "/menu/a.html", "/menu/b.html", "/menu/c.html"]
    assert done.finish_reason == "complete_subdigraph"
