import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.browsers import html as give
from tests.support.crawls import Crawl, FixtureServer, RunCrawl, Serve
from tests.support.internet import redirect
from tests.support.many_programs import run_program
from tests.support.site_server import Handler

MENU = "".join(
    f"<li><a href=/news/2019/{name}.html>{name}</a></li>" for name in ("one", "two", "three")
)
NAMES = ("one", "two", "three")
ONE = "/news/2019/one.html"
KEY, SIBLING = "/news/2019/on-cranes.html", "/news/2018/on-herons.html"


def article(title: str, body: str) -> bytes:
    """A page with what every article has, and no page of the menu."""
    classes = "".join(f'<i class="c{number}">{number}</i>' for number in range(9))
    return (
        f"<!DOCTYPE html><title>{title}</title><ul>{MENU}</ul>"
        f"<h1>{title}</h1><p>{body}</p>{classes}"
        f"<div class=share>Tell your friends about it, and theirs</div>"
        f"<p><a href={KEY}>cranes</a> <a href={SIBLING}>herons</a></p>"
    ).encode()


def page(name: str) -> bytes:
    return f"<!DOCTYPE html><title>{name}</title><ul>{MENU}</ul><p>All about {name}.</p>".encode()


ROUTES = {
    KEY: give(article("On cranes", "Cranes are birds, and some of them are machines.")),
    SIBLING: give(article("On herons", "A heron stands where it likes, and on one leg.")),
    **{f"/news/2019/{name}.html": give(page(name)) for name in NAMES},
}


ROBOTS = give(f"User-agent: *\nDisallow: {SIBLING}\n", "text/plain")
Run = Callable[..., tuple[Crawl, FixtureServer, Any]]


@pytest.fixture
def run(crawl: RunCrawl, serve: Serve, tmp_path: Path) -> Run:
    def run(
        routes: dict[str, Any] | None = None, settings: dict[str, str] | None = None, **given: Any
    ) -> tuple[Crawl, FixtureServer, Any]:
        server = serve("alone", {**ROUTES, **(routes or {})})
        file = tmp_path / "t.json"
        done = crawl(server.url + KEY, settings, texts=file, **{"n": 3, **given})
        assert done.code == 0, done.log
        assert "Traceback" not in done.log
        (template,) = json.loads(file.read_bytes())
        return done, server, template

    return run


@pytest.mark.quick
def test_a_page_of_the_kind_is_loaded_last(run: Run, tmp_path: Path) -> None:
    done, server, template = run(save_html=tmp_path / "html")
    summary = done.summary
    assert summary["complete"]
    assert server.pages_asked[-1] == SIBLING
    assert (summary["loads"], summary["witness_loads"]) == (4, 1)
    url = server.url + SIBLING
    assert summary["witnesses"] == [{"link": url, "url": url, "outcome": "page", "reason": ""}]
    assert url not in [row["url"] for row in summary["explored"]]
    assert url in template["candidates"]
    assert template["evidence"] == 4
    assert "Cranes are birds" in template["main_text"]
    assert template["title"] == "On cranes"
    manifest = json.loads((tmp_path / "html" / "manifest.json").read_bytes())
    assert [row["role"] for row in manifest] == ["key", *["member"] * 3, "witness"]
    assert manifest[-1]["url"] == url


@pytest.mark.parametrize(
    ("routes", "outcome", "reason"),
    [
        ({SIBLING: redirect(ONE)}, "duplicate", f"duplicate-of URL{ONE}"),
        ({"/robots.txt": ROBOTS}, "none", "robots"),
    ],
)
def test_one_that_fails_costs_one_load(
    run: Run, routes: dict[str, Any], outcome: str, reason: str
) -> None:
    done, server, template = run(routes)
    (row,) = done.summary["witnesses"]
    assert (row["outcome"], row["reason"]) == (outcome, reason.replace("URL", server.url))
    assert (done.summary["loads"], done.summary["witness_loads"]) == (4, 1)
    assert done.finish_reason == "complete_subdigraph"
    assert template["evidence"] == 3


def test_time_is_up_while_it_is_loaded(run: Run) -> None:
    crawl_is_over, waited_in_vain = threading.Event(), threading.Event()

    def hang(request: Handler) -> None:
        if not crawl_is_over.wait(60):
            waited_in_vain.set()

    done, server, template = run({SIBLING: hang}, max_seconds=4)
    crawl_is_over.set()
    assert not waited_in_vain.is_set()
    assert server.pages_asked[-1] == SIBLING
    assert done.summary["reason"] == "complete_subdigraph"
    assert [row["reason"] for row in done.summary["witnesses"]] == ["not-loaded"]
    assert template["evidence"] == 3


def test_the_loads_of_a_text_include_it(serve: Serve, tmp_path: Path) -> None:
    given = '(given, strategy="guided", allow_private=True, settings=SETTINGS)'
    server = serve("alone", ROUTES)
    body, url = f"show(tplspider.get_text{given}.loads)", server.url + KEY
    done = run_program(body, tmp_path, reactor=False, given=url)
    assert done.printed == [len(server.pages_asked)], done.log
    assert SIBLING in server.log
