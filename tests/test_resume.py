"""A crawl with a JOBDIR goes on where it was ended, by whatever: each line is answered once."""

import csv
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any, Self

import pytest
from scrapy.crawler import Crawler

from tests.support import crawls
from tests.support.crawls import (
    CRAWL,
    Crawl,
    FixtureServer,
    Serve,
    rows,
    run_scrapy,
    start_scrapy,
    wait_for_log,
)
from tests.support.warc_files import records, search_again
from tests.support.warc_files import rows as archived
from tests.test_feeds import read
from tests.test_many import key_pages
from tplspider.resume import Journal

KILLS = int(os.environ.get("TPLSPIDER_TEST_KILLS", "10"))
OF_THE_MOMENT = ("shared", "wasted")  # what another search loaded a moment ago is not asked for


def crawl_list(folder: Path, urls: Path, *more: str, **settings: str) -> Crawl:
    settings = {"JOBDIR": str(folder / "job"), **settings}
    return crawls.crawl_list(folder, urls, f"-O{folder / 'out.csv'}", *more, settings=settings)


def many_lines(server: FixtureServer) -> list[dict[str, object]]:
    """Three hosts, several sizes; a search that is asked for twice, and lines that are wrong."""
    lines: list[dict[str, object]] = [
        {"url": page.replace("127.0.0.1", f"{host}.test"), "tpl_n": n, "id": f"{host} {n} {number}"}
        for host in ("one", "two", "three")
        for n in (1, 2, 3)
        for number, page in enumerate(key_pages(server))
    ]
    return [*lines, {"url": "ftp://x/", "id": "wrong"}, {**lines[0], "id": "again"}, {"url": 3}]


def start(folder: Path, urls: Path, what: str) -> subprocess.Popen[str]:
    settings = {"LOG_LEVEL": "INFO", "JOBDIR": str(folder / "job")}
    settings |= {"DOWNLOAD_DELAY": "0.02", "TPLSPIDER_SEARCHES": "3"}
    given = what.replace("FOLDER", str(folder)).replace("LIST", str(urls)).split()
    return start_scrapy(*given, f"-asummary={folder / 'summary.jl'}", settings=settings)


def answers(folder: Path) -> dict[str, list[str]]:
    """The rows of all feeds, as strict readers see them, in an order of their own."""
    found: dict[str, list[str]] = {}
    for path in folder.glob("*.jl"):
        made = [json.loads(line) for line in path.read_bytes().splitlines(keepends=True)]
        for row in made:
            for name in OF_THE_MOMENT:
                row.pop(name, None)
        found[path.name] = sorted(map(json.dumps, made))
    for path in folder.glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            table = list(csv.reader(file, strict=True))
        assert {len(row) for row in table} == {len(table[0])}
        found[path.name] = sorted(map(json.dumps, table))
        assert found[path.name].count(json.dumps(table[0])) == 1  # one header
    return found


