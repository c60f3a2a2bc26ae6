from __future__ import annotations

import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import pytest

from tests import literal
from tests.support.crawls import Crawl, FixtureServer, run_scrapy
from tests.support.kinds import with_quick
from tplspider.search.session import SearchOptions, search_id

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tplspider.demo.server import Handler

KEY = "/docs/guide/four.html"


def load(url: str) -> literal.LiteralPage | str:
    try:
        with urllib.request.urlopen(url) as response:
            return literal.LiteralPage(response.url, response.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            return f"http-{error.code}"


@pytest.mark.parametrize("n", with_quick([1, 2, 3, 4, 5], 5))
def test_pages_arrive_in_the_order_of_the_paper(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer], n: int
) -> None:
    expected = literal.search(load, serve("menu").url + KEY, n)
    server = serve("menu")
    done = crawl(server.url + KEY, n=n)
    # Ports differ from server to server, paths do not.
    paths = ["/" + url.split("/", 3)[3] for url in expected.asked]
    assert server.pages_asked == paths
    summary = done.summary
    assert summary["reason"] == done.finish_reason == expected.reason
    assert [row["rank"] for row in done.candidates] == expected.member_ranks
    assert summary["candidates"] == [row["url"] for row in done.candidates]
    assert summary["loads"] == expected.loads
    assert summary["links"] == expected.links
    assert [(row["outcome"], row["rank"]) for row in summary["explored"]] == [
        (row["outcome"], row["rank"]) for row in expected.explored
    ]


@pytest.mark.quick
def test_stats_log_and_close_reason(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer]
) -> None:
    server = serve("menu")
    done = crawl(server.url + KEY)
    assert done.code == 0
    assert done.finish_reason == "complete_subdigraph"
    assert done.stats == {
        "tplspider/cs_size": "3",
        "tplspider/explored": "3",
        "tplspider/key_outcome": "ok",
        "tplspider/links": "9",
        "tplspider/loads": "5",
        "tplspider/similarity": "0.766",
        "tplspider/skipped/http-404": "1",
        "tplspider/wasted": "0",
        "tplspider/witness_loads": "0",
    }
    # A line for the key page, one for each link, one for the end.
    parts = (KEY, "#1 ", "#2 ", "#3 ", "#4 ", "complete_subdigraph")
    lines = [line for line in done.log.splitlines() if "[tplspider.tracker] INFO" in line]
    assert [name in line for name, line in zip(parts, lines, strict=True)] == [True] * 6
    assert "Traceback" not in done.log


@pytest.mark.quick
def test_links_run_out(crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer]) -> None:
    server = serve("partial")
    done = crawl(server.url + "/")
    assert done.finish_reason == "links_exhausted"
    assert [row["url"] for row in done.candidates] == [f"{server.url}/{p}.html" for p in "ab"]
    assert {(row["cs_size"], row["complete"]) for row in done.candidates} == {(2, False)}
    assert (done.summary["complete"], done.summary["loads"]) == (False, 4)


@pytest.mark.quick
def test_the_budget_runs_out(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer]
) -> None:
    server = serve("menu")
    done = crawl(server.url + KEY, max_loads=3)
    assert done.finish_reason == "max_loads"
    assert len(server.pages_asked) == done.summary["loads"] == 3
    assert [row["rank"] for row in done.candidates] == [2]


def test_a_key_page_that_redirects(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer]
) -> None:
    server = serve("menu", {"/start": lambda request: request.answer(301, Location=KEY)})
    done = crawl(server.url + "/start")
    assert done.summary["key_url"] == server.url + KEY
    assert done.summary["complete"]
    assert {row["key_url"] for row in done.candidates} == {server.url + KEY}


def answer(status: int, body: bytes = b"", kind: str = "text/html") -> Callable[[Handler], None]:
    return lambda request: request.answer(status, body, Content_Type=kind)


UNUSABLE: dict[str, tuple[str, Callable[[Handler], None] | None]] = {
    "/missing": ("http-404", None),
    "/broken": ("http-500", answer(500)),
    "/pdf": ("not-html", answer(200, b"%PDF-1.4", "application/pdf")),
    "/text": ("not-html", answer(200, b"plain words", "text/plain")),
    "/empty": ("bad-response", answer(200)),
    "/no-content": ("http-204", answer(204)),
    "/nolinks.html": ("no-links", None),
    "/nothing": ("no-links", answer(200, b"<p>Words.</p>")),
    "/private/": ("robots", answer(200, b"<a href='/a.html'>a</a>")),
    "/" + "x" * 2100: ("too-long", None),
}

HINTS = {
    "/nolinks.html": "no link of the key page leads to another page of its site:"
    " 1 to the key page itself, 1 to other sites",
    "/nothing": "the key page has no link at all",
    "/empty": "the answer is empty",
    "/private/": "robots.txt of the site forbids this page",
}


@pytest.mark.parametrize("path", with_quick(UNUSABLE, "/private/"), ids=lambda path: path[:20])
def test_a_key_page_that_cannot_be_used(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer], path: str
) -> None:
    outcome, route = UNUSABLE[path]
    hint = HINTS.get(path, "")
    robots = answer(200, b"User-agent: *\nDisallow: /private/\n", "text/plain")
    server = serve("alone", {"/robots.txt": robots} | ({path: route} if route else {}))
    done = crawl(server.url + path)
    assert done.code == 0
    assert done.finish_reason == "key_page_unusable"
    assert done.candidates == []
    assert done.summary == {
        "key_url": server.url + path,
        "requested_size": 3,
        "cs_size": 0,
        "complete": False,
        "reason": "key_page_unusable",
        "key_outcome": outcome,
        "loads": 1,
        "links": 0,
        "candidates": [],
        "explored": [],
        "bounded": False,
        "wasted": 0,
        "hint": hint,
        "similarity": None,
        "search_id": search_id(server.url + path, SearchOptions()),
        "requested_url": server.url + path,
        "witnesses": [],
        "witness_loads": 0,
        "line": None,
        "input": None,
        "shared": 0,
        "key_title": "",
        "not_archived": 0,
        "method": "search",
    }
    (line,) = [line for line in done.log.splitlines() if "[tplspider.tracker] WARNING" in line]
    assert outcome in line
    assert hint in line
    assert "Traceback" not in done.log


