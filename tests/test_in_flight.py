import time
from random import Random

import pytest

from tests.support.crawls import SITES, FixtureServer, RunCrawl
from tests.support.site_server import Handler

IN_FLIGHT = (1, 4, 16)


class JitterServer(FixtureServer):
    """A fixture site that answers after a while, chosen at random; redirects some links."""

    def __init__(self, site: str, seed: int) -> None:
        super().__init__(SITES / site)
        self.random = Random(seed)
        self.now = self.most = 0
        if site == "menu":
            self.redirects = {
                "/docs/guide/two.html": ("/docs/guide/three.html", 302),
                "/about.html": ("/docs/", 302),
            }

    def respond(self, request: Handler) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        time.sleep(self.random.uniform(0, 0.08))
        self.now -= 1
        super().respond(request)


def without_wasted(summary: bytes, wasted: object) -> bytes:
    return summary.replace(f'"wasted": {wasted}'.encode(), b'"wasted": _')


@pytest.mark.parametrize(
    ("site", "path", "arguments"),
    [
        ("menu", "/docs/guide/four.html", {"n": 6}),
        ("menu", "/", {"n": 3, "max_loads": 4}),
        ("partial", "/", {"n": 3}),
    ],
)
def test_the_answer_is_byte_identical(
    crawl: RunCrawl, site: str, path: str, arguments: dict[str, object]
) -> None:
    answers = set()
    with JitterServer(site, seed=7) as server:
        for in_flight in IN_FLIGHT:
            server.log.clear()
            done = crawl(server.url + path, {"TPLSPIDER_IN_FLIGHT": str(in_flight)}, **arguments)
            assert done.code == 0
            summary = done.summary
            assert 0 <= summary["wasted"] < in_flight
            assert server.most <= in_flight
            feeds = [(done.folder / name).read_bytes() for name in ("out.json", "summary.json")]
            answers.add((feeds[0], without_wasted(feeds[1], summary["wasted"])))
            # Never more pages than the budget, redirects counting with the link they start from.
            if "max_loads" in arguments:
                assert summary["loads"] + summary["wasted"] <= 4
    assert len(answers) == 1


@pytest.mark.slow
@pytest.mark.quick
def test_the_fast_profile_has_four_in_flight(crawl: RunCrawl) -> None:
    with JitterServer("menu", seed=1) as server:
        done = crawl(server.url + "/docs/guide/four.html", {"TPLSPIDER_PROFILE": "fast"}, n=6)
        assert done.code == 0
        assert 1 < server.most <= 4
