"""Fixtures for real crawls, and the kinds of tests."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import hypothesis
import pytest

from tests.support.crawls import SITES, Crawl, FixtureServer, run_scrapy
from tests.support.kinds import KIND_OF_FIXTURE, KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tplspider.demo.server import Handler

# No test fails because a machine is slow. The gate looks at more examples than people wait for.
hypothesis.settings.register_profile(
    "patient",
    deadline=None,
    max_examples=100 if os.environ.get("CI") else 60,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("patient")


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
