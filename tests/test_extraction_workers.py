"""Templates from worker processes: what is asked for comes, whatever happens to a worker."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import signal
import sys
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.odd_extractors import NOT_A_FUNCTION, obey
from tests.support.template_site import pages_of
from tplspider.old.extraction.extractors import extractor_name
from tplspider.old.extraction.workers import (
    ExtractionError,
    ExtractionMemoryError,
    ExtractionTimeoutError,
    ExtractionWorkers,
    ExtractorFailedError,
    WorkerDiedError,
)
from tplspider.template.extract import PageSource, extract_template

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tplspider.items import PageTemplate

pytestmark = pytest.mark.crawl  # processes of their own; a few are quick

KEY, *OTHERS = (PageSource(f"http://x/{path}", html.decode()) for path, html in pages_of().items())
ODD = "tests.support.odd_extractors"
ENDED = os.WEXITED | os.WNOWAIT | os.WNOHANG
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


@asynccontextmanager
async def workers(extractor: Any = obey, **options: Any) -> AsyncIterator[ExtractionWorkers]:
    """Workers that do as they are told, and are gone afterwards."""
    made = ExtractionWorkers(extractor, **options)
    try:
        yield made
    finally:
        pids = made.pids
        await asyncio.wait_for(made.close(), 30)
        assert not any(map(is_there, pids))


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def ask(made: ExtractionWorkers, order: str, **options: Any) -> PageTemplate:
    found = await made.extract(PageSource("http://x/", order), [], **options)
    assert found
    return found


async def at_work(made: ExtractionWorkers, file: Path, **options: Any) -> asyncio.Task[Any]:
    """A worker is at a page, and will be for long."""
    task = asyncio.create_task(ask(made, f"file {file}", **options))
    await until(file.exists)
    return task


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(3000):
        if condition():
            return
        await asyncio.sleep(0.01)
    pytest.fail("it takes too long")


def test_the_template_and_the_log(caplog: pytest.LogCaptureFixture) -> None:
    key, others = KEY, [*OTHERS, KEY]
    caplog.set_level(logging.INFO)

    async def run() -> None:
        async with workers("tplspider.template.extract.extract_template") as made:
            made.start()
            made.start()
            (pid,) = made.pids
            assert await made.extract(key, others) == extract_template(key, others)
            own, its = (os.getpriority(os.PRIO_PROCESS, number) for number in (0, pid))
            assert its == min(own + 10, 19)
            alone = await made.extract(key, [key])
            assert alone == extract_template(key, [key])
            assert alone
            assert not alone.evidence
            assert made.pids == [pid]

    asyncio.run(run())
    once_more = [record for record in caplog.records if "once more" in record.message]
    assert len(once_more) == 4  # in the worker and here, twice
    assert {record.name for record in once_more} == {"tplspider.template.extract"}
    assert len({record.process for record in once_more}) == 2
    assert caplog.text.count("No page gives evidence of the template") == 2


def test_a_level_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)

    async def run() -> None:
        async with workers() as made:
            await ask(made, "log A B")

    asyncio.run(run())
    (record,) = [record for record in caplog.records if record.name == ODD]
    assert record.getMessage() == "From the worker: A B"


QUICK_FAULTS = ("kill", "sleep 600", "parse", "raise")
FAULTS: dict[str, tuple[type[ExtractionError], str]] = {
    "kill": (WorkerDiedError, "the worker died: it was killed by SIGKILL"),
    "crash": (WorkerDiedError, "the worker died: it was killed by SIGSEGV"),
    "end": (WorkerDiedError, "the worker died: it ended with exit status 3"),
    "sleep 600": (ExtractionTimeoutError, "it takes more than 2 s"),
    "spin": (ExtractionTimeoutError, "it takes more than 2 s"),
    "grow": (ExtractionMemoryError, "it needs more than 200 MB"),
    "parse": (ExtractionMemoryError, "it needs more than 200 MB"),
    "leap": (ExtractionMemoryError, "it needs more than 200 MB"),
    "exit": (ExtractorFailedError, "SystemExit: enough"),
    "raise": (ExtractorFailedError, "RuntimeError: stumbled over a line"),
    "text": (ExtractorFailedError, "TypeError: the extractor gave a str, not a PageTemplate"),
    "unpicklable": (ExtractorFailedError, "TypeError: cannot pickle '_thread.lock' object"),
    "spiteful": (ExtractorFailedError, "ValueError: invalid literal for int"),
}


@pytest.mark.parametrize(
    "order",
    [
        pytest.param(order, marks=[] if order in QUICK_FAULTS else pytest.mark.slow)
        for order in FAULTS
    ],
)
def test_a_fault_costs_one_template(order: str) -> None:
    if order == "leap" and not sys.platform.startswith("linux"):
        pytest.skip("no hard limit of memory")

    async def run() -> None:
        kind, message = FAULTS[order]
        seconds = 2 if kind is ExtractionTimeoutError else 600
        async with workers(seconds=seconds, megabytes=200) as made:
            orders = ["sleep 0", order, "sleep 0.0", "sleep 0.00"]
            answers: list[Any] = await asyncio.gather(
                *(ask(made, order) for order in orders), return_exceptions=True
            )
            fault = answers.pop(1)
            assert type(fault) is kind
            assert message in str(fault)
            if order == "raise":
                assert "in _fail" in fault.__notes__[0]
            assert [answer.content_text for answer in answers] == [orders[0], *orders[2:]]
            survived = kind is ExtractorFailedError and order != "spiteful"
            assert len({answer.template_html for answer in answers}) == (1 if survived else 2)
            assert len(made.pids) == 1

    asyncio.run(run())


def test_what_an_extractor_prints_confuses_nobody(capfd: pytest.CaptureFixture[str]) -> None:
    async def run() -> None:
        async with workers() as made:
            found = await ask(made, "print words")
            assert found.content_text == ""  # there is nothing to read on standard input
            assert await made.extract(PageSource("http://x/", "none"), []) is None

    asyncio.run(run())
    assert "words" in capfd.readouterr().err


def test_cancelling_ends_the_work(tmp_path: Path) -> None:
    async def run() -> None:
        async with workers() as made:
            task = await at_work(made, tmp_path / "started")
            (pid,) = made.pids
            waiting = asyncio.create_task(ask(made, "sleep 0"))
            gone = asyncio.create_task(ask(made, "sleep 600"))
            await asyncio.sleep(0)
            gone.cancel()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await waiting).content_text == "sleep 0"
            await until(lambda: not is_there(pid))

    asyncio.run(run())


def test_a_limit_from_now_on(tmp_path: Path) -> None:
    async def run() -> None:
        async with workers() as made:
            task = await at_work(made, tmp_path / "started")
            (pid,) = made.pids
            with pytest.raises(ExtractionTimeoutError, match="no more time"):
                await ask(made, "sleep 0", seconds=0.2)  # it does not come to its turn
            assert is_there(pid)
            made.hurry(1000)
            made.hurry(0.2)
            made.hurry(1000)
            with pytest.raises(ExtractionTimeoutError, match="no more time"):
                await task
            await until(lambda: not is_there(pid))
            with pytest.raises(ExtractionTimeoutError, match="no more time"):
                await ask(made, "sleep 600", seconds=0.2)
            assert (await ask(made, "sleep 0", seconds=60)).content_text == "sleep 0"

    asyncio.run(run())


def test_closing_ends_everything(tmp_path: Path) -> None:
    async def run() -> None:
        async with workers(workers=2) as made:
            task = await at_work(made, tmp_path / "one")
            await ask(made, "sleep 0")
            waiting = [asyncio.create_task(ask(made, "sleep 600")) for _ in range(2)]
            await asyncio.sleep(0.1)
            pids = made.pids
            assert len(pids) == 2
            await asyncio.wait_for(made.close(), 30)
            assert not any(map(is_there, pids))
            made.start()
            assert made.pids == []
            tasks = [task, *waiting, asyncio.create_task(ask(made, "sleep 0"))]
            for error in await asyncio.gather(*tasks, return_exceptions=True):
                assert isinstance(error, WorkerDiedError)
                assert str(error) == "the workers were ended"

    asyncio.run(run())


def test_there_need_be_no_bounds() -> None:
    async def run() -> None:
        async with workers(seconds=math.inf, megabytes=10**30) as made:
            assert await ask(made, "sleep 0")

    asyncio.run(run())


@pytest.mark.slow
def test_two_workers_are_at_it_at_once() -> None:
    async def run() -> None:
        async with workers(workers=2) as made:
            made.start()
            assert len(made.pids) == 2
            found = await asyncio.gather(*(ask(made, "sleep 2") for _ in range(2)))
            assert len({answer.template_html for answer in found}) == 2

    asyncio.run(run())


def test_a_worker_that_dies_while_it_waits_costs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        async with workers() as made:
            made.start()
            (pid,) = made.pids
            os.kill(pid, signal.SIGKILL)
            await until(lambda: bool(os.waitid(os.P_PID, pid, ENDED)))
            assert await ask(made, "sleep 0")

    asyncio.run(run())
    assert "A worker died while it waited: it was killed by SIGKILL" in caplog.text


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_signals_that_end_crawls_are_not_for_workers(tmp_path: Path, sent: int) -> None:
    async def run() -> None:
        async with workers() as made:
            made.start()
            (pid,) = made.pids
            os.kill(pid, sent)  # before it can have done anything about it
            file = tmp_path / "started"
            task = await at_work(made, file)
            os.kill(pid, sent)
            await asyncio.sleep(0.2)
            assert made.pids == [pid]
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    asyncio.run(run())


@linux
def test_a_worker_that_has_grown_is_replaced() -> None:
    async def run() -> None:
        async with workers("tplspider.template.extract.extract_template", megabytes=40) as made:
            assert await made.extract(KEY, OTHERS)
            assert made.pids == []

    asyncio.run(run())


def test_most_of_the_pages() -> None:
    key, others = KEY, [KEY, *OTHERS]

    async def run(extractor: str, **options: Any) -> tuple[Any, Any]:
        async with workers(extractor, **options) as made:
            return await made.extract(key, others, most=2), await made.extract(key, others)

    for count in (0, 1):
        ours = run("tplspider.template.extract.extract_template", workers=count)
        few, many = asyncio.run(ours)
        assert few.members == [
            page.url for page in OTHERS[:2]
        ]  # one that tells nothing is replaced
        assert many.members == [page.url for page in OTHERS]
        few, many = asyncio.run(run(f"{ODD}.counts_pages", workers=count))
        assert (few.content_text, many.content_text) == ("2", str(len(others)))


def test_without_a_worker() -> None:
    async def run(extractor: str, order: str, **options: Any) -> Any:
        async with workers(extractor, workers=0, seconds=9) as made:
            made.start()
            made.hurry(5)
            return await ask(made, order, **options)

    found = asyncio.run(run(f"{ODD}.obey", "sleep 0", seconds=5))
    assert found.template_html == str(os.getpid())
    assert asyncio.run(run(f"{ODD}.takes_seconds", "sleep 0")).content_text == "9 s"
    found = asyncio.run(run(f"{ODD}.takes_seconds", "sleep 0", seconds=5))
    assert found.content_text == "5 s"
    with pytest.raises(ExtractorFailedError, match="RuntimeError: stumbled over a line"):
        asyncio.run(run(f"{ODD}.obey", "raise"))
    with pytest.raises(ExtractorFailedError, match="gave a str"):
        asyncio.run(run(f"{ODD}.obey", "text"))
    made = ExtractionWorkers(workers=0)
    with pytest.raises(ExtractionTimeoutError, match="takes more than 0 s"):
        asyncio.run(made.extract(KEY, OTHERS, seconds=0))
    # No event loop is needed for it.
    with pytest.raises(StopIteration) as stopped:
        made.extract(KEY, OTHERS).send(None)
    assert stopped.value.value == extract_template(KEY, OTHERS)


@pytest.mark.parametrize("executable", ["", None, "/nowhere/python"])
def test_without_an_interpreter(monkeypatch: pytest.MonkeyPatch, executable: str | None) -> None:
    monkeypatch.setattr(sys, "executable", executable)

    async def run() -> PageTemplate:
        async with workers() as made:
            made.start()
            return await ask(made, "sleep 0")

    if executable:
        with pytest.raises(WorkerDiedError, match=r"no worker can be started: .*/nowhere/python"):
            asyncio.run(run())
    else:
        assert asyncio.run(run()).template_html == str(os.getpid())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "expected an import path"),
        ("obey", "expected an import path"),
        (f"{ODD}:obey", "expected an import path"),
        (f"{ODD}.", "expected an import path"),
        ("no_such_module.f", "ModuleNotFoundError: No module named 'no_such_module'"),
        (f"{ODD}.f", f"AttributeError: module '{ODD}' has no attribute 'f'"),
        (f"{ODD}.NOT_A_FUNCTION", "int is not a function"),
        ("__main__.f", "put it into a module"),
        (lambda *_: None, "expected an import path"),
        (NOT_A_FUNCTION, "expected an import path"),
    ],
)
def test_extractors_that_will_not_do(name: Any, words: str) -> None:
    with pytest.raises(ValueError, match=r"^extractor ") as caught:
        extractor_name(name)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_extractor_may_be_given_as_it_is() -> None:
    assert extractor_name(obey) == f"{ODD}.obey"
    impostor: Any = type("obey", (), {"__module__": ODD})
    with pytest.raises(ValueError, match="there is another object of that name"):
        extractor_name(impostor)
