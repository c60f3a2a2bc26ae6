"""Extraction beside a crawl: what it cannot cost, and the settings that bound it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.crawls import PROJECT, SETTINGS, Crawl, FixtureServer, run_scrapy
from tests.support.template_site import CONTENT, pages_of, routes_of
from tests.test_feeds import read

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ODD = "tests.support.odd_extractors"
ITEMS = ["TemplateCandidate", "PageTemplate", "CandidateSearch"]
# What takes long would take ten minutes; on the slowest machine an end is quicker than this.
SOON = 60


def test_the_order_of_the_items(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer], tmp_path: Path
) -> None:
    file = tmp_path / "all.jl"
    feeds = {str(file): {"format": "jl", "item_classes": [f"tplspider.items.{i}" for i in ITEMS]}}
    done = crawl(serve("menu", routes_of(pages_of())).url + "/", {"FEEDS": json.dumps(feeds)})
    assert done.code == 0
    assert "Traceback" not in done.log
    kinds = [_kind(json.loads(line)) for line in file.read_text("utf-8").splitlines()]
    assert kinds == [*3 * ["candidate"], "text", "summary"]
    assert done.finish_reason == "complete_subdigraph"


def _kind(row: dict[str, Any]) -> str:
    if "rank" in row:
        return "candidate"
    return "text" if "content_text" in row else "summary"


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"TPLSPIDER_EXTRACTOR": f"{ODD}.dies"}, "killed"),
        ({"TPLSPIDER_EXTRACTOR": f"{ODD}.lies"}, ""),
        ({"TPLSPIDER_EXTRACTOR": f"{ODD}.leaves"}, "SystemExit"),
        (
            {"TPLSPIDER_EXTRACTOR": f"{ODD}.grows", "TPLSPIDER_EXTRACT_MB": "200"},
            "200 MB",
        ),
        (
            {"TPLSPIDER_EXTRACTOR": f"{ODD}.sleeps", "TPLSPIDER_EXTRACT_SECONDS": "0.5"},
            "0.5 s",
        ),
    ],
)
def test_a_page_beyond_all_bounds(
    crawl: Callable[..., Crawl],
    serve: Callable[..., FixtureServer],
    tmp_path: Path,
    settings: dict[str, str],
    line: str,
) -> None:
    done = crawl(
        serve("menu", routes_of(pages_of())).url + "/", settings, texts=tmp_path / "t.json"
    )
    assert done.code == 1
    assert "Traceback" not in done.log
    (found,) = [text for text in done.log.splitlines() if "] ERROR: " in text]
    assert line in found
    assert read(tmp_path / "t.json") == []
    assert len(done.candidates) == 3
    assert done.summary["complete"]
    assert done.finish_reason == "complete_subdigraph"


def test_the_command_says_why(serve: Callable[..., FixtureServer], tmp_path: Path) -> None:
    done = run_scrapy(
        *("text", serve("menu", routes_of(pages_of())).url),
        folder=tmp_path,
        settings={"TPLSPIDER_EXTRACTOR": f"{ODD}.dies"},
    )
    assert done.code == 1
    (line,) = [line for line in done.log.splitlines() if line.startswith("No text for ")]
    assert "killed" in line


@pytest.mark.parametrize("times", [1, 2])
def test_a_crawl_is_ended_while_a_page_is_extracted(
    serve: Callable[..., FixtureServer], tmp_path: Path, times: int
) -> None:
    """Once, the template is waited for a little longer; twice, nothing is waited for."""
    out, summary = tmp_path / "out.json", tmp_path / "summary.json"
    options = {**SETTINGS, "TPLSPIDER_EXTRACTOR": f"{ODD}.announces"}
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "scrapy", "crawl", "template_candidates"),
            *(f"-s{name}={value}" for name, value in options.items()),
            f"-aurl={serve('menu', routes_of(pages_of())).url}/",
            *(f"-asummary={summary}", f"-atexts={tmp_path / 't.json'}", f"-O{out}"),
        ],
        cwd=PROJECT,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr
    for line in process.stderr:
        if "At work" in line:
            break
    start = time.monotonic()
    for _ in range(times):
        os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C does it
        time.sleep(0.5)
    # Standard error is the worker's as well: it is closed when both are gone.
    log = process.communicate(timeout=120)[1]
    assert time.monotonic() - start < SOON
    assert "Traceback" not in log
    if times == 2:
        assert "forcing unclean shutdown" in log
        return
    assert process.returncode == 1
    assert "Spider closed (shutdown)" in log
    assert len([line for line in log.splitlines() if "] ERROR: " in line]) == 1
    assert read(tmp_path / "t.json") == []
    assert len(json.loads(out.read_bytes())) == 3
    assert json.loads(summary.read_bytes())[0]["complete"]


@pytest.mark.parametrize(
    "setting",
    [
        *("TPLSPIDER_EXTRACTOR=nowhere.f", "TPLSPIDER_EXTRACTOR=tplspider.template.extract.f"),
        *("TPLSPIDER_EXTRACT_SECONDS=0", "TPLSPIDER_EXTRACT_MB=nan", "TPLSPIDER_EXTRACT_WORKERS=0"),
    ],
)
def test_bad_settings_are_refused(
    serve: Callable[..., FixtureServer], tmp_path: Path, setting: str
) -> None:
    server = serve("menu", routes_of(pages_of()))
    name, _, value = setting.partition("=")
    done = run_scrapy(
        *("crawl", "template_candidates", f"-aurl={server.url}/"),
        folder=tmp_path,
        settings={name: value},
    )
    assert done.code == 2
    (line,) = [line for line in done.log.splitlines() if "error: " in line]
    assert name in line
    assert "Traceback" not in done.log
    assert server.log == []


def test_an_extractor_of_ones_own(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer], tmp_path: Path
) -> None:
    done = crawl(
        serve("menu", routes_of(pages_of())).url + "/",
        {"TPLSPIDER_EXTRACTOR": f"{ODD}.where", "LOG_LEVEL": "INFO"},
        texts=tmp_path / "t.json",
    )
    (item,) = read(tmp_path / "t.json")
    assert item["content_text"] == str(PROJECT / "tplspider" / "__init__.py")
    assert CONTENT[""] not in item["content_text"]
    assert done.code == 0