LIST = "crawl template_candidates -aurls=LIST -OFOLDER/out.jl"
ARCHIVE_AND_REPORTS = "-awarc=FOLDER/a.warc.gz -areport=FOLDER/reports"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kills", "what"),
    [
        (KILLS, f"{LIST} -OFOLDER/out.csv"),
        (KILLS // 2, f"{LIST} {ARCHIVE_AND_REPORTS}"),
        (KILLS // 2, "text -i LIST -OFOLDER/table.csv"),
        pytest.param(100, f"{LIST} -OFOLDER/out.csv", marks=pytest.mark.nightly),
    ],
)
def test_killed_at_any_moment(tmp_path: Path, serve: Serve, kills: int, what: str) -> None:
    """Each line is answered once, no row is there twice or in part, whenever SIGKILL comes."""
    urls, whole, parts = tmp_path / "keys.jl", tmp_path / "whole", tmp_path / "parts"
    lines = many_lines(serve("menu"))
    urls.write_text("".join(json.dumps(line) + "\n" for line in lines))
    whole.mkdir()
    undisturbed = start(whole, urls, what)
    log = undisturbed.communicate(timeout=120)[1]
    assert undisturbed.returncode == 1, log  # because of the lines that are wrong
    expected = answers(whole)
    assert len(expected["summary.jl"]) == len(lines)
    chance, done, rounds = random.Random(kills), 0, 0
    while done < kills or not rounds:
        parts.mkdir(exist_ok=True)
        with start(parts, urls, what) as process:
            if done < kills and chance.random() < 0.2:  # as it begins
                time.sleep(chance.uniform(0, 1))
                process.kill()
            elif done < kills:
                wait_for_log(process, "Spider opened")
                time.sleep(chance.uniform(0, 0.8))
                process.kill()
            log = process.communicate()[1]
        check_reports(parts)
        if process.returncode == -signal.SIGKILL:
            done += 1
            continue
        assert process.returncode == 1, log
        assert answers(parts) == expected
        if "-awarc" in what:
            check_archive(parts, urls)
        shutil.rmtree(parts)
        rounds += 1


def check_reports(folder: Path) -> None:
    """They are whole at any moment, and what the journal calls done has its report."""
    reports, journal = folder / "reports", folder / "job" / "tplspider.sqlite"
    for path in reports.glob("*.html"):
        assert path.read_text().rstrip().endswith("</html>")
    if reports.exists() and journal.exists():
        with closing(sqlite3.connect(journal)) as connection:
            done = [name for (name,) in connection.execute("SELECT search_id FROM searches")]
        assert {f"{name}.html" for name in done if name} <= {
            path.name for path in reports.iterdir()
        }


def check_archive(folder: Path, urls: Path) -> None:
    """Each record is whole, and the answers are the same once more."""
    assert records(folder / "a.warc.gz")
    again = folder / "again"
    search_again(again, folder / "a.warc.gz", urls)
    found, expected = (
        [row for row in archived(path) if row["key_outcome"] != "bad-input"]
        for path in (again / "summary.jl", folder / "summary.jl")
    )
    assert found == expected
    assert archived(again / "out.jl") == archived(folder / "out.jl")


class Breaking:
    """A spider middleware and a pipeline of a project: they fail on what BREAKS_ON says."""

    def __init__(self, crawler: Crawler) -> None:
        self.words = crawler.settings["BREAKS_ON"]

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_item(self, item: Any) -> Any:
        if self.words == "dict":
            return dict(vars(item))
        self.break_on(item)
        return item

    async def process_spider_output(
        self, response: object, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        async for output in result:
            self.break_on(output)
            yield output

    def break_on(self, output: object) -> None:
        kind = type(output).__name__
        if self.words and f"{kind} {getattr(output, 'requested_url', '')}".startswith(self.words):
            raise RuntimeError("down for a moment")


@pytest.mark.parametrize("place", ["ITEM_PIPELINES", "SPIDER_MIDDLEWARES"])
@pytest.mark.quick
def test_what_was_lost_is_made_again(tmp_path: Path, serve: Serve, place: str) -> None:
    pages, urls = key_pages(serve("menu")), tmp_path / "keys.txt"
    urls.write_text("\n".join(pages))
    settings = {place: json.dumps({"tests.test_resume.Breaking": 550})}
    settings["BREAKS_ON"] = f"TemplateCandidate {pages[1]}"
    done = crawl_list(tmp_path, urls, **settings)
    assert done.code == 1
    found = {row["requested_url"] for row in rows(tmp_path / "summary.jl")}
    assert found == {*pages} - {pages[1]}, done.log
    done = crawl_list(tmp_path, urls, **{**settings, "BREAKS_ON": ""})
    assert done.code == 0, done.log
    assert len(rows(tmp_path / "summary.jl")) == 4
    assert len(rows(tmp_path / "out.jl")) == 12
    assert len(answers(tmp_path)["out.csv"]) == 13


def test_a_text_that_was_lost_is_made_again(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TPLSPIDER_TEST_KILLED", str(tmp_path / "killed"))
    pages, urls = key_pages(serve("menu"))[:3], tmp_path / "keys.txt"
    urls.write_text("\n".join(pages))
    settings = {"TPLSPIDER_EXTRACTOR": "tests.support.odd_extractors.deadly_once"}
    for code, count in ((1, 2), (0, 3), (0, 3)):
        done = crawl_list(tmp_path, urls, f"-atexts={tmp_path / 't.jl'}", **settings)
        assert done.code == code, done.log
        assert (tmp_path / "killed").exists()
        texts = rows(tmp_path / "t.jl")
        assert len(texts) == len(rows(tmp_path / "summary.jl")) == count
        assert all(row["main_text"] for row in texts)
    assert {row["requested_url"] for row in texts} == {*pages}


@pytest.mark.quick
def test_another_list_or_other_options(tmp_path: Path, serve: Serve) -> None:
    server, urls, other = serve("menu"), tmp_path / "keys.txt", tmp_path / "other.txt"
    pages = key_pages(server)
    urls.write_text("\n".join(pages[:2]) + "\n")
    other.write_text(pages[2] + "\n")
    assert crawl_list(tmp_path, urls).code == 0
    asked, before = len(server.log), answers(tmp_path)
    for given in ((urls, "-an=4"), (other,), (urls, f"-atexts={tmp_path / 't.jl'}")):
        done = crawl_list(tmp_path, *given)
        assert done.code == 2, done.log
        assert len([line for line in done.log.splitlines() if "error: JOBDIR: " in line]) == 1
        assert "Traceback" not in done.log
    assert (len(server.log), answers(tmp_path)) == (asked, before)
    # A list may grow, but what was searched stays.
    urls.write_text("\n".join(pages) + "\n")
    assert crawl_list(tmp_path, urls).code == 0
    assert sorted(row["line"] for row in rows(tmp_path / "summary.jl")) == [1, 2, 3, 4]
    urls.write_text("\n".join(pages[::-1]) + "\n")
    done = crawl_list(tmp_path, urls)
    assert done.code == 1
    assert "line 1" in done.log
    assert "Traceback" not in done.log


@pytest.mark.parametrize("case", ["damaged", "a feed is gone", "in use"])
@pytest.mark.quick
def test_a_journal_that_cannot_be_used(tmp_path: Path, serve: Serve, case: str) -> None:
    server, urls = serve("menu"), tmp_path / "keys.txt"
    urls.write_text(key_pages(server)[0])
    job = tmp_path / "job"
    if case == "damaged":
        job.mkdir()
        (job / "tplspider.sqlite").write_bytes(random.Random(0).randbytes(5000))
    elif case == "a feed is gone":
        assert crawl_list(tmp_path, urls).code == 0
        (tmp_path / "out.jl").unlink()
    asked = len(server.log)
    if case == "in use":
        journal = Journal(job)
    done = crawl_list(tmp_path, urls)
    if case == "in use":
        journal.close()
        assert crawl_list(tmp_path, urls).code == 0
    else:
        assert len(server.log) == asked
    assert done.code == 2
    (line,) = [line for line in done.log.splitlines() if "error:" in line]
    assert "JOBDIR" in line
    assert "Traceback" not in done.log


@pytest.mark.quick
def test_one_key_page(tmp_path: Path, serve: Serve) -> None:
    server = serve("menu")
    for asked in (8, 0):
        server.log.clear()
        given = (f"-aurl={key_pages(server)[0]}", f"-O{tmp_path / 'out.jl'}")
        settings = {"JOBDIR": str(tmp_path / "job")}
        done = run_scrapy(*CRAWL, *given, folder=tmp_path, settings=settings)
        assert done.code == 0, done.log
        assert len(rows(tmp_path / "out.jl")) == 3
        assert len(server.pages_asked) == asked


@pytest.mark.slow
def test_feeds_are_valid_whenever_a_signal_comes(tmp_path: Path, serve: Serve) -> None:
    server, urls = serve("menu"), tmp_path / "keys.txt"
    urls.write_text("\n".join(key_pages(server)))
    feeds = [tmp_path / name for name in ("out.json", "out.csv", "out.xml")]
    given = (*CRAWL, f"-aurls={urls}", f"-asummary={tmp_path / 's.json'}")
    settings = {"DOWNLOAD_DELAY": "0.1", "DOWNLOAD_TIMEOUT": "3", "LOG_LEVEL": "INFO"}
    seen = 0
    for moment in (0, 0.15, 0.3, 0.5):
        for path in (*feeds, tmp_path / "s.json"):
            path.unlink(missing_ok=True)
        with start_scrapy(*given, *(f"-O{path}" for path in feeds), settings=settings) as process:
            wait_for_log(process, "Spider opened")
            time.sleep(moment)
            process.send_signal(signal.SIGINT)
            log = process.communicate()[1]
        assert "Traceback" not in log
        if not feeds[0].exists():  # before Scrapy was ready
            assert process.returncode == 1, log
            continue
        assert process.returncode in (0, 1), log
        seen += 1
        counts = {len(read(path)) for path in feeds}
        assert len(counts) == 1, log
        summaries = read(tmp_path / "s.json")
        assert sum(row["cs_size"] for row in summaries) == counts.pop()
    assert seen
