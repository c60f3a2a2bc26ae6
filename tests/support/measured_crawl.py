"""Crawls whose memory is watched."""

import subprocess
import sys
import time
from pathlib import Path

from tests.support.crawls import PROJECT, SETTINGS, Crawl

SECONDS = 120  # no more than this for all of it


def run_measured(
    url: str, folder: Path, settings: dict[str, str], **more: object
) -> tuple[Crawl, float]:
    """Crawl, with these and *more* arguments, and tell how many megabytes the process had at most.

    That is VmHWM, read while it runs: the figure of wait4 includes the process that started it.
    """
    arguments = {"url": url, "n": 3, "max_loads": 0, "summary": folder / "summary.json", **more}
    given = [f"-a{name}={value}" for name, value in arguments.items()]
    options = [f"-s{name}={value}" for name, value in {**SETTINGS, **settings}.items()]
    command = ["crawl", "template_candidates", *given, f"-O{folder / 'out.json'}", *options]
    log = folder / "log"
    peak = 0
    with (
        log.open("wb") as stderr,
        subprocess.Popen(
            [sys.executable, "-m", "scrapy", *command], cwd=PROJECT, stderr=stderr
        ) as child,
    ):
        end = time.monotonic() + SECONDS
        while child.poll() is None and time.monotonic() < end:
            status = Path(f"/proc/{child.pid}/status").read_text("utf-8")
            if "VmHWM:" in status:  # not at its very end
                peak = int(status.partition("VmHWM:")[2].split()[0])
            time.sleep(0.05)
        child.kill()
    return Crawl(child.returncode, "", log.read_text("utf-8", "replace"), folder), peak / 1024
