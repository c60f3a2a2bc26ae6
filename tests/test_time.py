"""When a crawl is over, it is soon over, and nothing is asked for any more."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.support.crawls import PROJECT, SETTINGS, Crawl
from tests.support.hostile_server import Exchange, HostileServer
from tests.support.template_site import pages_of
from tplspider.template.extract import PageSource, extract_template

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PAGES = [f"/p{i}" for i in range(12)]
SOON = 10
# What is in flight at the end is waited for.
ENDS = {"DOWNLOAD_TIMEOUT": "4", "RETRY_ENABLED": "False"}


def page(exchange: Exchange) -> None:
    links = "".join(f"<p><a href={path}>x</a></p>" for path in PAGES)
    exchange.answer(f"<p>{exchange.path}</p>{links}".encode())


def hang(exchange: Exchange) -> None:
    exchange.wait(120)


def wait_a_while(exchange: Exchange) -> None:
    exchange.answer(b"", "503 Later", "Retry-After: 28")


def no_robots(exchange: Exchange) -> None:
    exchange.answer(b"", "404 Not Found")


SITES: dict[str, dict[str, Callable[[Exchange], None]]] = {
    "robots.txt hangs": {"/robots.txt": hang},
    "the key page hangs": {"/": hang},
    "links hang": dict.fromkeys(PAGES[1:], hang),
    "links ask to wait": dict.fromkeys(PAGES[1:], wait_a_while),
}


@pytest.fixture
def serve_traps() -> Iterator[Callable[[str], HostileServer]]:
    servers = []

    def start(site: str) -> HostileServer:
        answers = {"/robots.txt": no_robots, "/": page, **dict.fromkeys(PAGES, page)}
        server = HostileServer({**answers, **SITES[site]})
        servers.append(server.__enter__())
        return server

    yield start
    for server in servers:
        server.__exit__(None, None, None)


def check_end(server: HostileServer, log: str, summary: dict[str, object], reason: str) -> None:
    if server.log[1:]:  # Scrapy logs one for a robots.txt that does not come
        assert "Traceback" not in log
    assert summary["reason"] == reason
    assert summary["complete"] is False
    assert f"Spider closed ({reason})" in log
    asked = server.log[:]
    time.sleep(0.3)
    assert server.log == asked


@pytest.mark.parametrize("in_flight", [1, 4])
@pytest.mark.parametrize("site", SITES)
def test_max_seconds(
    crawl: Callable[..., Crawl],
    serve_traps: Callable[[str], HostileServer],
    site: str,
    in_flight: int,
) -> None:
    server = serve_traps(site)
    done = crawl(server.url + "/", {"TPLSPIDER_IN_FLIGHT": str(in_flight)}, max_seconds=3)
    assert done.code == 0
    assert done.seconds < SOON
    check_end(server, done.log, done.summary, "max_seconds")
    loaded = "links" in site
    assert done.summary["key_outcome"] == ("ok" if loaded else "not-loaded")
    assert ([row["url"][-3:] for row in done.candidates] == ["/p0"]) == loaded
    # One try each: nothing is tried again once time is up, and what waits for its turn is not sent.
    assert len(server.log) == len(set(server.log))


def test_scrapys_own_limit_keeps_its_reason(
    crawl: Callable[..., Crawl], serve_traps: Callable[[str], HostileServer]
) -> None:
    server = serve_traps("links hang")
    done = crawl(server.url + "/", {"CLOSESPIDER_TIMEOUT": "2", **ENDS}, max_seconds=100)
    assert done.seconds < SOON
    check_end(server, done.log, done.summary, "closespider_timeout")


@pytest.mark.parametrize(
    ("site", "sent"),
    [("robots.txt hangs", signal.SIGINT), ("links ask to wait", signal.SIGTERM)],
)
def test_one_signal(
    serve_traps: Callable[[str], HostileServer], tmp_path: Path, site: str, sent: int
) -> None:
    server = serve_traps(site)
    out, summary = tmp_path / "out.json", tmp_path / "summary.json"
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "scrapy", "crawl", "template_candidates"),
            *(f"-s{name}={value}" for name, value in {**SETTINGS, **ENDS}.items()),
            *(f"-aurl={server.url}/", f"-asummary={summary}", f"-O{out}"),
        ],
        cwd=PROJECT,
        stderr=subprocess.PIPE,
        text=True,
    )
    while len(server.log) < (1 if "robots" in site else 4):
        assert process.poll() is None
        time.sleep(0.05)
    start = time.monotonic()
    process.send_signal(sent)
    log = process.communicate(timeout=60)[1]
    assert time.monotonic() - start < SOON
    assert process.returncode == 0
    check_end(server, log, json.loads(summary.read_bytes())[0], "shutdown")
    json.loads(out.read_bytes())


def test_extraction_has_a_limit() -> None:
    key, *others = (
        PageSource(f"http://x/{path}", html.decode()) for path, html in pages_of().items()
    )
    assert extract_template(key, others, seconds=60) == extract_template(key, others)
    with pytest.raises(TimeoutError, match="takes more than 0 s"):
        extract_template(key, others, seconds=0)
