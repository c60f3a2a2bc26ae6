"""What the Spark jobs cost: ``python -m benchmarks.spark_jobs DIR --pages 1000,20000``.

It needs the extra ``spark``, Java, and an empty folder. Sites are made up; with ``--giant`` one of
them has as many pages as all others together, or more. Figures are from Spark's own event log.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from tests.support.made_up_sites import MadeUpSource, made_up_site
from tests.support.warc_files import SiteRecords, packed, response

PROJECT = Path(__file__).parent.parent
FILES = 8  # WARC files
_TICKS = os.sysconf("SC_CLK_TCK")
PER_SITE = 25  # pages of a made-up site, at most: so many sites are all there
LINKS = 20  # to other articles, on each page of the giant site


def small_sites(pages: int) -> list[bytes]:
    """The records of as many made-up sites as have so many pages."""
    found: list[bytes] = []
    number = count = 0
    while count < pages:
        found += list(SiteRecords(MadeUpSource(), [f"http://site-{number}.test:80/"]))[1:]
        count += len(made_up_site(number).pages)
        number += 1
    return found


def giant_site(pages: int) -> list[bytes]:
    """The records of one site with so many pages, all with one menu."""
    menu = "".join(f"<li><a href='/part-{n}/'>Part {n}</a></li>" for n in range(8))
    paths = [f"/part-{n}/" for n in range(8)] + [f"/a/{n}.html" for n in range(pages - 8)]
    found = []
    for path in paths:
        random = Random(path)
        body = [f"<p>{path} {random.random()} {'word ' * random.randint(50, 400)}</p>"]
        body += [f"<p><a href='{to}'>{to}</a></p>" for to in random.sample(paths, LINKS)]
        html = f"<html><title>{path}</title><ul>{menu}</ul><div>{''.join(body)}</div></html>"
        found.append(response(f"http://giant.test{path}", html))
    return found


def make(folder: Path, pages: int, giant: int) -> Path:
    """Write WARC files with pages of all sites in each, and give their manifest."""
    folder.mkdir(parents=True)
    records = small_sites(pages) + (giant_site(giant) if giant else [])
    Random(3).shuffle(records)
    names = []
    for number in range(FILES):
        path = folder / f"part-{number}.warc.gz"
        path.write_bytes(packed(records[number::FILES]))
        names.append(str(path))
    manifest = folder / "manifest.txt"
    manifest.write_text("\n".join(names) + "\n")
    keys = [f"http://site-{number}.test:80/" for number in range(pages // PER_SITE)]
    keys += [f"http://giant.test/a/{number}.html" for number in range(0, giant - 8, 100)]
    (folder / "keys.txt").write_text("\n".join(keys) + "\n")
    return manifest


class Watch(threading.Thread):
    """Looks now and then how much memory and time Java and Python's workers take."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peaks: dict[str, int] = defaultdict(int)  # MB
        self._seconds: dict[str, dict[str, float]] = defaultdict(dict)  # by process
        self.is_over = False

    def run(self) -> None:
        while not self.is_over:
            for each in Path("/proc").glob("[0-9]*"):
                try:
                    command = (each / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    status = (each / "status").read_text()
                    stat = (each / "stat").read_text()
                except (OSError, UnicodeDecodeError):
                    continue
                kind = ""
                if "pyspark.daemon" in command or "pyspark/daemon.py" in command:
                    kind = "worker"
                elif "org.apache.spark.deploy.SparkSubmit" in command:
                    kind = "JVM"
                if kind and "VmHWM:" in status:
                    size = int(status.split("VmHWM:")[1].split()[0]) // 1024
                    self.peaks[kind] = max(self.peaks[kind], size)
                    ticks = stat.rpartition(")")[2].split()[11:13]
                    self._seconds[kind][each.name] = sum(map(int, ticks)) / _TICKS
            time.sleep(0.2)

    @property
    def seconds(self) -> dict[str, float]:
        """The processor time of each kind."""
        return {kind: round(sum(each.values()), 1) for kind, each in self._seconds.items()}


def run(job: str, master: str, log: Path, *words: str) -> tuple[float, Watch]:
    """Run a job, and give its seconds and what it took."""
    log.mkdir(parents=True)
    settings = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.dir": log.as_uri(),
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
    }
    command = ["spark-submit", "--master", master, "--driver-memory", "1g"]
    command += [word for pair in settings.items() for word in ("--conf", "=".join(pair))]
    watch = Watch()
    watch.start()
    start = time.monotonic()
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), "SPARK_LOCAL_IP": "127.0.0.1"}
    path = str(PROJECT / "tplspider" / "plugins" / "spark" / f"{job}.py")
    done = subprocess.run(  # noqa: S603 - ourselves
        [*command, path, *words], env=environment, capture_output=True, text=True, check=False
    )
    watch.is_over = True
    for line in done.stderr.splitlines():
        if line.startswith("tplspider:"):
            print("   ", line)
    if done.returncode:
        sys.exit(done.stderr[-3000:])
    return time.monotonic() - start, watch


