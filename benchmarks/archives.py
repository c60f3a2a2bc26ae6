"""What archives cost: their index, searches in them, memory.

    python -m benchmarks.archives [FILE.warc.gz ...] [--sites 400] [--memory 200,2000]

Without files, an archive of made-up sites is written first. The index is measured beside
FastWARC's bare loop over the same files, which reads every body, by the CPU time of one process.
``--memory`` takes numbers of sites: of each, what ``scrapy archive`` and ``scrapy strip`` held at
most, in one process.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import TYPE_CHECKING

from fastwarc.warc import ArchiveIterator, WarcRecordType

from benchmarks.timing import report, side_by_side
from tests.support.made_up_sites import MadeUpSource, made_up_site
from tests.support.warc_files import SiteRecords
from tplspider import open_archive, search_pages
from tplspider.search.answer import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

BARE = 1.7  # times FastWARC's own loop, at most
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


def make_index(files: list[Path]) -> None:
    """Our index, anew."""
    with TemporaryDirectory() as folder:
        open_archive(files, Path(folder) / "index")


def measure_index(files: list[Path]) -> bool:
    """Print what the index costs, beside FastWARC."""
    records, size = bare_loop(files), sum(file.stat().st_size for file in files)
    print(f"{counted(len(files), 'file')}, {records} records, {size / 1e6:.1f} MB packed")
    bare, ours = side_by_side(lambda: bare_loop(files), lambda: make_index(files), rounds=5)
    print(f"  CPU: FastWARC {records / bare:.0f} records/s, our index {records / ours:.0f}")
    return report("CPU of our index, to the bare loop", ours / bare, BARE)


def measure_searches(files: list[Path]) -> None:
    """Print how many key pages a second one core searches, without Scrapy."""
    folder = TemporaryDirectory()
    with folder as name, open_archive(files, Path(name) / "index").open() as site:
        pages = [next(iter(site.pages(name)), None) for name in site.sites()]
        urls = [page.url for page in pages if page][:KEYS]
        begin, loads = process_time(), 0
        for url in urls:
            found = search_pages(site, url).summary
            loads += found.loads if found else 0
        taken = process_time() - begin
    told = f"{len(urls) / taken:.1f} key pages/s, {1000 * taken / len(urls):.1f} ms each"
    print(f"  {told}, {loads / len(urls):.1f} loads each")


def peak(*arguments: str) -> float:
    """The megabytes that a command held at most."""
    command = [sys.executable, "-m", "scrapy", *arguments]
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
            held["strip"].append(peak("strip", str(file), *out, *index, "--workers", "1"))
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
