"""The exit statuses, which are the same for all commands."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.crawls import PROJECT, SETTINGS, Crawl, FixtureServer, run_scrapy
from tests.support.template_site import CONTENT, pages_of, routes_of
from tests.support.terminal import on_terminal
from tests.test_feeds import read

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KEY = "/docs/guide/four.html"


@pytest.mark.parametrize(
    ("fail", "path", "n", "code"),
    [
        ("unusable", KEY, 3, 0),
        ("unusable", "/missing.html", 3, 3),
        ("unusable", KEY, 50, 0),
        ("incomplete", KEY, 50, 3),
        ("incomplete", "/missing.html", 3, 3),
        ("", "/missing.html", 3, 0),
        ("sometimes", KEY, 3, 2),
    ],
)
def test_failures_that_are_to_be_told(
    crawl: Callable[..., Crawl],
    serve: Callable[..., FixtureServer],
    fail: str,
    path: str,
    n: int,
    code: int,
) -> None:
    server = serve("menu")
    done = crawl(server.url + path, {"TPLSPIDER_FAIL": fail}, n=n)
    assert done.code == code
    if code == 2:
        assert "scrapy crawl: error: TPLSPIDER_FAIL" in done.log
        assert server.log == []
    else:
        assert done.summary["requested_size"] == n


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("crawl", "template_candidates", "-aurl=URL", "-sTPLSPIDER_ALOW_PRIVATE=0"),
            "TPLSPIDER_ALLOW_PRIVATE",
        ),
        (("text", "URL", "--texts"), "'--texts'"),
        (("demo", "URL"), "unexpected"),
    ],
)
def test_wrong_use_is_one_line(
    serve: Callable[..., FixtureServer], tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    server = serve("menu")
    given = [argument.replace("URL", server.url + KEY) for argument in arguments]
    done = run_scrapy(*given, folder=tmp_path, settings={"LOG_LEVEL": "WARNING"})
    assert done.code == 2
    (line,) = done.log.splitlines()
    assert line.startswith(f"scrapy {arguments[0]}: error: ")
    assert words in line
    assert server.log == []


def test_an_item_that_is_refused(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer]
) -> None:
    pipelines = '{"tests.support.components.WrongSizePipeline": 15}'
    done = crawl(serve("menu").url + KEY, {"ITEM_PIPELINES": pipelines})
    assert done.stats["tplspider/invalid_items"] == "3"
    assert done.code == 1


def test_the_text_command(serve: Callable[..., FixtureServer], tmp_path: Path) -> None:
    server = serve("menu", routes_of(pages_of()))
    out = tmp_path / "page.csv"
    done = run_scrapy(
        *("text", f"{server.url}/", "-O", str(out), "-a", f"summary={tmp_path}/summary.json"),
        folder=tmp_path,
        settings={"FEED_EXPORT_FIELDS": "content_text,key_url,reason"},
    )
    assert (done.code, done.stdout) == (0, CONTENT[""] + "\n")
    # Of the fields that are asked for, each feed has those of its items.
    assert read(out) == [{"content_text": CONTENT[""], "key_url": f"{server.url}/"}]
    assert list(done.summary) == ["key_url", "reason"]
    assert done.summary["reason"] == "complete_subdigraph"


def start_text(url: str, stdout: int, stderr: int) -> subprocess.Popen[bytes]:
    options = [f"-s{name}={value}" for name, value in SETTINGS.items() if name != "LOG_LEVEL"]
    return subprocess.Popen(
        [sys.executable, "-m", "scrapy", "text", url, *options],
        cwd=PROJECT,
        stdout=stdout,
        stderr=stderr,
    )


def test_a_text_that_cannot_be_printed(serve: Callable[..., FixtureServer]) -> None:
    server = serve("menu", routes_of(pages_of()))
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        process = start_text(f"{server.url}/", stdout=full.fileno(), stderr=subprocess.PIPE)
        (line,) = process.communicate(timeout=60)[1].decode().splitlines()
    assert line.startswith("scrapy text: ")
    assert process.returncode == 1


def test_progress_on_a_terminal(serve: Callable[..., FixtureServer]) -> None:
    server = serve("menu", routes_of(pages_of()))
    options = [f"-s{name}={value}" for name, value in SETTINGS.items() if name != "LOG_LEVEL"]
    shown = on_terminal("-m", "scrapy", "text", f"{server.url}/", *options)
    assert shown.code == 0
    assert "Loading the page" in shown.text
    assert CONTENT[""] in shown.text
    assert shown.text.rpartition("\n")[2].strip() == ""  # the bar is wiped out


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"STATS_CLASS": "scrapy.statscollectors.DummyStatsCollector"}, 0),
        ({"ITEM_PIPELINES": '{"tests.support.components.FailingPipeline": 300}'}, 1),
        ({"SPIDER_MIDDLEWARES": '{"tests.support.components.FailingMiddleware": 100}'}, 1),
        (
            {
                "ITEM_PIPELINES": '{"tests.support.components.WrongSizePipeline": 1}',
                "STATS_CLASS": "scrapy.statscollectors.DummyStatsCollector",
            },
            1,
        ),
    ],
)
def test_components_of_others(
    crawl: Callable[..., Crawl],
    serve: Callable[..., FixtureServer],
    settings: dict[str, str],
    code: int,
) -> None:
    """What is lost is told, and what is not lost is not told as lost."""
    done = crawl(serve("menu").url + KEY, settings)
    assert done.code == code
    if code == 0:
        assert len(done.candidates) == 3
        assert done.summary["complete"]
