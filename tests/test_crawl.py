import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import literal
from tests.support.crawls import RunCrawl, Serve, crawl_list, rows
from tests.support.kinds import with_quick
from tests.support.site_server import Handler
from tplspider.search.session import SearchOptions, search_id

KEY = "/docs/guide/four.html"


def load(url: str) -> literal.LiteralPage | str:
    try:
        with urllib.request.urlopen(url) as response:
            return literal.LiteralPage(response.url, response.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            return f"http-{error.code}"


@pytest.mark.parametrize("n", with_quick([1, 3, 5], 5))
def test_pages_arrive_in_the_order_of_the_paper(crawl: RunCrawl, serve: Serve, n: int) -> None:
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
    explored, theirs = summary["explored"], expected.explored
    assert [row["outcome"] for row in explored] == [row["outcome"] for row in theirs]
    assert [row["rank"] for row in explored] == [row["rank"] for row in theirs]


@pytest.mark.quick
def test_stats_log_and_close_reason(crawl: RunCrawl, serve: Serve) -> None:
    server = serve("menu", {"/start": lambda request: request.answer(301, Location=KEY)})
    done = crawl(server.url + "/start")
    assert done.code == 0
    assert done.finish_reason == "complete_subdigraph"
    assert {row["key_url"] for row in done.candidates} == {server.url + KEY}
    counts = "explored=3 key_outcome/ok=1 loads=5 skipped/http-404=1"
    assert " ".join(f"{name[10:]}={value}" for name, value in done.stats.items()) == counts
    # A line for the key page, one for each link, one for the end.
    parts = (KEY, "#1 ", "#2 ", "#3 ", "#4 ", "complete_subdigraph")
    lines = [line for line in done.log.splitlines() if "[tplspider.tracker] INFO" in line]
    assert [name in line for name, line in zip(parts, lines, strict=True)] == [True] * 6
    # Items are one short line each in the log.
    assert max(map(len, done.log.splitlines())) < 1000
    assert "Traceback" not in done.log


@pytest.mark.quick
def test_the_budget_runs_out(crawl: RunCrawl, serve: Serve) -> None:
    server = serve("menu")
    done = crawl(server.url + KEY, max_loads=3)
    assert done.finish_reason == "max_loads"
    assert len(server.pages_asked) == done.summary["loads"] == 3
    assert [row["rank"] for row in done.candidates] == [2]


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


def test_key_pages_that_cannot_be_used(serve: Serve, tmp_path: Path) -> None:
    """Each has a summary with its reason, and no candidates."""
    robots = answer(200, b"User-agent: *\nDisallow: /private/\n", "text/plain")
    routes = {path: route for path, (_, route) in UNUSABLE.items() if route}
    server = serve("alone", {"/robots.txt": robots, **routes})
    expected = {server.url + path: outcome for path, (outcome, _) in UNUSABLE.items()}
    expected[f"{server.url.replace('127.0.0.1', 'dead.example.com')}/"] = "dns"
    (tmp_path / "keys.txt").write_text("\n".join(expected))
    assert crawl_list(tmp_path, tmp_path / "keys.txt").code == 0
    assert rows(tmp_path / "out.jl") == []
    found = rows(tmp_path / "summary.jl")
    assert {row["requested_url"]: row["key_outcome"] for row in found} == expected
    for row in found:
        assert row["reason"] == "key_page_unusable"
        assert (row["cs_size"], row["complete"], row["loads"], row["links"]) == (0, False, 1, 0)
        assert (row["candidates"], row["explored"], row["similarity"]) == ([], [], None)
        assert row["search_id"] == search_id(row["key_url"], SearchOptions())


@pytest.mark.parametrize(
    ("most", "reason", "loads"), [(10, "refused", 11), (0, "links_exhausted", 13)]
)
def test_a_site_that_refuses_every_link(
    crawl: RunCrawl, serve: Serve, most: int, reason: str, loads: int
) -> None:
    links = [f"/{number}" for number in range(12)]
    html = "".join(f"<p><a href={link}>x</a></p>" for link in links).encode()
    routes = {"/": answer(200, html), **dict.fromkeys(links, answer(429))}
    server = serve("menu", routes)
    done = crawl(server.url + "/", **({"max_refusals": most} if most != 10 else {}))
    summary = done.summary
    assert (done.code, done.finish_reason) == (0, reason)
    assert (summary["reason"], summary["loads"], done.candidates) == (reason, loads, [])
    assert "http-429" in summary["hint"]
    assert len(set(server.pages_asked)) == loads


def test_a_strategy_of_ones_own(crawl: RunCrawl, serve: Serve) -> None:
    names = ["/a", "/b", "/c"]
    html = "".join(f"<a href={name}>x</a>" for name in names)
    pages = {name: answer(200, f"{name}{html}".encode()) for name in ["/", *names]}
    server = serve("menu", pages)
    done = crawl(server.url + "/", strategy="tests.support.components:last_link_first", n=2)
    assert server.pages_asked == ["/", "/c", "/b"]
    assert done.summary["complete"]
