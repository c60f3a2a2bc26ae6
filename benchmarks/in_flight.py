"""Time to the answer with several requests in flight, in round trips to a slow server."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from random import Random
from statistics import mean

from benchmarks.timing import report
from tests.support.site_server import Handler, SiteServer

PROJECT = Path(__file__).parent.parent
LATENCY, JITTER = 0.1, 0.1  # seconds
IN_FLIGHT = (1, 4, 8, 16)


class SlowServer(SiteServer):
    """A website whose menu comes after a number of pages without it."""

    def __init__(self, pages: int) -> None:
        super().__init__(Path(__file__).parent)
        self.random = Random(3)
        self.names = [f"p{i}" for i in range(pages)] + [f"menu{i}" for i in range(3)]

    def respond(self, request: Handler) -> None:
        if request.path == "/robots.txt":
            request.answer(404)
            return
        time.sleep(LATENCY + self.random.uniform(0, JITTER))
        name = request.path.strip("/")
        menu = "".join(f"<a href=/menu{i}>menu {i}</a>" for i in range(3))
        if not name:
            body = "".join(f"<p><a href=/{other}>{other}</a></p>" for other in self.names)
        else:
            body = f"<p>{name}</p>" + (menu if name.startswith("menu") else "")
        request.answer(200, body.encode(), Content_Type="text/html")


def round_trip(server: SlowServer) -> float:
    """Seconds for one page, on average."""
    times = []
    for _ in range(12):
        start = time.perf_counter()
        urllib.request.urlopen(server.url + "/p0").read()  # noqa: S310 - our own server
        times.append(time.perf_counter() - start)
    return mean(times)


def crawl(server: SlowServer, in_flight: int, folder: Path) -> tuple[float, dict[str, int]]:
    """Seconds from the opening of the spider to its end, and the summary."""
    summary = folder / f"{in_flight}.json"
    settings = {"TPLSPIDER_IN_FLIGHT": in_flight, "DOWNLOAD_DELAY": 0, "HTTPPROXY_ENABLED": False}
    done = subprocess.run(  # noqa: S603 - our own command
        [
            *(sys.executable, "-m", "scrapy", "crawl", "template_candidates"),
            *(f"-aurl={server.url}/", f"-asummary={summary}"),
            *(f"-s{name}={value}" for name, value in settings.items()),
        ],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    seconds = re.search(r"'elapsed_time_seconds': ([0-9.]+)", done.stderr)
    assert seconds
    found: dict[str, int] = json.loads(summary.read_bytes())[0]
    return float(seconds[1]), found


def run() -> bool:
    """Print the times; whether they hold."""
    holds = True
    print(
        f"Time to the answer, in round trips ({LATENCY * 1000:.0f} ms + 0 to {JITTER * 1000:.0f})"
    )
    for pages in (7, 20):
        with SlowServer(pages) as server, tempfile.TemporaryDirectory() as folder:
            trip = round_trip(server)
            times = {}
            for in_flight in IN_FLIGHT:
                times[in_flight], summary = crawl(server, in_flight, Path(folder))
                print(
                    f"    {summary['loads']} loads, {in_flight:2} in flight:"
                    f" {times[in_flight] / trip:5.1f} round trips, {summary['wasted']} pages wasted"
                )
        holds &= report(f"{pages + 4} loads, 4 in flight / 1", times[4] / times[1], 0.5)
    return holds


if __name__ == "__main__":
    raise SystemExit(not run())
