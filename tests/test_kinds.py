import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.crawls import DNS_RESOLVER, Routes, RunCrawl, Serve, run_scrapy
from tests.support.internet import Listener, at, html, reasons, redirect
from tests.support.kinds import examples
from tests.support.plain_site import PlainSite, outcome, refusing_sites, run, sites
from tests.support.site_server import Handler
from tests.support.template_site import page
from tplspider import MemorySite, SearchOptions, WebPage, search_pages

MENU = ["/about", "/tags", "/news/"]
KEY = "/news/2019/cranes.html"
SIBLINGS = [f"/news/2019/{name}.html" for name in ("herons", "owls", "rooks", "swifts")]


def magazine() -> PlainSite:
    """Pages with a menu; only the index leads to the articles, and an article to the next one."""
    site = PlainSite({path: [*MENU, "/"] for path in ["/", *MENU, *SIBLINGS, KEY]})
    site.links["/news/"] += SIBLINGS
    site.links[KEY] = [*MENU, SIBLINGS[3]]
    return site


def explored(search: Any) -> list[str]:
    return [visit.link.url.removeprefix("http://example.org") for visit in search.visits]


def test_siblings_come_after_the_first_page_of_the_menu() -> None:
    site = magazine()
    site.links[KEY] = MENU[::-1]
    search, _ = run(site, KEY, strategy="kinds", size=4)
    first, *others = explored(search)
    assert first == "/news/"
    assert len({*others} & {*SIBLINGS}) == 2  # which the key page does not lead to
    assert (search.complete, search.loads, search.members) == (True, 5, [])


def test_links_that_fail_are_replaced_within_a_budget() -> None:
    site = magazine()
    site.failures = {SIBLINGS[3]: "http-404", SIBLINGS[0]: "timeout"}
    search, _ = run(site, KEY, strategy="kinds")
    assert (search.complete, search.loads, search.reason) == (True, 6, "pages_found")
    site.failures[SIBLINGS[1]] = "http-500"
    search, _ = run(site, KEY, strategy="kinds")
    assert (search.complete, search.loads, search.reason) == (False, 6, "max_loads")
    search, _ = run(site, KEY, strategy="kinds", max_loads=3)
    assert (search.loads, search.reason) == (3, "max_loads")
    site.failures = dict.fromkeys([*MENU, *SIBLINGS], "http-429")
    search, _ = run(site, KEY, strategy="kinds", max_refusals=2)
    assert (search.loads, search.reason) == (3, "refused")


def test_where_addresses_tell_nothing_it_goes_on_as_guided() -> None:
    paths = [f"/{name}/" + "x/" * depth for depth, name in enumerate("abcdef")]
    site = PlainSite(dict.fromkeys(["/", *paths], paths))
    kinds, _ = run(site, "/", strategy="kinds", size=4)
    guided, _ = run(site, "/", strategy="guided", size=4)
    assert explored(kinds) == explored(guided)


@examples(200)
@given(
    st.one_of(sites(), refusing_sites()),
    st.integers(1, 6),
    st.sampled_from([0, 2, 4, 100]),
    st.integers(1, 6),
    st.integers(0, 99),
)
def test_the_answer_depends_on_the_number_in_flight_alone(
    site: PlainSite, n: int, max_loads: int, in_flight: int, seed: int
) -> None:
    options: dict[str, Any] = {"size": n, "max_loads": max_loads, "in_flight": in_flight}
    one, asked = run(site, "/", strategy="kinds", seed=seed, **options)
    two, _ = run(site, "/", strategy="kinds", seed=seed + 1, **options)
    assert outcome(one) == outcome(two)
    assert len(asked) == len({*asked})
    assert one.loads + one.wasted <= min(max_loads or 100, n + 3)
    pages = [visit.url for visit in one.visits if visit.page]
    assert [visit.url for visit in one.found] == pages
    assert one.complete == (len(pages) == n) == (one.reason == "pages_found")


