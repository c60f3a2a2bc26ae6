"""Many key pages in one crawl: a list in, one feed out."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request

from tests.support.archives import rows as archived_rows
from tests.support.archives import search_again
from tests.support.crawls import PROJECT, SETTINGS, Crawl, run_scrapy
from tests.test_warc_records import records

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path
    from typing import Self

    from scrapy.crawler import Crawler

    from tests.support.crawls import FixtureServer
    from tplspider.demo.server import Handler

KEYS = ("one", "two", "three", "four")
NOT_OF_LISTS = ("line", "input", "shared", "wasted")


def crawl_list(
    folder: Path, urls: Path | str, *more: str, settings: dict[str, str] | None = None
) -> Crawl:
    return run_scrapy(
        "crawl",
        "template_candidates",
        f"-aurls={urls}",
        f"-asummary={folder / 'summary.jl'}",
        f"-O{folder / 'out.jl'}",
        *more,
        folder=folder,
        settings=settings,
    )


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def key_pages(server: FixtureServer) -> list[str]:
    return [f"{server.url}/docs/guide/{name}.html" for name in KEYS]


def test_each_answer_is_the_one_it_would_have_alone(
    tmp_path: Path,
    serve: Callable[..., FixtureServer],
    crawl: Callable[..., Crawl],
) -> None:
    server = serve("menu")
    urls = tmp_path / "keys.txt"
    urls.write_text("# of one site\n" + "\n".join(key_pages(server)) + "\n")
    done = crawl_list(tmp_path, urls)
    assert done.code == 0, done.log
    assert done.finish_reason == "finished"
    summaries = {row["requested_url"]: row for row in rows(tmp_path / "summary.jl")}
    candidates = rows(tmp_path / "out.jl")
    assert sorted(row["line"] for row in summaries.values()) == [2, 3, 4, 5]
    for url in key_pages(server):
        alone = crawl(url)
        here, there = summaries[url], alone.summary
        for name in NOT_OF_LISTS:
            here.pop(name), there.pop(name)
        assert here == there
        assert [row for row in candidates if row["requested_url"] == url] == alone.candidates
    # Rows of one search stand together.
    ids = [row["search_id"] for row in candidates]
    assert len([i for i, name in enumerate(ids) if i == 0 or ids[i - 1] != name]) == len(set(ids))


def test_options_and_fields_of_a_line(tmp_path: Path, serve: Callable[..., FixtureServer]) -> None:
    server = serve("menu")
    urls = tmp_path / "keys.jl"
    one = key_pages(server)[0]
    lines: list[dict[str, object]] = [
        {"url": one, "n": 1, "id": "first", "tags": ["a"]},
        {"url": one, "n": 2, "strategy": "guided"},
        {"url": one, "n": 0, "id": "wrong"},
        {"url": "ftp://example.org/"},
        {"n": 3},
    ]
    urls.write_text("\n".join(map(json.dumps, lines)) + "\nnot JSON\n")
    done = crawl_list(tmp_path, urls, "-an=4")
    assert done.code == 1
    found = {row["line"]: row for row in rows(tmp_path / "summary.jl")}
    assert sorted(found) == [1, 2, 3, 4, 5, 6]
    assert (found[1]["requested_size"], found[1]["input"]) == (1, {"id": "first", "tags": ["a"]})
    assert (found[2]["requested_size"], found[2]["input"]) == (2, None)
    assert [found[line]["key_outcome"] for line in (3, 4, 5, 6)] == ["bad-input"] * 4
    assert found[3]["input"] == {"id": "wrong"}
    assert found[3]["requested_url"] == one
    assert "expected a whole number" in found[3]["hint"]
    assert "neither http nor https" in found[4]["hint"]
    assert "Traceback" not in done.log


def test_the_same_search_is_made_once(tmp_path: Path, serve: Callable[..., FixtureServer]) -> None:
    server = serve("menu")
    one, two = key_pages(server)[:2]
    urls = tmp_path / "keys.csv"
    with urls.open("w", newline="") as file:
        csv.writer(file).writerows(
            [["id", "page"], ["a", one], ["b", one + "#top"], ["c", two], ["d", one], ["e", one]]
        )
    done = crawl_list(tmp_path, urls, "-acolumn=page")
    assert done.code == 0, done.log
    found = {row["line"]: row for row in rows(tmp_path / "summary.jl")}
    assert {line: row["input"]["id"] for line, row in found.items()} == {
        2: "a",
        3: "b",
        4: "c",
        5: "d",
        6: "e",
    }
    assert found[3]["requested_url"] == one + "#top"
    assert len({found[line]["search_id"] for line in (2, 3, 5, 6)}) == 1
    assert found[2]["explored"] == found[6]["explored"] != []
    assert len(rows(tmp_path / "out.jl")) == 6
    assert server.pages_asked.count("/docs/guide/one.html") <= 2  # as a key page, and as a link


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("keys.txt", "\n# nothing\n", "no address in it"),
        ("missing.txt", None, "No such file"),
        (".", None, "Is a directory"),
        ("keys.csv", "a,b\n1,2\n", "url"),
    ],
)
def test_a_list_that_cannot_be_read(tmp_path: Path, name: str, text: str | None, line: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    done = crawl_list(tmp_path, tmp_path / name)
    assert done.code == 2
    (said,) = done.log.strip().splitlines()
    assert "urls=" in said
    assert line in said


def test_standard_input(tmp_path: Path, serve: Callable[..., FixtureServer]) -> None:
    server = serve("menu")
    command = [
        *(sys.executable, "-m", "scrapy", "crawl", "template_candidates", "-aurls=-"),
        f"-asummary={tmp_path / 'summary.jl'}",
        *(f"-s{name}={value}" for name, value in SETTINGS.items()),
    ]
    text = "\n".join(key_pages(server)[:2])
    with subprocess.Popen(
        command, cwd=PROJECT, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stderr
        process.stdin.write(key_pages(server)[0] + "\n")
        process.stdin.flush()
        for logged in process.stderr:  # the first is answered before the second comes
            if "Complete: 3 pages" in logged:
                break
        _, log = process.communicate(key_pages(server)[1] + "\n", timeout=60)
    assert process.returncode == 0, log
    assert [row["requested_url"] for row in rows(tmp_path / "summary.jl")] == text.splitlines()


def test_a_host_that_hangs_delays_only_itself(
    tmp_path: Path, serve: Callable[..., FixtureServer]
) -> None:
    def hang(request: Handler) -> None:
        time.sleep(4)

    slow = serve("menu", {f"/docs/guide/{name}.html": hang for name in KEYS})
    quick = serve("menu")
    # The same machine, by other names.
    slow_pages = [page.replace("127.0.0.1", "slow.test") for page in key_pages(slow)]
    quick_pages = [page.replace("127.0.0.1", "quick.test") for page in key_pages(quick)]
    urls = tmp_path / "keys.txt"
    urls.write_text("\n".join([*slow_pages, *quick_pages]))
    settings = {"TPLSPIDER_SEARCHES": "3", "DOWNLOAD_TIMEOUT": "2", "RETRY_TIMES": "0"}
    done = crawl_list(tmp_path, urls, settings=settings)
    order = [row["requested_url"] for row in rows(tmp_path / "summary.jl")]
    # Two of the slow host have places, the others wait on disk.
    assert set(order[:3]) <= set(quick_pages), done.log
    assert sorted(order) == sorted([*slow_pages, *quick_pages])


def test_interrupted_without_a_journal(tmp_path: Path, serve: Callable[..., FixtureServer]) -> None:
    server = serve("menu")
    urls = tmp_path / "keys.txt"
    urls.write_text("\n".join(key_pages(server)))
    done = crawl_list(
        tmp_path,
        urls,
        settings={
            "TPLSPIDER_SEARCHES": "1",
            "EXTENSIONS": json.dumps({"tests.support.components.StopsAtFirstEnd": 0}),
        },
    )
    assert done.code == 1
    found = rows(tmp_path / "summary.jl")
    assert 1 <= len(found) < 4
    assert found[0]["complete"]


def killed_and_resumed(
    tmp_path: Path, server: FixtureServer, moments: list[float], *, end: int
) -> Crawl:
    """Crawl all key pages with a JOBDIR, ended by a signal at *moments*, until it is done."""
    urls = tmp_path / "keys.jl"
    names = [f"{server.url}/docs/guide/{name}.html" for name in KEYS]
    lines = [{"url": url, "n": n} for n in (1, 2, 3, 4) for url in names]
    urls.write_text("".join(json.dumps(line) + "\n" for line in lines))
    command = [
        *(sys.executable, "-m", "scrapy", "crawl", "template_candidates", f"-aurls={urls}"),
        *(f"-asummary={tmp_path / 'summary.jl'}", f"-O{tmp_path / 'out.csv'}:csv"),
        *(f"-O{tmp_path / 'out.jl'}", f"-awarc={tmp_path / 'a.warc.gz'}"),
        *(f"-s{name}={value}" for name, value in SETTINGS.items()),
        *(f"-sJOBDIR={tmp_path / 'job'}", "-sDOWNLOAD_DELAY=0.02", "-sTPLSPIDER_SEARCHES=3"),
        "-sTPLSPIDER_SHARED_MB=0",  # who shares with whom is a matter of time
    ]
    for moment in moments:
        with subprocess.Popen(command, cwd=PROJECT, stderr=subprocess.DEVNULL) as process:
            time.sleep(moment)
            process.send_signal(end)
    done = subprocess.run(
        command, cwd=PROJECT, capture_output=True, text=True, timeout=120, check=False
    )
    return Crawl(done.returncode, done.stdout, done.stderr, tmp_path)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_killed_and_resumed(tmp_path: Path, serve: Callable[..., FixtureServer], end: int) -> None:
    server = serve("menu")
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    for place in (whole, parts):
        place.mkdir()
    assert killed_and_resumed(whole, server, [], end=end).code == 0
    done = killed_and_resumed(parts, server, [0.9, 1.2, 1.0, 1.4], end=end)
    assert done.code == 0, done.log
    for name in ("summary.jl", "out.jl", "out.csv"):
        here, there = ((place / name).read_text() for place in (parts, whole))
        assert sorted(here.splitlines()) == sorted(there.splitlines())
    again = killed_and_resumed(parts, server, [], end=end)
    assert again.code == 0
    assert again.log.count("GET") == 0
    assert len(rows(parts / "summary.jl")) == 16
    # What was archived of searches that were killed is whole, or gone.
    archive = parts / "a.warc.gz"
    assert len([r for r in records(archive) if r.headers["WARC-Type"] == "warcinfo"]) > 1
    assert search_again(tmp_path / "again", archive, parts / "keys.jl").code == 0
    for name in ("summary.jl", "out.jl"):
        assert archived_rows(tmp_path / "again" / name) == archived_rows(parts / name)


def test_a_line_that_kills_the_process(tmp_path: Path, serve: Callable[..., FixtureServer]) -> None:
    server = serve("menu")
    urls = tmp_path / "keys.txt"
    pages = key_pages(server)
    urls.write_text("\n".join(pages))
    settings = {
        "JOBDIR": str(tmp_path / "job"),
        "EXTENSIONS": json.dumps({"tests.support.components.DiesOfOne": 0}),
        "DIES_OF": pages[1],
    }
    codes = []
    for _ in range(5):
        done = crawl_list(tmp_path, urls, settings=settings)
        codes.append(done.code)
        if done.code >= 0:
            break
    assert codes == [-signal.SIGKILL] * 3 + [0], done.log
    found = {row["requested_url"]: row for row in rows(tmp_path / "summary.jl")}
    assert sorted(found) == sorted(pages)
    assert found[pages[1]]["key_outcome"] == "crashed"
    assert "died 3 times" in found[pages[1]]["hint"]
    assert all(found[page]["complete"] for page in pages if page != pages[1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["-Oout.json"], "make it .jl or .csv"),
        (["-Oout.xml"], "make it .jl or .csv"),
        (["-Oout-%(time)s.jl"], "another name each time"),
        (["-O-:jl"], "local file"),
    ],
)
def test_feeds_that_cannot_go_on(tmp_path: Path, arguments: list[str], line: str) -> None:
    urls = tmp_path / "keys.txt"
    urls.write_text("http://127.0.0.1:9/\n")
    names = [name.replace("out", str(tmp_path / "out")) for name in arguments]
    done = run_scrapy(
        "crawl",
        "template_candidates",
        f"-aurls={urls}",
        *names,
        folder=tmp_path,
        settings={"JOBDIR": str(tmp_path / "job")},
    )
    assert done.code == 2
    (said,) = done.log.strip().splitlines()
    assert line in said
    assert not (tmp_path / "job").exists()


def test_another_list_or_other_options(tmp_path: Path, serve: Callable[..., FixtureServer]) -> None:
    server = serve("menu")
    urls, other = tmp_path / "keys.txt", tmp_path / "other.txt"
    pages = key_pages(server)
    urls.write_text("\n".join(pages[:2]) + "\n")
    other.write_text(pages[2] + "\n")
    settings = {"JOBDIR": str(tmp_path / "job")}
    assert crawl_list(tmp_path, urls, settings=settings).code == 0
    for arguments, line in (
        ((urls, "-an=4"), "n was 3 and is 4"),
        ((other,), "urls was"),
        ((urls, "-atemplate=t.jl"), "feed"),
    ):
        done = crawl_list(tmp_path, *arguments, settings=settings)
        assert done.code == 2
        assert line in done.log
    # A list may grow, but what was searched stays.
    urls.write_text("\n".join(pages) + "\n")
    assert crawl_list(tmp_path, urls, settings=settings).code == 0
    assert sorted(row["line"] for row in rows(tmp_path / "summary.jl")) == [1, 2, 3, 4]
    urls.write_text("\n".join(pages[::-1]) + "\n")
    done = crawl_list(tmp_path, urls, settings=settings)
    assert done.code == 1
    assert "line 1 is not the one that was searched" in done.log
    assert "Traceback" not in done.log


def test_one_key_page_with_a_journal(tmp_path: Path, serve: Callable[..., FixtureServer]) -> None:
    server = serve("menu")
    for count in (1, 2):
        done = run_scrapy(
            "crawl",
            "template_candidates",
            f"-aurl={key_pages(server)[0]}",
            f"-O{tmp_path / 'out.jl'}",
            folder=tmp_path,
            settings={"JOBDIR": str(tmp_path / "job")},
        )
        assert done.code == 0, done.log
        assert len(rows(tmp_path / "out.jl")) == 3
        assert ("Crawled (200)" in done.log) == (count == 1)


def test_saved_pages_have_a_folder_for_each_search(
    tmp_path: Path, serve: Callable[..., FixtureServer]
) -> None:
    server = serve("menu")
    urls = tmp_path / "keys.txt"
    urls.write_text("\n".join(key_pages(server)[:2]))
    for _ in range(2):
        done = crawl_list(tmp_path, urls, f"-asave_html={tmp_path / 'pages'}")
        assert done.code == 0, done.log
        ids = {row["search_id"] for row in rows(tmp_path / "summary.jl")}
        assert {path.name for path in (tmp_path / "pages").iterdir()} == ids
        for name in ids:
            files = {path.name for path in (tmp_path / "pages" / name).iterdir()}
            assert files == {"manifest.json", "key.html", "1.html", "2.html", "3.html"}
    (tmp_path / "pages" / "mine.txt").write_text("mine")
    done = crawl_list(tmp_path, urls, f"-asave_html={tmp_path / 'pages'}")
    assert done.code == 2
    assert "mine.txt" in done.log


@pytest.mark.slow
def test_a_journal_that_cannot_be_used(tmp_path: Path) -> None:
    urls = tmp_path / "keys.txt"
    urls.write_text("http://127.0.0.1:9/\n")
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "tplspider.sqlite").write_bytes(os.urandom(5000))
    done = crawl_list(tmp_path, urls, settings={"JOBDIR": str(tmp_path / "job")})
    assert done.code == 2
    (said,) = done.log.strip().splitlines()
    assert "is damaged" in said


def test_one_file_by_another_name_at_the_second_start(
    tmp_path: Path, serve: Callable[..., FixtureServer]
) -> None:
    server = serve("menu")
    (tmp_path / "place").mkdir()
    (tmp_path / "link").symlink_to("place")
    urls = tmp_path / "keys.txt"
    urls.write_text("\n".join(key_pages(server)[:2]))
    names = (f"-O{tmp_path}/place/../link/out.jl", f"-asummary={tmp_path}/place/../summary.jl")
    for _ in range(2):
        done = run_scrapy(
            *("crawl", "template_candidates", f"-aurls={urls}", *names),
            folder=tmp_path,
            settings={"JOBDIR": str(tmp_path / "job")},
        )
        assert done.code == 0, done.log
        assert len(rows(tmp_path / "place" / "out.jl")) == 6


def test_a_list_that_has_changed_is_noticed_before_anything_is_requested(
    tmp_path: Path, serve: Callable[..., FixtureServer]
) -> None:
    server = serve("menu")
    urls = tmp_path / "keys.txt"
    pages = key_pages(server)
    urls.write_text("\n".join(pages[:3]) + "\n")
    settings = {"JOBDIR": str(tmp_path / "job")}
    assert crawl_list(tmp_path, urls, settings=settings).code == 0
    asked = len(server.log)
    for lines, why in (
        ([pages[0], pages[3], pages[2]], "line 2 is not"),
        (pages[:1], "not in the list any more"),
    ):
        urls.write_text("\n".join(lines) + "\n")
        done = crawl_list(tmp_path, urls, settings=settings)
        assert done.code == 1
        assert why in done.log
        assert "goes on" not in done.log
    assert len(server.log) == asked


@pytest.mark.slow
def test_what_is_printed_cannot_go_on(tmp_path: Path) -> None:
    urls = tmp_path / "keys.txt"
    urls.write_text("http://127.0.0.1:9/\n")
    done = run_scrapy(
        *("template", "-i", str(urls)),
        folder=tmp_path,
        settings={"JOBDIR": str(tmp_path / "job")},
    )
    assert done.code == 2
    assert "-a template=FILE.jl" in done.log


@pytest.mark.slow
def test_a_file_in_the_place_of_an_address(tmp_path: Path) -> None:
    urls = tmp_path / "keys.csv"
    urls.write_text("url\nhttp://127.0.0.1:9/\n")
    done = run_scrapy("crawl", "template_candidates", f"-aurl={urls}", folder=tmp_path)
    assert done.code == 2
    assert "-a urls=FILE" in done.log


class Breaking:
    """A spider middleware and a pipeline of somebody's: they break on what BREAKS_ON says, once."""

    def __init__(self, crawler: Crawler) -> None:
        self.words = crawler.settings["BREAKS_ON"]

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_item(self, item: Any) -> Any:
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


