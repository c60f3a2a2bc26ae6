"""Many key pages in one crawl: a list in, one feed out."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.crawls import PROJECT, SETTINGS, Crawl, run_scrapy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.crawls import FixtureServer
    from tplspider.demo.server import Handler

KEYS = ("one", "two", "three", "four")
NOT_OF_LISTS = ("line", "input", "shared", "wasted")


def crawl_list(
    folder: Path, urls: Path | str, *more: str, settings: dict[str, str] | None = None
) -> Crawl:
    return run_scrapy(
        "crawl",
        "template_candidates",
        f"-aurls={urls}",
        f"-asummary={folder / 'summary.jl'}",
        f"-O{folder / 'out.jl'}",
        *more,
        folder=folder,
        settings=settings,
    )


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def key_pages(server: FixtureServer) -> list[str]:
    return [f"{server.url}/docs/guide/{name}.html" for name in KEYS]


def test_options_and_fields_of_a_line(tmp_path: Path, serve: Callable[..., FixtureServer]) -> None:
    server = serve("menu")
    urls = tmp_path / "keys.jl"
    one = key_pages(server)[0]
    lines: list[dict[str, object]] = [
        {"url": one, "tpl_n": 1, "id": "first", "tags": ["a"], "n": 7},
        {"url": one, "tpl_n": 2, "tpl_strategy": "guided"},
        {"url": one, "tpl_n": 0, "id": "wrong"},
        {"url": "ftp://example.org/"},
        {"tpl_n": 3},
    ]
    urls.write_text("\n".join(map(json.dumps, lines)) + "\nnot JSON\n")
    done = crawl_list(tmp_path, urls, "-an=4")
    assert done.code == 1
    found = {row["line"]: row for row in rows(tmp_path / "summary.jl")}
    assert sorted(found) == [1, 2, 3, 4, 5, 6]
    assert found[1]["requested_size"] == 1
    assert found[1]["input"] == {"id": "first", "tags": ["a"], "n": 7}  # theirs, whatever it is
    assert (found[2]["requested_size"], found[2]["input"]) == (2, None)
    assert [found[line]["key_outcome"] for line in (3, 4, 5, 6)] == ["bad-input"] * 4
    assert found[3]["input"] == {"id": "wrong"}
    assert found[3]["requested_url"] == one
    assert all(found[line]["hint"] for line in (3, 4, 5, 6))
    assert "Traceback" not in done.log


def test_the_same_search_is_made_once(tmp_path: Path, serve: Callable[..., FixtureServer]) -> None:
    server = serve("menu")
    one, two = key_pages(server)[:2]
    urls = tmp_path / "keys.csv"
    with urls.open("w", newline="") as file:
        csv.writer(file).writerows(
            [["id", "page"], ["a", one], ["b", one + "#top"], ["c", two], ["d", one], ["e", one]]
        )
    done = crawl_list(tmp_path, urls, "-acolumn=page")
    assert done.code == 0, done.log
    found = {row["line"]: row for row in rows(tmp_path / "summary.jl")}
    assert {line: row["input"]["id"] for line, row in found.items()} == {
        2: "a",
        3: "b",
        4: "c",
        5: "d",
        6: "e",
    }
    assert found[3]["requested_url"] == one + "#top"
    assert len({found[line]["search_id"] for line in (2, 3, 5, 6)}) == 1
    assert found[2]["explored"] == found[6]["explored"] != []
    assert len(rows(tmp_path / "out.jl")) == 6
    assert server.pages_asked.count("/docs/guide/one.html") <= 2  # as a key page, and as a link


def test_standard_input(tmp_path: Path, serve: Callable[..., FixtureServer]) -> None:
    server = serve("menu")
    command = [
        *(sys.executable, "-m", "scrapy", "crawl", "template_candidates", "-aurls=-"),
        f"-asummary={tmp_path / 'summary.jl'}",
        *(f"-s{name}={value}" for name, value in SETTINGS.items()),
    ]
    text = "\n".join(key_pages(server)[:2])
    with subprocess.Popen(
        command, cwd=PROJECT, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stderr
        process.stdin.write(key_pages(server)[0] + "\n")
        process.stdin.flush()
        for logged in process.stderr:  # the first is answered before the second comes
            if "Complete: 3 pages" in logged:
                break
        _, log = process.communicate(key_pages(server)[1] + "\n", timeout=60)
    assert process.returncode == 0, log
    assert [row["requested_url"] for row in rows(tmp_path / "summary.jl")] == text.splitlines()


def test_a_host_that_hangs_delays_only_itself(
    tmp_path: Path, serve: Callable[..., FixtureServer]
) -> None:
    def hang(request: Handler) -> None:
        time.sleep(4)

    slow = serve("menu", {f"/docs/guide/{name}.html": hang for name in KEYS})
    quick = serve("menu")
    # The same machine, by other names.
    slow_pages = [page.replace("127.0.0.1", "slow.test") for page in key_pages(slow)]
    quick_pages = [page.replace("127.0.0.1", "quick.test") for page in key_pages(quick)]
    urls = tmp_path / "keys.txt"
    urls.write_text("\n".join([*slow_pages, *quick_pages]))
    settings = {"TPLSPIDER_SEARCHES": "3", "DOWNLOAD_TIMEOUT": "2", "RETRY_TIMES": "0"}
    done = crawl_list(tmp_path, urls, settings=settings)
    order = [row["requested_url"] for row in rows(tmp_path / "summary.jl")]
    # Two of the slow host have places, the others wait.
    assert set(order[:3]) <= set(quick_pages), done.log
    assert sorted(order) == sorted([*slow_pages, *quick_pages])


def test_interrupted_without_a_journal(tmp_path: Path, serve: Callable[..., FixtureServer]) -> None:
    server = serve("menu")
    urls = tmp_path / "keys.txt"
    urls.write_text("\n".join(key_pages(server)))
    done = crawl_list(
        tmp_path,
        urls,
        settings={
            "TPLSPIDER_SEARCHES": "1",
            "EXTENSIONS": json.dumps({"tests.support.components.StopsAtFirstEnd": 0}),
        },
    )
    assert done.code == 1
    found = rows(tmp_path / "summary.jl")
    assert 1 <= len(found) < 4
    assert found[0]["complete"]


@pytest.mark.slow
def test_a_pipe_without_a_line_can_be_interrupted(tmp_path: Path) -> None:
    command = [
        *(sys.executable, "-m", "scrapy", "crawl", "template_candidates", "-aurls=-"),
        f"-asummary={tmp_path / 's.jl'}",
        *(f"-s{name}={value}" for name, value in SETTINGS.items()),
    ]
    with subprocess.Popen(
        command, cwd=PROJECT, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr
        for logged in process.stderr:
            if "Spider opened" in logged:
                break
        process.send_signal(signal.SIGINT)
        log = process.stderr.read()
    assert process.returncode == 1
    assert "Traceback" not in log
