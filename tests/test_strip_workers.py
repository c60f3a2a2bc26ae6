"""Pages stripped in processes of their own: the same as here, whatever becomes of the processes."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tplspider.old.extraction import strip_job
from tplspider.old.extraction.errors import (
    ExtractionTimeoutError,
    ExtractorFailedError,
    WorkerDiedError,
)
from tplspider.old.extraction.strip_job import PoolForgotten, StripJob, StripWork, id_of
from tplspider.old.extraction.strip_workers import StripWorkers
from tplspider.pools.pool import Pool, PooledPage
from tplspider.pools.site_templates import Stripper

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tplspider.items import PageTemplate

TEXTS = frozenset({"main_text", "title"})
MENU = "<nav><a href=/>Home</a> <a href=/news/>News</a> <a href=/about/>About</a></nav>"


def site(name: str, pages: int) -> list[PooledPage]:
    return [
        PooledPage.of(
            f"http://{name}/{n}.html",
            f"<title>{n} - {name}</title><body>{MENU}<h1>Page {n}</h1><p>Only on page {n} of {name}"
            f" do we say so.</p><footer>All rights reserved by {name}.</footer>",
        )
        for n in range(pages)
    ]


def literally(name: str, pages: list[PooledPage]) -> list[PageTemplate]:
    pool = Pool(pages).pages
    return [Stripper().strip(name, page, pool, wanted=TEXTS) for page in pages]


@asynccontextmanager
async def workers(**options: Any) -> AsyncIterator[StripWorkers]:
    made = StripWorkers(wanted=TEXTS, **options)
    try:
        yield made
    finally:
        pids = made.pids
        await asyncio.wait_for(made.close(), 30)
        for pid in pids:
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)


async def strip_all(made: StripWorkers, name: str, pages: list[PooledPage]) -> list[PageTemplate]:
    pool = Pool(pages).pages
    return list(await asyncio.gather(*(made.strip(name, page, pool) for page in pages)))


@pytest.mark.crawl
@pytest.mark.parametrize(
    "options", [{"workers": 0}, {"workers": 1}, {"workers": 2, "spread": True}]
)
def test_as_here(options: dict[str, Any]) -> None:
    async def run() -> None:
        async with workers(**options) as made:
            made.start()
            one, other = site("one.org", 6), site("other.org", 5)
            found = await asyncio.gather(
                strip_all(made, "one.org", one), strip_all(made, "other.org", other)
            )
            assert [*found] == [literally("one.org", one), literally("other.org", other)]
            assert len(made.pids) == options["workers"]
            assert found[0][3].main_text == "Page 3\nOnly on page 3 of one.org do we say so."
            assert found[0][3].evidence == 3

    asyncio.run(run())


@pytest.mark.crawl
def test_a_worker_that_is_gone_is_replaced_and_learns_the_pool_again() -> None:
    async def run() -> None:
        async with workers() as made:
            pages = site("one.org", 5)
            wanted = literally("one.org", pages)
            assert await strip_all(made, "one.org", pages) == wanted
            (pid,) = made.pids
            os.kill(pid, signal.SIGKILL)
            await asyncio.sleep(0.1)
            assert await strip_all(made, "one.org", pages) == wanted
            assert made.pids != [pid]

    asyncio.run(run())


@pytest.mark.crawl
def test_a_worker_that_stands_still_is_not_waited_for_as_a_new_one_is() -> None:
    async def run() -> None:
        async with workers(seconds=1) as made:
            pages = site("one.org", 5)
            wanted = literally("one.org", pages)
            made._seconds = 60  # on a busy machine
            assert await made.strip("one.org", pages[0], pages) == wanted[0]
            made._seconds = 1
            os.kill(made.pids[0], signal.SIGSTOP)
            with pytest.raises(WorkerDiedError, match="not ready in 1 s"):
                await asyncio.wait_for(made.strip("one.org", pages[1], pages), 20)
            made._seconds = 60
            assert await made.strip("one.org", pages[2], pages) == wanted[2]

    asyncio.run(run())


@pytest.mark.crawl
def test_the_pages_of_a_site_go_to_one_worker() -> None:
    async def run() -> None:
        async with workers(workers=2) as made:
            names = ["one.org", "two.org"]
            await asyncio.gather(*(strip_all(made, name, site(name, 3)) for name in names))
            assert sorted(len(lane.sent) for lane in made._lanes) == [1, 1]
            await asyncio.gather(*(strip_all(made, name, site(name, 4)) for name in names))
            assert sorted(len(lane.sent) for lane in made._lanes) == [1, 1]

    asyncio.run(run())


def test_without_workers_faults_are_told_as_those_of_workers() -> None:
    async def run() -> None:
        pages = site("one.org", 3)
        async with workers(workers=0, seconds=0) as made:
            with pytest.raises(ExtractionTimeoutError, match="takes more than 0 s"):
                await made.strip("one.org", pages[0], pages)
        async with workers(workers=0) as made:
            torn = PooledPage("http://one.org/", "http://one.org/", 0, b"", b"not packed")
            with pytest.raises(ExtractorFailedError, match="incorrect header check"):
                await made.strip("one.org", torn, pages)

    asyncio.run(run())


def test_a_worker_asks_for_pages_that_it_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = site("one.org", 4)
    ids = tuple(map(id_of, pages))
    do = StripWork(3, TEXTS).start()
    assert do(StripJob("one.org", pages[0], ids, (), 9)) == PoolForgotten()
    assert do(StripJob("one.org", pages[0], ids, tuple(pages[:3]), 9)) == PoolForgotten()
    wanted = literally("one.org", pages)
    assert do(StripJob("one.org", pages[0], ids, tuple(pages[3:]), 9)) == wanted[0]
    assert do(StripJob("one.org", pages[1], ids, (), 9)) == wanted[1]
    # What is not needed any more goes when there is no room.
    monkeypatch.setattr(strip_job, "POOLS_BYTES", sum(len(page.packed) + 700 for page in pages) + 1)
    more = site("two.org", 2)
    job = StripJob("two.org", more[0], tuple(map(id_of, more)), tuple(more), 9)
    assert do(job) == literally("two.org", more)[0]
    assert do(StripJob("one.org", pages[1], ids, (), 9)) == PoolForgotten()
    assert do(StripJob("two.org", more[0], job.pool, (), 9)) == literally("two.org", more)[0]
