"""What archives cost: their index, searches in them, memory.

    python -m benchmarks.archives [FILE.warc.gz ...] [--sites 400] [--memory 200,2000]

Without files, an archive of made-up sites is written first. The index is measured beside
FastWARC's bare loop over the same files, which reads every body, by the CPU time of one process,
and beside ``cdxj-indexer``, if that is installed, by the clock: with a worker for each core, which
is what the bound is for, and with one process, which is what that tool has. For that the files are
given under as many names as make an archive of 1 GB, the size of one file of Common Crawl.
``--memory`` takes numbers of sites: of each, what ``scrapy archive`` and ``scrapy strip`` held at
most, in one process.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import zlib
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import TYPE_CHECKING

from benchmarks.timing import report, side_by_side
from tests.support.made_up_sites import MadeUpSource, made_up_site
from tests.support.warc_files import SiteRecords
from tplspider.old.extraction import EXTRACTOR, SECONDS
from tplspider.old.extraction.archive_indexing import reading_by
from tplspider.old.extraction.archive_search import ArchiveJob, ArchiveWork
from tplspider.search.answer import counted
from tplspider.search.session import SearchLimits, SearchOptions
from tplspider.sources.warc import LARGEST
from tplspider.sources.warc_archive import open_archive
from tplspider.sources.warc_extra import ArchiveIterator, WarcRecordType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

BARE = 1.6  # times FastWARC's own loop, at most
CDXJ = 10  # times as fast as cdxj-indexer, at least
ROUNDS = 2  # of which the fastest counts
LARGE = 1_000_000_000  # bytes of an archive that is read by all cores
KEYS = 300  # key pages that are searched
FILES = 4  # that are written
GROWS = 1.2  # times the memory, for ten times the archive


def write_archive(path: Path, sites: int, part: int = 0) -> Path:
    """Write made-up sites as a WARC file, one *part* of several."""
    with path.open("wb") as file:
        for number in range(part * sites, (part + 1) * sites):
            site = made_up_site(number)
            start = [f"http://site-{number}.test{each}" for each in site.pages]
            for record in SiteRecords(MadeUpSource(), start):
                packer = zlib.compressobj(6, zlib.DEFLATED, 31)
                file.write(packer.compress(record) + packer.flush())
    return path


def bare_loop(files: Iterable[Path]) -> int:
    """FastWARC's own speed: how many records there are."""
    types = WarcRecordType.response | WarcRecordType.resource | WarcRecordType.revisit
    count = 0
    for path in files:
        with path.open("rb") as file:
            for record in ArchiveIterator(file, record_types=types):
                record.reader.read()
                count += 1
    return count


def make_index(files: list[Path], workers: int = 1) -> None:
    """Our index, anew."""
    with TemporaryDirectory() as folder:
        open_archive(files, Path(folder) / "index", reading=reading_by(workers, least=0))


