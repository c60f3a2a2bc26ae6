"""Searches over websites as folders, and over the same sites as WARC files: the same answers?

    python -m benchmarks.archive_answers CORPUS [--keep DIR] [--files 8]

CORPUS has saved websites, and their key pages in a table (sites.tsv, see
:mod:`benchmarks.evaluation.sites`). They are written as WARC files with redirects, pages
that are not there, and revisits. Every key page is searched in both, by each strategy; members,
loads, and the texts of all pages that were loaded must be the same. Differences are printed, and
the exit status is 1 if there are any. ``--keep`` is a new folder for the files, a manifest of them,
and the list of key pages.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchmarks.evaluation.sites import unlabelled_sites
from tests.support.warc_files import SiteRecords, packed
from tplspider.search.session import SearchOptions, SearchSession
from tplspider.sources.archive import open_archive
from tplspider.sources.base import drive, limits_of
from tplspider.web.addresses import identity

if TYPE_CHECKING:
    from benchmarks.evaluation.sites import UnlabelledSite
    from tplspider.sources.base import SiteSource

STRATEGIES = ("paper", "guided")


def write_files(sites: list[UnlabelledSite], folder: Path, files: int) -> list[Path]:
    """The sites as WARC files, the records of each site spread over all of them."""
    records: list[bytes] = []
    for site in sites:
        start = [key_url(site, path) for path, _ in site.keys]
        start += [site.pages.address(file) for file in site.pages.files()]
        records += SiteRecords(site.pages, start)
    paths = [folder / f"part-{number}.warc.gz" for number in range(files)]
    for number, path in enumerate(paths):
        path.write_bytes(packed(records[number::files]))
    print(f"{len(records)} records in {files} files, {len(sites)} sites")
    return paths


def key_url(site: UnlabelledSite, path: str) -> str:
    """The address of a key page; a host alone has a path, as archives do."""
    return identity(site.address(path))


def search(source: SiteSource, url: str, strategy: str) -> tuple[SearchSession, dict[str, str]]:
    """A search, and the texts of the pages that it loaded, by their identities."""
    texts: dict[str, str] = {}
    session = SearchSession(url, SearchOptions(strategy=strategy), limits_of(source))
    drive(session, source, lambda page, came: texts.update({identity(page.url): came.text}))
    return session, texts


def differences(ours: SiteSource, theirs: SiteSource, url: str, strategy: str) -> list[str]:
    """How an archive's answer differs from a folder's."""
    (one, texts), (other, others) = search(ours, url, strategy), search(theirs, url, strategy)
    assert one.summary is not None
    assert other.summary is not None
    told = []
    for name in ("candidates", "loads", "complete", "key_outcome"):
        values = [getattr(each.summary, name) for each in (one, other)]
        if name == "candidates":
            values = [[identity(member) for member in each] for each in values]
        if values[0] != values[1]:
            told.append(f"{name}: archive {values[0]!r}, folder {values[1]!r}")
    if texts != others:
        unlike = sorted({*texts, *others} - {u for u in texts if texts[u] == others.get(u)})
        told.append(f"texts: {unlike}")
    return told


def compare(sites: list[UnlabelledSite], files: list[Path], index: Path) -> int:
    """Search both, and print what differs; how many searches do."""
    archive = open_archive(files, index)
    count = wrong = 0
    with archive.open() as captured:
        for site in sites:
            for path, _ in site.keys:
                for strategy in STRATEGIES:
                    count += 1
                    url = key_url(site, path)
                    if found := differences(captured, site.pages, url, strategy):
                        wrong += 1
                        print(site.name, url, strategy, *found, sep="\n    ")
    print(f"{count - wrong} of {count} searches have the same members, loads and texts")
    return wrong


def main() -> int:
    """Write, search, compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--files", type=int, default=8)
    options = parser.parse_args()
    sites = unlabelled_sites(options.corpus)
    if options.keep:
        options.keep.mkdir()
    with nullcontext(options.keep) if options.keep else TemporaryDirectory() as name:
        folder = Path(name)
        files = write_files(sites, folder, options.files)
        (folder / "manifest.txt").write_text("".join(f"{file}\n" for file in files))
        keys = [key_url(site, path) for site in sites for path, _ in site.keys]
        (folder / "keys.txt").write_text("".join(f"{url}\n" for url in keys))
        return int(compare(sites, files, folder / "index") > 0)


if __name__ == "__main__":
    sys.exit(main())