def test_pages_that_are_not_crawled() -> None:
    articles = [f"http://example.org{path}" for path in (KEY, *SIBLINGS)]
    menu = "".join(f"<a href={url}>article</a> " for url in articles)
    html = "<title>{0}</title><p>{1}</p><p>All about {0}, and nothing else</p>"
    answers = [WebPage(url, html.format(url, menu).encode()) for url in articles]
    done = search_pages(MemorySite(answers), articles[0], SearchOptions(strategy="kinds")).summary
    assert done
    assert (done.complete, done.cs_size, done.candidates, done.method) == (True, 3, [], "kinds")
    assert done.similarity is not None


def routes(*missing: str) -> Routes:
    links = "".join(f"<a href={path}>{path}</a> " for path in [*MENU, *SIBLINGS])

    def give(path: str) -> Callable[[Handler], object]:
        body = page(f"The page at {path} has words of its own.", more=f"<p>{links}</p>")
        return lambda request: request.answer(200, body, Content_Type="text/html")

    pages = [KEY, *MENU, *SIBLINGS]
    return {path: give(path) for path in pages if path not in missing}


def test_a_text(serve: Serve, tmp_path: Path) -> None:
    """It is what ``scrapy text`` takes; the table has the pages compared, and no candidates."""
    server = serve("alone", routes(*MENU))
    (tmp_path / "keys.txt").write_text(server.url + KEY)
    table, summary = tmp_path / "table.jl", tmp_path / "summary.json"
    report = tmp_path / "report"
    done = run_scrapy(
        *("text", "-i", f"{tmp_path}/keys.txt", f"-O{table}", f"-asummary={summary}"),
        *("--report", str(report)),
        folder=tmp_path,
    )
    assert done.code == 0, done.log
    row = json.loads(table.read_bytes())
    assert f"The page at {KEY}" in row["main_text"]
    assert (row["candidates"], row["evidence"]) == ([], len(row["evidence_pages"]))
    found = done.summary
    assert (found["method"], found["candidates"], found["witnesses"]) == ("kinds", [], [])
    assert (found["reason"], found["complete"], found["cs_size"]) == ("pages_found", True, 3)
    assert row["loads"] == found["loads"] == len(server.pages_asked) <= 6
    assert {*row["evidence_pages"]} <= {each["url"] for each in found["explored"]}
    html = (report / f"{found['search_id']}.html").read_text("utf-8")
    assert all(html.count(url) > 1 for url in row["evidence_pages"])


@pytest.mark.parametrize(("max_loads", "loads", "found"), [(100, 6, 1), (2, 2, 1)])
def test_too_few_pages_make_it_partial(
    crawl: RunCrawl, serve: Serve, max_loads: int, loads: int, found: int
) -> None:
    server = serve("alone", routes(*MENU, *SIBLINGS[1:]))
    settings = {"TPLSPIDER_FAIL": "incomplete"}
    done = crawl(server.url + KEY, settings, strategy="kinds", max_loads=max_loads)
    assert (done.code, done.finish_reason, done.candidates) == (3, "max_loads", [])
    assert (done.summary["loads"], done.summary["cs_size"]) == (loads, found)
    assert not done.summary["complete"]


def test_private_addresses_are_refused(crawl: RunCrawl, serve: Serve) -> None:
    server = serve("alone", routes())
    with Listener() as listener:
        private = f"http://loopback.example.com:{listener.port}{SIBLINGS[0]}"
        server.routes[SIBLINGS[1]] = redirect(private)
        server.routes[KEY] = html(private, *SIBLINGS[1:])
        settings = {DNS_RESOLVER: "tests.support.stub_crawls.CheckedInternet"}
        key = at(server, "www.example.com") + KEY
        done = crawl(key, settings, strategy="kinds", scope="domain")
        assert listener.accepted == 0
    assert [*reasons(done).values()].count("private-address") == 2
    assert (done.summary["cs_size"], done.summary["complete"]) == (2, False)