def measure_index(files: list[Path]) -> bool:
    """Print what the index costs, beside others."""
    records, size = bare_loop(files), sum(file.stat().st_size for file in files)
    print(f"{counted(len(files), 'file')}, {records} records, {size / 1e6:.1f} MB packed")
    bare, ours = side_by_side(lambda: bare_loop(files), lambda: make_index(files), rounds=5)
    print(f"  CPU: FastWARC {records / bare:.0f} records/s, our index {records / ours:.0f}")
    is_good = report("CPU of our index in one process, to the bare loop", ours / bare, BARE)
    if command := shutil.which("cdxj-indexer"):
        with TemporaryDirectory() as folder:
            many = under_more_names(files, Path(folder))
            is_good &= measure_beside_cdxj(many, command, records * len(many) // len(files))
    return is_good


def under_more_names(files: list[Path], folder: Path) -> list[Path]:
    """The same files again and again, until there are enough bytes of them."""
    times = max(1, ceil(LARGE / sum(file.stat().st_size for file in files)))
    found = []
    for number in range(times):
        for file in files:
            found.append(folder / f"{number}-{file.name}")
            try:
                os.link(file, found[-1])
            except OSError:  # on another disk
                shutil.copyfile(file, found[-1])
    return found


def measure_beside_cdxj(files: list[Path], command: str, records: int) -> bool:
    """Print how long the index takes by the clock on the wall, with all cores and with one."""
    size = sum(file.stat().st_size for file in files)
    print(f"the same as {len(files)} files, {records} records, {size / 1e6:.1f} MB packed")
    cores = len(os.sched_getaffinity(0))
    best = dict.fromkeys(("cdxj-indexer", "one process", "workers"), float("inf"))
    cpu = own = float("inf")

    def theirs() -> None:
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - for a process
            subprocess.run([command, *map(str, files)], stdout=nowhere, check=True)  # noqa: S603 - ours

    runs: tuple[Callable[[], None], ...] = (
        theirs,
        lambda: make_index(files),
        lambda: make_index(files, cores),
    )
    for _ in range(ROUNDS):
        for what, run in zip(best, runs, strict=True):
            begin, used = perf_counter(), (process_time(), _children())
            run()
            best[what] = min(best[what], perf_counter() - begin)
            if run is theirs:
                cpu = min(cpu, _children() - used[1])
            elif what == "one process":
                own = min(own, process_time() - used[0])
    told = ", ".join(f"{what} {records / each:.0f}" for what, each in best.items())
    print(f"  wall clock, records/s: {told} ({cores} workers, their start included)")
    slow, one, many = best.values()
    report("cdxj-indexer, to our index: CPU, one process", cpu / own, CDXJ, at_least=True)
    report("cdxj-indexer, to our index: wall clock, one process", slow / one, CDXJ, at_least=True)
    what = f"cdxj-indexer, to our index: wall clock, {cores} workers"
    return report(what, slow / many, CDXJ, at_least=True)


def _children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def measure_searches(files: list[Path]) -> None:
    """Print how many key pages a second one core searches."""
    with TemporaryDirectory() as folder:
        archive = open_archive(files, Path(folder) / "index")
        with archive.open() as site:
            places = [next(site.index.pages_of(number), None) for number, _ in site.index.sites()]
            urls = [site.url_at(place) for place in places if place][:KEYS]
        for what, extractor in (("without templates", ""), ("with templates", EXTRACTOR)):
            limits = SearchLimits(for_template=bool(extractor))
            work = ArchiveWork(
                archive.index, tuple(archive.files), LARGEST, limits, extractor, SECONDS
            )
            searcher = work.open()
            begin, loads = process_time(), 0
            for url in urls:
                found = searcher.do(ArchiveJob(url, url, SearchOptions(), SECONDS))
                loads += found.summary.loads
            taken = process_time() - begin
            searcher.close()
            told = f"{len(urls) / taken:.1f} key pages/s, {1000 * taken / len(urls):.1f} ms each"
            print(f"  {what}: {told}, {loads / len(urls):.1f} loads each")


def peak(*arguments: str) -> float:
    """The megabytes that a command held at most."""
    command = [sys.executable, "-m", "scrapy", *arguments, "-s", "TPLSPIDER_EXTRACT_WORKERS=0"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)  # noqa: S603 - ours
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(arguments)} ended with {status}")
    return usage.ru_maxrss / 1024


def measure_memory(numbers: list[int]) -> bool:
    """Print what commands hold for archives of so many sites."""
    held: dict[str, list[float]] = {"archive": [], "strip": []}
    with TemporaryDirectory() as name:
        folder = Path(name)
        for sites in numbers:
            file = write_archive(folder / f"{sites}.warc.gz", sites)
            records, size = bare_loop([file]), file.stat().st_size / 1e6
            begin = perf_counter()
            index = ("--index", str(folder / f"{sites}.index"))
            out = ("-O", str(folder / "out.jl"))
            held["archive"].append(peak("archive", str(file), "--every", "1", *out, *index))
            held["strip"].append(peak("strip", str(file), *out, *index))
            told = ", ".join(f"scrapy {what} {each[-1]:.0f} MB" for what, each in held.items())
            index_size = (folder / f"{sites}.index").stat().st_size / records
            seconds = perf_counter() - begin
            print(
                f"{sites} sites, {records} records, {size:.0f} MB packed: {told};"
                f" index {index_size:.0f} bytes a record; {seconds:.0f} s"
            )
    return all(
        report(f"memory of scrapy {what}, largest to smallest", each[-1] / each[0], GROWS)
        for what, each in held.items()
    )


def main() -> int:
    """Measure, and print; the exit status is 1 if a bound does not hold."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--sites", type=int, default=400)
    parser.add_argument("--memory", default="")
    options = parser.parse_args()
    if options.memory:
        return int(not measure_memory([int(each) for each in options.memory.split(",")]))
    with TemporaryDirectory() as folder:
        files = options.files or [
            write_archive(Path(folder) / f"{part}.warc.gz", options.sites // FILES, part)
            for part in range(FILES)
        ]
        is_good = measure_index(files)
        measure_searches(files)
    return int(not is_good)


if __name__ == "__main__":
    sys.exit(main())
