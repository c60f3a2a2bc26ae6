"""Texts from worker processes: whatever happens to a worker, it costs one text."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from multiprocessing import active_children
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.crawls import PROJECT
from tests.support.odd_extractors import NOT_A_FUNCTION, obey
from tests.support.template_site import pages_of
from tplspider.extraction import EXTRACTOR, Extraction, ExtractionError, extractor_name
from tplspider.template.extract import PageSource, extract_template

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tplspider.items import PageTemplate

KEY, *OTHERS = (PageSource(f"http://x/{path}", html.decode()) for path, html in pages_of().items())
ODD = "tests.support.odd_extractors"


@asynccontextmanager
async def started(extractor: Any = obey, **options: Any) -> AsyncIterator[Extraction]:
    options = {"workers": 1, "seconds": 60, "megabytes": 300, **options}
    made = Extraction(extractor, **options)
    try:
        yield made
    finally:
        await asyncio.wait_for(made.close(), 30)
        assert not active_children()


async def ask(made: Extraction, order: str, **options: Any) -> PageTemplate:
    found = await made.extract(PageSource("http://x/", order), [], **options)
    assert found
    return found


async def until(condition: Callable[[], object]) -> None:
    for _ in range(1500):
        if condition():
            return
        await asyncio.sleep(0.02)
    pytest.fail("it takes too long")


def test_the_text_and_the_log(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    async def run() -> None:
        async with started(EXTRACTOR, megabytes=2000) as made:
            assert not active_children()  # none before the first text
            assert await made.extract(KEY, OTHERS) == extract_template(KEY, OTHERS)
            few = await made.extract(KEY, [KEY, *OTHERS], most=2)
            assert few
            assert few.candidates == [page.url for page in OTHERS[:2]]
        async with started(for_report=True, markdown=True) as made:
            found = await ask(made, "log A B")
            assert "log A B" in found.key_html
            await until(lambda: caplog.records)
            assert (await ask(made, "print words")).content_text == ""  # of standard input
            assert await made.extract(PageSource("http://x/", "none"), []) is None
        async with started(f"{ODD}.counts_pages") as made:
            assert getattr(await made.extract(KEY, OTHERS, most=2), "content_text", "") == "2"

    caplog.set_level(logging.WARNING)
    asyncio.run(run())
    (record,) = caplog.records
    assert (record.name, record.getMessage()) == (ODD, "From the worker: A B")
    assert record.process != os.getpid()
    out, error = capfd.readouterr()
    assert not out
    assert "words" in error


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ("kill", "the worker was killed (status -9)"),
        ("crash", "the worker was killed (status -11)"),
        ("sleep 600", "timed out after 1 s"),
        ("spin", "timed out after 1 s"),  # in C code
        ("grow", "needs more than 300 MB"),
        ("leap", "needs more than 300 MB"),
        ("exit", "the extractor failed with SystemExit: enough"),
        ("raise", "the extractor failed with RuntimeError: stumbled over a line"),
        ("text", "the extractor gave a str, not a PageTemplate"),
        ("unpicklable", "TypeError: cannot pickle"),
        ("spiteful", "ValueError: invalid literal for int"),
    ],
)
def test_a_fault_costs_one_text(
    order: str, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    async def run() -> None:
        async with started(seconds=1 if "timed" in message else 60) as made:
            orders = ["sleep 0", order, "sleep 0.0"]
            answers: list[Any] = await asyncio.gather(
                *(ask(made, each) for each in orders), return_exceptions=True
            )
            assert type(answers[1]) is ExtractionError
            assert message in str(answers[1])
            assert [answers[0].content_text, answers[2].content_text] == ["sleep 0", "sleep 0.0"]
            same_worker = answers[0].template_html == answers[2].template_html
            assert same_worker == (order in "exit raise text unpicklable spiteful")

    asyncio.run(run())
    assert capfd.readouterr() == ("", "")


def test_limits_from_now_on(tmp_path: Path) -> None:
    async def run() -> None:
        async with started() as made:
            task = asyncio.create_task(ask(made, f"file {tmp_path / 'begun'}"))
            await until((tmp_path / "begun").exists)
            with pytest.raises(ExtractionError, match="timed out"):
                await ask(made, "sleep 0", seconds=0.2)  # still queued
            queued = asyncio.create_task(ask(made, "sleep 600"))
            await asyncio.sleep(0)
            made.hurry(1000)
            made.hurry(0.2)
            begun = time.monotonic()
            for each in (task, queued):
                with pytest.raises(ExtractionError, match="timed out"):
                    await each
            assert time.monotonic() - begun < 5
            assert (await ask(made, "sleep 0", seconds=30)).content_text == "sleep 0"
            task = asyncio.create_task(ask(made, "sleep 600"))
            await asyncio.sleep(0.1)
            await made.close()
            with pytest.raises(ExtractionError, match="timed out"):
                await task
            with pytest.raises(ExtractionError, match="ended"):
                await ask(made, "sleep 0")

    asyncio.run(run())


def test_an_idle_worker_that_is_killed_costs_nothing() -> None:
    async def run() -> None:
        async with started(workers=2) as made:
            both = await asyncio.gather(ask(made, "sleep 0.3"), ask(made, "sleep 0.3"))
            assert len({found.template_html for found in both}) == 2
            for found in both:
                os.kill(int(found.template_html), signal.SIGKILL)
            await asyncio.sleep(2)  # a text that comes before this is noticed may time out
            assert await ask(made, "sleep 0")

    asyncio.run(run())


# Without "if __name__": a worker must not run it again.
SCRIPT = """
import asyncio, signal, sys
from tplspider.extraction import Extraction
from tplspider.template.extract import PageSource

