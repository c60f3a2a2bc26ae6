import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.crawls import CRAWL, RunCrawl, Serve, start_scrapy
from tests.support.hostile_server import Exchange, HostileServer
from tests.support.site_server import Handler, SiteServer

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
    """All of the menu, of which more pages were wanted."""
    assert sorted(row["url"][-2:] for row in candidates) == ["m0", "m1", "m2"]
    assert {(row["cs_size"], row["complete"]) for row in candidates} == {(3, False)}
    assert summary["reason"] == reason
    assert summary["complete"] is False
    assert summary["key_outcome"] == "ok"
    assert len(summary["candidates"]) == 3
    assert summary["loads"] == len(summary["explored"]) + 1


def wait_for_requests(server: SiteServer, count: int, process: subprocess.Popen[str]) -> None:
    while len([path for path in server.log if path != "/robots.txt"]) < count:
        assert process.poll() is None
        time.sleep(0.05)


def start(url: str, folder: Path, *more: str, **settings: str) -> subprocess.Popen[str]:
    """Start a crawl that a signal can be sent to."""
    outputs = (f"-asummary={folder / 'summary.json'}", f"-O{folder / 'out.json'}")
    return start_scrapy(*CRAWL, f"-aurl={url}/", *outputs, *more, settings=settings)


@pytest.mark.parametrize(
    ("strategy", "end", "reason"),
    [
        ("paper", signal.SIGINT, "shutdown"),
        ("kinds", signal.SIGTERM, "shutdown"),
        ("kinds", "-sCLOSESPIDER_PAGECOUNT=6", "closespider_pagecount"),
        ("kinds", "-amax_seconds=2", "max_seconds"),
    ],
)
def test_an_early_end(
    serve: Serve,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    strategy: str,
    end: signal.Signals | str,
    reason: str,
) -> None:
    """The text is made, whatever was found of 20 pages; nothing is left of those that were kept."""
    temporary, texts = tmp_path / "temporary", tmp_path / "texts.json"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    server = serve("menu", endless())
    options = [f"-astrategy={strategy}", "-an=20", f"-atexts={texts}"]
    options += [end] if isinstance(end, str) else []
    process = start(server.url, tmp_path, *options)
    if isinstance(end, signal.Signals):
        wait_for_requests(server, 6, process)  # the fifth page has come by then
        process.send_signal(end)
    log = process.communicate(timeout=60)[1]
    assert process.returncode == 0
    assert f"Spider closed ({reason})" in log
    assert "Traceback" not in log
    candidates, (summary,), (text,) = (
        json.loads((tmp_path / f"{name}.json").read_bytes()) for name in ("out", "summary", "texts")
    )
    if strategy == "paper":
        check(candidates, summary, reason)
    else:
        assert (summary["reason"], summary["complete"], candidates) == (reason, False, [])
        assert 2 < summary["cs_size"] == len(summary["explored"]) == summary["loads"] - 1 < 20
    assert len(server.pages_asked) <= summary["loads"] + 1
    assert text["search_id"] == summary["search_id"]
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("settings", "arguments", "reason"),
    [
        ({"TPLSPIDER_IN_FLIGHT": "4", "CLOSESPIDER_PAGECOUNT": "12"}, {}, "closespider_pagecount"),
        ({}, {"max_seconds": 5.5}, "max_seconds"),
    ],
)
def test_limits(
    crawl: RunCrawl, serve: Serve, settings: dict[str, str], arguments: Any, reason: str
) -> None:
    done = crawl(serve("menu", endless()).url + "/", settings, n=4, **arguments)
    assert done.code == 0
    assert done.finish_reason == reason
    assert "Traceback" not in done.log
    check(done.candidates, done.summary, reason)


# Servers that hang.

PAGES = [f"/p{i}" for i in range(12)]
SOON = 10


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

    def serve(site: str) -> HostileServer:
        answers = {"/robots.txt": no_robots, "/": page, **dict.fromkeys(PAGES, page)}
        server = HostileServer({**answers, **SITES[site]})
        servers.append(server.__enter__())
        return server

    yield serve
    for server in servers:
        server.__exit__(None, None, None)


@pytest.mark.parametrize(("site", "in_flight"), [*((site, 1) for site in SITES), ("links hang", 4)])
def test_max_seconds(
    crawl: RunCrawl, serve_traps: Callable[[str], HostileServer], site: str, in_flight: int
) -> None:
    server = serve_traps(site)
    done = crawl(server.url + "/", {"TPLSPIDER_IN_FLIGHT": str(in_flight)}, max_seconds=3)
    assert done.code == 0
    assert done.seconds < SOON
    assert done.finish_reason == done.summary["reason"] == "max_seconds"
    if server.log[1:]:  # Scrapy logs a traceback for a robots.txt that does not come
        assert "Traceback" not in done.log
    loaded = "links" in site
    assert done.summary["key_outcome"] == ("ok" if loaded else "not-loaded")
    assert ([row["url"][-3:] for row in done.candidates] == ["/p0"]) == loaded
    # One try each: nothing is tried again once time is up, and what waits for its turn is not sent.
    assert len(server.log) == len(set(server.log))


def test_sigterm_during_a_hang(serve_traps: Callable[[str], HostileServer], tmp_path: Path) -> None:
    server = serve_traps("links ask to wait")
    process = start(server.url, tmp_path, DOWNLOAD_TIMEOUT="4", RETRY_ENABLED="False")
    wait_for_requests(server, 3, process)
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    log = process.communicate(timeout=60)[1]
    assert time.monotonic() - began < SOON
    assert process.returncode == 0
    assert "Traceback" not in log
    (summary,) = json.loads((tmp_path / "summary.json").read_bytes())
    assert (summary["reason"], summary["complete"]) == ("shutdown", False)
    json.loads((tmp_path / "out.json").read_bytes())
