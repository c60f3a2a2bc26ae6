"""Crawls of many key pages in processes of their own, and what the system says they cost."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL
from typing import TYPE_CHECKING

from benchmarks import plain_spider

if TYPE_CHECKING:
    from collections.abc import Mapping

PROJECT = Path(__file__).parent.parent

# No waiting, no name leaves the machine, and names that are made up may be on loopback.
SETTINGS = {
    "DOWNLOAD_DELAY": "0",
    "HTTPPROXY_ENABLED": "False",
    "LOG_LEVEL": "WARNING",
    "TWISTED_DNS_RESOLVER": "benchmarks.loopback_names.LoopbackNames",
}
_OURS = {"TPLSPIDER_ALLOW_PRIVATE": "True"}
# As the project has them, for a spider that is not of the project.
_PLAIN = {
    "CONCURRENT_ITEMS": "1",
    "CONCURRENT_REQUESTS_PER_DOMAIN": "1",
    "DOWNLOAD_TIMEOUT": "30",
    "HTTPERROR_ALLOW_ALL": "True",
    "RETRY_TIMES": "1",
    "ROBOTSTXT_OBEY": "True",
    "TELNETCONSOLE_ENABLED": "False",
}
FEEDS = ("summary.jl", "candidates.jl")


@dataclass(frozen=True)
class Run:
    """A process that has ended: *started* is a time of ``time.monotonic``."""

    code: int
    started: float
    seconds: float
    cpu_seconds: float
    megabytes: float  # at its largest


def batch_command(keys: Path, folder: Path, settings: Mapping[str, object]) -> list[str]:
    """One crawl of all key pages of a list, with its feeds in a folder."""
    return [*_crawl(folder, settings), f"-aurls={keys}"]


def single_command(row: Mapping[str, object], folder: Path) -> list[str]:
    """A crawl of one key page, as a shell loop has them."""
    given = [
        f"-a{name.removeprefix('tpl_')}={value}" for name, value in row.items() if name != "id"
    ]
    return [*_crawl(folder, {}), *given]


def plain_command(searches: Path, places: int) -> list[str]:
    """A crawl that loads the same pages and does nothing with them."""
    settings = {**SETTINGS, **_PLAIN, "CONCURRENT_REQUESTS": places}
    return [
        *(sys.executable, "-m", "scrapy", "runspider", str(plain_spider.__file__)),
        *(f"-asearches={searches}", f"-aplaces={places}"),
        *(f"-s{name}={value}" for name, value in settings.items()),
    ]


def _crawl(folder: Path, settings: Mapping[str, object]) -> list[str]:
    every = {**SETTINGS, **_OURS, **settings}
    return [
        *(sys.executable, "-m", "scrapy", "crawl", "template_candidates"),
        *(f"-asummary={folder / FEEDS[0]}", f"-o{folder / FEEDS[1]}"),
        *(f"-s{name}={value}" for name, value in every.items()),
    ]


def run(
    command: list[str], folder: Path, *, cwd: Path = PROJECT, kill_after: float | None = None
) -> Run:
    """Run a command to its end, or kill it after so many seconds; its log goes into the folder."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(PROJECT),
        # Scrapy's cookies ask for a list on the internet; a closed port refuses.
        "https_proxy": "http://127.0.0.1:9",
    }
    peak, pid = 0, 0
    started = time.monotonic()
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 - our own command
            command, cwd=cwd, env=environment, stderr=log
        )
        while not pid:
            time.sleep(0.05)
            peak = max(peak, _peak(process.pid))
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if not pid and kill_after is not None and time.monotonic() > started + kill_after:
                os.kill(process.pid, SIGKILL)
                kill_after = None
    seconds = time.monotonic() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    cpu = usage.ru_utime + usage.ru_stime
    return Run(process.returncode, started, seconds, cpu, peak / 1024)


def run_to_the_end(command: list[str], folder: Path, *, cwd: Path = PROJECT) -> Run:
    """Run a command that is not to fail."""
    done = run(command, folder, cwd=cwd)
    if done.code:
        log = (folder / "log").read_text("utf-8", "replace")
        raise SystemExit(f"{log[-3000:]}\nexit status {done.code} of: {' '.join(command)}")
    return done


def _peak(pid: int) -> int:
    """Peak kilobytes of a process: wait4 would include its parent's."""
    status = Path(f"/proc/{pid}/status").read_text("utf-8")
    # It is not there at the very end.
    return int(status.partition("VmHWM:")[2].split()[0]) if "VmHWM:" in status else 0