@pytest.mark.parametrize(
    ("url", "outcome"), [("http://dead.example.com/", "dns"), ("dead.example.com/x", "dns")]
)
def test_a_key_page_whose_host_is_unknown(
    crawl: Callable[..., Crawl], url: str, outcome: str
) -> None:
    done = crawl(url, settings={"ROBOTSTXT_OBEY": "False"})
    assert done.code == 0
    assert done.summary["key_outcome"] == outcome
    assert ("is taken for https://dead.example.com/x" in done.log) == ("//" not in url)


def test_the_same_answer_from_the_http_cache(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer], tmp_path: Path
) -> None:
    server = serve("menu")
    settings = {"HTTPCACHE_ENABLED": "True", "HTTPCACHE_DIR": str(tmp_path / "cache")}
    first = crawl(server.url + KEY, settings)
    candidates, summary = first.candidates, first.summary
    asked = len(server.log)
    second = crawl(server.url + KEY, settings)
    assert (second.candidates, second.summary) == (candidates, summary)
    assert second.finish_reason == "complete_subdigraph"
    assert len(server.log) == asked


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((), "url"),
        (("url=http://[::1/",), "url"),
        (("url=SITE", "n=0"), "n"),
        (("url=SITE", "max_refusals=-1"), "max_refusals"),
        (("url=SITE", "strategy=best"), "strategy"),
        (("url=SITE", "strategy=no.such.module:order"), "strategy"),
        (("url=SITE", "strategy=tests.support.components:missing"), "strategy"),
        pytest.param(("url=SITE", "nn=3"), "'nn'", marks=pytest.mark.quick),
    ],
)
def test_wrong_arguments_get_one_line(
    serve: Callable[..., FixtureServer], tmp_path: Path, arguments: tuple[str, ...], word: str
) -> None:
    server = serve("menu")
    out = tmp_path / "out.json"
    done = run_scrapy(
        "crawl",
        "template_candidates",
        *(f"-a{argument.replace('SITE', server.url)}" for argument in arguments),
        f"-O{out}",
        folder=tmp_path,
        settings={"LOG_LEVEL": "WARNING"},
    )
    assert done.code == 2
    (line,) = done.log.splitlines()
    assert line.startswith("scrapy crawl: error: ")
    assert word in line
    assert server.log == []
    assert not out.exists()


def test_a_summary_cannot_share_a_file(tmp_path: Path, serve: Callable[..., FixtureServer]) -> None:
    server, out = serve("menu"), tmp_path / "out.json"
    done = run_scrapy(
        "crawl",
        "template_candidates",
        f"-aurl={server.url}",
        f"-asummary={out}",
        f"-O{out}",
        folder=tmp_path,
    )
    assert done.code == 2
    assert "scrapy crawl: error: summary" in done.log
    assert server.log == []


def test_the_crawl_ends_also_when_somebody_drops_the_items(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer]
) -> None:
    done = crawl(
        serve("menu").url + KEY,
        {"SPIDER_MIDDLEWARES": '{"tests.support.components.ItemDroppingMiddleware": 100}'},
    )
    assert done.code == 0
    assert done.finish_reason == "complete_subdigraph"
    assert done.candidates == []


def test_search_nodes_are_a_setting(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer]
) -> None:
    done = crawl(serve("menu").url + KEY, {"TPLSPIDER_MAX_SEARCH_NODES": "1"}, n=5)
    assert done.summary["bounded"]


@pytest.mark.parametrize(
    ("status", "arguments", "reason", "loads"),
    [
        (429, {}, "refused", 11),
        (429, {"max_refusals": 0}, "links_exhausted", 13),
        (404, {}, "links_exhausted", 13),
    ],
)
def test_a_site_that_refuses_every_link(
    crawl: Callable[..., Crawl],
    serve: Callable[..., FixtureServer],
    status: int,
    arguments: dict[str, object],
    reason: str,
    loads: int,
) -> None:
    links = [f"/{number}" for number in range(12)]
    html = "".join(f"<p><a href={link}>x</a></p>" for link in links).encode()
    routes = {"/": answer(200, html), **dict.fromkeys(links, answer(status))}
    server = serve("menu", routes)
    done = crawl(server.url + "/", **arguments)
    summary = done.summary
    assert (done.code, done.finish_reason) == (0, reason)
    assert (summary["reason"], summary["loads"], done.candidates) == (reason, loads, [])
    assert f"http-{status}" in summary["hint"]
    assert len(set(server.pages_asked)) == loads


def test_a_strategy_of_ones_own(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer]
) -> None:
    names = ["/a", "/b", "/c"]
    html = "".join(f"<a href={name}>x</a>" for name in names)
    pages = {name: answer(200, f"{name}{html}".encode()) for name in ["/", *names]}
    server = serve("menu", pages)
    done = crawl(server.url + "/", strategy="tests.support.components:last_link_first", n=2)
    assert server.pages_asked == ["/", "/c", "/b"]
    assert done.summary["complete"]
