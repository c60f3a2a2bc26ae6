import re
from collections.abc import Callable

from tests.support.crawls import Crawl, RunCrawl, Serve
from tests.support.site_server import Handler
from tplspider.web.similarity import LOW_SIMILARITY

KEY = "/docs/guide/four.html"


def html(*parts: str) -> Callable[[Handler], object]:
    body = "".join(parts).encode()
    return lambda request: request.answer(200, body, Content_Type="text/html; charset=utf-8")


def links(*paths: str) -> str:
    return "".join(f"<li><a href={path}>{path}</a>" for path in paths)


def warnings(done: Crawl) -> list[str]:
    found = re.findall(r"\[tplspider\.[\w.]+\] WARNING: (.*)", done.log)
    return [line for line in found if "TPLSPIDER_CONTACT" not in line]


def test_members_that_share_next_to_nothing_are_told(crawl: RunCrawl, serve: Serve) -> None:
    """A page of a manual whose only links to pages that link to each other are other languages."""
    others = ("/de/", "/es/", "/fr/")
    words = ("Ports", "Ducks", "Bread", "Rails", "Clay", "Reeds")
    manual = [f"<h2>{word}</h2><p class=entry><a href={word}.html>{word}</a>" for word in words]
    manual += [f"<a href={path}>read it in {path[1:3]}</a>" for path in others]
    pages = {
        path: html(f"<title>{path}</title><table><tr><td><ul>{links(*others)}</ul></table>{path}")
        for path in others
    }
    key = html("<title>Manual</title><div class=book>", *manual, "</div>")
    done = crawl(serve("menu", {"/manual/": key, **pages}).url + "/manual/", strategy="guided")
    assert done.summary["complete"], done.log
    values = [row["similarity"] for row in done.candidates]
    assert done.summary["similarity"] == min(values)
    assert max(values) < LOW_SIMILARITY
    expected = "3 of the 3 pages found share next to nothing with the key page"
    assert expected in done.summary["hint"]
    (warning,) = warnings(done)
    assert done.summary["hint"] in warning


def test_the_summary_says_which_links_are_missing(crawl: RunCrawl, serve: Serve) -> None:
    pages = {"/k": ("/a", "/b", "/c", "/d", "/gone"), "/a": ("/b", "/c"), "/c": ("/a", "/b")}
    pages |= {"/b": ("/a",), "/d": ()}  # no link from b to c
    routes = {path: html(f"<title>{path}</title>", links(*to)) for path, to in pages.items()}
    server = serve("menu", routes)
    done = crawl(server.url + "/k")
    rank = {row["link"].removeprefix(server.url): row["rank"] for row in done.summary["explored"]}
    missing = {row["rank"]: row["missing"] for row in done.summary["explored"]}
    a, b, c, d = (rank[path] for path in ("/a", "/b", "/c", "/d"))
    assert done.summary["candidates"] == [f"{server.url}/a", f"{server.url}/b"]
    of_d = [[d, a], [a, d], [d, b], [b, d]]
    assert missing == {a: [], b: [], c: [[b, c]], d: of_d, rank["/gone"]: []}
    assert f"page {c}, {server.url}/c: page {b} does not link to page {c}\n" in done.log


def test_why_there_are_no_links(crawl: RunCrawl, serve: Serve) -> None:
    """All that could be met at once; test_crawl.py has the simple cases."""
    key = html(
        "<a href=http://sub.example.com/>1</a><a href=http://elsewhere.example.org/>2</a>",
        "<a href=/x.pdf>3</a><a href=/y download>4</a><a href=#top>5</a>",
        "<a href=mailto:me@example.com>6</a><a href='http://[::1'>7</a><a name=x>no link</a>",
    )
    server = serve("menu", {"/k": key})
    done = crawl(server.url.replace("127.0.0.1", "loopback.example.com") + "/k")
    assert done.summary["key_outcome"] == "no-links"
    hint = done.summary["hint"]
    assert re.findall(r"\d", hint) == ["2", "2", "2", "1", "1"]  # of each kind
    assert "-a scope=domain" in hint
    (warning,) = warnings(done)
    assert hint in warning
