"""A crawl of many sites: what is kept for each, in memory and in open files, is let go."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.core.downloader import Slot

from tests.support.crawls import PROJECT
from tests.support.tls import with_tls
from tplspider.old.crawl.host_memory import RESTING
from tplspider.old.crawl.open_files import too_few_files
from tplspider.old.crawl.pace import PacedSlot

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.crawls import FixtureServer
    from tplspider.demo.server import Handler

    Serve = Callable[..., FixtureServer]

KEY = "/docs/guide/four.html"


def crawl_sites(server: FixtureServer, address: str, **plan: Any) -> dict[str, Any]:
    """Crawl sites, and give what is kept when all is done."""
    port = server.url.rpartition(":")[2]
    url = address.replace("PORT", port)
    others = [other.replace("PORT", port) for other in plan.pop("others", [])]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tests.support.host_crawls"),
            json.dumps({"url": url, "others": others, **plan}),
        ],
        cwd=PROJECT,
        env={**os.environ, "PYTHONWARNINGS": "default"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert found["done"] == plan["sites"], done.stderr
    assert found["unusable"] == found["errors"] == 0, done.stderr
    return {**found, "log": done.stderr}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sites", "at_once", "limit"),
    [pytest.param(60, 4, 40, marks=pytest.mark.quick), (300, 16, 256)],
)
def test_what_is_kept_for_sites(serve: Serve, sites: int, at_once: int, limit: int) -> None:
    """The limit is that of open files: below the number of sites, each of which has a connection.

    What is kept for a site is kept for the last ones only.
    """
    server = serve("menu")
    found = crawl_sites(
        server,
        f"http://s*.example:PORT{KEY}",
        sites=sites,
        at_once=at_once,
        open_files=limit,
        pause=1.5,
        settings={"LOG_LEVEL": "WARNING"},
    )
    assert ("No more than 40 files may be open, and 68 may be needed" in found["log"]) == (
        limit == 40
    )
    assert server.log.count("/robots.txt") == sites
    assert found["robots"] == found["hosts"] == found["names"] == RESTING
    assert len(found["slots"]) == found["paces"] == RESTING
    assert found["pool"] == []
    assert found["jars"] == found["timeouts"] == 0


def test_connections_with_tls(serve: Serve, tmp_path: Path) -> None:
    """A server does not have to take leave before they are closed."""
    server = with_tls(serve("menu"), tmp_path)
    found = crawl_sites(server, f"https://s*.example:PORT{KEY}", sites=40, open_files=30)
    assert found["pool"] == []
    assert found["timeouts"] == 0
    assert found["files"] < 30


def test_what_others_use_is_left_alone(serve: Serve) -> None:
    """The hosts of requests that are not ours keep their connections and their slots."""
    server = serve("menu")
    others = [f"http://{name}.example:PORT/about.html" for name in ("s1", "theirs")]
    found = crawl_sites(
        server, f"http://s*.example:PORT{KEY}", sites=4, others=others, resting=0, pause=1.5
    )
    assert sorted(found["pool"]) == sorted(found["slots"]) == ["s1.example", "theirs.example"]
    assert found["timeouts"] == 2
    assert found["names"] == 2
    assert found["robots"] == found["paces"] == found["hosts"] == 0


@pytest.mark.parametrize(("resting", "robots"), [(0, 3), (1, 1)])
@pytest.mark.parametrize("drops_slots", ["", "before each"])
def test_a_crawl_delay_outlives_what_is_let_go(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, resting: int, robots: int, drops_slots: str
) -> None:
    """Three searches on one host, which is forgotten after each (0) or not; so are its slots."""
    times: list[float] = []
    text = b"User-agent: *\nCrawl-delay: 0.8\n"
    server = serve("menu", {"/robots.txt": lambda request: request.answer(200, text)})
    respond = server.respond

    def timed(request: Handler) -> None:
        times.append(time.monotonic())
        respond(request)

    monkeypatch.setattr(server, "respond", timed)
    crawl_sites(
        server,
        f"http://one.example:PORT{KEY}?*",
        sites=3,
        arguments={"max_loads": 2},
        resting=resting,
        drops_slots=bool(drops_slots),
        settings={"DOWNLOAD_DELAY_JITTER": 1, "CONCURRENT_REQUESTS_PER_DOMAIN": 4},
    )
    assert server.log.count("/robots.txt") == robots
    assert len(times) >= 3 + robots
    # On its way, a request may be slower than the next one.
    assert min(later - earlier for earlier, later in pairwise(times)) > 0.6


def test_a_delay_varies_above_the_least() -> None:
    slot = Slot(1, 1.0, 0.5)
    slot.lastseen = 7.0
    delays = [PacedSlot(slot, 1.2).download_delay() for _ in range(500)]
    assert min(delays) == 1.2
    assert 1.3 < max(delays) <= 1.5
    assert PacedSlot(slot, 1.2).lastseen == 7.0
    assert {PacedSlot(slot, 3).download_delay() for _ in range(9)} == {3}
    plain = [PacedSlot(slot, 0).download_delay() for _ in range(500)]
    assert 0.5 <= min(plain) < 0.7


def test_a_slot_rests_until_no_delay_can_be_left() -> None:
    slot = Slot(1, 10.0, 0.5)
    slot.lastseen = time.monotonic()
    assert 14 < PacedSlot(slot, 2).rest <= 15
    assert 19 < PacedSlot(slot, 20).rest <= 20
    slot.lastseen -= 20
    assert PacedSlot(slot, 2).rest <= -5


def test_too_few_open_files_are_told() -> None:
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert limit > 64
    assert too_few_files(limit - 64) == ""
    assert too_few_files(limit - 63).startswith(f"No more than {limit} files may be open, and ")
