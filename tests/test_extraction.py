"""Texts from worker processes: whatever happens to a worker costs one text, never the crawl."""

import asyncio
import json
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.crawls import CRAWL, RunCrawl, Serve, start_scrapy, wait_for_log
from tests.support.odd_extractors import obey, workers_of
from tests.support.template_site import pages_of, routes_of
from tplspider.extraction import EXTRACTOR, Extraction, ExtractionError, load_extractor
from tplspider.items import PageTemplate
from tplspider.template.extract import PageSource, extract_template

KEY, *OTHERS = (PageSource(f"http://x/{path}", html.decode()) for path, html in pages_of().items())
ODD = "tests.support.odd_extractors"


@asynccontextmanager
async def started(extractor: str = f"{ODD}.obey", **options: Any) -> AsyncIterator[Extraction]:
    options = {"workers": 1, "seconds": 60, "megabytes": 300, **options}
    made = Extraction(extractor, **options)
    try:
        yield made
    finally:
        await asyncio.wait_for(made.close(), 30)
        assert not workers_of(os.getpid())


async def ask(made: Extraction, order: str, **options: Any) -> PageTemplate:
    found = await made.extract(PageSource("http://x/", order), [], **options)
    assert found
    return found


async def until(condition: Callable[[], object]) -> None:
    for _ in range(3000):
        if condition():
            return
        await asyncio.sleep(0.02)
    pytest.fail("it takes too long")


