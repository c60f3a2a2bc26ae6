"""Progress of a list: a bar on a terminal, lines in a log, and a table at the end."""

import re
from pathlib import Path

import pytest

from tests.support.crawls import SETTINGS, Crawl, Serve, run_scrapy
from tests.support.terminal import Shown, on_terminal

KEYS = ("/docs/guide/four.html", "/docs/guide/one.html", "/docs/guide/two.html", "/nowhere")
SLOWLY = {"DOWNLOAD_DELAY": "0.1", "LOG_LEVEL": "WARNING"}  # slow enough for some drawings
BAR = re.compile(r"\r([^\r\n]*\d in progress[^\r\n]*)")
TABLE = r"4 lines answered in 00:\d\d with \d+ loads\n +3  complete\n +1  unusable: http-404"


@pytest.fixture
def keys(serve: Serve, tmp_path: Path) -> Path:
    server, file = serve("menu"), tmp_path / "keys.txt"
    file.write_text("".join(f"{server.url}{path}\n" for path in KEYS), "utf-8")
    return file


def shown(keys: Path, *more: str, variables: dict[str, str] | None = None) -> Shown:
    options = [f"-s{name}={value}" for name, value in {**SETTINGS, **SLOWLY}.items()]
    command = ("-m", "scrapy", "crawl", "template_candidates", f"-aurls={keys}")
    return on_terminal(*command, *options, *more, variables=variables)


def logged(keys: Path, **settings: str) -> Crawl:
    given = {**SLOWLY, "LOG_LEVEL": "INFO", **settings}
    command = ("crawl", "template_candidates", f"-aurls={keys}")
    return run_scrapy(*command, folder=keys.parent, settings=given)


def test_a_bar_below_the_log(keys: Path) -> None:
    done = shown(keys, "-sLOG_LEVEL=INFO")
    assert any("/4 [" in bar for bar in BAR.findall(done.text))
    assert not any(" in progress" in line for line in done.screen)  # it is gone
    log = [line for line in done.screen if "[scrapy." in line]
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[scrapy\.", line) for line in log)
    assert "DEBUG" not in done.text
    assert re.search(TABLE, "\n".join(done.screen)), done.text


def test_lines_in_a_log(keys: Path) -> None:
    done = logged(keys, LOGSTATS_INTERVAL="0.3")
    lines = re.findall(r"INFO: (\d) of 4 lines answered, \d in progress, \d complete", done.log)
    assert lines
    assert lines == sorted(lines)
    assert re.search(f"INFO: {TABLE}", done.log)
    assert "\r" not in done.log
