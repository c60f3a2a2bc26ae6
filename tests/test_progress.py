"""How far the crawl of a list is: on a terminal, in a log, and at the end."""

from __future__ import annotations

import re
import signal
from collections import Counter
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from scrapy.extensions.feedexport import FTPFeedStorage

from tests.support.crawls import SETTINGS, run_scrapy
from tests.support.terminal import Shown, on_terminal, resize
from tplspider.old.crawl.batch.end_table import End, WrittenFeeds
from tplspider.old.crawl.batch.standing import Pace, Standing
from tplspider.old.crawl.tally import Tally
from tplspider.search.answer import counted

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.crawls import Crawl, FixtureServer

    Serve = Callable[..., FixtureServer]

KEYS = ("/docs/guide/four.html", "/docs/guide/one.html", "/docs/guide/two.html")
SLOWLY = {"DOWNLOAD_DELAY": "0.1", "LOG_LEVEL": "WARNING"}  # slow enough for some drawings
LOG_LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[")
# Two crawls of lists, one of another spider, and one that fails at its start.
TWO_AND_ANOTHER = """
import logging, sys
from scrapy import Spider
from scrapy.crawler import CrawlerProcess
from scrapy.utils.project import get_project_settings

class Another(Spider):
    name = "another"
    start_urls = ["data:,another"]
    def parse(self, response):
        self.logger.warning("Another was here")

class Failing(Another):
    name = "failing"
    def __init__(self):
        raise ValueError("it fails")

settings = get_project_settings()
settings.update(dict(pair.split("=", 1) for pair in sys.argv[3:]), priority="cmdline")
process = CrawlerProcess(settings)
for spider, arguments in (
    ("template_candidates", {"urls": sys.argv[1]}),
    (Another, {}),
    ("template_candidates", {"urls": sys.argv[2]}),
    (Failing, {}),
):
    process.crawl(spider, **arguments)
process.start()
print([handler.stream is sys.stderr for handler in logging.root.handlers])
"""


@pytest.fixture
def site(serve: Serve) -> FixtureServer:
    return serve("menu")


def keys(folder: Path, *addresses: str, name: str = "keys.txt") -> Path:
    file = folder / name
    file.write_text("".join(f"{address}\n" for address in addresses), "utf-8")
    return file


def options(settings: dict[str, str]) -> list[str]:
    return [f"-s{name}={value}" for name, value in {**SETTINGS, **settings}.items()]


def crawl_shown(
    list_: Path,
    settings: dict[str, str],
    *more: str,
    columns: int = 120,
    variables: dict[str, str] | None = None,
    follow: Callable[[str, subprocess.Popen[bytes], int], object] | None = None,
) -> Shown:
    return on_terminal(
        *("-m", "scrapy", "crawl", "template_candidates", f"-aurls={list_}", *more),
        *options(settings),
        columns=columns,
        variables=variables,
        follow=follow,
    )


def crawl_logged(list_: Path, settings: dict[str, str], *more: str) -> Crawl:
    name = "template_candidates"
    return run_scrapy(
        "crawl", name, f"-aurls={list_}", *more, folder=list_.parent, settings=settings
    )


def rows(text: str) -> str:
    """The table at the end, without times and numbers of loads."""
    found = re.search(
        r"^.*\d+ lines? answered in.*\n(?:  .*\n)*(?:[^\d\s].*\n)?", text, re.MULTILINE
    )
    assert found, text
    return re.sub(r"in [\d:]+, with \d+ load", "in TIME, with LOADS load", found[0])


def test_bar_warnings_and_table_on_a_terminal(site: FixtureServer, tmp_path: Path) -> None:
    addresses = [f"{site.url}{path}" for path in (*KEYS, "/nowhere", KEYS[0])]
    list_ = keys(tmp_path, *addresses, "http://[bad")
    out, summary = tmp_path / "out.jl", tmp_path / "summary.jl"
    shown = crawl_shown(list_, SLOWLY, f"-O{out}", f"-asummary={summary}", columns=180)
    assert shown.code == 1  # of the line that is out of form
    at = next(i for i, line in enumerate(shown.screen) if "answered in" in line)
    assert re.fullmatch(r"6 lines answered in \d+:\d\d, with \d+ loads", shown.screen[at])
    assert shown.screen[at + 1 :] == [
        "  4  complete",
        "  1  unusable: http-404",
        "  1  bad line",
        f"  candidates: {out}",
        f"  summaries: {summary}",
        "",
    ]
    above = [line for line in shown.screen[:at] if line]
    assert all(LOG_LINE.match(line) and "WARNING: " in line for line in above)
    assert any("Line 6 (bad-input)" in line for line in above)
    assert "6 |" in shown.bars[-1]
    assert re.search(r"/6 \|.+\| [12] in work, \d complete, .*pages/s, \d+:\d\d left", shown.text)


def test_a_noisy_log_and_the_bar_do_not_break_each_other(
    site: FixtureServer, tmp_path: Path
) -> None:
    list_ = keys(tmp_path, *(f"{site.url}{path}" for path in KEYS))
    shown = crawl_shown(list_, {**SLOWLY, "LOG_LEVEL": "DEBUG", "LOG_SHORT_NAMES": "1"})
    assert shown.code == 0
    log = [line for line in shown.screen if LOG_LINE.match(line)]
    assert len([line for line in log if ": Complete: 3 pages" in line]) == len(KEYS)
    assert len([line for line in log if "DEBUG: Crawled (200)" in line]) > len(KEYS)
    assert "[scrapy] INFO: Spider closed (finished)" in "\n".join(log)  # by the handler's filter
    assert len([line for line in shown.text.split("\n") if LOG_LINE.search(line)]) == len(log)
    assert not [line for line in shown.screen if "in work" in line]
    assert 2 <= len(shown.bars) <= 4 * shown.seconds + 1


def test_nothing_but_the_table_on_a_dumb_terminal(site: FixtureServer, tmp_path: Path) -> None:
    list_ = keys(tmp_path, f"{site.url}{KEYS[0]}")
    settings = {**SLOWLY, "LOG_LEVEL": "ERROR"}  # but for a warning that nothing is kept
    shown = crawl_shown(list_, settings, variables={"TERM": "dumb"})
    assert rows(shown.text) == "1 line answered in TIME, with LOADS loads\n  1  complete\n"
    assert shown.text.startswith("1 line answered")
    assert not shown.bars
    assert "\r" not in shown.text


def test_a_log_file_has_what_the_terminal_has(site: FixtureServer, tmp_path: Path) -> None:
    log = tmp_path / "log"
    list_ = keys(tmp_path, *(f"{site.url}{path}" for path in KEYS))
    settings = {**SLOWLY, "LOG_LEVEL": "INFO", "LOG_FILE": str(log), "LOGSTATS_INTERVAL": "0.3"}
    shown = crawl_shown(list_, settings)
    assert [line for line in shown.screen if LOG_LINE.match(line)] == []
    assert shown.bars
    logged = log.read_text("utf-8")
    assert (
        rows(shown.screen[0] + "\n" + "\n".join(shown.screen[1:]))
        in rows(logged).partition("INFO: ")[2]
    )
    assert re.search(r"INFO: [0-3] of 3 done, [012] in work, ", logged)


def test_rows_on_the_same_terminal_leave_no_room_for_a_bar(
    site: FixtureServer, tmp_path: Path
) -> None:
    list_ = keys(tmp_path, f"{site.url}{KEYS[0]}", f"{site.url}{KEYS[1]}")
    shown = crawl_shown(list_, SLOWLY, "-asummary=-:jl")
    assert not shown.bars
    assert len([line for line in shown.screen if line.startswith('{"key_url"')]) == 2
    assert "  summaries: standard output" in shown.screen


def test_a_terminal_that_is_resized_and_a_crawl_that_goes_on_after_ctrl_c(
    site: FixtureServer, tmp_path: Path
) -> None:
    list_ = keys(tmp_path, *(f"{site.url}{KEYS[0]}?{number}" for number in range(12)))
    steps: list[int] = []

    def follow(text: str, process: subprocess.Popen[bytes], terminal: int) -> None:
        if not steps and "/12 |" in text:
            steps.append(len(text))
            resize(terminal, 30)
        elif len(steps) == 1 and re.search(r"[1-9]/12, [^|\r\n]+\r", text[steps[0] :]):
            steps.append(len(text))
            process.send_signal(signal.SIGINT)

    settings = {**SLOWLY, "JOBDIR": str(tmp_path / "job")}
    shown = crawl_shown(list_, settings, columns=100, follow=follow)
    assert len(steps) == 2
    assert shown.code == 1
    after = shown.since(steps[0]).screen  # what was there before is cut off by the margin
    assert not [line for line in after if "complete," in line or " left" in line]
    answered, left = (
        re.search(pattern, "\n".join(after))
        for pattern in (
            r"(?:^|\n)(\d+) lines? answered",
            r"\n(\d+) lines? (?:is|are) not answered: the same command goes on",
        )
    )
    assert answered
    assert left
    assert int(answered[1]) + int(left[1]) == 12
    again = crawl_logged(list_, {**settings, "DOWNLOAD_DELAY": "0", "LOG_LEVEL": "INFO"})
    assert f"INFO: {counted(int(left[1]), 'line')} answered in " in again.log
    assert re.search(rf"^ +{answered[1]}  answered before$", again.log, re.MULTILINE)
    assert "not answered" not in again.log


def test_crawls_in_one_process(site: FixtureServer, tmp_path: Path) -> None:
    lists = [
        keys(tmp_path, *(f"{site.url}{path}?{name}" for path in KEYS), name=name)
        for name in ("one", "two")
    ]
    settings = {**SETTINGS, **SLOWLY}
    pairs = [f"{name}={value}" for name, value in settings.items()]
    shown = on_terminal("-c", TWO_AND_ANOTHER, *map(str, lists), *pairs)
    assert len([line for line in shown.screen if line.startswith("3 lines answered")]) == 2
    assert len([line for line in shown.screen if "WARNING: Another was here" in line]) == 1
    assert "ValueError: it fails" in shown.screen
    assert "[True]" in shown.screen
    assert shown.bars
    assert not [line for line in shown.screen if "in work" in line]


def test_a_line_now_and_then_in_a_log(site: FixtureServer, tmp_path: Path) -> None:
    list_ = keys(tmp_path, *(f"{site.url}{path}" for path in KEYS))
    name = str(tmp_path / "batch-%(batch_id)d.jl")
    settings = {
        **SLOWLY,
        "LOG_LEVEL": "INFO",
        "LOGSTATS_INTERVAL": "0.3",
        "FEED_EXPORT_BATCH_ITEM_COUNT": "4",
    }
    done = crawl_logged(list_, settings, f"-o{name}")
    assert done.code == 0
    lines = re.findall(
        r"INFO: (\d) of 3 done, (\d) in work, \d complete, 0 partial, 0 failed, \d+ pages a minute",
        done.log,
    )
    assert lines
    assert [int(number) for number, _ in lines] == sorted(int(number) for number, _ in lines)
    assert "\r" not in done.log
    table = rows(done.log)
    assert "INFO: 3 lines answered in" in table
    first = tmp_path / "batch-1.jl"
    assert f"  candidates: {first} and 2 more files\n" in table


@pytest.mark.parametrize("settings", [{"LOG_LEVEL": "ERROR"}, {"LOGSTATS_INTERVAL": "0"}])
def test_silence_where_nobody_looks(
    site: FixtureServer, tmp_path: Path, settings: dict[str, str]
) -> None:
    list_ = keys(tmp_path, f"{site.url}{KEYS[0]}")
    done = crawl_logged(list_, settings)
    assert done.code == 0
    assert " in work" not in done.log
    assert (done.log == "") == ("LOG_LEVEL" in settings)


def test_one_key_page_is_as_it_was(site: FixtureServer) -> None:
    address = f"-aurl={site.url}{KEYS[0]}"
    shown = on_terminal("-m", "scrapy", "crawl", "template_candidates", address, *options(SLOWLY))
    assert shown.text == ""


FIGURES = Standing(12, 36, 4, 9, 2, 1, 8.34, 75)


def test_the_words_of_a_standing() -> None:
    assert FIGURES.line() == (
        "12 of 36 done, 4 in work, 9 complete, 2 partial, 1 failed, 500 pages a minute, 1:15 left"
    )
    assert FIGURES.bar(120) == (
        "12/36 |{bar:30}| 4 in work, 9 complete, 2 partial, 1 failed, 8.3 pages/s, 1:15 left"
    )
    assert FIGURES.bar(80) == (
        "12/36 |{bar:17}| 4 in work, 9 complete, 2 partial, 1 failed, 1:15 left"
    )
    assert FIGURES.bar(30) == "12/36, 9 complete, 1:15 left"
    unknown = Standing(1, None, 1, 1, 0, 0, 12.0, None)
    assert unknown.line() == (
        "1 done, 1 in work, 1 complete, 0 partial, 0 failed, 720 pages a minute"
    )
    assert unknown.bar(80) == "1 done, 1 in work, 1 complete, 12 pages/s"


@pytest.mark.parametrize("figures", [FIGURES, Standing(10**6, None, 16, 10**6, 10, 7, 99, None)])
def test_a_bar_fits(figures: Standing) -> None:
    for columns in range(200):
        text = figures.bar(columns)
        drawn = re.sub(r"\{bar:(\d+)\}", lambda found: "#" * int(found[1]), text)
        assert len(drawn) <= max(columns - 1, 0), columns
        if columns >= 60:
            assert ("{bar" in text) == (figures.total is not None), columns


def test_a_pace() -> None:
    now = 0.0
    pace = Pace(100, lambda: now)  # 100 were done before
    assert pace.pages_a_second(0, 10) == 0
    assert pace.seconds_left(100, 200) is None
    for second in range(1, 31):
        now = float(second)
        pace.note(100 + second, 5 * second if second <= 15 else 75 + (second - 15))
    assert pace.seconds_left(130, 200) == pytest.approx(70)
    assert pace.seconds_left(130, None) is None
    assert pace.pages_a_second(90, 10) == pytest.approx(1)  # of late
    assert pace.elapsed == 30
    now = 10_000
    pace.note(130, 90)
    pace.note(130, 90)
    assert pace.seconds_left(130, 200) is None  # nothing has come for a long time


def test_the_words_of_a_table() -> None:
    tally = Tally(answered=1, complete=1, loads=1)
    end = End(tally, 3723.4, 0, 2, way_on="", places=[("summaries", "/s.jl")])
    assert end.table() == (
        "1 line answered in 1:02:03, with 1 load\n"
        "  1  complete\n  summaries: /s.jl\n1 line is not answered"
    )
    end = End(tally, 1, 7, 9, way_on="go on", places=[])
    assert end.table().endswith("  7  answered before\n1 line is not answered: go on")
    end = End(tally, 1, 7, 20, way_on="go on", places=[])
    assert end.table().endswith("12 lines are not answered: go on")
    end = End(tally, 1, 0, None, way_on="", places=[])
    assert end.table().endswith("It was ended before the end of the list")
    unusable = Counter({"dns": 1, "bad-input": 2, "http-404": 10})
    tally = Tally(answered=13, unusable=unusable, lost=1, is_finished=True)
    assert End(tally, 1, 0, 13, way_on="go on", places=[]).table().splitlines()[1:] == [
        "  10  unusable: http-404",
        "   1  unusable: dns",
        "   2  bad lines",
        "   1  output or item lost: the log says which",
    ]


def test_no_password_in_the_table() -> None:
    uri = "ftp://user:secret@example.org/out.jl"
    slot = SimpleNamespace(
        storage=FTPFeedStorage(uri), uri=uri, uri_template=uri, feed_options={}, file=None
    )
    feeds = WrittenFeeds()
    feeds.add(slot)
    assert [*feeds.rows()] == [("items", "ftp://example.org/out.jl")]