def test_an_extractor_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a notebook, or in ``python -c``: a path that is empty means the current folder."""
    (tmp_path / "only_here.py").write_text("def nothing(key, pages):\n    return None\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")

    async def run() -> None:
        async with started("only_here.nothing") as made:
            assert await made.extract(KEY, []) is None

    asyncio.run(run())


@pytest.mark.slow
def test_the_text(capfd: pytest.CaptureFixture[str]) -> None:
    async def run() -> None:
        async with started(EXTRACTOR, megabytes=2000) as made:
            assert not workers_of(os.getpid())  # none before the first text
            assert await made.extract(KEY, OTHERS) == extract_template(KEY, OTHERS)
            few = await made.extract(KEY, [KEY, *OTHERS], most=2)
            assert few
            assert few.candidates == [page.url for page in OTHERS[:2]]
        async with started(for_report=True, markdown=True) as made:
            assert "log A B" in (await ask(made, "log A B")).key_html
            assert (await ask(made, "print words")).content_text == ""  # of standard input
            assert await made.extract(PageSource("http://x/", "none"), []) is None

    asyncio.run(run())
    out, error = capfd.readouterr()
    assert not out
    assert "words" in error
    assert "From the worker: A B" in error


@pytest.mark.slow
def test_a_fault_costs_one_text(capfd: pytest.CaptureFixture[str]) -> None:
    faults = {**dict.fromkeys(("kill", "crash"), "crashed"), "leap": "out-of-memory"}
    faults |= dict.fromkeys(("exit", "raise", "text"), "error")

    async def run() -> None:
        async with started() as made:
            asked = [each for order in faults for each in (order, "sleep 0")]
            answers: list[Any] = await asyncio.gather(
                *(ask(made, each) for each in asked), return_exceptions=True
            )
            outcomes = [getattr(each, "outcome", "text") for each in answers]
            assert outcomes == [each for outcome in faults.values() for each in (outcome, "text")]
            processes = {each.template_html for each in answers[1::2]}
            assert len(processes) == 3  # only what ends a worker, or needs its memory, costs it
        async with started(seconds=1) as made:
            with pytest.raises(ExtractionError, match="timed out after 1 s"):
                await ask(made, "spin ")  # in C code
            assert await ask(made, "sleep 0")

    asyncio.run(run())
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_limits_from_now_on(tmp_path: Path) -> None:
    async def run() -> None:
        async with started() as made:
            task = asyncio.create_task(ask(made, f"file {tmp_path / 'begun'}"))
            await until((tmp_path / "begun").exists)
            with pytest.raises(ExtractionError, match="timed out"):
                await ask(made, "sleep 0", seconds=0.2)  # still queued
            queued = asyncio.create_task(ask(made, "sleep 600"))
            await asyncio.sleep(0)
            made.hurry(0.2)
            for each in (task, queued):
                with pytest.raises(ExtractionError, match="timed out"):
                    await each
            assert (await ask(made, "sleep 0", seconds=30)).content_text == "sleep 0"
            task = asyncio.create_task(ask(made, "sleep 600"))
            await asyncio.sleep(0)
            await asyncio.wait_for(made.close(), 30)
            with pytest.raises(ExtractionError, match="timed out"):
                await task
            with pytest.raises(ExtractionError, match="stopped"):
                await ask(made, "sleep 0")

    asyncio.run(run())


@pytest.mark.parametrize(
    "given", ["", "obey", f"{ODD}:obey", "no_such.f", f"{ODD}.f", f"{ODD}.NOT_A_FUNCTION"]
)
def test_invalid_extractors(given: str) -> None:
    with pytest.raises(ValueError, match=r"^extractor [^\n]+$"):
        load_extractor(given)
    assert load_extractor(f"{ODD}.obey") is obey


def test_an_extractor_and_the_order_of_items(crawl: RunCrawl, serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "all.jl"
    kinds = ["TemplateCandidate", "PageTemplate", "CandidateSearch"]
    feeds = {str(file): {"format": "jl", "item_classes": [f"tplspider.items.{i}" for i in kinds]}}
    settings = {"FEEDS": json.dumps(feeds), "TPLSPIDER_EXTRACTOR": f"{ODD}.counts_pages"}
    done = crawl(serve("menu", routes_of(pages_of())).url + "/", settings)
    assert done.code == 0
    *candidates, text, summary = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert [row["rank"] > 0 for row in candidates] == [True] * 3
    assert text["content_text"] == "3"
    assert summary["complete"]


@pytest.mark.parametrize(
    ("extractor", "line"), [("grows", "200 MB"), ("sleeps", "timed out"), ("dies", "killed")]
)
def test_a_page_beyond_all_bounds(
    crawl: RunCrawl, serve: Serve, tmp_path: Path, extractor: str, line: str
) -> None:
    url = serve("menu", routes_of(pages_of())).url + "/"
    settings = {"TPLSPIDER_EXTRACTOR": f"{ODD}.{extractor}", "TPLSPIDER_EXTRACT_MB": "200"}
    limit = {"max_seconds": 3} if extractor == "sleeps" else {}
    done = crawl(url, settings, texts=tmp_path / "t.json", **limit)
    assert done.code == 1
    assert "Traceback" not in done.log
    (found,) = [text for text in done.log.splitlines() if "] ERROR: " in text]
    assert line in found
    assert json.loads((tmp_path / "t.json").read_bytes()) == []
    assert len(done.candidates) == 3
    assert done.summary["complete"]


@pytest.mark.parametrize(
    "sent", [[signal.SIGINT], [signal.SIGINT, signal.SIGINT], [signal.SIGKILL]], ids=str
)
def test_a_crawl_is_ended_while_a_page_is_extracted(
    serve: Serve, tmp_path: Path, sent: list[signal.Signals]
) -> None:
    """Once, the text is waited for a little longer; twice, nothing is waited for."""
    out, summary = tmp_path / "out.json", tmp_path / "summary.json"
    with start_scrapy(
        *(*CRAWL, f"-aurl={serve('menu', routes_of(pages_of())).url}/", f"-O{out}"),
        *(f"-asummary={summary}", f"-atexts={tmp_path / 't.json'}"),
        settings={"TPLSPIDER_EXTRACTOR": f"{ODD}.announces"},
        start_new_session=True,
    ) as process:
        wait_for_log(process, "At work")
        if sent == [signal.SIGKILL]:
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C does it, for the worker, too
        if len(sent) == 2:
            wait_for_log(process, "Received SIGINT")
            os.killpg(process.pid, signal.SIGINT)
        begun = time.monotonic()
        # Standard error is the worker's as well: it is closed when both are gone.
        log = process.communicate(timeout=120)[1]
    assert time.monotonic() - begun < 60  # the text would take ten minutes
    assert "Traceback" not in log
    if len(sent) == 2:
        assert "forcing unclean shutdown" in log
    elif sent == [signal.SIGINT]:
        assert process.returncode == 1
        assert "Spider closed (shutdown)" in log
        assert len([line for line in log.splitlines() if "] ERROR: " in line]) == 1
        assert json.loads((tmp_path / "t.json").read_bytes()) == []
        assert len(json.loads(out.read_bytes())) == 3
        assert json.loads(summary.read_bytes())[0]["complete"]