print("begun", flush=True)

async def main():
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, print, "interrupted")
    made = Extraction("tests.support.odd_extractors.obey", workers=1, seconds=60, megabytes=300)
    found = await made.extract(PageSource("http://x/", sys.argv[1]), [])
    print(found.content_text)
    await made.close()

asyncio.run(main())
"""


def start(folder: Path, order: str) -> subprocess.Popen[str]:
    (folder / "script.py").write_text(SCRIPT)
    (folder / "pickle.py").write_text("raise RuntimeError")  # of the current folder: not for us
    process = subprocess.Popen(
        [sys.executable, "-P", folder / "script.py", order],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    file = order.split(" ", 1)[1]
    asyncio.run(until(lambda: Path(file).exists() or Path(f"{file}.waiting").exists()))
    return process


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_signals_to_the_group_are_for_the_parent(tmp_path: Path, sent: signal.Signals) -> None:
    process = start(tmp_path, f"wait {tmp_path / 'go on'}")
    os.killpg(process.pid, sent)
    time.sleep(0.2)
    (tmp_path / "go on").touch()
    out, error = process.communicate(timeout=30)
    assert (out, error) == (f"begun\ninterrupted\nwait {tmp_path / 'go on'}\n", "")


@pytest.mark.parametrize("order", ["file", "spin"])
def test_a_worker_ends_when_its_parent_is_killed(tmp_path: Path, order: str) -> None:
    """Standard error is the worker's as well: it is closed when both are gone."""
    process = start(tmp_path, f"{order} {tmp_path / 'begun'}")
    process.kill()
    out, error = process.communicate(timeout=10)
    assert out == "begun\n"
    assert "Traceback" not in error  # that multiprocessing removes semaphores is all


@pytest.mark.parametrize(
    "given", ["", "obey", f"{ODD}:obey", "no_such.f", f"{ODD}.f", NOT_A_FUNCTION, lambda *_: None]
)
def test_invalid_extractors(given: Any) -> None:
    with pytest.raises(ValueError, match=r"^extractor [^\n]+$"):
        extractor_name(given)
    assert extractor_name(obey) == f"{ODD}.obey"
