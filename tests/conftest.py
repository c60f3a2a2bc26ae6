"""Fixtures for real crawls, and the kinds of tests."""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests.support.crawls import (
    CRAWL,
    SITES,
    Crawl,
    FixtureServer,
    Routes,
    RunCrawl,
    Serve,
    run_scrapy,
)
from tests.support.kinds import KIND_OF_FIXTURE, KINDS, how_many, longest_first


def keep_bytecode(config: pytest.Config) -> None:
    """Where Python is not to write bytecode beside the code, have it written into pytest's cache.

    Without any, every crawl compiles the whole project before it starts, and so does every worker
    of pytest with all tests.
    """
    cache = getattr(config, "cache", None)  # there is none with -p no:cacheprovider
    if not sys.dont_write_bytecode or cache is None:
        return
    folder: Path = cache.mkdir("bytecode")
    # Copies of the project that tests made the last time.
    shutil.rmtree(folder.joinpath(*Path(tempfile.gettempdir()).parts[1:]), ignore_errors=True)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = str(folder)
    sys.dont_write_bytecode = False


def pytest_configure(config: pytest.Config) -> None:
    keep_bytecode(config)  # before workers of pytest start
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        # A shell starts it like that in the background, and crawls would not take notice of Ctrl-C.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # No test fails because a machine is slow.
    patient: dict[str, Any] = {"suppress_health_check": [hypothesis.HealthCheck.too_slow]}
    patient |= {"deadline": None, "max_examples": how_many()}
    hypothesis.settings.register_profile("patient", **patient)
    hypothesis.settings.load_profile("patient")


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name bytes by their length: gzip writes the time into them, and every worker names anew."""
    return f"{len(val)} bytes" if isinstance(val, bytes) else None


@pytest.fixture
def crawl(tmp_path: Path) -> RunCrawl:
    """Crawl an address; candidates and summary land in out.json and summary.json."""

    def run(url: str, settings: dict[str, str] | None = None, **arguments: object) -> Crawl:
        pairs = {"url": url, "summary": tmp_path / "summary.json", **arguments}
        given = (f"-a{name}={value}" for name, value in pairs.items())
        output = f"-O{tmp_path / 'out.json'}"
        return run_scrapy(*CRAWL, *given, output, folder=tmp_path, settings=settings)

    return run


@pytest.fixture
def serve() -> Iterator[Serve]:
    servers: list[FixtureServer] = []

    def start(site: str, routes: Routes | None = None) -> FixtureServer:
        server = FixtureServer(SITES / site, routes)
        servers.append(server.__enter__())
        return server

    yield start
    for server in servers:
        server.__exit__(None, None, None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    # Here and not above: most tests need none.
    from tests.support.browsers import CHROMIUM, chromium

    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    with chromium() as found:
        yield found


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None]:
    """Tell tests of other kinds than plain Python apart: they are slow, but for those marked quick.

    So a new crawl costs the quick run nothing, unless somebody says that it should.
    """
    for item in items:  # before pytest looks at what -m says
        for fixture in getattr(item, "fixturenames", ()):
            if fixture in KIND_OF_FIXTURE:
                item.add_marker(KIND_OF_FIXTURE[fixture])
        marks = {mark.name for mark in item.iter_markers()}
        if marks & KINDS and "quick" not in marks:
            item.add_marker("slow")
    yield
    longest_first(items)
