"""Real crawls: a server on loopback, ``scrapy`` in a process of its own, feeds on disk."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from tplspider.demo.server import Handler, SiteServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# No test fails because a machine is slow.
hypothesis.settings.register_profile(
    "patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("patient")

PROJECT = Path(__file__).parent.parent
SITES = Path(__file__).parent / "sites"

# In every crawl of the tests: no waiting, and no name leaves the machine.
SETTINGS = {
    "DOWNLOAD_DELAY": "0",
    "TWISTED_DNS_RESOLVER": "components.LoopbackResolver",
    "HTTPPROXY_ENABLED": "False",
    "LOG_LEVEL": "DEBUG",
}


class FixtureServer(SiteServer):
    """A fixture site, with routes that misbehave: functions that are given the request."""

    def __init__(self, site: Path, routes: dict[str, Callable[[Handler], object]] | None = None):
        super().__init__(site)
        self.routes = routes or {}

    def respond(self, request: Handler) -> None:
        # Clients of these routes may have hung up already.
        with suppress(ConnectionError):
            self.routes.get(request.path, super().respond)(request)

    @property
    def pages_asked(self) -> list[str]:
        """What was asked for, in order of arrival, robots.txt left out."""
        return [path for path in self.log if path != "/robots.txt"]


@dataclass
class Crawl:
    """A crawl that has ended."""

    code: int
    stdout: str
    log: str
    folder: Path

    @property
    def candidates(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads((self.folder / "out.json").read_bytes())
        return found

    @property
    def summary(self) -> dict[str, Any]:
        (found,) = json.loads((self.folder / "summary.json").read_bytes())
        assert isinstance(found, dict)
        return found

    @property
    def stats(self) -> dict[str, Any]:
        """The stats that are ours, and the finish reason, as the log tells them."""
        dump = self.log.partition("Dumping Scrapy stats:")[2]
        return dict(re.findall(r"'(tplspider/[^']+)': '?([^',}]+)", dump))

    @property
    def finish_reason(self) -> str:
        return self.log.rpartition("Spider closed (")[2].partition(")")[0]


def run_scrapy(*arguments: str, folder: Path, settings: dict[str, str] | None = None) -> Crawl:
    """Run ``scrapy`` in the project, with the settings of the tests, as a person would."""
    options = [f"-s{name}={value}" for name, value in {**SETTINGS, **(settings or {})}.items()]
    done = subprocess.run(
        [sys.executable, "-m", "scrapy", *arguments, *options],
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(PROJECT / "tests"), "PYTHONWARNINGS": "default"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    return Crawl(done.returncode, done.stdout, done.stderr, folder)


@pytest.fixture
def crawl(tmp_path: Path) -> Callable[..., Crawl]:
    """Crawl an address; candidates and summary land in out.json and summary.json."""

    def run(url: str, settings: dict[str, str] | None = None, **arguments: object) -> Crawl:
        pairs = {"url": url, "summary": tmp_path / "summary.json", **arguments}
        return run_scrapy(
            "crawl",
            "template_candidates",
            *(f"-a{name}={value}" for name, value in pairs.items()),
            f"-O{tmp_path / 'out.json'}",
            folder=tmp_path,
            settings=settings,
        )

    return run


@pytest.fixture
def serve() -> Iterator[Callable[..., FixtureServer]]:
    """Serve fixture sites until the test ends."""
    servers: list[FixtureServer] = []

    def start(
        site: str, routes: dict[str, Callable[[Handler], object]] | None = None
    ) -> FixtureServer:
        server = FixtureServer(SITES / site, routes)
        servers.append(server.__enter__())
        return server

    yield start
    for server in servers:
        server.__exit__(None, None, None)


# What a test is, by what it uses; a test that starts scrapy by other means is marked by hand.
KIND_OF_FIXTURE = {
    "clone": "deploy",
    "crawl": "crawl",
    "scrapyd": "deploy",
    "serve": "crawl",
    "serve_traps": "crawl",
}
KINDS = {"browser", "crawl", "deploy"}


def with_quick(cases: Iterable[object], quick: object) -> list[object]:
    """Cases of a test that is slow, one of them marked as quick."""
    return [
        pytest.param(case, marks=pytest.mark.quick) if case == quick else case for case in cases
    ]


@pytest.hookimpl(tryfirst=True)  # before pytest looks at what -m says
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tell tests of other kinds than plain Python apart: they are slow, but for those marked quick.

    So a new crawl costs the quick run nothing, unless somebody says that it should.
    """
    for item in items:
        for fixture in getattr(item, "fixturenames", ()):
            if fixture in KIND_OF_FIXTURE:
                item.add_marker(KIND_OF_FIXTURE[fixture])
        marks = {mark.name for mark in item.iter_markers()}
        if marks & KINDS and "quick" not in marks:
            item.add_marker("slow")
