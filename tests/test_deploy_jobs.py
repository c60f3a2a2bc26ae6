"""Jobs on a real scrapyd on loopback: their settings, arguments, ends and folders."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.browser_profile import KEY as SCRIPTED
from tests.support.browser_profile import needs_chromium
from tests.support.scrapyd_server import (
    FAST,
    KEY,
    Scrapyd,
    clone_of_the_project,
    deploy,
    deployed,
    running_scrapyd,
    schedule,
)
from tests.support.template_site import CONTENT, pages_of, routes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.crawls import FixtureServer
    from tplspider.demo.server import Handler


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clone_of_the_project(tmp_path_factory.mktemp("clone") / "tplspider")


@pytest.fixture(scope="module")
def scrapyd(tmp_path_factory: pytest.TempPathFactory, clone: Path) -> Iterator[Scrapyd]:
    with deployed(clone, tmp_path_factory.mktemp("server") / "scrapyd") as server:
        yield server


def test_a_job_chooses_settings_and_a_profile(
    scrapyd: Scrapyd, serve: Callable[..., FixtureServer]
) -> None:
    site = serve("menu")
    chosen = [*FAST, "TPLSPIDER_PROFILE=polite", "AUTOTHROTTLE_START_DELAY=0.1"]
    schedule(scrapyd, "chosen", url=site.url + KEY, setting=[*chosen, "DOWNLOAD_TIMEOUT=7"])
    scrapyd.wait("chosen")
    log = scrapyd.log("chosen")
    assert "'DOWNLOAD_TIMEOUT': '7'" in log
    assert "scrapy.extensions.throttle.AutoThrottle" in log
    assert len(scrapyd.feed("chosen.json")) == 3


def test_a_job_has_a_worker_that_finds_the_egg(
    scrapyd: Scrapyd, serve: Callable[..., FixtureServer]
) -> None:
    site = serve("menu", routes_of(pages_of()))
    given = {"texts": "t.json", "report": "r.html"}
    schedule(scrapyd, "texts", url=site.url, **given)
    scrapyd.wait("texts")
    (item,) = scrapyd.feed("t.json")
    assert item["content_text"] == CONTENT[""]
    # The pages that reports are made from are in the egg.
    assert CONTENT[""] in (scrapyd.folder / "items" / "feeds" / "r.html").read_text()


@pytest.mark.parametrize(
    ("job", "fields", "line"),
    [
        ("no-url", {}, "url and urls: "),
        ("bad-n", {"url": "http://127.0.0.1/", "n": "none"}, "n: expected a whole number"),
        ("unknown", {"url": "http://127.0.0.1/", "nn": "3"}, "did you mean 'n'?"),
        (
            "bad-profile",
            {"url": "http://127.0.0.1/", "setting": ["TPLSPIDER_PROFILE=hasty"]},
            "TPLSPIDER_PROFILE='hasty': expected one of ",
        ),
        (
            "outside",
            {"url": "http://127.0.0.1/", "summary": "../../outside.json"},
            "summary: ",
        ),
        (
            "elsewhere",
            {"url": "http://127.0.0.1/", "save_html": "/tmp"},
            "save_html: ",
        ),
    ],
)
def test_a_job_with_a_wrong_argument_ends_at_once(
    scrapyd: Scrapyd, job: str, fields: dict[str, Any], line: str
) -> None:
    schedule(scrapyd, job, **fields)
    scrapyd.wait(job)
    log = scrapyd.log(job)
    (told,) = [each for each in log.splitlines() if "] ERROR: " in each]
    assert line in told
    assert "Traceback" not in log
    assert not (scrapyd.folder / "items" / "feeds" / f"{job}.json").exists()
    items = scrapyd.folder / "items" / "tplspider" / "template_candidates"
    assert not (items / f"{job}.jl").exists()


def test_a_job_may_not_look_into_the_servers_network(
    scrapyd: Scrapyd, serve: Callable[..., FixtureServer]
) -> None:
    site = serve("menu")
    settings = ["DOWNLOAD_DELAY=0", "TPLSPIDER_TEXTS=True"]
    schedule(scrapyd, "inside", url=site.url + KEY, setting=settings)
    scrapyd.wait("inside")
    (summary,) = scrapyd.feed("inside.summary.json")
    assert summary["key_outcome"] == "private-address"
    assert scrapyd.feed("inside.json") == []
    assert scrapyd.feed("inside.texts.json") == []
    assert site.log == []


@needs_chromium
def test_a_job_with_a_browser(scrapyd: Scrapyd, serve: Callable[..., FixtureServer]) -> None:
    site = serve("script-menu")
    url = site.url + SCRIPTED
    outside = ["TPLSPIDER_PROFILE=browser", "DOWNLOAD_DELAY=0"]
    fields = {"url": url, "summary": "../outside.json"}
    schedule(scrapyd, "rendered", url=url, setting=[*FAST, "TPLSPIDER_PROFILE=browser"])
    schedule(scrapyd, "browser-inside", url=url, setting=outside)
    schedule(scrapyd, "browser-outside", **fields, setting=outside)
    for job in ("rendered", "browser-inside", "browser-outside"):
        scrapyd.wait(job)
    assert scrapyd.feed("rendered.summary.json")[0]["complete"]
    (summary,) = scrapyd.feed("browser-inside.summary.json")
    assert summary["key_outcome"] == "private-address"
    assert "expected a relative name inside TPLSPIDER_FEEDS_DIR" in scrapyd.log("browser-outside")


def test_cancelling_leaves_valid_feeds(
    scrapyd: Scrapyd, serve: Callable[..., FixtureServer]
) -> None:
    def slow(request: Handler) -> None:
        time.sleep(0.5)
        site.routes.pop(request.path)
        site.respond(request)

    site = serve("menu", {f"/docs/guide/{name}.html": slow for name in ("one", "two", "three")})
    schedule(scrapyd, "cancelled", url=site.url + KEY)
    scrapyd.wait("cancelled", "running")
    for _ in range(300):
        if len(site.pages_asked) >= 3:
            break
        time.sleep(0.1)
    assert (
        scrapyd.call("cancel.json", project="tplspider", job="cancelled")["prevstate"] == "running"
    )
    scrapyd.wait("cancelled")
    assert "Spider closed (shutdown)" in scrapyd.log("cancelled")
    (summary,) = scrapyd.feed("cancelled.summary.json")
    assert summary["reason"] == "shutdown"
    assert [row["url"] for row in scrapyd.feed("cancelled.json")] == summary["candidates"]


def test_cancelling_a_job_that_has_not_begun(
    tmp_path: Path, clone: Path, serve: Callable[..., FixtureServer]
) -> None:
    """What the guide says: feeds, all of them, once it has begun; before, none, and a line."""
    over = threading.Event()
    site = serve("menu", {"/robots.txt": lambda _: over.wait(600)})  # so that no job gets further

    def files(job: str) -> set[str]:
        folders = ("logs", "items")
        return {path.name for at in folders for path in (server.folder / at).rglob(f"{job}.*")}

    def log(job: str) -> str:
        return server.log(job) if f"{job}.log" in files(job) else ""

    with running_scrapyd(tmp_path / "scrapyd", max_proc="1") as server:
        assert deploy(clone, server, "production").returncode == 0
        moments: dict[str, Callable[[], object]] = {
            "at-once": lambda: True,
            "logging": lambda: log("logging"),
            "asking": lambda: site.log,
        }
        try:
            for job, has_come in moments.items():
                schedule(server, job, url=site.url + KEY)
                server.wait(job, "running")
                schedule(server, f"after-{job}", url=site.url + KEY)
                removed = server.call("cancel.json", project="tplspider", job=f"after-{job}")
                assert removed["prevstate"] == "pending"
                assert server.call(f"status.json?job=after-{job}")["currstate"] is None
                assert files(f"after-{job}") == set()
                for _ in range(600):
                    if has_come():
                        break
                    time.sleep(0.05)
                assert has_come()
                cancelled = server.call("cancel.json", project="tplspider", job=job)
                assert cancelled["prevstate"] == "running"
                server.wait(job)
                # Where a job was met depends on the machine; that it had begun, for the last alone.
                feeds = files(job) - {f"{job}.log"}
                if feeds:
                    assert "Spider opened" in log(job)
                    assert feeds == {f"{job}.json", f"{job}.summary.json", f"{job}.jl"}
                    assert server.feed(f"{job}.summary.json")[0]["reason"] == "shutdown"
                else:
                    told = "Interrupted before the crawl started" in log(job)
                    assert told or "Spider opened" not in log(job)
                    assert job != "asking"
        finally:
            over.set()
    assert site.pages_asked == []


def test_without_items_dir(
    tmp_path: Path, clone: Path, serve: Callable[..., FixtureServer]
) -> None:
    site = serve("menu")
    with running_scrapyd(tmp_path / "scrapyd", items_dir="") as server:
        assert deploy(clone, server, "production").returncode == 0
        schedule(server, "one", url=site.url + KEY, summary="sub/summary-%(n)s.json")
        server.wait("one")
        assert len(server.feed("one.json")) == 3
        assert server.feed("sub/summary-3.json") == server.feed("one.summary.json")
    assert not (tmp_path / "scrapyd" / "sub").exists()