def figures(log: Path) -> tuple[int, float, list[str]]:
    """Shuffled bytes, seconds of all tasks, and how even the tasks of long stages are.

    Also by the time in our own code alone: the first tasks of a core wait for Python to start, and
    for Java to get warm.
    """
    tasks: dict[int, list[float]] = defaultdict(list)
    ours: dict[int, list[float]] = defaultdict(list)
    shuffled = 0
    for file in log.iterdir():
        for line in file.read_text().splitlines():
            event: dict[str, Any] = json.loads(line)
            if event["Event"] == "SparkListenerTaskEnd" and event.get("Task Metrics"):
                metrics = event["Task Metrics"]
                tasks[event["Stage ID"]].append(metrics["Executor Run Time"] / 1000)
                shuffled += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
                for each in event["Task Info"]["Accumulables"]:
                    if each["Name"] == "time to execute Python code":
                        ours[event["Stage ID"]].append(int(each["Update"]) / 1000)
    told = []
    for stage, times in sorted(tasks.items()):
        if sum(times) > 5 and len(times) > 3:
            told.append(f"stage {stage}: {len(times)} tasks, {_evenness(times)}")
            if sum(ours[stage]) > 1:
                told.append(f"    in our code {_evenness(ours[stage])}")
    return shuffled, sum(map(sum, tasks.values())), told


def _evenness(times: list[float]) -> str:
    middle, longest = median(times), max(times)
    return (
        f"{sum(times):.0f} s, median {middle:.2f}, longest {longest:.2f}: x{longest / middle:.2f}"
    )


def main() -> None:
    """Run the jobs, and print what they cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", default="1000,20000")
    parser.add_argument("--giant", type=int, default=0)
    parser.add_argument("--master", default="local[2,4]")
    parser.add_argument("--jobs", default="search_job,strip_job")
    given = parser.parse_args()
    for pages in map(int, given.pages.split(",")):
        folder = given.folder / f"{pages}-{given.giant}"
        manifest = folder / "manifest.txt"
        if not manifest.exists():
            make(folder, pages, given.giant)
        for job in given.jobs.split(","):
            stamp = f"{job}-{int(time.time())}"
            options = ["--keys", str(folder / "keys.txt"), "--texts"]
            seconds, watch = run(
                job,
                given.master,
                folder / f"log-{stamp}",
                *(options if job == "search_job" else []),
                str(manifest),
                str(folder / stamp),
            )
            shuffled, busy, told = figures(folder / f"log-{stamp}")
            print(f"{job}, {pages} + {given.giant} pages: {seconds:.0f} s, {busy:.0f} s of tasks,")
            print(f"    {shuffled} bytes shuffled, at most {dict(watch.peaks)} MB,")
            print(f"    processor: {watch.seconds}")
            for line in told:
                print(f"    {line}", flush=True)


if __name__ == "__main__":
    main()