@pytest.mark.parametrize("kind", ["CandidateSearch", "TemplateCandidate"])
@pytest.mark.parametrize("place", ["ITEM_PIPELINES", "SPIDER_MIDDLEWARES"])
def test_what_was_lost_is_searched_again(
    tmp_path: Path, serve: Callable[..., FixtureServer], kind: str, place: str
) -> None:
    server = serve("menu")
    urls = tmp_path / "keys.txt"
    pages = key_pages(server)
    urls.write_text("\n".join(pages))
    settings = {
        "JOBDIR": str(tmp_path / "job"),
        place: json.dumps({"tests.test_many.Breaking": 550}),
        "BREAKS_ON": f"{kind} {pages[1]}",
    }
    csv_feed = f"-O{tmp_path / 'out.csv'}"
    done = crawl_list(tmp_path, urls, csv_feed, settings=settings)
    assert done.code == 1
    found = {row["requested_url"] for row in rows(tmp_path / "summary.jl")}
    assert found == {*pages} - {pages[1]}, done.log
    done = crawl_list(tmp_path, urls, csv_feed, settings={**settings, "BREAKS_ON": ""})
    assert done.code == 0, done.log
    assert len(rows(tmp_path / "summary.jl")) == 4
    assert len(rows(tmp_path / "out.jl")) == 12
    with (tmp_path / "out.csv").open(newline="") as file:
        assert len([*csv.DictReader(file)]) == 12


