import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.crawls import PROJECT, SETTINGS, Crawl, Serve, run_scrapy


@dataclass
class Shown:
    code: int
    text: str

    @property
    def lines(self) -> list[str]:
        """What was written, each drawing of the bar a line."""
        return re.split(r"\s*[\r\n]+", self.text)


def on_terminal(*arguments: str, variables: dict[str, str] | None = None) -> Shown:
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
    env = {**os.environ, "TERM": "xterm", "PYTHONIOENCODING": "utf-8", **(variables or {})}
    files: Any = {"stdin": subprocess.DEVNULL, "stdout": theirs, "stderr": theirs}
    process = subprocess.Popen([sys.executable, *arguments], cwd=PROJECT, env=env, **files)
    os.close(theirs)
    written = b""
    with suppress(OSError):  # when nobody has the other end any more
        while data := os.read(ours, 65536):
            written += data
    os.close(ours)
    return Shown(process.wait(), written.decode("utf-8").replace("\r\n", "\n"))


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


@pytest.mark.quick
def test_a_bar_below_the_log(keys: Path) -> None:
    done = shown(keys, "-sLOG_LEVEL=INFO")
    assert any("/4 [" in bar for bar in BAR.findall(done.text))
    log = [line for line in done.lines if "[scrapy." in line]
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[scrapy\.", line) for line in log)
    assert "DEBUG" not in done.text
    assert re.search(TABLE, done.text), done.text
    assert " in progress" not in done.text.rpartition("unusable: http-404")[2]  # it is gone


@pytest.mark.quick
def test_lines_in_a_log(keys: Path) -> None:
    done = logged(keys, LOGSTATS_INTERVAL="0.3")
    lines = re.findall(r"INFO: (\d) of 4 lines answered, \d in progress, \d complete", done.log)
    assert lines
    assert lines == sorted(lines)
    assert re.search(f"INFO: {TABLE}", done.log)
    assert "\r" not in done.log
