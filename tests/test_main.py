"""``tplspider`` as people without Scrapy meet it: our commands, wherever it runs."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.support.crawls import Crawl, RunCrawl, Serve, run_command
from tests.support.template_site import CONTENT, pages_of, routes_of
from tplspider import __version__
from tplspider.__main__ import NAMES

# What a project in the same folder may say, and would spoil what our commands print.
SPOILERS = """
BOT_NAME, USER_AGENT, DEPTH_LIMIT, LOG_LEVEL = "other", "other", 1, "DEBUG"
FEEDS = {"precious.json": {"format": "json", "overwrite": True}}
ITEM_PIPELINES = {"nothing.Here": 1}
TPLSPIDER_ALLOW_PRIVATE = True
"""


@pytest.fixture
def tplspider(tmp_path: Path) -> RunCrawl:
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = spoilers\n")
    (tmp_path / "spoilers.py").write_text(SPOILERS)

    def run(*arguments: str) -> Crawl:
        env = {**os.environ, "SCRAPY_SETTINGS_MODULE": "spoilers", "PYTHONWARNINGS": "default"}
        command = (sys.executable, "-m", "tplspider", *arguments)
        return run_command(*command, folder=tmp_path, env=env)

    return run


HERE = ("--allow-private", "-sDOWNLOAD_DELAY=0", "-sHTTPPROXY_ENABLED=0")


def test_texts(tplspider: RunCrawl, serve: Serve) -> None:
    server = serve("menu", routes_of(pages_of()))
    url = f"{server.url}/"
    done = tplspider(url, *HERE)
    assert (done.code, done.stdout, done.log) == (0, CONTENT[""] + "\n", "")
    done = tplspider("--json", url, *HERE)
    row = json.loads(done.stdout)
    assert (done.code, done.log) == (0, "")
    assert (row["url"], row["main_text"], row["outcome"]) == (url, CONTENT[""], "ok")
    (done.folder / "list").write_text(f"{url}\n{server.url}/a\n")
    done = tplspider("-i", "list", "-O", "table.jl", "--markdown", *HERE)
    assert (done.code, done.stdout, done.log) == (0, "", "")
    rows = [json.loads(line) for line in (done.folder / "table.jl").read_text().splitlines()]
    assert {row["url"]: row["main_markdown"] for row in rows} == {
        url: CONTENT[""],
        f"{server.url}/a": CONTENT["a"],
    }
    assert not (done.folder / "precious.json").exists()


def test_candidates(tplspider: RunCrawl, serve: Serve) -> None:
    server = serve("menu", routes_of(pages_of()))
    done = tplspider("candidates", f"{server.url}/", "-n2", "-Oout.json", *HERE)
    assert (done.code, done.log) == (0, "")
    assert done.stdout.splitlines() == [row["url"] for row in done.candidates]
    assert len(done.candidates) == 2


def test_private_addresses(tplspider: RunCrawl, serve: Serve) -> None:
    """Whoever types an address, or a list of them, says so if they may be in the own network."""
    server = serve("menu")
    done = tplspider(f"{server.url}/", *HERE[1:])
    assert (done.code, done.stdout) == (1, "")
    assert "private-address" in done.log
    assert "--allow-private" in done.log
    assert server.log == []


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], 0),
        (["--help"], 0),
        (["--version"], 0),
        (["strip", "--help"], 0),
        (["text", "--profile", "none", "https://example.org"], 2),
        (["candidates"], 2),
        (["stirp"], 2),
        (["shard", "-s", "wrong"], 2),
        (["demo"], 0),
    ],
)
def test_what_needs_no_page(tplspider: RunCrawl, arguments: list[str], code: int) -> None:
    done = tplspider(*arguments)
    assert done.code == code
    assert "scrapy " not in (done.stdout + done.log).partition("Global")[0]
    if code:
        assert done.log.splitlines()[-1].startswith("tplspider")
    elif "--version" in arguments:
        assert done.stdout == f"tplspider {__version__}\n"
    elif "demo" in arguments:
        assert "tplspider candidates https://" in done.stdout
    elif "strip" not in arguments:
        assert all(f"  {name} " in done.stdout for name in NAMES)