def test_the_exit_status_is_that_of_the_whole_list(
    tmp_path: Path, serve: Callable[..., FixtureServer]
) -> None:
    server = serve("menu")
    urls = tmp_path / "keys.txt"
    urls.write_text(f"{key_pages(server)[0]}\nftp://x/\n")
    for _ in range(2):
        done = crawl_list(tmp_path, urls, settings={"JOBDIR": str(tmp_path / "job")})
        assert done.code == 1


@pytest.mark.slow
def test_a_pipe_without_a_line_can_be_interrupted(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    command = [
        *(sys.executable, "-m", "scrapy", "crawl", "template_candidates"),
        *(f"-aurls=/dev/fd/{reading}", f"-asummary={tmp_path / 's.jl'}"),
        *(f"-s{name}={value}" for name, value in SETTINGS.items()),
    ]
    with subprocess.Popen(
        command, cwd=PROJECT, stderr=subprocess.PIPE, text=True, pass_fds=[reading]
    ) as process:
        assert process.stderr
        for logged in process.stderr:
            if "Spider opened" in logged:
                break
        process.send_signal(signal.SIGINT)
        _, log = process.communicate(timeout=60)
    os.close(reading)
    os.close(writing)
    assert process.returncode == 1
    assert "Traceback" not in log


@pytest.mark.slow
def test_an_empty_stream_is_told_in_one_line(tmp_path: Path) -> None:
    done = crawl_list(tmp_path, "/dev/null")
    assert done.code == 1
    assert "urls='/dev/null': no address in it" in done.log
    assert "Traceback" not in done.log


class Refusing:
    """A spider middleware of somebody's that fails on every request."""

    async def process_spider_output(
        self, response: object, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        async for output in result:
            if isinstance(output, Request):
                raise TypeError("no requests")
            yield output


@pytest.mark.slow
def test_a_middleware_that_fails_on_every_request(
    tmp_path: Path, serve: Callable[..., FixtureServer]
) -> None:
    server = serve("menu")
    urls = tmp_path / "keys.txt"
    urls.write_text("\n".join(key_pages(server)[:2]))
    middlewares = json.dumps({"tests.test_many.Refusing": 550})
    done = crawl_list(tmp_path, urls, "-amax_loads=3", settings={"SPIDER_MIDDLEWARES": middlewares})
    found = rows(tmp_path / "summary.jl")
    assert len(found) == 2, done.log
    assert {link["reason"] for row in found for link in row["explored"]} == {"error"}
