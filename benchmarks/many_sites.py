"""Many key pages over many sites in one crawl: is each answer right, and what does it cost?

    python -m benchmarks.many_sites [--keys 1000] [--sites 200] [--singles 50]
        [--memory 100,1000,10000] [--kill 20] [--slow]

The sites are made up and served on 127.0.0.1. Each summary is compared with that of a search in
memory, and some with single crawls; the cost with that of single crawls and of a plain spider.
It prints ratios, and exits with 1 for an answer that is wrong, never for one that is late.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from random import Random
from signal import SIGKILL
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchmarks.batch_answers import by_itself, in_memory, lines_of, read_rows, show_difference
from benchmarks.batch_crawls import (
    FEEDS,
    Run,
    batch_command,
    plain_command,
    run,
    run_to_the_end,
    single_command,
)
from tests.support.many_sites import ManySites

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.batch_answers import Row

CSV = "candidates.csv"


class Benchmark:
    """The server, a folder, and what the command line says."""

    def __init__(self, options: argparse.Namespace, server: ManySites, folder: Path) -> None:
        self.options = options
        self.server = server
        self.folder = folder
        self.random = Random(options.seed)
        self.holds = True

    def batch(
        self, name: str, rows: Iterable[Row], *, csv: bool = False, **settings: object
    ) -> tuple[Run, Path]:
        """Crawl key pages in one process; what it cost, and the folder with its feeds."""
        folder, command = self.prepare(name, rows, csv=csv, **settings)
        return run_to_the_end(command, folder), folder

    def prepare(
        self, name: str, rows: Iterable[Row], *, csv: bool = False, **settings: object
    ) -> tuple[Path, list[str]]:
        """A folder with a list in it, and the command that crawls it."""
        folder = self.folder / name
        folder.mkdir()
        keys = folder / "keys.jl"
        keys.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
        every = {"TPLSPIDER_SEARCHES": self.options.searches, **settings}
        command = batch_command(keys, folder, every)
        return folder, [*command, f"-o{folder / CSV}"] if csv else command

    def check(self, what: str, *, holds: bool) -> None:
        """Print what was checked."""
        print(f"  {'right' if holds else 'WRONG'}: {what}", flush=True)
        self.holds &= holds

    def answers(self) -> tuple[Run, Path, list[Row]]:
        """All key pages once, each answer compared with that of a search in memory."""
        options = self.options
        rows = self.server.key_pages(options.keys, options.sites, options.seed)
        done, folder = self.batch("batch", rows)
        summaries = read_rows(folder / FEEDS[0])
        loads = sum(row["loads"] for row in summaries)
        outcomes = Counter("complete" if row["complete"] else row["reason"] for row in summaries)
        print(f"{len(rows)} key pages over {options.sites} sites in one crawl: {loads} loads,")
        print(f"  {done.seconds:.1f} s, {done.cpu_seconds:.1f} s of CPU, {done.megabytes:.0f} MB;")
        print(f"  {', '.join(f'{count} {name}' for name, count in outcomes.most_common())}")
        by_id = {row["input"]["id"]: row for row in summaries}
        exact = len(summaries) == len(rows) == len(by_id)
        self.check(f"{len(summaries)} summaries, {len(by_id)} of them different", holds=exact)
        wrong = [row for row in rows if by_itself(by_id.get(row["id"], {})) != in_memory(row)]
        for row in wrong[:3]:
            show_difference(by_id.get(row["id"], {}), in_memory(row))
        equal = f"{len(rows) - len(wrong)} of {len(rows)} are those of searches in memory"
        self.check(equal, holds=not wrong)
        return done, folder, rows

    def singles(self, batch: Run, feeds: Path, rows: list[Row]) -> None:
        """Some key pages in crawls of their own, one after the other, as a shell loop has them."""
        by_id = {row["input"]["id"]: row for row in read_rows(feeds / FEEDS[0])}
        chosen = self.random.sample(rows, min(self.options.singles, len(rows)))
        seconds, equal = 0.0, 0
        for row in chosen:
            folder = self.folder / f"single-{row['id']}"
            folder.mkdir()
            seconds += run_to_the_end(single_command(row, folder), folder).seconds
            (summary,) = read_rows(folder / FEEDS[0])
            equal += by_itself(summary) == by_itself(by_id[row["id"]])
        self.check(f"{equal} of {len(chosen)} are those of crawls", holds=equal == len(chosen))
        loop = seconds / len(chosen) * len(rows)
        print(
            f"  a shell loop takes {seconds / len(chosen):.2f} s a key page: the batch is", end=""
        )
        print(f" {loop / batch.seconds:.1f} times as fast", flush=True)

    def plain(self, batch: Run, feeds: Path) -> None:
        """A spider that loads the same addresses, and parses them, and that is all."""
        folder = self.folder / "plain"
        folder.mkdir()
        searches = folder / "searches.jl"
        with searches.open("w", encoding="utf-8") as file:
            for row in read_rows(feeds / FEEDS[0]):
                links = [link["link"] for link in row["explored"]]
                print(json.dumps([row["requested_url"], *links]), file=file)
        command = plain_command(searches, self.options.searches)
        done = run_to_the_end(command, folder, cwd=folder)
        print(f"  a plain spider: {done.seconds:.1f} s, {done.cpu_seconds:.1f} s of CPU,", end="")
        print(
            f" {done.megabytes:.0f} MB; batch / plain: {batch.seconds / done.seconds:.2f} of",
            end="",
        )
        print(f" time, {batch.cpu_seconds / done.cpu_seconds:.2f} of CPU", flush=True)

    def memory(self) -> None:
        """The largest size of the process, for more and more sites."""
        peaks = []
        for sites in map(int, self.options.memory.split(",")):
            rows = self.server.key_pages(sites, sites, self.options.seed)
            done, _ = self.batch(f"memory-{sites}", rows)
            peaks.append((sites, done.megabytes))
            print(f"  {sites} sites: {done.megabytes:.1f} MB at most, {done.seconds:.1f} s", end="")
            if len(peaks) > 1:
                (few, before), (many, after) = peaks[-2:]
                each = (after - before) * 1024 * 1024 / (many - few)
                print(f"; {each:+.0f} bytes a site, {after / peaks[0][1]:.3f} of the first", end="")
            print(flush=True)

    def kills(self, batch: Run, rows: list[Row]) -> None:
        """The same list with a JOBDIR, once undisturbed, then killed until it was often enough."""
        whole, feeds = self.batch("undisturbed", rows, csv=True, JOBDIR=self.folder / "job")
        print(f"  with a JOBDIR {whole.seconds / batch.seconds:.2f} of the time,", end="")
        print(
            f" {whole.cpu_seconds / batch.cpu_seconds:.2f} of the CPU (with CSV, too)", flush=True
        )
        killed = turn = 0
        while killed < self.options.kill:
            turn += 1
            job = self.folder / f"job-{turn}"
            folder, command = self.prepare(f"killed-{turn}", rows, csv=True, JOBDIR=job)
            times = self.kill_and_go_on(command, folder, whole.seconds, self.options.kill - killed)
            killed += times
            for name in (*FEEDS, CSV):
                expected, found = lines_of(feeds / name), lines_of(folder / name)
                lost, more = expected - found, found - expected
                what = (
                    f"{found.total()} lines in {name}, {lost.total()} lost, {more.total()} too many"
                )
                self.check(f"killed {times} times: {what}", holds=not lost and not more)

    def kill_and_go_on(self, command: list[str], folder: Path, seconds: float, times: int) -> int:
        """Kill a crawl at moments by chance, at most so many times, until it is through."""
        longest = min(seconds, 1.5) + 1.6 * seconds / times
        for killed in range(times):
            code = run(command, folder, kill_after=self.random.uniform(0.2, longest)).code
            if code != -SIGKILL:
                self.check(f"it ended with {code}", holds=code == 0)
                return killed
        run_to_the_end(command, folder)
        return times

    def slow(self) -> None:
        """Quick sites alone, and among some that are slow, in turns."""
        quick = self.server.key_pages(self.options.sites, self.options.sites, self.options.seed)
        kinds = ("hang", "late", "delay")
        slow = [
            {"id": kind, "url": self.server.url(f"{kind}-1"), "tpl_max_loads": 3} for kind in kinds
        ]
        lists = {"alone": quick, "among slow ones": [*quick[:5], *slow, *quick[5:]]}
        times: dict[str, list[float]] = {name: [] for name in lists}
        for turn in range(self.options.turns):
            for name, rows in lists.items():
                done, _ = self.batch(f"{name}-{turn}", rows, DOWNLOAD_TIMEOUT=15, RETRY_TIMES=0)
                asked = self.server.asked()
                last = max(each.at for each in asked if each.host.startswith("site-"))
                times[name].append(last - done.started)
                print(f"  {len(quick)} quick sites {name}: the last request to one of them", end="")
                print(
                    f" after {times[name][-1]:.1f} s, the end after {done.seconds:.1f} s",
                    flush=True,
                )
        alone, among = (min(times[name]) for name in lists)
        print(f"  among slow ones / alone: {among / alone:.2f}", flush=True)


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--keys", default=1000, type=int, help="key pages (%(default)s)")
    parser.add_argument("--sites", default=200, type=int, help="%(default)s")
    parser.add_argument("--searches", default=16, type=int, help="at a time (%(default)s)")
    parser.add_argument("--singles", default=50, type=int, help="single crawls (%(default)s)")
    parser.add_argument("--memory", default="", metavar="100,1000,...", help="numbers of sites")
    parser.add_argument("--kill", default=0, type=int, metavar="TIMES")
    parser.add_argument("--slow", action="store_true", help="some sites that are slow, too")
    parser.add_argument("--turns", default=2, type=int, help="with --slow (%(default)s)")
    parser.add_argument("--seed", default=14, type=int)
    parser.add_argument("--skip-answers", action="store_true", help="only --memory and --slow")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="a new one, for all files")
    options = parser.parse_args()
    with TemporaryDirectory() as scratch:
        folder = (options.keep or Path(scratch, "files")).resolve()
        folder.mkdir(parents=True)
        with ManySites(folder / "asked" if options.slow else None) as server:
            raise SystemExit(not measure(Benchmark(options, server, folder)))


def measure(benchmark: Benchmark) -> bool:
    """Run the parts that are asked for; whether each answer is right."""
    options = benchmark.options
    if not options.skip_answers:
        done, feeds, rows = benchmark.answers()
        benchmark.plain(done, feeds)
        if options.singles:
            benchmark.singles(done, feeds, rows)
        if options.kill:
            print(f"The same, killed {options.kill} times")
            benchmark.kills(done, rows)
    if options.memory:
        print("Memory")
        benchmark.memory()
    if options.slow:
        print("Slow sites")
        benchmark.slow()
    return benchmark.holds


if __name__ == "__main__":
    main()
