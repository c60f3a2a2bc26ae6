"""Whoever ends a crawl early gets what is known by then."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.crawls import PROJECT, SETTINGS, Crawl, FixtureServer
from tests.support.kinds import with_quick

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tplspider.demo.server import Handler

HTML = {"Content_Type": "text/html"}


def endless(count: int = 60) -> dict[str, Callable[[Handler], object]]:
    """Three pages of a menu, then pages without it that take their time."""
    names = ["m0", "m1", "m2", *(f"x{i}" for i in range(count))]
    menu = "".join(f"<a href=/m{i}>x</a>" for i in range(3))
    links = "".join(f"<p><a href=/{name}>{name}</a></p>" for name in names)

    def page(request: Handler) -> None:
        name = request.path.strip("/")
        if name.startswith("x"):
            time.sleep(0.2)
        body = links if not name else f"{name} {menu if name.startswith('m') else ''}"
        request.answer(200, body.encode(), **HTML)

    return dict.fromkeys(["/", *(f"/{name}" for name in names)], page)


def check(candidates: Any, summary: dict[str, Any], reason: str) -> None:
    """All of the menu, of which four pages were wanted."""
    assert sorted(row["url"][-2:] for row in candidates) == ["m0", "m1", "m2"]
    assert {(row["cs_size"], row["complete"]) for row in candidates} == {(3, False)}
    assert summary["reason"] == reason
    assert summary["complete"] is False
    assert summary["key_outcome"] == "ok"
    assert len(summary["candidates"]) == 3
    assert summary["loads"] == len(summary["explored"]) + 1


@pytest.mark.parametrize("sent", with_quick([signal.SIGINT, signal.SIGTERM], signal.SIGINT))
def test_a_signal(serve: Callable[..., FixtureServer], tmp_path: Path, sent: int) -> None:
    server = serve("menu", endless())
    out, summary = tmp_path / "out.json", tmp_path / "summary.json"
    options = [f"-s{name}={value}" for name, value in SETTINGS.items()]
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "scrapy", "crawl", "template_candidates", *options),
            *(f"-aurl={server.url}/", "-an=4", f"-asummary={summary}", f"-O{out}"),
        ],
        cwd=PROJECT,
        stderr=subprocess.PIPE,
        text=True,
    )
    while len(server.pages_asked) < 6:  # the fifth page has come when the sixth is asked for
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(sent)
    log = process.communicate(timeout=60)[1]
    assert process.returncode == 0
    assert "Spider closed (shutdown)" in log
    assert "Traceback" not in log
    check(json.loads(out.read_bytes()), json.loads(summary.read_bytes())[0], "shutdown")
    assert len(server.pages_asked) < 12


@pytest.mark.parametrize(
    ("settings", "arguments", "reason"),
    [
        ({"CLOSESPIDER_PAGECOUNT": "12"}, {}, "closespider_pagecount"),
        ({"CLOSESPIDER_TIMEOUT": "5"}, {}, "closespider_timeout"),
        ({}, {"max_seconds": 5.5}, "max_seconds"),
        ({"TPLSPIDER_IN_FLIGHT": "4", "CLOSESPIDER_PAGECOUNT": "12"}, {}, "closespider_pagecount"),
    ],
)
def test_limits_of_scrapy(
    crawl: Callable[..., Crawl],
    serve: Callable[..., FixtureServer],
    settings: dict[str, str],
    arguments: dict[str, object],
    reason: str,
) -> None:
    server = serve("menu", endless())
    done = crawl(server.url + "/", settings, n=4, **arguments)
    assert done.code == 0
    assert done.finish_reason == reason
    assert "Traceback" not in done.log
    check(done.candidates, done.summary, reason)


def test_several_who_close_the_spider_at_once(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer]
) -> None:
    """None overtakes the first, which waits for the results so far, behind a slow pipeline."""
    settings = {
        "EXTENSIONS": '{"tests.support.components.ClosesThrice": 1}',
        "ITEM_PIPELINES": '{"tests.support.components.SlowPipeline": 1}',
    }
    server = serve("menu", endless())
    done = crawl(server.url + "/", settings, n=4)
    assert done.code == 0, done.log
    assert done.finish_reason == "first"
    assert "Traceback" not in done.log
    check(done.candidates, done.summary, "first")


def test_before_the_key_page_has_come(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer]
) -> None:
    def late(request: Handler) -> None:
        time.sleep(3)
        request.answer(200, b"late", **HTML)

    server = serve("menu", {"/late": late})
    done = crawl(server.url + "/late", max_seconds=1)
    assert done.code == 0
    assert done.candidates == []
    assert done.summary["key_outcome"] == "not-loaded"
    assert done.summary["reason"] == done.finish_reason == "max_seconds"


@pytest.mark.parametrize("moment", ["settings", "spider_opened", "engine_started"])
def test_a_signal_in_the_first_moments(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer], moment: str
) -> None:
    server = serve("menu")
    settings = {
        "INTERRUPTED_AT": moment,
        "EXTENSIONS": '{"tests.support.components.Interrupted": 1}',
    }
    done = crawl(server.url + "/docs/guide/four.html", settings)
    assert "Traceback" not in done.log
    assert server.log == []
    if (done.folder / "summary.json").exists():
        assert done.code == 0
        assert (done.candidates, done.summary["reason"]) == ([], "shutdown")
        assert done.summary["key_outcome"] == "not-loaded"
    else:
        assert done.code == 1
        assert done.log.count("[tplspider.commands.crawl] ERROR") == 1
